// SPDX-License-Identifier: Apache-2.0
// Kernels that follow from loop nests, on every instruction set, over whole operators and over parts of their loops,
// against the reference in double.
#include "op/nests.hpp"
#include "op/harness.hpp"
#include "support/instruction_sets.hpp"

#include "tessera/backend/host/op/nest.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace tests;

namespace {

namespace host = ts::host;
namespace k = ts::host::kernels;

/// A tile as the host has it.
struct float_tile {
    ts::box region;
    std::vector<float> single;
    std::vector<double> twice;

    float_tile(const tile& from, ts::element type) : region(from.region) {
        if (type == ts::element::f64) {
            twice = from.numbers;
        } else {
            single.assign(from.numbers.begin(), from.numbers.end());
        }
    }
    ts::tile_view view() { return {twice.empty() ? static_cast<void*>(single.data()) : twice.data(), region}; }
    std::vector<double> numbers() const {
        return twice.empty() ? std::vector<double>(single.begin(), single.end()) : twice;
    }
    void spoil() {
        std::fill(single.begin(), single.end(), std::nanf(""));
        std::fill(twice.begin(), twice.end(), std::nan(""));
    }
};

struct nest_tester {
    const op_case& row;
    const host::operator_row& how;
    op_instance op;
    host::format_table formats;

    nest_tester(const op_case& c, const host::operator_row& r, std::uint64_t seed) : row(c), how(r), op(c, seed) {
        op.forward();
        op.backward();
    }

    /// What the job of a call writes, against what the reference does in double from the same numbers.
    void check_call(ts::compute_call call, int written, bool is_gradient) {
        std::vector<float_tile> values;
        std::vector<float_tile> gradients;
        std::vector<tile> exact_values;
        std::vector<tile> exact_gradients;
        const auto type_of = [&](int o) { return op.d.operands[o].type; };
        for (int o = 0; o < op.d.operands.size(); ++o) {
            const ts::box region = ts::region(op.d, o, call.ranges);
            exact_values.push_back(part_of(op.value[ts::to_size(o)], region));
            exact_gradients.push_back(part_of(op.gradient[ts::to_size(o)], region));
            values.emplace_back(exact_values.back(), type_of(o));
            gradients.emplace_back(exact_gradients.back(), type_of(o));
        }
        (is_gradient ? gradients : values)[ts::to_size(written)].spoil();
        ts::compute_call exact = call;
        for (int o = 0; o < op.d.operands.size(); ++o) {
            call.value[o] = values[ts::to_size(o)].view();
            call.gradient[o] = gradients[ts::to_size(o)].view();
            exact.value[o] = op_instance::view(exact_values[ts::to_size(o)]);
            exact.gradient[o] = op_instance::view(exact_gradients[ts::to_size(o)]);
        }
        ts::reference::compute<double>(exact);
        host::bound_call bound;
        bound.call = call;
        how.make_job(bound, formats, nullptr)->run({});
        const std::vector<double> expected =
            (is_gradient ? exact_gradients : exact_values)[ts::to_size(written)].numbers;
        const std::vector<double> found = (is_gradient ? gradients : values)[ts::to_size(written)].numbers();
        REQUIRE(found.size() == expected.size());
        double error = 0;
        double norm = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (std::isinf(expected[i])) {
                CHECK(found[i] == expected[i]);
                continue;
            }
            error += (found[i] - expected[i]) * (found[i] - expected[i]);
            norm += expected[i] * expected[i];
        }
        CAPTURE(row.name);
        CAPTURE(written);
        CAPTURE(is_gradient);
        CHECK(std::sqrt(error) <= 1e-5 * std::sqrt(norm) + 1e-9);
    }

    void check_ranges(const ts::compute_call& like) {
        for (int n = 0; n < op.d.nests.size(); ++n) {
            ts::compute_call call = like;
            call.first_nest = call.last_nest = n;
            check_call(call, op.d.nests[n].write, false);
        }
        for (int o = 0; o < op.d.operands.size(); ++o) {
            if (ts::gradient_nest(op.d, o) < 0) {
                continue;
            }
            ts::compute_call call = like;
            call.what = ts::pass::backward;
            call.emits = ts::bit(o);
            check_call(call, o, true);
        }
    }
};

template <class Own>
void check(std::vector<ts::shape> inputs, std::uint64_t seed = 3) {
    const op_case row{ts::record_of(Own::attributes).name, Own::attributes, std::move(inputs)};
    REQUIRE(!row.infer().refused);
    constexpr const auto& how =
        host::nest_row<ts::detail::operation_record_of<Own>>::template value<host::operator_row>;
    nest_tester t(row, how, seed);
    test_support::on_every_instruction_set([&] {
        t.check_ranges(t.op.call(ts::pass::forward));
        random_numbers random{seed};
        for (int trial = 0; trial < 4; ++trial) {
            ts::compute_call part = t.op.call(ts::pass::forward);
            for (int l = 0; l < t.op.d.loops.size(); ++l) {
                if (ts::splittable(t.op.d, l) && random.below(2) == 0) {
                    const ts::index_t extent = t.op.d.loops[l].extent;
                    const ts::index_t begin = random.below(extent - 1);
                    part.ranges[l] = {begin, begin + 1 + random.below(extent - begin)};
                }
            }
            t.check_ranges(part);
        }
    });
}

} // namespace

TEST_CASE("kernels of loop nests compute what the reference does in double: norms") {
    check<nests::rms>({ts::make_shape(4, 6)});
    check<nests::rms>({ts::make_shape(3, 1100)});
    check<nests::layer>({ts::make_shape(5, 7)});
    check<nests::layer>({ts::make_shape(2, 3, 530)});
    check<nests::soft_max>({ts::make_shape(4, 37)});
    check<nests::soft_max>({ts::make_shape(2, 2, 3, 20)});
}
TEST_CASE("kernels of loop nests compute what the reference does in double: products, windows, maxima") {
    check<nests::product<3>>({ts::make_shape(4, 5), ts::make_shape(4, 18)});
    check<nests::turned>({ts::make_shape(3, 5, 24)});
    check<nests::largest>({ts::make_shape(3, 5, 19)});
    check<nests::summed>({ts::make_shape(3, 5, 40)});
    check<nests::depthwise<3>>({ts::make_shape(2, 6, 21)});
    check<nests::balanced>({ts::make_shape(4, 5), ts::make_shape(4, 33)});
}

TEST_CASE("kernels run along the loop in which the largest operands are contiguous, and along windows last of all") {
    const auto check_inner = [](const ts::nests::program& p, int loop) {
        for (const ts::nests::nest_pass& pass : p.forward) {
            CHECK(k::inner_loop(p, pass) == loop);
        }
        for (const ts::nests::nest_pass& pass : p.backward) {
            CHECK(k::inner_loop(p, pass) == loop);
        }
    };
    check_inner(ts::nests::detail::program_at<nests::layer, 3>, 2); // not the positions, which statistics end with
    check_inner(ts::nests::detail::program_at<nests::turned, 0>, 2);
    check_inner(ts::nests::detail::program_at<nests::depthwise<3>, 0>, 1);
}
