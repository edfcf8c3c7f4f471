// SPDX-License-Identifier: Apache-2.0
// Searches that price what sessions run: the step that is predicted of what they find is that of the plan that a
// session makes of it.
#include "support/expression_networks.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/searches.hpp"
#include "tessera/tessera.hpp"

#include <doctest/doctest.h>

using namespace test_support;
namespace search = ts::search;

namespace {

search::search_options few_proposals(bool fuse) {
    search::search_options o;
    o.fuse = fuse;
    o.lowering.update = ts::sgd{.momentum = 0.9F};
    return o;
}

/// Of the plan that a session has, on a machine.
ts::index_t step_of_session(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on,
                            const ts::optimizer& update) {
    ts::reference::backend backend(update);
    ts::workers threads(on.devices());
    const ts::session<ts::reference::backend> running(g, s, on.devices(), update, {}, backend, threads);
    return ts::simulation::simulate(running.planned_graph(), running.training_plan(), on).makespan;
}

} // namespace

TEST_CASE("the step predicted of what a search finds is that of the plan that a session runs") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    int changed = 0;
    int dearer = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const expression_network x = expression_maker(seed).run();
        const ts::graph_view g = x.network.view();
        const ts::fused_network all = ts::fuse(g, ts::strategy(g));
        changed += all.is_changed() ? 1 : 0;
        for (const char* name : {"mcmc", "optcnn", "data", "model", "pipeline", "fit"}) {
            const search::search_record& r = search::search_named(name);
            search::search_options o = few_proposals(true);
            if (ts::find_option(r, "proposals") != nullptr) {
                o.values.set("proposals", 40);
            }
            if (ts::find_option(r, "simulations") != nullptr) {
                o.values.set("simulations", 3);
            }
            if (ts::find_option(r, "stages") != nullptr) {
                o.values.set("stages", 2);
            }
            CAPTURE(seed);
            CAPTURE(std::string(name));
            search::search_found found;
            search::search_found inside;
            try {
                inside = r.run(all.network.view(), on, o);
                found = search::run(r, g, on, o);
            } catch (const ts::error& e) { // as without, too few operators for stages
                CHECK_THROWS_AS(search::run(r, g, on, few_proposals(false)), ts::error);
                continue;
            }
            REQUIRE(found.best.ops.size() == ts::to_size(g.op_count));
            const ts::fused_network run = ts::fuse(g, found.best);
            CHECK(run.ops == all.ops);
            for (std::size_t i = 0; i < run.ops.size(); ++i) {
                CHECK(run.network.ops[i].attributes == all.network.ops[i].attributes);
            }
            const search::finished_step step = search::simulate_fused(g, on, found.best, {}, o.lowering);
            if (inside.best.micro_batches == found.best.micro_batches) { // else run() gave it more
                CHECK(search::simulate_finished(all.network.view(), on, inside.best, {}, o.lowering).makespan ==
                      step.makespan);
            }
            CHECK(step_of_session(g, found.best, on, o.lowering.update) == step.makespan);
            dearer += search::simulate_finished(g, on, found.best, {}, o.lowering).makespan > step.makespan ? 1 : 0;
        }
    }
    CHECK(changed > 10);
    CHECK(dearer > changed);
}

namespace {

struct gate : ts::linear<64> {};
struct act : ts::silu {};
struct shrink : ts::tanh {};
struct up : ts::linear<64> {};
struct classes : ts::linear<10> {};
struct small : ts::sequential<ts::features<64>, gate, act, shrink, up, classes, ts::cross_entropy> {};

} // namespace

TEST_CASE("operators that fuse remain separate in a strategy for the original network") {
    const ts::graph g = ts::describe<small>(32);
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::search_options o = few_proposals(true);
    const ts::strategy fused = search::run(search::search_named("model"), g.view(), on, o).best;
    CHECK(fused.ops.size() == 6);
    CHECK(fused.ops[1] == fused.ops[2]);
    CHECK(ts::fuse(g.view(), fused).ops == std::vector<int>{0, 2, 3, 4, 5});
    o.lowering.wanted = {g.view().ops[1].output}; // which is then made, and no part of another
    const ts::strategy apart = search::run(search::search_named("model"), g.view(), on, o).best;
    CHECK(ts::fuse(g.view(), apart, o.lowering.wanted).ops.size() == 6);
    CHECK(search::simulate_fused(g.view(), on, apart, {}, o.lowering).makespan >
          search::simulate_fused(g.view(), on, apart).makespan);
}
