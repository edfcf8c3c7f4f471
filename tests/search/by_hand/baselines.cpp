// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/by_hand/baselines.hpp"

#include "examples/networks.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using ts::search::baseline;

constexpr baseline all_baselines[] = {baseline::single_device, baseline::data_parallel, baseline::model_parallel,
                                      baseline::one_weird_trick};

struct depthwise : ts::conv2d<6, ts::window<3>, ts::groups<6>, ts::padding<1>> {};
struct mix : ts::conv2d<7, ts::window<1>> {};
struct norm : ts::batch_norm<> {};
struct head : ts::linear<3> {};
struct mobile : ts::sequential<ts::image<6, 9, 9>, ts::residual<depthwise, ts::relu>, mix, norm,
                               ts::global_average_pool, head, ts::cross_entropy> {};

template <class Net>
void check_legal() {
    for (const ts::index_t batch : {1, 2, 3, 7, 16}) {
        const ts::graph g = ts::describe<Net>(batch);
        for (int devices = 1; devices <= 9; ++devices) {
            for (const baseline b : all_baselines) {
                CAPTURE(ts::search::to_text(b));
                CHECK_NOTHROW(ts::require(g.view(), ts::search::make_baseline(g.view(), devices, b).view(), devices));
            }
        }
    }
}

/// Degree of an operator along a loop; also demands that no other loop is split.
int degree(const ts::graph& g, const ts::strategy& s, int op, ts::loop_name name) {
    const ts::configuration& c = s.ops[ts::to_size(op)];
    const int l = g.view().describe(op).find_loop(name);
    CHECK(c.boxes() == (l < 0 ? 1 : c.degree[l]));
    return l < 0 ? 1 : c.degree[l];
}

} // namespace

TEST_CASE("baselines: legal for any batch and any number of devices") {
    check_legal<networks::lenet5>();
    check_legal<networks::mlp>();
    check_legal<networks::alexnet>();
    check_legal<mobile>();
}

TEST_CASE("baselines: AlexNet on four devices") {
    const ts::graph g = ts::describe<networks::alexnet>(128);
    const ts::strategy single = ts::search::single_device(g.view());
    const ts::strategy data = ts::search::data_parallel(g.view(), 4);
    const ts::strategy model = ts::search::model_parallel(g.view(), 4);
    const ts::strategy trick = ts::search::one_weird_trick(g.view(), 4);
    bool flat = false;
    for (int op = 0; op < g.view().op_count; ++op) {
        CHECK(single.ops[ts::to_size(op)].shards() == 1);
        CHECK(degree(g, data, op, ts::loop_name::sample) == 4);
        CHECK(degree(g, model, op, ts::loop_name::channel) == 4);
        CHECK(degree(g, trick, op, flat ? ts::loop_name::channel : ts::loop_name::sample) == 4);
        flat = flat || g.ops[ts::to_size(op)].attributes.kind == ts::op_kind::flatten;
    }
    CHECK(flat);
}

TEST_CASE("baselines: what does not divide is split unevenly, and a short loop in as many shards as it has indices") {
    const ts::graph g = ts::describe<networks::mlp>(3);
    const ts::strategy data = ts::search::data_parallel(g.view(), 2);
    CHECK(data.ops[0].degree[0] == 2);
    CHECK(data.ops[0].uneven);
    CHECK(ts::search::data_parallel(g.view(), 8).ops[0].degree[0] == 3);
    CHECK(ts::search::model_parallel(g.view(), 16).ops[4].degree[1] == 10);
}

TEST_CASE("baselines: the same as types") {
    using found = ts::search::static_baseline<networks::lenet5, 64, 4, baseline::one_weird_trick>;
    static_assert(found::ok);
    const ts::graph g = ts::describe<networks::lenet5>(64);
    const ts::strategy s = ts::search::one_weird_trick(g.view(), 4);
    REQUIRE(found::view().count == g.view().op_count);
    for (int op = 0; op < found::view().count; ++op) {
        CHECK(found::view().ops[op] == s.ops[ts::to_size(op)]);
    }
}
