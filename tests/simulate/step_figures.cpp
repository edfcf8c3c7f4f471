// SPDX-License-Identifier: Apache-2.0
// Tokens a second, MFU, HFU and the split of memory, against closed formulas and sums over the plan.
#include "tessera/simulate/step_figures.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/families.hpp"
#include "support/counts.hpp"
#include "support/random_pipeline.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/gradients.hpp"
#include "tessera/schedule/zero.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using ts::index_t;

networks::family_sizes small_gpt() {
    networks::family_sizes s;
    s.layers = 3;
    s.width = 32;
    s.heads = 4;
    s.sequence = 24;
    s.vocabulary = 40;
    return s;
}

ts::plan planned(const ts::graph_view& g, const ts::strategy& s, int devices) {
    ts::plan p = ts::lower(g, s.view(), devices, {.update = ts::adamw{}});
    ts::finish(g, p);
    ts::plan_memory(p);
    return p;
}

} // namespace

TEST_CASE("a language model's work is PaLM's: 6 for every parameter and token, and all pairs of positions") {
    for (const networks::family form : {networks::family::gpt, networks::family::llama}) {
        networks::family_sizes s = small_gpt();
        s.form = form;
        s.key_heads = form == networks::family::llama ? 2 : 0;
        const ts::graph g = networks::describe(s, 5);
        const sim::model_work w = sim::work_of_model(g.view());
        CHECK(w.samples == 5);
        CHECK(w.tokens == 5 * 24);
        const auto parameters = static_cast<double>(test_support::trained_parameters(g.view()));
        CHECK(w.parameters == parameters);
        CHECK(w.flops == doctest::Approx(5 * 24 * (6 * parameters + 12.0 * 3 * 32 * 24)));
    }
}

TEST_CASE("of a mixture's experts a token meets those that it is sent to") {
    networks::family_sizes s = small_gpt();
    s.form = networks::family::moe;
    s.hidden = 48;
    s.experts = 6;
    s.top = 2;
    const ts::graph g = networks::describe(s, 2);
    const auto all = static_cast<double>(test_support::trained_parameters(g.view()));
    CHECK(sim::work_of_model(g.view()).parameters == doctest::Approx(all - 4 * 3 * 3 * 32 * 48));
}

TEST_CASE("a network of images has no tokens, and three times its forward products") {
    const ts::graph g = ts::describe<networks::small_convnet>(6);
    const sim::model_work w = sim::work_of_model(g.view());
    CHECK(w.tokens == 0);
    CHECK(w.flops == doctest::Approx(6.0 * static_cast<double>(test_support::multiply_adds(g.view()))));
}

TEST_CASE("shares of the peak: of all devices in the network's precision, and with what is computed again") {
    networks::family_sizes s = small_gpt();
    s.math = ts::precision::bf16;
    const ts::graph g = networks::describe(s, 4);
    const ts::cluster on(ts::machines::h100_nodes(1));
    const sim::model_work w = sim::work_of_model(g.view());
    const sim::step_figures f = sim::figures_of(w, w.flops / 3, on, 2'000'000);
    CHECK(f.tokens_per_second == doctest::Approx(4 * 24 / 2e-3));
    CHECK(f.model_share == doctest::Approx(w.flops / 2e-3 / (8 * 989.5e12)));
    CHECK(f.device_share == doctest::Approx(f.model_share * 4 / 3));
    CHECK(sim::figures_of(w, 0, on, 2'000'000).device_share == f.model_share);

    ts::strategy how = ts::search::data_parallel(g.view(), 2);
    CHECK(sim::recomputed_flops(g.view(), planned(g.view(), how, 2)) == 0);
    double forward = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::description d = g.view().describe(op);
        const bool chosen = g.ops[ts::to_size(op)].name == "wide" || g.ops[ts::to_size(op)].name == "attention";
        how.ops[ts::to_size(op)].recompute = chosen;
        forward += chosen ? static_cast<double>(ts::forward_flops(d)) : 0;
    }
    CHECK(sim::recomputed_flops(g.view(), planned(g.view(), how, 2)) == doctest::Approx(forward));
}

TEST_CASE("memory: the parts are all of a device's peak, whatever the strategy") {
    const ts::graph network = ts::describe<networks::small_convnet>(6);
    const ts::graph_view g = network.view();
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const ts::plan p = planned(g, test_support::random_pipeline(g, 3, seed, seen).how, 3);
        for (int d = 0; d < 3; ++d) {
            const sim::memory_split m = sim::split_of_memory(g, p, d);
            CHECK(m.sum() == p.arena_bytes[ts::to_size(d)] + p.persistent_bytes[ts::to_size(d)]);
            for (const index_t part : {m.parameters, m.gradients, m.optimizer_state, m.activations, m.buffers}) {
                CHECK(part >= 0);
            }
            index_t parameters = 0;
            index_t state = 0;
            for (const ts::tile& t : p.tiles) {
                const index_t bytes = t.device == d && t.alias < 0 ? ts::detail::align(t.bytes, p.alignment) : 0;
                parameters += t.kind == ts::tile_kind::parameter ? bytes : 0;
                state += t.kind == ts::tile_kind::optimizer_state ? bytes : 0;
            }
            CHECK(m.parameters == parameters);
            CHECK(m.optimizer_state == state);
        }
    }
}

TEST_CASE("memory: under ZeRO-3 parameters and state are a device's slice, and gathered parameters are buffers") {
    networks::family_sizes s = small_gpt();
    const ts::graph network = networks::describe(s, 4);
    const ts::graph_view g = network.view();
    ts::strategy how = ts::search::data_parallel(g, 4);
    const sim::memory_split whole = sim::split_of_memory(g, planned(g, how, 4), 0);
    how.sync = ts::schedule::zero(ts::schedule::gradients_of(g), 3);
    const sim::memory_split m = sim::split_of_memory(g, planned(g, how, 4), 0);
    CHECK(m.parameters < whole.parameters / 3);
    CHECK(m.optimizer_state <= 2 * whole.parameters / 3);
    CHECK(m.buffers > whole.buffers);
}
