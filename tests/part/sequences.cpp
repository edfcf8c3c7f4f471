// SPDX-License-Identifier: Apache-2.0
// Attention, LSTMs, tied layers and chains as graphs: operators, shapes, shared parameters, and what is refused.
#include "support/networks.hpp"
#include "support/refusal.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/lstm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
namespace n = test_networks;
using test_support::text_of_rule;
using ts::make_shape;

template <class Net>
std::string words(ts::index_t batch = 4) {
    return test_support::message_of([&] { ts::describe_at_run_time<Net>(batch); });
}

int count(const ts::graph& g, ts::op_kind kind) {
    int found = 0;
    for (const ts::op_node& o : g.ops) {
        found += o.attributes.kind == kind ? 1 : 0;
    }
    return found;
}

struct in : ts::linear<12> {};
struct again : ts::linear<12, ts::no_bias> {};
template <int Steps>
struct long_recurrence
    : ts::sequential<ts::sequence<Steps, 5>, ts::lstm<Steps, ts::lstm_cell<3, in, again>>, ts::cross_entropy> {};
struct q : ts::linear<6> {};
struct k : ts::linear<6> {};
struct v : ts::linear<6> {};
struct o : ts::linear<6> {};
struct wide : ts::linear<9> {};
struct seen : ts::softmax<ts::causal> {};
struct windowed : ts::attention<ts::heads<2>, ts::causal, ts::sliding_window<2>> {};
struct nothing;
using astray = ts::cross_attention<nothing, 2, q, k, v, o, ts::softmax<>>;
template <class... Parts>
using on_sequence = ts::sequential<ts::sequence<4, 6>, Parts..., ts::cross_entropy>;
using twice = ts::lstm<4, ts::lstm_cell<3, in, again>>;

} // namespace

TEST_CASE("attention is one operator, unless its weights are asked for") {
    const ts::graph g = ts::describe<n::transformer::network>(2);
    CHECK(count(g, ts::op_kind::attention) == 1);
    CHECK(count(g, ts::op_kind::matmul) == 0);
    CHECK(count(g, ts::op_kind::softmax) == 0);
    CHECK(static_cast<int>(g.ops.size()) == n::transformer::network::op_count);
    CHECK(g.tensors[1].extents == make_shape(2, 6, 8)); // the words; their labels come with the loss

    using own = on_sequence<ts::self_attention<2, q, k, v, o, seen>>;
    const ts::graph parts = ts::describe<own>(2);
    std::vector<ts::shape> products;
    for (const ts::op_node& op : parts.ops) {
        if (op.attributes.kind == ts::op_kind::matmul) {
            products.push_back(parts.tensors[ts::to_size(op.output)].extents);
        }
    }
    CHECK(products == std::vector<ts::shape>{make_shape(2, 2, 4, 4), make_shape(2, 4, 6)});
    CHECK(static_cast<int>(parts.ops.size()) == own::op_count);
}

TEST_CASE("what self_attention's weights say, its operator says") {
    const auto of = [](const ts::graph& g) {
        for (const ts::op_node& op : g.ops) {
            if (op.attributes.kind == ts::op_kind::attention || op.attributes.kind == ts::op_kind::padded_attention) {
                return op.attributes;
            }
        }
        return ts::op_attributes{};
    };
    CHECK(of(ts::describe<on_sequence<ts::self_attention<2, q, k, v, o, ts::softmax<ts::causal>, ts::dropout<30>>>>(
              2)) == ts::attention<ts::heads<2>, ts::causal, ts::percent<30>>::attributes);
    CHECK(of(ts::describe<on_sequence<ts::self_attention<3, q, k, v, o, ts::softmax<>>>>(2)) ==
          ts::attention<ts::heads<3>>::attributes);
    CHECK(of(ts::describe<on_sequence<ts::self_attention<2, q, k, v, o, windowed>>>(2)) == windowed::attributes);
    using padded = ts::self_attention<2, q, k, v, o, ts::with_lengths<ts::padded_softmax<ts::causal>>, ts::dropout<5>>;
    CHECK(of(ts::describe<on_sequence<padded>>(2)) ==
          ts::padded_attention<ts::heads<2>, ts::causal, ts::percent<5>>::attributes);
}

TEST_CASE("query, key, value and output may be parts of several layers") {
    using query = ts::branch<wide, ts::relu, q>;
    using attention = ts::self_attention<2, query, k, ts::branch<ts::tanh, v>, ts::branch<o, ts::tanh>, ts::softmax<>>;
    using network = on_sequence<attention>;
    const ts::graph g = ts::describe<network>(2);
    CHECK(g.ops.size() == 3 + 1 + 2 + 1 + 2 + 1);
    CHECK(network::op_count == static_cast<int>(g.ops.size()));
    static_assert(ts::describe<network, 2>().op_count == network::op_count);
    CHECK(words<on_sequence<attention, ts::linear<0>>>() == text_of_rule(ts::rule::extent_is_zero, "linear", "", 0, 1));
}

TEST_CASE("a tied layer has the table of its source and a bias of its own") {
    const ts::graph g = ts::describe<n::transformer::network>(2);
    const ts::op_node& words_op = g.ops.front();
    const ts::op_node& logits = g.ops[g.ops.size() - 2];
    REQUIRE(logits.parameters.size() == 2);
    CHECK(logits.parameters[0] == words_op.parameters[0]);
    CHECK(g.parameters[ts::to_size(logits.parameters[1])].extents == make_shape(11));
    CHECK(words<on_sequence<q, ts::tied<k, v>>>() == text_of_rule(ts::rule::tied_to_nothing, "k", "", 0, 1));
}

TEST_CASE("an LSTM has the operators of its formulas, and one set of parameters for all steps") {
    using ts::op_kind;
    for (const int steps : {1, 8, 9, 20}) {
        const ts::graph g = steps == 1   ? ts::describe<long_recurrence<1>>(2)
                            : steps == 8 ? ts::describe<long_recurrence<8>>(2)
                            : steps == 9 ? ts::describe<long_recurrence<9>>(2)
                                         : ts::describe<long_recurrence<20>>(2);
        CAPTURE(steps);
        CHECK(g.parameters.size() == (steps == 1 ? 2 : 3));
        CHECK(count(g, op_kind::linear) == 2 * steps - 1);
        CHECK(count(g, op_kind::sigmoid) == 3 * steps - 1);
        CHECK(count(g, op_kind::tanh) == 2 * steps);
        CHECK(count(g, op_kind::multiply) == 3 * steps - 1);
        CHECK(count(g, op_kind::add) == 2 * (steps - 1));
        CHECK(count(g, op_kind::slice) == steps + 4 * steps - 1);
        CHECK(count(g, op_kind::concat) == (steps == 1 ? 0 : steps == 8 ? 1 : steps == 9 ? 2 : 4));
        CHECK(g.tensors[ts::to_size(g.ops.back().inputs[0])].extents == make_shape(2, steps, 3));
    }
    CHECK(static_cast<int>(ts::describe<long_recurrence<20>>(2).ops.size()) == long_recurrence<20>::op_count);
    CHECK(words<on_sequence<twice, q, twice>>() == text_of_rule(ts::rule::layer_used_twice, "in", "", 5, 1));
    CHECK(words<on_sequence<ts::lstm<5, ts::lstm_cell<3, in, again>>>>() ==
          text_of_rule(ts::rule::slice_outside_input, "step", "position", 5, 4));
}

TEST_CASE("a decoder starts where its encoder ended") {
    using namespace n::translator;
    const ts::graph g = ts::describe<network>(2);
    CHECK(static_cast<int>(g.ops.size()) == network::op_count);
    CHECK(std::count_if(g.tensors.begin(), g.tensors.end(), [](const ts::tensor_node& t) { return t.producer < 0; }) ==
          3);
    CHECK(count(g, ts::op_kind::linear) == 3 + 2 + 2 + 2 + 4 + 2); // the encoder has no state in its first step
    struct alone : ts::dag<ts::input<target, ts::tokens<2>>, ts::input<truth, ts::tokens<2>>,
                           ts::chain<scores, target, target_words, ts::lstm<2, decoder>>,
                           ts::node<loss, ts::cross_entropy, scores, truth>> {};
    CHECK(test_support::contains(words<alone>(), ts::to_text(ts::rule::tap_not_saved)));
}

TEST_CASE("chains and attention to what is not there are refused") {
    using namespace n::translator;
    CHECK(words<on_sequence<astray>>() == text_of_rule(ts::rule::tap_not_saved, "nothing", "", 0, 1));
    struct lost : ts::dag<ts::input<truth, ts::tokens<2>>, ts::chain<scores, target, target_words>,
                          ts::node<loss, ts::cross_entropy, scores, truth>> {};
    CHECK(words<lost>() == "tessera: " + std::string(ts::to_text(ts::rule::unknown_node)) +
                               " [layer scores, missing target, found 0, needed 1]");
}

// In constant expressions too.
static_assert(ts::describe<n::transformer::network, 8>().op_count == n::transformer::network::op_count);
static_assert(ts::describe<n::recurrent::network, 8>().integers_in(0) == 9);
