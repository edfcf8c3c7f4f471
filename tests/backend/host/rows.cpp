// SPDX-License-Identifier: Apache-2.0
// The host's operator table against the jobs that are made for the rows of the operator test table, and what it says of
// operators that it does not have.
#include "support/host_operators.hpp"
#include "support/refusal.hpp"

#include "tessera/backend/host/backend.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <sstream>

namespace {

using namespace host_operators;
using words = std::set<std::string>;

words split(const std::string& list) {
    words all;
    std::istringstream text(list);
    for (std::string one; std::getline(text >> std::ws, one, ',');) {
        all.insert(one);
    }
    return all;
}

/// Ways of shapes that a row does not take are plain loops, whatever the row says.
words said_of(const words& made) {
    words all = made;
    if (all.size() > 1) {
        all.erase("plain loops");
    }
    return all;
}

void squared(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        to[i] = from[0][i] * from[0][i];
    }
}
void doubled(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        to[i] = 2 * from[0][i] * from[2][i];
    }
}
constexpr host::elementwise_kernels square_kernels{squared, {doubled}};

/// An operator of somebody who is not the library.
constexpr ts::op_record square_record{.name = "square",
                                      .infer = ts::op::gelu_record.infer,
                                      .describe = [](const ts::op_attributes&, const ts::shape* x, int) {
                                          return ts::op::describe_function(*x, 1, false);
                                      }};

std::string line_of(const ts::op_record& r) {
    std::istringstream text(host::operator_table());
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with(std::string(r.name) + ": ")) {
            return line;
        }
    }
    return {};
}

} // namespace

TEST_CASE("what the table says of each pass is what computes it") {
    tester t;
    for (const op_case& row : op_table()) {
        const bool sees_one_key = std::string(row.name).find("attention") != std::string::npos; // some rows: exactly 0
        t.close.absolute = sees_one_key ? 1e-8 : 1e-12;
        t.check_row(row, 3, 0);
    }
    for (const ts::op_record* r : ts::library_operators) {
        CAPTURE(std::string(r->name));
        const host::operator_row* const row = host::row_of(*r);
        const bool has_gradients = r != &ts::op::token_slots_record;
        const words made[2] = {said_of(t.computed[0].at(r)),
                               has_gradients ? said_of(t.computed[1].at(r)) : words{"plain loops"}};
        if (row == nullptr) {
            CHECK(words{"flatten", "gather_rows", "keep_top", "scatter_rows", "reshape", "slice", "position_embedding",
                        "route", "token_slots"}
                      .contains(std::string(r->name)));
            CHECK(made[0] == words{"plain loops"});
            CHECK(made[1] == words{"plain loops"});
            continue;
        }
        CHECK(made[0] == split(row->forward));
        CHECK(made[1] == split(row->backward));
        bool others = false;
        for (const words& w : made) {
            for (const std::string& one : w) {
                others = others || !one.starts_with("oneDNN ");
            }
        }
        // A bias that is added by a loop of our own is no job.
        CHECK((*row->why != 0) == (others || r == &ts::op::transposed_conv2d_record));
    }
}

TEST_CASE("a line of the table for each operator") {
    CHECK(line_of(ts::op::conv2d_record) == "conv2d: forward oneDNN convolution, own kernel; backward oneDNN "
                                            "convolution, own kernel; vectors of 16 samples "
                                            "are faster where channels are few");
    CHECK(line_of(ts::op::matmul_record) == "matmul: forward oneDNN sgemm; backward oneDNN sgemm");
    CHECK(line_of(ts::op::slice_record) ==
          "slice: forward plain loops; backward plain loops; the reference's: no row of its own");
    CHECK(line_of(ts::op::flatten_record) == "flatten: nothing to compute: a name for the same memory");
    for (const ts::op_record* r : ts::library_operators) {
        CHECK(!line_of(*r).empty());
    }
}

TEST_CASE("every operator of the library is supported in fp32, and none in bf16") {
    const ts::pass passes[] = {ts::pass::forward,         ts::pass::backward,  ts::pass::backward_input,
                               ts::pass::backward_weight, ts::pass::recompute, ts::pass::evaluate};
    for (const ts::op_record* r : ts::library_operators) {
        for (const ts::pass what : passes) {
            CHECK(host::supports(*r, what, ts::precision::fp32));
            CHECK(host::supports(*r, what, ts::precision::tf32));
            CHECK(!host::supports(*r, what, ts::precision::bf16));
        }
        // Of running statistics: no other operator has any.
        CHECK(host::supports(*r, ts::pass::update, ts::precision::fp32) == (r == &ts::op::batch_norm_record));
    }
}

TEST_CASE("an operator that the host does not know is refused by name") {
    CHECK(host::row_of(square_record) == nullptr);
    CHECK(!host::supports(square_record, ts::pass::forward, ts::precision::fp32));
    CHECK(host::refusal_of(square_record, ts::precision::fp32, "body.square") ==
          "tessera: body.square: the host backend does not know the operator square, and the reference has no plain "
          "loops for "
          "it; its record may bring a row: .rows = {{\"host\", &row}}");
}

TEST_CASE("a backend that was made for certain operators has their rows, refuses others by name, and takes more") {
    struct fc : ts::linear<4> {};
    struct small : ts::sequential<ts::features<3>, fc, ts::cross_entropy> {};
    struct larger : ts::sequential<ts::features<3>, fc, ts::softmax<>, ts::cross_entropy> {};
    CHECK(host::rows_of<ts::operators_of<small>>().rows.size() == 2);
    CHECK(host::rows_of<ts::operators_of<small>>().plain.size() == 2);
    CHECK(host::rows_of<ts::operators_of<small, larger>>().rows.size() == 3);
    CHECK(host::rows_of<ts::operator_of<fc>>().rows[0]->of == &ts::op::linear_record);
    const auto bind = [](auto& backend, const ts::graph& g) {
        ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 1);
        backend.bind(p, g.view(), nullptr);
    };
    const ts::graph fits = ts::describe<small>(4);
    const ts::graph other = ts::describe<larger>(4);
    host::backend b(ts::sgd{}, host::backend_options{}, ts::operators_of<small>{});
    CHECK_NOTHROW(bind(b, fits));
    CHECK(
        test_support::message_of([&] { bind(b, other); }) ==
        "tessera: softmax: the backend was made for a network without the operator softmax; make one for this network: "
        "without a set of operators a backend has them all");
    b.rows().add(host::rows_of<ts::operators_of<larger>>());
    CHECK_NOTHROW(bind(b, other));
    ts::reference::backend r(ts::sgd{}, ts::operators_of<small>{});
    CHECK_NOTHROW(bind(r, fits));
    CHECK(test_support::message_of([&] { bind(r, other); }) ==
          "tessera: the backend was made for a network without the operator softmax; make one for this network: "
          "without a "
          "set of operators a backend has them all");
    host::backend all; // expressions have plain loops everywhere, and are never refused
    CHECK_NOTHROW(bind(all, other));
}

namespace own {
struct without_gain : ts::operation<without_gain> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto x = w.input(n, c);
        w.output(n, c) = x * rsqrt(w.mean(c, x * x) + 1e-5);
    }
};
struct rms_norm : ts::operation<rms_norm> { // the library's has a parameter
    static constexpr const char* name = "rms_norm";
    static constexpr void body(auto& w) { without_gain::body(w); }
};
struct fc : ts::linear<4> {};
template <class Norm>
struct network : ts::sequential<ts::features<3>, fc, Norm, ts::cross_entropy> {};
} // namespace own

TEST_CASE("an operator of one's own with the name of one of the library is refused, not computed as that one") {
    const auto bind = [](const ts::graph& g) {
        ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 1);
        host::backend().bind(p, g.view(), nullptr);
    };
    CHECK(
        test_support::message_of([&] { bind(ts::describe<own::network<own::rms_norm>>(4)); }) ==
        "tessera: rms_norm: an operator of the library is called rms_norm, and this is another; give it a name of its "
        "own: static constexpr const char* name = \"...\"");
    CHECK_NOTHROW(bind(ts::describe<own::network<own::without_gain>>(4)));
    CHECK_NOTHROW(bind(ts::describe<own::network<ts::rms_norm<>>>(4)));
}

TEST_CASE("a kernel that a plan names and nobody has is refused, not computed as another") {
    const op_case row{"flatten", {.kind = ts::op_kind::flatten}, {ts::make_shape(2, 3, 4, 4)}};
    const ts::description d = row.describe();
    host::bound_call b;
    b.call.attributes = row.attributes;
    b.call.d = &d;
    b.how.engine = host::engine_kind::vectors;
    CHECK(
        test_support::message_of(
            [&] { (void)host::detail::make_job(b, host::format_table{}, nullptr, host::all_rows()); }) ==
        "tessera: the host backend has no kernel for the operator flatten, of which the plan names one; bind the plan "
        "again");
}

TEST_CASE("an element-wise operator is a row of kernels, which may be written by hand") {
    constexpr host::operator_row row = host::elementwise_row<square_kernels>(&square_record);
    const op_case like{"square", {.kind = ts::op_kind{&square_record}}, {ts::make_shape(2, 3, 2, 2)}};
    op_instance whole(like);
    host::format_table table;
    for (const ts::pass what : {ts::pass::forward, ts::pass::backward}) {
        ts::compute_call c = whole.call(what);
        c.emits = what == ts::pass::backward ? ts::bit(0) : 0;
        std::vector<host::candidate> ways;
        row.add_candidates(c, table, ways);
        REQUIRE(ways.size() == 3);
        std::vector<float> x = {-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
        std::vector<float> dy(x.size(), 0.5F);
        std::vector<float> made(x.size());
        host::bound_call b{c, ways[0], nullptr, nullptr};
        REQUIRE(host::detail::entry_format(ways[0]) == host::format::plain);
        b.call.value[0].data = x.data();
        b.call.value[1].data = made.data();
        b.call.gradient[1].data = dy.data();
        b.call.gradient[0].data = made.data();
        row.make_job(b, table, nullptr)->run({});
        for (std::size_t i = 0; i < x.size(); ++i) {
            CHECK(made[i] == (what == ts::pass::forward ? x[i] * x[i] : x[i]));
        }
    }
}

TEST_CASE("an expression is offered in blocks of channels where it makes 0 of the zeros that fill them up") {
    const auto ways_of = [](const ts::op_attributes& a) {
        const op_case like{"elements", a, {ts::make_shape(2, 3, 2, 2)}};
        op_instance whole(like);
        host::format_table table;
        std::vector<host::candidate> ways;
        host::row_of(ts::record_of(a))->add_candidates(whole.call(ts::pass::forward), table, ways);
        return ways.size();
    };
    for (const ts::op_kind k : {ts::op_kind::relu, ts::op_kind::tanh, ts::op_kind::gelu, ts::op_kind::silu}) {
        CHECK(ways_of({.kind = k}) == 4);
    }
    CHECK(ways_of({.kind = ts::op_kind::sigmoid}) == 3);
}

TEST_CASE("rules of thumb: blocks of samples for few channels, oneDNN's formats for many, plain images last") {
    struct expected {
        ts::index_t channels;
        host::engine_kind best;
    };
    for (const expected& e : {expected{16, host::engine_kind::vectors}, {64, host::engine_kind::onednn}}) {
        const op_case row{
            "conv2d",
            ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {5, 5}, .out = e.channels}),
            {ts::make_shape(16, e.channels, 9, 9)}};
        op_instance whole(row);
        host::format_table table;
        const ts::compute_call c = whole.call(ts::pass::forward);
        const host::operator_row& conv = *host::row_of(ts::op::conv2d_record);
        double least = 1e30;
        double most = 0;
        host::candidate best;
        host::candidate worst;
        for (const host::candidate& k : host::detail::candidates_of(c, table, host::all_rows())) {
            const double effort = conv.effort(c, k, 100.0);
            best = effort < least ? k : best;
            worst = effort > most ? k : worst;
            least = std::min(least, effort);
            most = std::max(most, effort);
        }
        CHECK(best.engine == e.best);
        CHECK(host::detail::entry_format(worst) == host::format::plain);
    }
}

TEST_CASE("what is measured of one problem is not taken for another's") {
    struct pair {
        const char* what;
        op_case a, b;
    };
    using ts::op_kind;
    const ts::shape image = ts::make_shape(2, 4, 9, 9);
    const ts::shape rows = ts::make_shape(2, 4, 4);
    const pair pairs[] = {
        {"operator", {"", {.kind = op_kind::relu}, {image}}, {"", {.kind = op_kind::tanh}, {image}}},
        {"stride",
         {"", ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {9, 9}, .out = 4}), {image}},
         {"",
          ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {9, 9}, .stride = {2, 2}, .out = 4}),
          {image}}},
        {"heads",
         {"", {.kind = op_kind::matmul}, {rows, rows}},
         {"",
          ts::attributes_of(op_kind::matmul, ts::op::matmul_attributes{.heads = 1, .transposed = {true, false}}),
          {rows, rows}}},
        {"divisor",
         {"",
          ts::attributes_of(op_kind::average_pool,
                            ts::op::average_pool_attributes{.window = {3, 3}, .padding = {1, 1}}),
          {image}},
         {"",
          ts::attributes_of(
              op_kind::average_pool,
              ts::op::average_pool_attributes{.window = {3, 3}, .padding = {1, 1}, .count_padding = true}),
          {image}}},
    };
    for (const pair& p : pairs) {
        CAPTURE(std::string(p.what));
        op_instance a(p.a);
        op_instance b(p.b);
        CHECK(host::detail::problem_name(a.call(ts::pass::forward), host::all_rows()) !=
              host::detail::problem_name(b.call(ts::pass::forward), host::all_rows()));
    }
    // Shards of one extent, with the image's border on one side or the other.
    for (const op_kind kind : {op_kind::conv2d, op_kind::max_pool, op_kind::transposed_conv2d}) {
        const ts::index_t out = kind == op_kind::max_pool ? 0 : 2;
        const op_case row{
            "",
            ts::attributes_of(kind, ts::op::conv2d_attributes{.window = {3, 3}, .padding = {1, 1}, .out = out}),
            {ts::make_shape(2, 2, 8, 8)}};
        op_instance whole(row);
        ts::compute_call first = whole.call(ts::pass::forward);
        ts::compute_call last = first;
        const int height = whole.d.find_loop(ts::loop_name::height);
        first.ranges[height] = {0, 4};
        last.ranges[height] = {4, 8};
        CHECK(host::detail::problem_name(first, host::all_rows()) !=
              host::detail::problem_name(last, host::all_rows()));
    }
    // Three classes of seven, and all of three.
    const op_case some{"", {.kind = op_kind::cross_entropy}, {ts::make_shape(4, 7), ts::make_shape(4)}};
    const op_case all{"", {.kind = op_kind::cross_entropy}, {ts::make_shape(4, 3), ts::make_shape(4)}};
    op_instance part(some);
    op_instance whole(all);
    ts::compute_call split = part.call(ts::pass::backward);
    split.ranges[part.d.find_loop(ts::loop_name::channel)] = {0, 3};
    CHECK(host::detail::problem_name(split, host::all_rows()) !=
          host::detail::problem_name(whole.call(ts::pass::backward), host::all_rows()));
}
