// SPDX-License-Identifier: Apache-2.0
// No question that other layers ask of a record or a description is a question for one operator's name. Each is
// computed for all operators of the library; where only one says yes, an operator of one's own, defined here, says so
// too, and is not that operator.
#include "op/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace tests;
using ts::affine;
using ts::description;
using ts::index_t;
using ts::loop_name;
using ts::op_attributes;
using ts::op_record;
using ts::operand;
using ts::operand_kind;
using ts::shape;
using words = ts::detail::describer;

// ---- operators of one's own -----------------------------------------------------------------------------------------

/// An operand of the extents [N,C] and the loops n and c.
int rows(words& w, operand_kind kind, int slot, const shape& x, ts::element type = ts::element::f32) {
    const int o = w.add_operand(kind, slot, type);
    w.index(o, x[0], 0);
    w.index(o, x[1], 1);
    return o;
}
words over_rows(const shape& x) {
    words w;
    w.add_loop(loop_name::sample, x[0]);
    w.add_loop(loop_name::channel, x[1]);
    return w;
}

/// x[N,C], targets[N,C] -> the sum of (x - target)^2 of every row: a loss whose labels are numbers.
description squared_error(const op_attributes&, const shape* x, int) {
    words w = over_rows(*x);
    const int in = rows(w, operand_kind::input, 0, *x);
    const int targets = rows(w, operand_kind::input, 1, *x);
    const int out = w.add_operand(operand_kind::output, 0);
    w.index(out, x[0][0], 0);
    w.d.operands[targets].differentiable = false;
    w.d.operands[in].gradient_reads = ts::bit(in) | ts::bit(targets);
    w.add_nest(w.all_loops(), ts::bit(in) | ts::bit(targets), out, ts::reducer::sum, 3);
    return w.d;
}
/// x[N,C] -> [N,1,C]: a sequence of one position.
description as_sequence(const op_attributes&, const shape* x, int) {
    words w = over_rows(*x);
    const int in = rows(w, operand_kind::input, 0, *x);
    const int out = w.add_operand(operand_kind::output, 0);
    w.index(out, x[0][0], 0);
    w.index(out, 1, w.everything());
    w.index(out, x[0][1], 1);
    w.d.linear = true;
    w.add_nest(w.all_loops(), ts::bit(in), out, ts::reducer::none, 0);
    return w.d;
}
/// x[N,C] less the mean of its channels, of which a running one is kept.
description centred(const op_attributes&, const shape* x, int) {
    words w = over_rows(*x);
    const int in = rows(w, operand_kind::input, 0, *x);
    const int running = w.add_operand(operand_kind::state, 0);
    w.index(running, x[0][1], 1);
    w.d.operands[running].differentiable = false;
    const int mean = w.add_operand(operand_kind::intermediate, 0, ts::element::f64);
    w.index(mean, x[0][1], 1);
    const int out = rows(w, operand_kind::output, 0, *x);
    w.add_nest(w.all_loops(), ts::bit(in), mean, ts::reducer::sum, 1);
    w.add_nest(w.all_loops(), ts::bit(in) | ts::bit(mean), out, ts::reducer::none, 1);
    return w.d;
}
/// x[N,C], y[N,C'] -> [N,C+1+C']: side by side, with a gap between.
description beside(const op_attributes&, const shape* x, int) {
    const index_t width = x[0][1] + 1 + x[1][1];
    words w = over_rows(ts::make_shape(x[0][0], width));
    const int first = w.add_operand(operand_kind::input, 0);
    w.index(first, x[0][0], 0);
    w.index(first, x[0][1], 1);
    const int second = w.add_operand(operand_kind::input, 1);
    w.index(second, x[1][0], 0);
    w.index(second, x[1][1], w.at(1, 1, -x[0][1] - 1));
    const int out = rows(w, operand_kind::output, 0, ts::make_shape(x[0][0], width));
    w.add_nest(w.all_loops(), ts::bit(first) | ts::bit(second), out, ts::reducer::none, 0);
    return w.d;
}
/// tokens[N,T] -> [N,C]: the sum of the rows of a table at a sample's tokens.
description bag(const op_attributes&, const shape* x, int) {
    words w;
    w.add_loop(loop_name::sample, x[0][0]);
    w.add_loop(loop_name::position, x[0][1]);
    w.add_loop(loop_name::channel, 4);
    w.add_loop(loop_name::reduction, 9);
    const int tokens = w.add_operand(operand_kind::input, 0, ts::element::i32);
    w.index(tokens, x[0][0], 0);
    w.index(tokens, x[0][1], 1);
    w.d.operands[tokens].differentiable = false;
    const int table = w.add_operand(operand_kind::parameter, 0);
    w.index(table, 9, 3);
    w.index(table, 4, 2);
    w.d.operands[table].gathered = true;
    const int out = w.add_operand(operand_kind::output, 0);
    w.index(out, x[0][0], 0);
    w.index(out, 4, 2);
    w.add_nest(w.all_loops(), ts::bit(tokens) | ts::bit(table), out, ts::reducer::sum, 1);
    return w.d;
}
/// x[N,C] -> max(0, x W): a product and what follows it in one.
description rectified_product(const op_attributes&, const shape* x, int) {
    words w = over_rows(ts::make_shape(x[0][0], 5));
    w.add_loop(loop_name::reduction, x[0][1]);
    const int in = w.add_operand(operand_kind::input, 0);
    w.index(in, x[0][0], 0);
    w.index(in, x[0][1], 2);
    const int matrix = w.add_operand(operand_kind::parameter, 0);
    w.index(matrix, 5, 1);
    w.index(matrix, x[0][1], 2);
    const int product = rows(w, operand_kind::intermediate, 0, ts::make_shape(x[0][0], 5));
    const int out = rows(w, operand_kind::output, 0, ts::make_shape(x[0][0], 5));
    w.add_nest(w.all_loops(), ts::bit(in) | ts::bit(matrix), product, ts::reducer::sum, 2);
    w.add_nest(ts::bit(0) | ts::bit(1), ts::bit(product), out, ts::reducer::none, 1);
    return w.d;
}
/// x[N,C,H] -> the sums of its neighbours with fixed weights: windows without parameters.
description blurred(const op_attributes&, const shape* x, int) {
    words w = over_rows(*x);
    w.add_loop(loop_name::height, x[0][2] - 2);
    w.add_loop(loop_name::window_height, 3, true);
    affine window = words::at(2);
    window.terms.push_back({3, 1});
    const int in = rows(w, operand_kind::input, 0, *x);
    w.index(in, x[0][2], window);
    const int out = rows(w, operand_kind::output, 0, *x);
    w.index(out, x[0][2] - 2, 2);
    w.add_nest(w.all_loops(), ts::bit(in), out, ts::reducer::sum, 2);
    return w.d;
}
/// x[N,C] -> each channel with its counterpart from the other end: one tensor read in two ways.
description both_ways(const op_attributes&, const shape* x, int) {
    words w = over_rows(*x);
    const int up = rows(w, operand_kind::input, 0, *x);
    const int down = w.add_operand(operand_kind::input, 1);
    w.index(down, x[0][0], 0);
    w.index(down, x[0][1], w.at(1, -1, x[0][1] - 1));
    const int out = rows(w, operand_kind::output, 0, *x);
    w.add_nest(w.all_loops(), ts::bit(up) | ts::bit(down), out, ts::reducer::none, 1);
    return w.d;
}
/// x[N,C] -> its column `place`, one of the attributes.
struct column_attributes {
    index_t place = 0;
};
description column(const op_attributes& a, const shape* x, int) {
    words w;
    w.add_loop(loop_name::sample, x[0][0]);
    const int in = w.add_operand(operand_kind::input, 0);
    w.index(in, x[0][0], 0);
    affine place;
    place.offset = a.as<column_attributes>().place;
    w.index(in, x[0][1], place);
    const int out = w.add_operand(operand_kind::output, 0);
    w.index(out, x[0][0], 0);
    w.add_nest(w.all_loops(), ts::bit(in), out, ts::reducer::none, 0);
    return w.d;
}

const op_record own_records[] = {
    {.name = "squared_error", .describe = squared_error, .inputs = 2, .facts = {.loss = true}},
    {.name = "as_sequence", .describe = as_sequence, .facts = {.view = true, .passes_gradient = true}},
    {.name = "centred",
     .describe = centred,
     .initial = {ts::initial_values::moments},
     .momentum = [](const op_attributes&) { return 0.5; }},
    {.name = "beside", .describe = beside, .inputs = 0},
    {.name = "bag", .describe = bag, .index_bound = [](const op_attributes&, const shape*, int) { return index_t{9}; }},
    {.name = "rectified_product", .describe = rectified_product, .facts = {.work = ts::work_kind::matrix_product}},
    {.name = "blurred", .describe = blurred, .facts = {.work = ts::work_kind::convolution}},
    {.name = "column",
     .describe = column,
     .without_place =
         [](op_attributes a) {
             a.set(column_attributes{});
             return a;
         }},
    {.name = "shortened",
     .describe = squared_error,
     .inputs = 2,
     .for_longest = [](op_attributes a, const shape*) { return a; }},
    {.name = "class_distance",
     .describe = squared_error,
     .inputs = 2,
     .facts = {.loss = true},
     .labels = [](const op_attributes&, const shape& x) { return ts::make_shape(x[0], x[1]); },
     .divisor = [](const op_attributes&, const shape& x) { return x[0]; }},
    {.name = "planned", .describe = beside, .inputs = 0, .only_planned = "is planned alone"},
    {.name = "both_ways", .describe = both_ways, .inputs = 2, .uses = [](const op_attributes&) { return 2; }},
};

std::vector<op_case> own_table() {
    std::vector<op_case> table;
    for (const op_record& r : own_records) {
        const shape x = r.facts.work == ts::work_kind::convolution ? ts::make_shape(3, 4, 5) : ts::make_shape(3, 4);
        table.push_back({r.name, op_attributes{.kind = {&r}}, std::vector<shape>(r.inputs == 1 ? 1 : 2, x)});
    }
    return table;
}

// ---- what may be asked ----------------------------------------------------------------------------------------------

using question = bool (*)(const op_record&, const description&);
struct asked {
    const char* what;
    question is;
};

template <class Which>
bool any_operand(const description& d, const Which& which) {
    return std::any_of(d.operands.begin(), d.operands.end(), which);
}

template <ts::initial_values Values>
constexpr question begins_with = [](const op_record& r, const description&) {
    return std::find(std::begin(r.initial), std::end(r.initial), Values) != std::end(r.initial);
};
template <ts::work_kind Kind>
constexpr question works = [](const op_record& r, const description&) { return r.facts.work == Kind; };
template <operand_kind Kind>
constexpr question has_operand = [](const op_record&, const description& d) { return d.find_operand(Kind) >= 0; };
template <ts::element Type>
constexpr question has_type = [](const op_record&, const description& d) {
    return any_operand(d, [](const operand& o) { return o.type == Type; });
};
template <ts::reducer How>
constexpr question reduces = [](const op_record&, const description& d) {
    return std::any_of(d.nests.begin(), d.nests.end(), [](const ts::nest& n) { return n.reduce == How; });
};
template <bool operand::*Flag, bool Value = true>
constexpr question has_flag = [](const op_record&, const description& d) {
    return any_operand(d, [](const operand& o) { return o.*Flag == Value; });
};
template <bool (*Of)(const description&)>
constexpr question of = [](const op_record&, const description& d) { return Of(d); };

/// Every yes-or-no of a record, of a description, and of op/analysis.hpp.
const asked questions[] = {
    {"takes two inputs or more", [](const op_record& r, const description&) { return r.inputs == 0; }},
    {"uses", [](const op_record& r, const description&) { return r.uses != nullptr; }},
    {"for_longest", [](const op_record& r, const description&) { return r.for_longest != nullptr; }},
    {"piecewise", [](const op_record& r, const description&) { return r.piecewise != nullptr; }},
    {"without_place", [](const op_record& r, const description&) { return r.without_place != nullptr; }},
    {"momentum", [](const op_record& r, const description&) { return r.momentum != nullptr; }},
    {"index_bound", [](const op_record& r, const description&) { return r.index_bound != nullptr; }},
    {"labels", [](const op_record& r, const description&) { return r.labels != nullptr; }},
    {"divisor", [](const op_record& r, const description&) { return r.divisor != nullptr; }},
    {"ignored", [](const op_record& r, const description&) { return r.ignored != nullptr; }},
    {"row_weight", [](const op_record& r, const description&) { return r.row_weight != nullptr; }},
    {"only_planned", [](const op_record& r, const description&) { return r.only_planned != nullptr; }},
    {"makes_probabilities", [](const op_record& r, const description&) { return r.makes_probabilities; }},
    {"takes_logits", [](const op_record& r, const description&) { return r.takes_logits; }},
    {"lists attributes", [](const op_record& r, const description&) { return r.own != nullptr; }},
    {"initial uniform", begins_with<ts::initial_values::uniform>},
    {"initial ones", begins_with<ts::initial_values::ones>},
    {"initial zeros", begins_with<ts::initial_values::zeros>},
    {"initial moments", begins_with<ts::initial_values::moments>},
    {"work convolution", works<ts::work_kind::convolution>},
    {"work matrix_product", works<ts::work_kind::matrix_product>},
    {"work elementwise", works<ts::work_kind::elementwise>},
    {"view", [](const op_record& r, const description&) { return r.facts.view; }},
    {"passes_gradient", [](const op_record& r, const description&) { return r.facts.passes_gradient; }},
    {"loss", [](const op_record& r, const description&) { return r.facts.loss; }},
    {"merges", [](const op_record& r, const description&) { return r.facts.merges; }},
    {"joint_gradients", [](const op_record& r, const description&) { return r.facts.joint_gradients; }},
    {"linear", [](const op_record&, const description& d) { return d.linear; }},
    {"running state", [](const op_record&, const description& d) { return d.has_running_state(); }},
    {"has parameters", has_operand<operand_kind::parameter>},
    {"has intermediates", has_operand<operand_kind::intermediate>},
    {"not differentiable", has_flag<&operand::differentiable, false>},
    {"additive", has_flag<&operand::additive>},
    {"gathered", has_flag<&operand::gathered>},
    {"integer operand", has_type<ts::element::i32>},
    {"operand in double", has_type<ts::element::f64>},
    {"reduces by sums", reduces<ts::reducer::sum>},
    {"reduces by maxima", reduces<ts::reducer::max>},
    {"one nest does not reduce", reduces<ts::reducer::none>},
    {"whole loop",
     [](const op_record&, const description& d) {
         return std::any_of(d.loops.begin(), d.loops.end(), [](const ts::loop& l) { return l.whole; });
     }},
    {"joins_samples", of<ts::joins_samples>},
    {"is_pointwise", of<ts::is_pointwise>},
    {"joins_inputs", of<ts::joins_inputs>},
    {"looks_up", of<ts::looks_up>},
    {"multiplies_by_matrix", of<ts::multiplies_by_matrix>},
    {"is_seen_through_windows",
     [](const op_record&, const description& d) { return ts::is_seen_through_windows(d, 0); }},
};

std::set<std::string> who_say_yes(const asked& a, const std::vector<op_case>& table) {
    std::set<std::string> names;
    for (const op_case& c : table) {
        const op_record& r = ts::record_of(c.attributes);
        if (a.is(r, c.describe())) {
            names.insert(r.name);
        }
    }
    return names;
}

TEST_CASE("what is true of a single operator of the library is true of others too") {
    const asked any{"anything", [](const op_record&, const description&) { return true; }};
    const std::set<std::string> all = who_say_yes(any, op_table());
    for (const asked& a : questions) {
        const std::set<std::string> names = who_say_yes(a, op_table());
        const std::set<std::string> own = who_say_yes(a, own_table());
        std::string text;
        for (const std::string& n : names) {
            text += " " + n;
        }
        const std::string told = std::string(a.what) + ":" + text;
        INFO(told);
        CHECK(names.size() + own.size() >= 1); // or nobody needs it
        CHECK((names.size() != 1 || !own.empty()));
        CHECK(names.size() < all.size());
    }
}

TEST_CASE("no yes-or-no is forgotten here") {
    // A member more in one of these does not compile; then it is a question more above.
    [[maybe_unused]] const auto [work, view, passes_gradient, loss, merges, joint] = ts::op_facts{};
    [[maybe_unused]] const auto [name, infer, describe, inputs, uses, facts, initial, anywhere, for_longest, pieces,
                                 momentum, integers, labels, divisor, ignored, row_weight, formula, generated, rows,
                                 own, only_planned, makes_probabilities, takes_logits] = op_record{};
    [[maybe_unused]] const auto [kind, slot, extents, type, dim, differentiable, additive, gathered, gradient_reads,
                                 gradient_times] = operand{};
    [[maybe_unused]] const auto [loops, reads, write, reduce, flops] = ts::nest{};
    [[maybe_unused]] const auto [said, its_loops, operands, nests, seen, linear] = description{};
    [[maybe_unused]] const auto [called, extent, whole] = ts::loop{};
    CHECK(!(view || passes_gradient || loss || merges || joint || makes_probabilities || takes_logits || additive ||
            gathered || linear || whole || facts.view || said.view));
    CHECK(differentiable);
    const bool nothing = uses == nullptr && anywhere == nullptr && pieces == nullptr && momentum == nullptr &&
                         integers == nullptr && labels == nullptr && divisor == nullptr && ignored == nullptr &&
                         row_weight == nullptr && formula == nullptr && own == nullptr && only_planned == nullptr;
    CHECK(nothing);
}

} // namespace
