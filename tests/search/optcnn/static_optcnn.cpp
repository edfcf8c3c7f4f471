// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/static_optcnn.hpp"

#include "examples/networks.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct inner : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::groups<2>> {};
struct norm : ts::batch_norm<> {};
struct head : ts::linear<10> {};
struct residual : ts::sequential<ts::image<1, 8, 8>, stem, ts::residual<inner, norm, ts::relu>, ts::flatten, head,
                                 ts::cross_entropy> {};

template <class Found>
void check_same() {
    static_assert(Found::ok);
    const ts::graph g = ts::describe<typename Found::network>(Found::batch);
    const ts::strategy s = ts::search::optcnn(g.view(), ts::machines::p100_cluster(Found::devices));
    REQUIRE(Found::view().count == g.view().op_count);
    CHECK_NOTHROW(ts::require(g.view(), Found::view(), Found::devices));
    for (int op = 0; op < Found::view().count; ++op) {
        CHECK(Found::view().ops[op] == s.ops[ts::to_size(op)]);
    }
    // In the additive model nothing that everybody knows is cheaper.
    const ts::machine on = ts::machines::p100_cluster(Found::devices);
    const ts::index_t cost = ts::cost::total_cost(g.view(), ts::strategy(Found::view()), on);
    for (const ts::strategy& known :
         {ts::search::single_device(g.view()), ts::search::data_parallel(g.view(), Found::devices),
          ts::search::model_parallel(g.view(), Found::devices),
          ts::search::one_weird_trick(g.view(), Found::devices)}) {
        CHECK(cost <= ts::cost::total_cost(g.view(), known, on));
    }
}

} // namespace

TEST_CASE("static_optcnn: the compiler finds what the program finds") {
    check_same<ts::search::static_optcnn<networks::alexnet, 128, ts::machines::p100<4>>>();
    check_same<ts::search::static_optcnn<networks::lenet5, 4096, ts::machines::p100<2>>>();
    check_same<
        ts::search::static_optcnn<residual, 4096, ts::machines::p100<3>>>(); // uneven shards, and an edge elimination
    constexpr auto found = ts::search::optcnn<networks::mlp, 256>(ts::machines::p100<8>{});
    check_same<std::remove_const_t<decltype(found)>>();
}
