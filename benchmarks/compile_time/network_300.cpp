// SPDX-License-Identifier: Apache-2.0
// How long the compiler takes to describe a network of 302 operators as one type, and to check its data-parallel
// strategy.
#include "tessera/tessera.hpp"

#include <utility>

namespace ts = tessera;

template <std::size_t I>
struct conv : ts::conv2d<16, ts::window<3>, ts::padding<1>, ts::no_bias> {};
template <std::size_t I>
struct norm : ts::batch_norm<> {};
struct head : ts::linear<10> {};

template <class Places>
struct deep;
template <std::size_t... I>
struct deep<std::index_sequence<I...>> {
    using type = ts::sequential<ts::image<16, 32, 32>, ts::branch<conv<I>, norm<I>, ts::relu>..., ts::max_pool<2>,
                                ts::global_average_pool, head, ts::relu, ts::cross_entropy>;
};
struct network_300 : deep<std::make_index_sequence<99>>::type {};

static_assert(network_300::op_count == 302);
static_assert(ts::check_network<network_300, 64>::ok);
static_assert(ts::search::static_baseline<network_300, 64, 4, ts::search::baseline::data_parallel>::ok);
