// SPDX-License-Identifier: Apache-2.0
// A network that serves: any number of threads predict at the same time, with one set of weights and an arena each.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/serving.hpp"
#include "tessera/execute/typed_trainer.hpp"

namespace tessera {

struct predictor_options {
    int lanes = 0; ///< predictions under way at one time; more wait. 0: one for each processor
    session_options
        session{}; ///< `seed` of the initial weights, `device_memory` of each lane with the weights, `measure`,
                   ///< `profile`, `fuse`
};

/// Predicts with a network from any number of threads at the same time, without locks of theirs: each call runs the
/// whole network on the thread that calls. Weights are there once, arenas once for each call that is under way
/// (serving_session). What it says is what a trainer of the same weights on one device says: to the last bit on the
/// reference backend, elsewhere up to the order of sums, for a plan for predictions alone may choose other kernels.
/// predict() is the same as trainer::predict(); any thread may call it at any time.
template <class Net, class B = default_backend<Net>>
class predictor : public detail::predict_calls<predictor<Net, B>, Net> {
public:
    /// For batches of at most `batch` samples at a time, with initial weights, which change() replaces by those of a
    /// checkpoint or another file: server.change([](auto& values) { ts::io::load_weights(values, "model.safetensors");
    /// }). Throws tessera::error for less than no lanes, and where `device_memory` is not enough.
    explicit predictor(index_t batch, const predictor_options& options = {})
        : described_(tessera::describe<Net>(batch)),
          backend_(make_backend<B, operators_of<Net>>(optimizer(sgd{}), options.session)),
          session_(described_.view(), options.session, backend_, options.lanes) {
        static_assert(check_backend<Net, B>::test() || true);
    }
    /// With the weights and running statistics that a trainer has now (its averages, while it uses them), copied: the
    /// training may go on meanwhile.
    template <class Other>
    explicit predictor(trainer<std::type_identity_t<Net>, Other>& from, const predictor_options& options = {})
        : predictor(from.batch(), options) {
        take(from);
    }
    predictor(const predictor&) = delete;
    predictor& operator=(const predictor&) = delete;

    /// From now on the weights that a trainer has now. Predictions that are under way end first, and have the old ones
    /// whole.
    template <class Other>
    void take(trainer<Net, Other>& from) {
        std::vector<std::vector<float>> all;
        {
            const device_turn one(from.devices().threads()); // so that all are of one step
            for (int p = 0; p < graph().parameter_count; ++p) {
                all.push_back(from.values().parameter(p));
            }
        }
        change([&](session<B>& values) {
            for (std::size_t p = 0; p < all.size(); ++p) {
                values.set_parameter(static_cast<int>(p), all[p]);
            }
        });
    }
    /// Calls change(values) alone, between predictions: see serving_session::change().
    template <class Change>
    void change(Change&& change) {
        session_.change(change);
    }

    /// What follows prompts of tokens: see trainer::generate(). Any thread may call it at any time; each call has
    /// plans, keys and values of its own, on one device.
    std::vector<token_list> generate(const std::vector<token_list>& prompts, const generation_options& options = {},
                                     const generator_options& size = {}) {
        return detail::generate_once<Net, B>(*this, prompts, options, size);
    }

    graph_view graph() const { return described_.view(); }
    int lanes() const { return session_.lanes(); }                         ///< that there are so far
    index_t arena_bytes() const { return session_.arena_bytes(); }         ///< of all of them
    index_t parameter_bytes() const { return session_.parameter_bytes(); } ///< once

private:
    friend detail::predict_calls<predictor, Net>;

    prediction predict_inputs(std::span<const input_data> inputs, int tensor) {
        return session_.predict(inputs, {tensor})[0];
    }

    tessera::graph described_;
    B backend_;
    serving_session<B> session_;
};

template <class Net, class B>
predictor(trainer<Net, B>&) -> predictor<Net, B>;
template <class Net, class B>
predictor(trainer<Net, B>&, const predictor_options&) -> predictor<Net, B>;

} // namespace tessera

#include "tessera/base/end_header.inl"
