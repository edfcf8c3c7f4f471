// SPDX-License-Identifier: Apache-2.0
// A strategy that the compiler finds, printed, and what moves where it splits two layers differently: with the one
// header, or with those that it is made of.
#ifdef TESSERA_SINGLE_HEADER
#include <tessera_core.hpp>
#else
#include <tessera/tessera.hpp>

#include <tessera/layout/typed_redistribution.hpp>
#include <tessera/plan/print.hpp>
#include <tessera/simulate/simulate.hpp>
#include <tessera/strategy/typed_layout_of.hpp>
#endif

#include <cstdio>

namespace ts = tessera;

namespace {

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>,             //
                              conv1, ts::max_pool<2>, ts::relu, //
                              conv2, ts::max_pool<2>, ts::relu, //
                              ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

using found = ts::search::static_optcnn<lenet, 64, ts::machines::host_threads<2>>;
using moved = ts::redistribution<ts::layout_of<lenet, found, ts::instance<ts::max_pool<2>, 1>>,
                                 ts::input_layout_of<lenet, found, ts::instance<ts::relu, 1>>>;

} // namespace

int main() {
    constexpr ts::graph_view graph = ts::describe<lenet, 64>();
    std::printf("Tessera %s\n%s%s\n", ts::library_version, to_text(graph, found::view()).c_str(),
                moved::text().c_str());
    return static_cast<int>(sizeof(ts::simulation::timeline) == 0);
}
