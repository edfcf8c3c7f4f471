// SPDX-License-Identifier: Apache-2.0
// A strategy written by hand and checked by the compiler: the convolutions by samples, the big layer by output channels.
// Prints the strategy and the plan that it lowers to; nothing is trained.
#include "examples/output.hpp"

#include <tessera/tessera.hpp>

#include <tessera/plan/finish.hpp>
#include <tessera/plan/lower.hpp>
#include <tessera/plan/print.hpp>

#include <cstdio>
#include <cstdlib>

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

using by_samples = ts::split<ts::sample, 2>;
// For two devices and batches of 64. split<channel, 3> for fc1 would not compile: 3 does not divide 50.
using by_hand = ts::strategy_of<lenet, 2, 64,                                                                       //
                                ts::on<conv1, by_samples>, ts::on<conv2, by_samples>,                               //
                                ts::on<ts::max_pool<2>, by_samples>, ts::on<ts::instance<ts::relu, 0>, by_samples>, //
                                ts::on<ts::instance<ts::relu, 1>, by_samples>, ts::on<ts::flatten, by_samples>,     //
                                ts::on<fc1, ts::split<ts::channel, 2>>,                                             //
                                ts::on<ts::instance<ts::relu, 2>, ts::split<ts::channel, 2>>>;

void show() {
    constexpr ts::graph_view graph = ts::describe<lenet, 64>();
    std::printf("%s\n", to_text(graph, by_hand::view()).c_str());
    ts::plan plan = ts::lower(graph, by_hand::view(), by_hand::devices, {.update = ts::sgd{.momentum = 0.9F}});
    finish(graph, plan);
    std::printf("%s", to_text(graph, plan).c_str());
}

} // namespace

int main() {
    try {
        show();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "by_hand: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("by_hand");
}
