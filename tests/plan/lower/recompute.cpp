// SPDX-License-Identifier: Apache-2.0
// Recomputation of any operators, without a pipeline and within one: what is made again, when, and what that leaves of
// a plan's memory.
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_pipeline.hpp"

#include "tessera/schedule/zero.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::planned;
using ts::index_t;
using ts::task_kind;

/// Eight blocks of which each operator's output is as large as the next one's, and outweighs the parameters.
constexpr int blocks = 8;
constexpr int length = 4; ///< operators of a block
constexpr index_t features = 8;
constexpr index_t samples = 512;
constexpr index_t tile = samples * features * 4;
struct first : ts::linear<features> {};
struct second : ts::linear<features> {};
struct tower
    : ts::sequential<ts::features<features>, ts::repeat<blocks, first, ts::tanh, second, ts::tanh>, ts::cross_entropy> {
};

/// All operators of blocks recompute but the last of every `k`-th block.
ts::strategy every(const ts::graph_view& g, int k, int devices = 1) {
    ts::strategy s = test_support::data_parallel(g, devices);
    for (int op = 0; op < blocks * length; ++op) {
        s.ops[ts::to_size(op)].recompute = (op + 1) % (k * length) != 0;
    }
    return s;
}

std::vector<const ts::task*> computed(const ts::plan& p, ts::pass what) {
    std::vector<const ts::task*> all;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == task_kind::compute && t.what == what) {
            all.push_back(&t);
        }
    }
    return all;
}

bool is_backward(ts::pass what) {
    return what == ts::pass::backward || what == ts::pass::backward_input || what == ts::pass::backward_weight;
}

} // namespace

TEST_CASE("memory: blocks that recompute keep their last outputs, and one block at a time is made again") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    const auto arena = [&](const ts::strategy& s) { return planned(g, s, 1).arena_bytes[0]; };
    const index_t kept = arena(ts::strategy(g));
    // A tanh reads its output backward and a product its input, which is the output of the tanh before it: two of a
    // block's four. Besides there are a gradient or two on their way, a product's output, the loss's tiles and the
    // gradients of parameters.
    const index_t more = 4 * tile + 2 * blocks * (features * features + features) * 4 + 64 * 1024;
    CHECK(kept >= 2 * blocks * tile);
    CHECK(kept <= 2 * blocks * tile + more);
    for (const int k : {1, 2, 4}) {
        CAPTURE(k);
        const index_t again = arena(every(g, k));
        CHECK(again >= (blocks / k) * tile);
        CHECK(again <= (blocks / k - 1 + 2 * k) * tile + more); // of the block at hand, its last output is kept
        CHECK(again < kept);
    }
    CHECK(arena(every(g, blocks)) >= kept - tile); // all of it at once, from the network's input: nothing is saved
}

TEST_CASE("a block is made again when backward has come to it, what the block's end alone reads is not") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    for (const int devices : {1, 2}) {
        const ts::plan p = planned(g, every(g, 1, devices), devices);
        std::vector<int> again(ts::to_size(g.op_count), 0);
        int reached = g.op_count; // the operator that went backward last
        for (const ts::task& t : p.tasks) {
            if (t.kind() != task_kind::compute || t.device != 0) {
                continue;
            }
            if (t.what == ts::pass::recompute) {
                CHECK(reached <= (t.op / length + 1) * length); // all blocks behind it are done
                ++again[ts::to_size(t.op)];
            } else if (is_backward(t.what)) {
                reached = std::min(reached, t.op);
            }
        }
        for (int op = 0; op < g.op_count; ++op) {
            CAPTURE(op);
            // The last tanh is kept, and nothing reads the product before it.
            CHECK(again[ts::to_size(op)] == (op < blocks * length && op % length < 2 ? 1 : 0));
        }
    }
}

TEST_CASE("an operator by itself is made again from what is kept, just before its first reader backward") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    for (int op = 0; op < blocks * length; ++op) {
        CAPTURE(op);
        ts::strategy s(g);
        s.ops[ts::to_size(op)].recompute = true;
        const ts::plan p = planned(g, s, 1);
        const auto again = computed(p, ts::pass::recompute);
        const bool read = op % 2 == 1; // of a product nobody reads the output backward
        CHECK(again.size() == (read ? 1 : 0));
        if (!read) {
            continue;
        }
        CHECK(again[0]->op == op);
        const std::vector<int>& order = p.order[0];
        const ts::task& next = p.tasks[ts::to_size(order[ts::to_size(again[0]->position + 1)])];
        CHECK(is_backward(next.what));
        CHECK(next.op == std::min(op + 1, g.op_count - 1));
        const auto written = again[0]->writes[0];
        CHECK(std::find(next.reads.begin(), next.reads.end(), written) != next.reads.end());
    }
}

TEST_CASE("with parameters in slices, what is made again gathers them again, once for both ways back") {
    const ts::graph network = ts::describe<tower>(samples);
    const ts::graph_view g = network.view();
    ts::strategy s = every(g, 1, 2);
    s.sync = ts::schedule::zero(ts::schedule::gradients_of(g), 3);
    const ts::plan p = planned(g, s, 2);
    int forward = 0;
    int back = 0;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == task_kind::gather && t.device == 0) {
            (t.what == ts::pass::forward ? forward : back) += 1;
        }
    }
    int parameters = 0;
    for (int i = 0; i < g.parameter_count; ++i) {
        parameters += g.parameters[i].trained ? 1 : 0;
    }
    CHECK(forward == parameters);
    CHECK(back <= parameters);
    CHECK(back >= parameters / 2);
    CHECK(computed(p, ts::pass::recompute).size() == 2 * 2 * blocks);
}

TEST_CASE("a loss is never made again, and what an operator renames is with it") {
    namespace n = test_networks;
    const ts::graph network = ts::describe<n::lenet5::network>(8);
    const ts::graph_view g = network.view();
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)].recompute = !g.is_loss(op) && !g.facts(op).view;
    }
    const ts::plan p = planned(g, s, 1);
    int views = 0;
    for (const ts::task& t : p.tasks) {
        CHECK((t.what != ts::pass::recompute || !g.is_loss(t.op)));
        if (!is_backward(t.what) || t.kind() != task_kind::compute) {
            continue;
        }
        for (const int r : t.reads) { // nothing reads the first time's
            const ts::tile& x = p.tiles[ts::to_size(p.root(r))];
            if (x.kind == ts::tile_kind::activation && g.tensors[x.tensor].producer >= 0) {
                const ts::task* by = nullptr;
                for (const ts::task& w : p.tasks) {
                    by = std::find(w.writes.begin(), w.writes.end(), p.root(r)) != w.writes.end() ? &w : by;
                }
                REQUIRE(by != nullptr);
                CHECK(by->what == ts::pass::recompute);
                views += p.tiles[ts::to_size(r)].alias >= 0 ? 1 : 0;
            }
        }
    }
    CHECK(views > 0);
}

TEST_CASE("the verifier takes what is made again for the shard's own, with its step's parameters") {
    const ts::graph network = ts::describe<tower>(16);
    const ts::graph_view g = network.view();
    const ts::plan good = planned(g, every(g, 2, 2), 2);
    REQUIRE(!ts::verify(g, good));
    const auto refused = [&](auto damage) {
        ts::plan p = good;
        damage(p);
        return ts::verify(g, p).text;
    };
    const auto contains = [](const std::string& text, const char* what) {
        return text.find(what) != std::string::npos;
    };
    std::vector<int> again;
    for (int i = 0; i < static_cast<int>(good.tasks.size()); ++i) {
        if (good.tasks[ts::to_size(i)].kind() == task_kind::compute &&
            good.tasks[ts::to_size(i)].what == ts::pass::recompute) {
            again.push_back(i);
        }
    }
    REQUIRE(again.size() > 4);
    // Two shards exchange their names: all is there once, but not where it was.
    CHECK(contains(refused([&](ts::plan& p) {
                       ts::task& a = p.tasks[ts::to_size(again[0])];
                       ts::task& b = p.tasks[ts::to_size(again[1])];
                       REQUIRE(a.op == b.op);
                       std::swap(a.shard_number, b.shard_number);
                   }),
                   "computes again what it has not computed"));
    // A shard is left out.
    CHECK(contains(refused([&](ts::plan& p) { p.tasks[ts::to_size(again[0])].what = ts::pass::forward; }), "elements"));
}

TEST_CASE("random choices in random pipelines are sound") {
    namespace n = test_networks;
    test_support::coverage seen;
    int tasks = 0;
    for (int i = 0; i < 60; ++i) {
        const ts::graph network = i % 3 == 0   ? ts::describe<n::residual_net::network>(4)
                                  : i % 3 == 1 ? ts::describe<n::transformer::network>(6)
                                               : ts::describe<n::unet::network>(6);
        const ts::graph_view g = network.view();
        const int devices = 1 + i % 4;
        auto c = test_support::random_pipeline(g, devices, 900 + static_cast<std::uint64_t>(i), seen);
        test_support::random pick{static_cast<std::uint64_t>(i)};
        for (ts::configuration& x : c.how.ops) {
            x.recompute = pick(2) == 0;
        }
        CAPTURE(i);
        const ts::plan p = planned(g, c.how, devices);
        CHECK(ts::verify(g, p).text == "");
        tasks += static_cast<int>(computed(p, ts::pass::recompute).size());
    }
    CHECK(tasks > 500);
}
