// SPDX-License-Identifier: Apache-2.0
// Convolutions with windows of all sizes: the first of the sweep that tests/fuzz/fuzz_windows.cpp runs at length, and
// what happens to a way that is wrong.
#include "support/window_sweep.hpp"
#include "tessera/backend/host/choose/catalog.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace {

using namespace test_support::window_sweep;

/// A job whose last element is off.
class damaged_job : public host::job {
public:
    damaged_job(ts::owned<host::job> right, float* last) : right_(std::move(right)), last_(last) {}
    void run(const ts::run_state& run) override {
        right_->run(run);
        *last_ += 1;
    }

private:
    ts::owned<host::job> right_;
    float* last_;
};

int jobs_made = 0;

/// Convolutions of which the plain way by oneDNN is wrong.
constexpr host::operator_row damaged_row{
    .of = &ts::op::conv2d_record,
    .add_candidates = host::detail::add_conv_candidates,
    .make_job = [](const host::bound_call& b, const host::format_table& t, dnnl_stream_t s) -> ts::owned<host::job> {
        ++jobs_made;
        const int out = b.call.d->output();
        ts::owned<host::job> made(new host::product_job<host::onednn_convolution>(b, t, s));
        if (b.how.value[out] != host::format::plain || b.how.value[0] != host::format::plain) {
            return made;
        }
        float* const y = static_cast<float*>(b.call.value[out].data);
        return ts::owned<host::job>(new damaged_job(std::move(made), y + b.call.value[out].region.volume() - 1));
    },
    .problem = host::detail::conv_problem,
    .check = host::first_use::sum_of_products,
};
constexpr const host::operator_row* damaged_rows[] = {&damaged_row};

} // namespace

TEST_CASE("every way that is offered for the first convolutions of the sweep is right") {
    int ways = 0;
    for (std::uint64_t i = 1; i <= 60; ++i) {
        std::vector<finding> found;
        try_convolution(draw(i, 2e6), {256, 1 << 17, 4}, true, found, nullptr, true);
        for (const finding& f : found) {
            CAPTURE(f.convolution);
            CAPTURE(f.pass);
            CAPTURE(f.implementation);
            CHECK(f.wrong == "");
            ++ways;
        }
    }
    CHECK(ways > 200);
}

TEST_CASE("gradients of weights of volumes are not offered by blocks where the window is longer than the input") {
    const convolution c = draw(238, 2e7); // oneDNN 3.2 writes past its memory
    REQUIRE(c.text().find("window 8,4,1 stride 3,4,4 padding 7,1,0") != std::string::npos);
    std::vector<finding> found;
    try_convolution(c, {256, 1 << 17, 4}, true, found, "backward_weight", true);
    REQUIRE(found.size() == 1);
    CHECK(found[0].way == "onednn plain");
    CHECK(found[0].wrong == "");
}

namespace {

convolution of(int dimensions, ts::shape x, ts::op::conv3d_attributes a) {
    convolution c;
    c.dimensions = dimensions;
    c.x = x;
    c.a = a;
    return c;
}

/// Found wrong in oneDNN, in one way or more, by a program that calls nothing else.
const std::vector<convolution>& known_wrong() {
    using ts::make_shape;
    static const std::vector<convolution> all = {
        // A window at the depth's beginning by less than a stride, and the next at its end.
        of(3, make_shape(6, 17, 11, 20, 5),
           {.window = {10, 15, 2}, .stride = {3, 2, 2}, .padding = {4, 0, 0}, .out = 24}),
        of(3, make_shape(3, 8, 10, 29, 8),
           {.window = {10, 15, 2}, .stride = {3, 2, 2}, .padding = {4, 0, 0}, .out = 36}),
        of(3, make_shape(7, 3, 7, 21, 6), {.window = {10, 15, 2}, .stride = {3, 2, 2}, .padding = {4, 0, 0}, .out = 9}),
        of(3, make_shape(1, 16, 7, 4, 4), {.window = {7, 2, 2}, .stride = {3, 1, 1}, .padding = {5, 0, 0}, .out = 16}),
        // High windows.
        of(2, make_shape(3, 2, 258, 14), {.window = {257, 14}, .out = 14}),
        of(2, make_shape(1, 2, 32, 16), {.window = {31, 16}, .out = 16}),
        of(2, make_shape(3, 3, 34, 11), {.window = {60, 8}, .padding = {25, 0}, .out = 14}),
        of(2, make_shape(3, 16, 51, 18), {.window = {49, 18}, .out = 16}),
        // One channel lies as channels last do.
        of(2, make_shape(8, 1, 234, 29), {.window = {234, 29}, .out = 10, .bias = true}),
    };
    return all;
}

const convolution& wide_window() {
    static const convolution c =
        of(2, ts::make_shape(1, 2, 138, 290), {.window = {86, 288}, .stride = {3, 3}, .out = 20});
    return c;
}

/// Convolutions with every way of oneDNN's, the wrong ones among them.
constexpr host::operator_row unproved_row{
    .of = &ts::op::conv2d_record,
    .add_candidates = host::detail::add_all_onednn_convolutions,
    .make_job = [](const host::bound_call& b, const host::format_table& t, dnnl_stream_t s) -> ts::owned<host::job> {
        return ts::owned<host::job>(new host::product_job<host::onednn_convolution>(b, t, s));
    },
    .problem = host::detail::conv_problem,
    .check = host::first_use::sum_of_products,
};
constexpr const host::operator_row* unproved_rows[] = {&unproved_row};

} // namespace

TEST_CASE("what oneDNN does wrong is not offered, and every pass has a way all the same") {
    for (const convolution& c : known_wrong()) {
        std::vector<finding> found;
        try_convolution(c, {1024, 1 << 20, 4}, true, found, nullptr, true);
        std::string passes;
        for (const finding& f : found) {
            CAPTURE(f.convolution);
            CAPTURE(f.pass);
            CAPTURE(f.way);
            CAPTURE(f.implementation);
            CHECK(f.wrong == "");
            passes += passes.find(f.pass) == std::string::npos ? f.pass + " " : "";
        }
        CHECK(passes == "forward backward_input backward_weight ");
    }
}

TEST_CASE("weights of a large window are offered in no format that loses some of them, and the first use finds those "
          "that are") {
    const convolution& large = wide_window();
    const ts::op_attributes attributes = large.attributes();
    const ts::description d = ts::record_of(attributes).describe(attributes, &large.x, 1);
    const int weight = d.find_operand(ts::operand_kind::parameter, 0);
    host::format_table table;
    host::profile known;
    const host::unique_stream stream = host::make_stream();
    const auto keeps = [&](const host::candidate& k) {
        const int f = k.value[weight] >= 0 ? k.value[weight] : k.gradient[weight];
        const ts::shape s = d.operands[weight].extents;
        return host::detail::keeps_elements(table, {host::format::plain, f, s}, stream.get());
    };
    const host::operator_rows rows(host::row_table{unproved_rows, {}});
    host::catalog ways(table, known, rows);
    int wrong = 0;
    for (const ts::pass what : {ts::pass::forward, ts::pass::backward_input, ts::pass::backward_weight}) {
        const ts::compute_call c = call_of(d, attributes, what, large);
        std::vector<host::candidate> offered;
        host::detail::add_onednn_convolutions(c, table, offered);
        CHECK(!offered.empty());
        for (const host::candidate& k : offered) {
            CHECK(keeps(k));
        }
        std::vector<host::candidate> all;
        host::detail::add_all_onednn_convolutions(c, table, all);
        for (const host::candidate& k : all) {
            if (!keeps(k) && what != ts::pass::backward_weight) {
                CHECK(!ways.is_right(c, k));
                ++wrong;
            }
        }
    }
    MESSAGE("formats of weights that lose elements: ", wrong);
}

TEST_CASE("a way that is wrong is dropped the first time that it is checked, and the profile remembers both verdicts") {
    convolution of;
    of.x = ts::make_shape(2, 3, 9, 8);
    of.a = {.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .out = 5, .bias = true};
    const ts::op_attributes attributes = of.attributes();
    const ts::description d = ts::record_of(attributes).describe(attributes, &of.x, 1);
    const ts::compute_call c = call_of(d, attributes, ts::pass::forward, of);
    host::format_table table;
    host::profile known;
    const host::operator_rows rows(host::row_table{damaged_rows, {}});
    const auto is_plain = [&](const host::candidate& k) {
        return k.engine == host::engine_kind::onednn && k.value[0] == host::format::plain &&
               k.value[d.output()] == host::format::plain;
    };
    jobs_made = 0;
    int dropped = 0;
    {
        host::catalog ways(table, known, rows);
        const std::vector<host::candidate> first = ways.candidates(c);
        for (const host::candidate& k : first) {
            CHECK(ways.is_right(c, k) == !is_plain(k));
            dropped += is_plain(k) ? 1 : 0;
        }
        CHECK(ways.candidates(c).size() + 1 == first.size());
    }
    REQUIRE(dropped == 1);
    const int made = jobs_made;
    CHECK(made > 1);
    host::catalog again(table, known, rows);
    for (const host::candidate& k : again.candidates(c)) {
        CHECK(!is_plain(k));
        CHECK(again.is_right(c, k));
    }
    CHECK(jobs_made == made); // nothing ran again
}
