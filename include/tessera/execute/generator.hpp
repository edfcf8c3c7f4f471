// SPDX-License-Identifier: Apache-2.0
// A network type that writes: what follows prompts of tokens, one token after the other.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/generation.hpp"
#include "tessera/execute/predictor.hpp"

namespace tessera {

namespace detail {

/// The operators that stand in a network of new positions and not in that of whole sequences.
template <class Net>
struct decoding_operators {
    static constexpr int most = 8;
    const op_record* records[most]{};
    int count = 0;
    int keeps = -1; ///< the first operator in whose place something is kept

    constexpr decoding_operators() {
        const graph_view g = storage_of<Net, 64>.view();
        int* const needed = new int[to_size(g.tensor_count)]{};
        int* const position = new int[to_size(g.tensor_count)]{};
        position_walk(g, usual_tensor<Net>, needed, position)
            .over(1, [&](int op, const piecewise_use& how, bool placed) {
                if (placed) {
                    add(record_of(how.attributes));
                    keeps = keeps < 0 && how.kept.size() > 0 ? op : keeps;
                }
                if (how.looks_up) {
                    add(record_of(how.look_up));
                }
            });
        delete[] needed;
        delete[] position;
    }
    constexpr bool has(const op_record& r) const {
        for (int i = 0; i < count; ++i) {
            if (same_operator(*records[i], r)) {
                return true;
            }
        }
        return false;
    }

private:
    constexpr void add(const op_record& r) {
        if (!has(r) && count < most) {
            records[count++] = &r;
        }
    }
};
template <class Net>
inline constexpr decoding_operators<Net> decoding_operators_in;

template <class Net>
constexpr auto all_when_decoding() {
    constexpr int own = decoding_operators_in<Net>.count;
    std::array<const op_record*, to_size(own) + operators_of<Net>::records.size()> all{};
    std::size_t n = 0;
    for (const op_record* const r : operators_of<Net>::records) {
        all[n++] = r;
    }
    for (int i = 0; i < own; ++i) {
        all[n++] = decoding_operators_in<Net>.records[i];
    }
    return all;
}

} // namespace detail

/// Those that a network type needs where it continues sequences.
template <class Net>
struct operators_of_decoding {
    static constexpr bool has(const op_record& r) {
        return operators_of<Net>::has(r) || detail::decoding_operators_in<Net>.has(r);
    }
    static constexpr auto records = detail::all_when_decoding<Net>();
};

/// Refuses at compile time, naming the layer, a network that cannot continue sequences, and a backend without what that
/// takes.
template <class Net, class B>
struct check_generation {
    static constexpr problem p =
        problem_of_decoding(detail::storage_of<Net, 64>.view(), detail::usual_tensor<Net>,
                            positions_of(detail::storage_of<Net, 64>.view(), detail::usual_tensor<Net>));
    static constexpr bool test() {
        if constexpr (p.broken != rule::none) {
            return refuse<p.broken, layer<typename layer_at<Net, p.op>::type>, found<p.found>, needed<p.needed>>();
        } else {
            constexpr graph_view g = detail::storage_of<Net, 64>.view();
            constexpr auto& own = detail::decoding_operators_in<Net>;
            constexpr precision math = g.ops[own.keeps].attributes.math;
            constexpr bool has_all = [] {
                for (int i = 0; i < own.count; ++i) {
                    if (!B::supports(*own.records[i], pass::forward, math)) {
                        return false;
                    }
                }
                return true;
            }();
            if constexpr (!has_all) {
                return refuse<rule::backend_lacks_operator, layer<typename layer_at<Net, own.keeps>::type>,
                              in_precision<math>, B>();
            }
            return true;
        }
    }
};

/// Writes on: `ts::generator writer(trainer); writer.generate({{3, 1, 4}}, {.new_tokens = 20})`. It has copies of the
/// weights, and plans for new tokens alone: keys and values of every position are computed once and kept where the
/// strategy has the attention's (generation_session). The logits are those of a forward pass over the whole sequence,
/// up to the order of sums. One thread at a time calls it.
template <class Net, class B = default_backend<Net>>
class generator {
    static_assert(check_network<Net>::ok || true);
    static_assert(check_generation<Net, B>::test() || true);

public:
    /// With the weights that a trainer has now, on its devices, for as many sequences at a time as its batch has.
    template <class Other>
    explicit generator(trainer<std::type_identity_t<Net>, Other>& from, const generator_options& size = {},
                       const session_options& options = {})
        : generator(from.devices(), from.values().strategy_of(), from.batch(), size, options) {
        take(from);
    }
    /// With those that a predictor has now, on one device.
    template <class Other>
    explicit generator(predictor<std::type_identity_t<Net>, Other>& from, const generator_options& size = {},
                       const session_options& options = {})
        : generator(local_devices(1), strategy(from.graph()), from.graph().tensors[0].extents[0], size, options) {
        take(from);
    }
    /// Under a strategy of whole sequences, with initial weights, for `batch` sequences at a time.
    generator(const local_devices& devices, const strategy& s, index_t batch, const generator_options& size = {},
              const session_options& options = {})
        : devices_(devices), backend_(make_backend<B, operators_of_decoding<Net>>(optimizer(sgd{}), options)),
          session_(tessera::describe<Net>(batch).view(), detail::usual_tensor<Net>, s, devices.count(), batch, size,
                   options, backend_, devices_.threads()) {}
    generator(const generator&) = delete;
    generator& operator=(const generator&) = delete;

    /// From now on the weights that a trainer has now.
    template <class Other>
    void take(trainer<Net, Other>& from) {
        const device_turn one(from.devices().threads()); // so that all are of one step
        for (int p = 0; p < session_.parameters(); ++p) {
            session_.set_parameter(p, from.values().parameter(p));
        }
    }

    template <class Other>
    void take(predictor<Net, Other>& from) {
        from.change([&](const auto& values) {
            for (int p = 0; p < session_.parameters(); ++p) {
                session_.set_parameter(p, values.parameter(p));
            }
        });
    }

    /// See generation_session::generate().
    std::vector<token_list> generate(std::span<const token_list> prompts, const generation_options& options = {}) {
        return session_.generate(prompts, options);
    }
    std::vector<token_list> generate(const std::vector<token_list>& prompts, const generation_options& options = {}) {
        return session_.generate(prompts, options);
    }

    generation_session<B>& values() { return session_; } ///< the same as a value: weights by number, logits

private:
    local_devices devices_;
    B backend_;
    generation_session<B> session_;
};

template <class Net, class B>
generator(predictor<Net, B>&) -> generator<Net, B>;
template <class Net, class B>
generator(predictor<Net, B>&, const generator_options&) -> generator<Net, B>;
template <class Net, class B>
generator(trainer<Net, B>&) -> generator<Net, B>;
template <class Net, class B>
generator(trainer<Net, B>&, const generator_options&) -> generator<Net, B>;
template <class Net, class B>
generator(trainer<Net, B>&, const generator_options&, const session_options&) -> generator<Net, B>;

} // namespace tessera

#include "tessera/base/end_header.inl"
