// SPDX-License-Identifier: Apache-2.0
// Every way to compose a network, as the graph that it becomes, and the rules of composition.
#include "support/refusal.hpp"
#include "tessera/execute/local/initialize.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/part/residual.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;

struct fc : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct conv_b : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct conv_c : ts::conv2d<6, ts::window<1>> {};
struct norm : ts::batch_norm<> {};

/// "op(tensors,...)[parameters]->tensor" for every operator: the graph at a glance.
std::string text_of(const ts::graph& g) {
    std::string text;
    const auto list = [&text](const auto& numbers) {
        for (int i = 0; i < numbers.size(); ++i) {
            text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
        }
    };
    for (const ts::op_node& op : g.ops) {
        text += std::string(op.name) + "(";
        list(op.inputs);
        text += ")";
        if (!op.parameters.empty()) {
            text += "[";
            list(op.parameters);
            text += "]";
        }
        text += "->" + std::to_string(op.output) + " ";
    }
    return text;
}

template <class Net>
std::string words() {
    return test_support::message_of([&] { ts::describe_at_run_time<Net>(4); });
}

struct skip;
struct far;
struct in;
struct in2;
struct gold;
struct gold2;
struct a;
struct b;
struct c;
struct l1;
struct l2;

template <class... Parts>
struct of_features : ts::sequential<ts::features<8>, Parts..., ts::cross_entropy> {};
template <class... Parts>
struct of_image : ts::sequential<ts::image<4, 6, 6>, Parts..., ts::flatten, ts::cross_entropy> {};

} // namespace

TEST_CASE("sequential: one operator after the other, the labels last") {
    CHECK(text_of(ts::describe<of_features<fc, ts::relu, fc2>>(4)) ==
          "fc(0)[0,1]->1 relu(1)->2 fc2(2)[2,3]->3 cross_entropy(3,4)->5 ");
    const ts::graph g = ts::describe<of_features<fc>>(4);
    CHECK(g.tensors[0].name == "input");
    CHECK(g.tensors[0].producer == -1);
    CHECK(g.tensors[1].producer == 0);
    CHECK(g.tensors[2].name == "labels");
}

TEST_CASE("a sequential inside another is a part like others") {
    CHECK(text_of(ts::describe<of_features<ts::sequential<fc, ts::relu>, fc2>>(4)) ==
          text_of(ts::describe<of_features<fc, ts::relu, fc2>>(4)));
}

TEST_CASE("residual adds its input to what its parts make of it") {
    CHECK(text_of(ts::describe<of_image<ts::residual<conv, norm, ts::relu>>>(4)) ==
          "conv(0)[0,1]->1 norm(1)[2,3,4]->2 relu(2)->3 add(0,3)->4 flatten(4)->5 cross_entropy(5,6)->7 ");
}

TEST_CASE("branches start from one tensor and are joined in their order") {
    using net = of_image<ts::branches<ts::concat, ts::branch<conv, ts::relu>, ts::branch<>, ts::branch<conv_c>>>;
    const ts::graph g = ts::describe<net>(4);
    CHECK(text_of(g) ==
          "conv(0)[0,1]->1 relu(1)->2 conv_c(0)[2,3]->3 concat(2,0,3)->4 flatten(4)->5 cross_entropy(5,6)->7 ");
    CHECK(g.tensors[4].extents == ts::make_shape(4, 4 + 4 + 6, 6, 6));
    CHECK(text_of(ts::describe<of_image<ts::branches<ts::multiply, ts::branch<conv>, ts::branch<ts::sigmoid>>>>(4)) ==
          "conv(0)[0,1]->1 sigmoid(0)->2 multiply(1,2)->3 flatten(3)->4 cross_entropy(4,5)->6 ");
}

TEST_CASE("repeat gives every copy parameters and a number of its own") {
    const ts::graph g = ts::describe<of_features<ts::repeat<3, fc, ts::relu>>>(4);
    CHECK(text_of(g) ==
          "fc(0)[0,1]->1 relu(1)->2 fc(2)[2,3]->3 relu(3)->4 fc(4)[4,5]->5 relu(5)->6 cross_entropy(6,7)->8 ");
    CHECK(g.ops[0].instance == 0);
    CHECK(g.ops[2].instance == 1);
    CHECK(g.ops[4].instance == 2);
    CHECK(g.parameters[4].instance == 2);
    CHECK(text_of(ts::describe<of_features<ts::repeat<2, ts::repeat<2, fc>>>>(4)) ==
          "fc(0)[0,1]->1 fc(1)[2,3]->2 fc(2)[4,5]->3 fc(3)[6,7]->4 cross_entropy(4,5)->6 ");
}

TEST_CASE("shared uses keep one set of parameters") {
    CHECK(text_of(ts::describe<of_features<fc, ts::relu, ts::shared<fc>, ts::shared<fc>>>(4)) ==
          "fc(0)[0,1]->1 relu(1)->2 fc(2)[0,1]->3 fc(3)[0,1]->4 cross_entropy(4,5)->6 ");
    CHECK(text_of(ts::describe<of_features<ts::shared<fc>, ts::shared<fc>>>(4)) ==
          "fc(0)[0,1]->1 fc(1)[0,1]->2 cross_entropy(2,3)->4 ");
    CHECK(ts::describe<of_features<ts::repeat<3, ts::shared<fc>>>>(4).parameters.size() == 2);
}

TEST_CASE("a tap joins the saved tensor, first, with the current one") {
    CHECK(text_of(ts::describe<of_image<ts::save<skip>, conv, ts::save<far>, conv_b, ts::tap<ts::add, far>,
                                        ts::tap<ts::concat, skip>>>(4)) ==
          "conv(0)[0,1]->1 conv_b(1)[2,3]->2 add(1,2)->3 concat(0,3)->4 flatten(4)->5 cross_entropy(5,6)->7 ");
}

TEST_CASE("a dag has named inputs and several losses") {
    using net = ts::dag<ts::input<in, ts::features<8>>, ts::input<in2, ts::features<8>>, ts::input<gold, ts::labels>,
                        ts::input<gold2, ts::labels>, ts::node<a, ts::linear<8>, in>, ts::node<b, ts::multiply, a, in2>,
                        ts::node<l1, ts::weighted_cross_entropy<ts::weight<1, 4>>, b, gold>,
                        ts::node<c, ts::shared<fc>, a>, ts::node<l2, ts::cross_entropy, c, gold2>>;
    const ts::graph g = ts::describe<net>(4);
    CHECK(text_of(g) == "a(0)[0,1]->4 b(4,1)->5 l1(5,2)->6 fc(4)[2,3]->7 l2(7,3)->8 ");
    CHECK(g.tensors[1].name == "in2");
    CHECK(g.tensors[2].type == ts::element::i32);
    CHECK(g.ops[2].attributes.weight == 0.25);
    CHECK(g.ops[4].attributes.weight == 1);
}

TEST_CASE("rules of composition, with their words") {
    CHECK(words<of_features<fc, fc>>() ==
          "tessera: a layer with parameters is used twice; write shared<> to share them or "
          "repeat<> for separate ones [layer fc, found 2, needed 1]");
    CHECK(words<of_features<ts::relu, ts::relu>>() == "accepted"); // it has none
    CHECK(words<of_image<conv_c, ts::shared<conv_c>>>() ==
          "tessera: layers that share a parameter need it in the same shape [layer conv_c, found 36, needed 24]");
    CHECK(words<of_image<ts::residual<conv_c>>>() ==
          "tessera: a residual branch must keep the shape of its input; change the "
          "branch or project the shortcut [layer conv_c, along channel, found 6, "
          "needed 4]");
    CHECK(words<of_image<ts::residual<ts::flatten>>>() ==
          "tessera: a residual branch must keep the shape of its input; change "
          "the branch or project the shortcut [layer flatten, found 2, needed "
          "4]");
    CHECK(words<of_image<ts::branches<ts::add, ts::branch<conv>, ts::branch<conv_c>>>>() ==
          "tessera: the inputs of an element-wise layer must have the same shape; behind the samples one may have "
          "extent 1 [layer add, along channel, found 6, "
          "needed 4]");
    CHECK(words<of_image<ts::branches<ts::concat, ts::branch<>, ts::branch<ts::max_pool<2>>>>>() ==
          "tessera: concatenated tensors may differ in their channels only [layer concat, along height, found 3, "
          "needed 6]");
    CHECK(words<of_features<ts::branches<ts::concat, ts::branch<fc>>>>() ==
          "tessera: the layer does not take this number of inputs [layer concat, found 1, needed 2]");
    CHECK(
        words<of_features<fc, ts::tap<ts::add, skip>>>() ==
        "tessera: the tap was not saved earlier in the network; put save<> before it [layer skip, found 0, needed 1]");
    CHECK(words<of_features<ts::save<skip>, fc, ts::save<skip>>>() ==
          "tessera: two taps have the same name [layer skip, found 2, needed 1]");
    CHECK(words<ts::sequential<fc, ts::cross_entropy>>() == "tessera: a sequential network starts with its input, such "
                                                            "as image<> or features<> [layer (the network itself), "
                                                            "found 0, needed 1]");
    CHECK(
        words<ts::sequential<ts::features<8>, fc>>() ==
        "tessera: a network to be trained needs a loss, such as a cross-entropy [layer (the network itself), found 0, "
        "needed 1]");
    CHECK(words<of_features<ts::cross_entropy>>() ==
          "tessera: nothing may follow a loss [layer cross_entropy, found 1, needed "
          "0]");
}

TEST_CASE("rules of dags, with their words") {
    using x = ts::input<in, ts::features<8>>;
    using y = ts::input<gold, ts::labels>;
    using loss = ts::node<l1, ts::cross_entropy, a, gold>;
    CHECK(words<ts::dag<x, y, ts::node<a, ts::relu, in>, loss>>() == "accepted");
    CHECK(words<ts::dag<x, y, ts::node<b, ts::relu, a>, ts::node<a, ts::relu, in>, loss>>() ==
          "tessera: the node refers to an input or node that does not come before it [layer b, missing a, found 0, "
          "needed 1]");
    CHECK(words<ts::dag<x, y, ts::node<b, ts::shared<fc>, a>, ts::node<a, ts::relu, in>, loss>>() ==
          "tessera: the node refers to an input or node that does not come before it [layer b, missing a, found 0, "
          "needed 1]");
    CHECK(words<ts::dag<x, y, ts::node<a, ts::relu, in>, ts::node<a, ts::relu, in>, loss>>() ==
          "tessera: two inputs or nodes of the network have the same name [layer a, found 2, needed 1]");
    CHECK(words<ts::dag<x, x, y, ts::node<a, ts::relu, in>, loss>>() ==
          "tessera: two inputs or nodes of the network have the same name [layer in, found 2, needed 1]");
    CHECK(words<ts::dag<x, y, ts::node<a, ts::relu, in>, ts::node<b, ts::shared<fc>, in>,
                        ts::node<b, ts::shared<fc>, a>, loss>>() ==
          "tessera: two inputs or nodes of the network have the same name [layer b, found 2, needed 1]");
    CHECK(words<ts::dag<x, y, ts::node<a, ts::relu, in>, loss, ts::node<b, ts::relu, l1>>>() ==
          "tessera: nothing may follow a loss [layer b, found 1, needed 0]");
    CHECK(words<ts::dag<x, y, ts::node<a, ts::relu, in>, ts::node<l1, ts::cross_entropy, gold, a>>>() ==
          "tessera: the input has the wrong number of dimensions for this layer; flatten images before a linear layer "
          "or a layer norm "
          "[layer l1, found 1, needed 2]");
    // Elements of the wrong type, in a shape that fits.
    CHECK(words<ts::dag<x, ts::input<gold, ts::label_map<6, 6>>, ts::input<in2, ts::image<3, 6, 6>>,
                        ts::node<a, ts::global_average_pool, in2>, ts::node<b, ts::relu, gold>,
                        ts::node<l1, ts::cross_entropy, in2, gold>>>() ==
          "tessera: the layer computes with floating-point numbers and this input has integers [layer b, found 1, "
          "needed 0]");
}

TEST_CASE("a network of 300 operators is one type") {
    using net = of_features<ts::repeat<100, fc, ts::relu, ts::dropout<5>>>;
    static_assert(net::op_count == 301);
    const ts::graph g = ts::describe<net>(2);
    REQUIRE(g.ops.size() == 301);
    CHECK(g.parameters.size() == 200);
    CHECK(g.ops[297].instance == 99);
    for (std::size_t i = 0; i < 300; ++i) {
        CHECK(g.ops[i].inputs[0] == static_cast<int>(i));
    }
}

namespace {

template <int I>
struct numbered;

template <class Sequence>
struct long_dag;
template <int... I>
struct long_dag<std::integer_sequence<int, I...>> {
    using type = ts::dag<ts::input<numbered<0>, ts::features<4>>, ts::input<gold, ts::labels>,
                         ts::node<numbered<I + 1>, ts::tanh, numbered<I>>...,
                         ts::node<l1, ts::cross_entropy, numbered<static_cast<int>(sizeof...(I))>, gold>>;
};
using chain = long_dag<std::make_integer_sequence<int, 300>>::type;

template <class Sequence>
struct flat;
template <int... I>
struct flat<std::integer_sequence<int, I...>> {
    template <int J>
    struct numbered_layer : ts::linear<8> {};
    using type = of_features<numbered_layer<I>...>;
};
using stack = flat<std::make_integer_sequence<int, 300>>::type;

template <class Sequence>
struct many_inputs;
template <int... I>
struct many_inputs<std::integer_sequence<int, I...>> {
    using type = ts::dag<ts::input<numbered<I>, ts::features<4>>..., ts::input<gold, ts::labels>,
                         ts::node<l1, ts::cross_entropy, numbered<0>, gold>>;
};
using inputs_only = many_inputs<std::make_integer_sequence<int, 60>>::type;

// In constant expressions too.
static_assert(ts::describe<of_features<ts::repeat<100, fc, ts::relu, ts::dropout<5>>>, 64>().op_count == 301);
static_assert(ts::describe<of_image<ts::residual<conv, norm, ts::relu>>, 16>().ops[3].inputs[1] == 3);

} // namespace

TEST_CASE("a network may have hundreds of parts in one list, and more inputs than operators") {
    CHECK(ts::describe<chain>(2).ops.size() == 301);
    CHECK(ts::describe<stack>(2).parameters.size() == 600);
    CHECK(ts::describe<inputs_only>(2).tensors.size() == 62);
    CHECK(ts::describe<inputs_only, 2>().tensor_count == 62);
}

TEST_CASE("initial parameters: in their bounds, different, a function of the seed, the parameter and the index") {
    const ts::graph g = ts::describe<of_image<ts::residual<conv, norm>>>(4);
    const auto make = [&](int parameter, std::uint64_t seed) {
        std::vector<float> values(ts::to_size(g.parameters[ts::to_size(parameter)].extents.volume()));
        ts::initialize(g.view(), parameter, seed, values);
        return values;
    };
    const std::vector<float> weight = make(0, 1);
    const double bound = 1 / std::sqrt(4.0 * 3 * 3);
    double largest = 0;
    double sum = 0;
    for (const float w : weight) {
        CHECK(std::abs(static_cast<double>(w)) <= bound);
        largest = std::max(largest, std::abs(static_cast<double>(w)));
        sum += static_cast<double>(w);
    }
    CHECK(largest > 0.9 * bound);
    CHECK(std::abs(sum) / static_cast<double>(weight.size()) < 0.25 * bound);
    CHECK(std::set<float>(weight.begin(), weight.end()).size() > weight.size() - 3);
    CHECK(make(0, 1) == weight);
    CHECK(make(0, 2) != weight);
    CHECK(make(1, 1)[0] != weight[0]);
    std::vector<float> start(5); // the first values do not depend on how many are asked for
    ts::initialize(g.view(), 0, 1, start);
    CHECK(std::equal(start.begin(), start.end(), weight.begin()));
    CHECK(make(2, 1) == std::vector<float>(4, 1.0F));
    CHECK(make(3, 1) == std::vector<float>(4, 0.0F));
    CHECK(make(4, 1) == std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1});
    std::vector<float> few(5);
    ts::initialize(g.view(), 4, 1, few);
    CHECK(few == std::vector<float>{0, 0, 0, 0, 1});
    // PyTorch's fan-in: torch.nn.init._calculate_fan_in_and_fan_out counts the second extent and the window.
    struct up : ts::transposed_conv2d<5, ts::window<2>, ts::stride<2>> {};
    struct last : ts::conv2d<2, ts::window<3>, ts::padding<1>> {};
    const ts::graph t = ts::describe<ts::sequential<ts::image<3, 4, 4>, up, last, ts::cross_entropy>>(1);
    CHECK(t.parameters[0].extents == ts::make_shape(3, 5, 2, 2));
    CHECK(t.parameters[0].fan_in == 5 * 2 * 2);
    CHECK(t.parameters[1].fan_in == 5 * 2 * 2); // its bias
    CHECK(t.parameters[2].fan_in == 5 * 3 * 3);
}
