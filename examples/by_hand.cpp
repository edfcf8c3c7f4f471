// SPDX-License-Identifier: Apache-2.0
// A strategy written by hand and checked by the compiler: the convolutions by samples, the big layer by output
// channels. Prints the strategy, what it moves between two layers, and the plan that it lowers to; nothing is trained.
#include "examples/output.hpp"

#include <tessera/tessera.hpp>

#include <tessera/layout/typed_redistribution.hpp>
#include <tessera/plan/finish.hpp>
#include <tessera/plan/lower/lower.hpp>
#include <tessera/plan/print.hpp>
#include <tessera/strategy/typed_layout_of.hpp>

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

// Layouts follow, as types, and with them what moves where two layers are split differently: fc1's shards need all of
// what the convolutions made, 32 samples of 320 numbers for each of two devices, and each adds up half of its gradient.
using made = ts::layout_of<lenet, by_hand, ts::flatten>;
using needed = ts::input_layout_of<lenet, by_hand, fc1>;
using forward = ts::redistribution<made, needed>;
using backward = ts::redistribution<ts::input_gradient_layout_of<lenet, by_hand, fc1>,
                                    ts::gradient_layout_of<lenet, by_hand, ts::flatten>>;
static_assert(std::is_same_v<made, ts::layout<ts::extents<64, 320>, ts::dims<ts::shards<2>, ts::shards<1>>>>);
static_assert(forward::kind == ts::collective::all_gather && forward::bytes == 2 * 32 * 320 * sizeof(float));
static_assert(backward::kind == ts::collective::reduce_scatter && backward::bytes == forward::bytes);
static_assert(ts::composed<forward, ts::inverse<forward>>::bytes == 0);

// What a step moves in all, which the plan below says too: in front of fc2, and to sum the gradients of the
// convolutions.
template <class Producer, class Consumer>
constexpr ts::index_t moved_between =
    ts::redistribution<ts::layout_of<lenet, by_hand, Producer>, ts::input_layout_of<lenet, by_hand, Consumer>>::bytes +
    ts::redistribution<ts::input_gradient_layout_of<lenet, by_hand, Consumer>,
                       ts::gradient_layout_of<lenet, by_hand, Producer>>::bytes;
template <class Layer, int Parameter>
constexpr ts::index_t moved_for = // two devices: a sum in slices moves as much as one at once
    ts::redistribution<ts::parameter_gradient_layout_of<lenet, by_hand, Layer, Parameter>,
                       ts::parameter_layout_of<lenet, by_hand, Layer, Parameter>>::bytes;
static_assert(moved_between<ts::flatten, fc1> + moved_between<ts::instance<ts::relu, 2>, fc2> + moved_for<conv1, 0> +
                  moved_for<conv1, 1> + moved_for<conv2, 0> + moved_for<conv2, 1> ==
              218880);

void show() {
    constexpr ts::graph_view graph = ts::describe<lenet, 64>();
    std::printf("%s\n", to_text(graph, by_hand::view()).c_str());
    std::printf("flatten makes  %s\nfc1 needs      %s\nforward        %s\nbackward       %s\n\n", made::text().c_str(),
                needed::text().c_str(), forward::text().c_str(), backward::text().c_str());
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
