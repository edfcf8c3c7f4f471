// SPDX-License-Identifier: Apache-2.0
// A row of the operator table as a network of one operator, run once on any backend.
#pragma once

#include "op/table.hpp"
#include "support/same_numbers.hpp"

#include "tessera/plan/lower/lower.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace test_support {

/// How many tensors it reads: one where the operator takes one tensor in all its places.
inline std::size_t tensors_read(const tests::op_case& c) {
    return ts::record_of(c.attributes).uses != nullptr ? 1 : c.inputs.size();
}

/// A graph of one operator, with an input for the gradient of its output.
inline ts::graph graph_of(const tests::op_case& c) {
    ts::graph_builder b;
    const ts::description d = c.describe();
    std::vector<int> read;
    for (std::size_t i = 0; i < tensors_read(c); ++i) {
        const int o = d.find_operand(ts::operand_kind::input, static_cast<int>(i));
        read.push_back(b.add_input(c.inputs[i], d.operands[o].type, "input"));
    }
    struct layer;
    const int out =
        b.add_op(c.attributes, "layer", ts::key_of<layer>, false, read.data(), static_cast<int>(read.size()));
    if (b.refused) {
        throw ts::error(ts::to_text(b.refused, b.refused_at));
    }
    b.add_input(b.tensors[out].extents, ts::element::f32, "output gradient");
    return b.built();
}

/// Random numbers for it, of inputs where the row wants them.
inline batch_data data_of(const tests::op_case& c, const ts::graph_view& g, std::uint64_t seed) {
    batch_data data(g, seed);
    for (std::size_t i = 0; i < tensors_read(c); ++i) { // inputs are the first tensors
        for (float& v : data.numbers[i]) {
            v += static_cast<float>(c.shift_of(i));
        }
    }
    return data;
}

/// Of what a run leaves, where gradients of parameters begin, and updated parameters.
inline constexpr int first_gradient = 1000;
inline constexpr int first_update = 2000;

/// How parameters are updated in a run; with a rate of 0 they are left alone, and are no results.
struct update_of {
    ts::optimizer how;
    double rate = 0;
};

/// What a run of a plan leaves: the sums of its results and gradients by tensor and parameter.
template <class Backend>
std::map<int, std::vector<double>> values_after(Backend& backend, const ts::graph_view& g, const ts::strategy& s,
                                                int devices, const batch_data& data, const update_of& update = {}) {
    ts::lower_options o;
    o.update = update.how;
    o.keep_gradients = true;
    o.output_gradient = g.tensor_count - 1;
    ts::plan p = ts::lower(g, s.view(), devices, o);
    backend.bind(p, g, nullptr);
    ts::finish(g, p);
    ts::workers threads(devices);
    const ts::parameter_store store(p, ts::memory_of(backend));
    for (const auto& e : store.entries()) { // a function of the element's place alone, the same for every split
        if (e.what.kind != ts::tile_kind::parameter) {
            continue;
        }
        const ts::box all = ts::whole(g.parameters[e.what.tensor].extents);
        std::vector<float> whole_parameter(ts::to_size(all.volume()));
        for (std::size_t i = 0; i < whole_parameter.size(); ++i) {
            whole_parameter[i] = 0.3F + static_cast<float>(ts::op::mix(i) >> 44U) / 1048576.0F;
        }
        std::vector<float> part(ts::to_size(e.what.region.volume()));
        ts::box_copy(e.what.region, all, e.what.region)
            .apply(whole_parameter.data(), part.data(), true, ts::reducer::none);
        backend.from_plain(e.what, part.data(), store.address(e));
    }
    ts::executor<Backend> run(backend, threads, g, std::move(p), store);
    ts::run_state state;
    state.seed = 5;
    state.learning_rate = update.rate;
    std::vector<const void*> pointers(ts::to_size(g.tensor_count), nullptr);
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        pointers[ts::to_size(data.tensors[k])] = data.inputs[k].data;
    }
    state.inputs = pointers.data();
    run.run(state);
    std::map<int, std::vector<double>> result;
    const auto add = [&](const std::vector<ts::result_piece>& pieces, int offset, auto&& extents_of) {
        std::vector<std::tuple<int, int, ts::box>> seen;
        for (const ts::result_piece& r : pieces) {
            const ts::tile& t = run.bound().tiles[ts::to_size(r.tile)];
            bool again = false;
            for (const auto& [tensor, part, region] : seen) {
                again = again || (tensor == r.tensor && part == r.summand && region == t.region);
            }
            if (again) {
                continue;
            }
            seen.push_back({r.tensor, r.summand, t.region});
            const ts::box all = ts::whole(extents_of(r.tensor));
            std::vector<double>& to = result[offset + r.tensor];
            to.resize(ts::to_size(all.volume()), 0.0);
            std::vector<float> plain(ts::to_size(t.elements));
            backend.to_plain(t, run.memory()[r.tile], plain.data());
            const std::vector<double> piece(plain.begin(), plain.end());
            ts::box_copy(t.region, t.region, all).apply(piece.data(), to.data(), false, ts::reducer::sum);
        }
    };
    add(run.bound().results, 0, [&](int t) { return g.tensors[t].extents; });
    add(run.bound().gradients, first_gradient, [&](int i) { return g.parameters[i].extents; });
    for (const auto& e : store.entries()) {
        if (update.rate > 0 && e.what.kind == ts::tile_kind::parameter) {
            const ts::box all = ts::whole(g.parameters[e.what.tensor].extents);
            std::vector<double>& to = result[first_update + e.what.tensor];
            to.resize(ts::to_size(all.volume()));
            std::vector<float> plain(ts::to_size(e.what.elements));
            backend.to_plain(e.what, store.address(e), plain.data());
            const std::vector<double> piece(plain.begin(), plain.end());
            ts::box_copy(e.what.region, e.what.region, all).apply(piece.data(), to.data(), true, ts::reducer::none);
        }
    }
    return result;
}

/// Calls each(key, got, expected) for every result of a plan on `other`, beside those on `plain`. Throws tessera::error
/// where they have other results.
template <class Plain, class Other, class Each>
void each_result_beside(Plain& plain, Other& other, const ts::graph_view& g, const ts::strategy& s, int devices,
                        const batch_data& data, Each&& each, const update_of& update = {}) {
    const std::map<int, std::vector<double>> expected = values_after(plain, g, s, devices, data, update);
    const std::map<int, std::vector<double>> got = values_after(other, g, s, devices, data, update);
    if (expected.size() != got.size()) {
        throw ts::error(std::to_string(got.size()) + " results instead of " + std::to_string(expected.size()));
    }
    for (const auto& [key, values] : expected) {
        each(key, got.at(key), values);
    }
}

} // namespace test_support
