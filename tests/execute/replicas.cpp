// SPDX-License-Identifier: Apache-2.0
// Batch norm per replica: every shard of samples takes its own statistics, and one device that does the same is the
// comparison.
#include "support/planned.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

const ts::sgd rule{.learning_rate = 0.1F, .momentum = 0.9F};

sweep_case residual_net(int batch) {
    return {"residual net", ts::describe<test_networks::residual_net::network>(batch), rule};
}

/// Data parallel, each device with statistics of its own.
ts::strategy per_replica(const ts::graph_view& g, int devices, int micro_batches = 1) {
    ts::strategy s = data_parallel(g, devices);
    s.micro_batches = micro_batches;
    s.statistics = ts::statistics_over::replica;
    return s;
}

/// The batch norm of an image on one device, as two shards of samples of two rows each.
struct on_one_device {
    ts::graph network = ts::describe<test_networks::residual_net::network>(4);
    ts::plan p;
    int op = 0;

    explicit on_one_device(int rows = 1) {
        const ts::graph_view g = network.view();
        ts::strategy s(g);
        s.statistics = ts::statistics_over::replica;
        while (g.ops[op].attributes.kind != ts::op_kind::batch_norm) {
            ++op;
        }
        ts::configuration& c = s.ops[ts::to_size(op)];
        c.degree[0] = 2;
        c.degree[g.describe(op).find_loop(ts::loop_name::height)] = rows;
        c.reduces = rows > 1;
        s.place(op, std::vector<int>(ts::to_size(2 * rows), 0));
        p = planned(g, s, 1);
    }
    int statistics() const {
        const ts::description d = network.view().describe(op);
        return d.find_operand(ts::operand_kind::intermediate);
    }
    /// The task of a shard of the norm that touches its statistics.
    ts::task& task_of(ts::pass what, int shard) {
        for (ts::task& t : p.tasks) {
            if (t.kind() == ts::task_kind::compute && t.op == op && t.what == what && t.shard_number == shard &&
                t.compute().value[statistics()] >= 0) {
                return t;
            }
        }
        throw ts::error("no such task");
    }
    std::string verdict() const { return ts::verify(network.view(), p).text; }
};

void replace(std::vector<int>& list, int from, int to) {
    for (int& x : list) {
        x = x == from ? to : x;
    }
}

} // namespace

TEST_CASE("batch norm per replica is that of one device which takes the replicas' samples apart") {
    const sweep_case c = residual_net(12);
    const ts::graph_view g = c.network.view();
    oracles expected(c);
    sweep_check check;
    auto make = [](const ts::optimizer& update) { return ts::reference::backend(update); };
    double together = 0;
    for (const auto& [devices, micro_batches] : {std::pair{1, 1}, {2, 1}, {5, 1}, {3, 2}}) {
        const sweep_result r = expected.run(per_replica(g, devices, micro_batches), devices, make);
        check.hold(c, devices, r, allowed_rounding);
        ts::strategy joint = per_replica(g, devices, micro_batches);
        joint.statistics = ts::statistics_over::micro_batch;
        const sweep_result other = expected.run(joint, devices, make);
        together = std::max(together, std::abs(r.seen.losses.back() - other.seen.losses.back()));
        CHECK((devices > 1) == (r.seen.losses != other.seen.losses));
    }
    CHECK(together > 1e-3);                 // they are other numbers
    ts::strategy mixed = per_replica(g, 4); // two shards of samples, each split by rows, which do share statistics
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        const int rows = d.find_loop(ts::loop_name::height);
        if (rows >= 0 && ts::splittable(d, rows) && d.loops[rows].extent >= 4) {
            mixed.ops[ts::to_size(op)].degree[0] = mixed.ops[ts::to_size(op)].degree[rows] = 2;
        }
    }
    check.hold(c, 4, expected.run(mixed, 4, make), allowed_rounding);
}

TEST_CASE("replicas move no statistics, and the running ones lie where the first replica is") {
    const ts::graph network = ts::describe<test_networks::residual_net::network>(6);
    const ts::graph_view g = network.view();
    const ts::plan p = planned(g, per_replica(g, 3), 3);
    for (const ts::task& t : p.tasks) {
        for (const int r : t.reads) {
            const ts::tile& x = p.tiles[ts::to_size(r)];
            const bool inner = x.kind == ts::tile_kind::intermediate || x.kind == ts::tile_kind::intermediate_gradient;
            CHECK(!(inner && x.device != t.device));
        }
    }
    for (const ts::tile& x : p.tiles) {
        if (x.kind == ts::tile_kind::parameter && !g.parameters[x.tensor].trained) {
            CHECK(x.device == 0);
        }
    }
    ts::strategy joint = per_replica(g, 3);
    joint.statistics = ts::statistics_over::micro_batch;
    CHECK(planned(g, joint, 3).moved_bytes > p.moved_bytes);
    ts::strategy unsaid = per_replica(g, 3); // nothing is reduced, so that nobody has to mean it
    for (ts::configuration& c : unsaid.ops) {
        c.reduces = false;
    }
    CHECK(!ts::check_strategy(g, unsaid.view(), 3));
    unsaid.statistics = ts::statistics_over::micro_batch;
    CHECK(ts::check_strategy(g, unsaid.view(), 3).broken == ts::rule::coupled_split_without_reduction);
}

TEST_CASE("an evaluation after steps per replica follows the first replica's statistics, also of short batches") {
    for (const int batch : {8, 3}) { // three samples leave the first of four shards none
        CAPTURE(batch);
        const ts::graph network = ts::describe<test_networks::residual_net::network>(8);
        const ts::graph described = ts::describe<test_networks::residual_net::network>(batch);
        const batch_data data(described.view(), 3);
        const ts::strategy s = per_replica(network.view(), 4);
        ts::reference::network one(described.view());
        one.initialize(5);
        one.replicas = replicas_of(described.view(), s);
        set_all(one, data);
        ts::reference::backend backend{ts::optimizer(rule)};
        ts::workers threads(4);
        ts::session_options options;
        options.seed = 5;
        ts::session<ts::reference::backend> session(network.view(), s, 4, rule, options, backend, threads);
        ts::run_state run;
        run.seed = 5;
        run.learning_rate = 0.1;
        for (int i = 0; i < 3; ++i) {
            run.step = static_cast<std::uint64_t>(i);
            const double expected = one.train_step(run, rule);
            CHECK(session.step(data.inputs) == doctest::Approx(expected).epsilon(1e-4));
        }
        CHECK(session.evaluate(data.inputs).loss == doctest::Approx(one.evaluate()).epsilon(1e-4));
    }
}

TEST_CASE("statistics of another replica are refused") {
    using ts::pass;
    CHECK(on_one_device().verdict() == "");
    on_one_device s;
    const int own = s.task_of(pass::forward, 1).compute().value[s.statistics()];
    const int other = s.task_of(pass::forward, 0).compute().value[s.statistics()];
    ts::task& reader = s.task_of(pass::backward_input, 1);
    replace(reader.reads, own, other);
    reader.mutable_compute().value[s.statistics()] = other;
    CHECK(s.verdict().find("a task uses statistics of a replica that has other samples") != std::string::npos);

    on_one_device counted;
    counted.task_of(pass::backward_input, 1).mutable_compute().samples = 4;
    CHECK(counted.verdict().find("statistics are taken over 4 samples, and it has 2") != std::string::npos);

    on_one_device second;
    ts::task& running = second.task_of(pass::update, 0);
    replace(running.reads, other, own);
    running.mutable_compute().value[second.statistics()] = own;
    CHECK(second.verdict().find("running statistics do not follow the first replica's") != std::string::npos);

    on_one_device rows(2);
    CHECK(rows.verdict() == "");
    int changed = 0;
    for (ts::task& t : rows.p.tasks) { // of a sum over rows, the second summand becomes the other replica's
        const bool sums = t.kind() == ts::task_kind::copy && t.copy().segments.size() == 2 &&
                          rows.p.tiles[ts::to_size(t.writes[0])].kind == ts::tile_kind::intermediate;
        if (sums && changed++ == 0) {
            for (std::size_t i = 0; i < rows.p.tiles.size(); ++i) {
                const ts::tile& mine = rows.p.tiles[ts::to_size(t.copy().segments[1].source)];
                const ts::tile& x = rows.p.tiles[i];
                if (x.kind == mine.kind && x.tensor == mine.tensor && x.summand == mine.summand &&
                    x.replica != mine.replica) {
                    replace(t.reads, t.copy().segments[1].source, static_cast<int>(i));
                    t.mutable_copy().segments[1].source = static_cast<int>(i);
                    break;
                }
            }
        }
    }
    CHECK(changed > 0);
    CHECK(rows.verdict().find("statistics of two replicas are put together") != std::string::npos);
}
