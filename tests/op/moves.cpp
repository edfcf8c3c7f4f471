// SPDX-License-Identifier: Apache-2.0
// Operators that move values against what their names say of indices, on shapes drawn at random; what shards of them
// read.
#include "op/harness.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>

namespace {

using namespace tests;
using ts::index_t;
using ts::make_shape;
using ts::op_kind;
using ts::shape;
using place = std::array<index_t, ts::max_rank>;

place place_of(index_t number, const shape& s) {
    place p{};
    for (int d = s.rank - 1; d >= 0; --d) {
        p[ts::to_size(d)] = number % s[d];
        number /= s[d];
    }
    return p;
}
index_t number_of(const place& p, const shape& s) {
    index_t number = 0;
    for (int d = 0; d < s.rank; ++d) {
        number = number * s[d] + p[ts::to_size(d)];
    }
    return number;
}

/// Runs the operator on a tensor that holds the number of each element; every element of the output must be that of
/// source(its place), -1 being 0.
void check_move(const ts::op_attributes& a, const shape& x, const shape& y,
                const std::function<index_t(const place&)>& source) {
    const int uses = ts::record_of(a).uses == nullptr ? 1 : ts::record_of(a).uses(a);
    const op_case row{ts::record_of(a).name, a, std::vector<shape>(ts::to_size(uses), x)};
    CAPTURE(row.name);
    const ts::inferred found = row.infer();
    REQUIRE_FALSE(static_cast<bool>(found.refused));
    REQUIRE(found.output == y);
    op_instance op(row);
    for (int k = 0; k < uses; ++k) {
        for (index_t i = 0; i < x.volume(); ++i) {
            op.value[ts::to_size(k)].numbers[ts::to_size(i)] = static_cast<double>(i + 1);
        }
    }
    op.forward();
    bool same = true;
    for (index_t i = 0; i < y.volume(); ++i) {
        same = same && op.value[ts::to_size(op.d.output())].numbers[ts::to_size(i)] ==
                           static_cast<double>(source(place_of(i, y)) + 1);
    }
    CHECK(same);
}

shape random_shape(random_numbers& random, int rank) {
    shape s;
    s.rank = rank;
    for (int d = 0; d < rank; ++d) {
        s.extent[d] = 1 + random.below(5);
    }
    return s;
}

} // namespace

TEST_CASE("each move puts values where its name says, whatever the shape") {
    random_numbers random{3};
    for (int trial = 0; trial < 60; ++trial) {
        const int rank = 2 + static_cast<int>(random.below(4));
        const shape x = random_shape(random, rank);
        const auto from = [&](const place& p) { return number_of(p, x); };

        ts::op::permute_attributes order{{0}, rank};
        for (int d = 0; d < rank; ++d) {
            order.order[d] = d;
        }
        for (int d = rank - 1; d > 1; --d) {
            std::swap(order.order[d], order.order[1 + random.below(d)]);
        }
        shape turned = x;
        for (int d = 0; d < rank; ++d) {
            turned.extent[d] = x[static_cast<int>(order.order[d])];
        }
        check_move(ts::attributes_of(op_kind::permute, order), x, turned, [&](const place& p) {
            place q{};
            for (int d = 0; d < rank; ++d) {
                q[ts::to_size(order.order[d])] = p[ts::to_size(d)];
            }
            return from(q);
        });

        ts::op::pad_attributes around;
        ts::op::crop_attributes part;
        ts::op::flip_attributes other;
        ts::op::roll_attributes round;
        shape padded = x;
        shape cropped = x;
        int rolled = 0;
        for (int d = 1; d < rank; ++d) {
            around.before[d] = random.below(3);
            around.after[d] = random.below(3);
            padded.extent[d] += around.before[d] + around.after[d];
            part.begin[d] = random.below(x[d]);
            part.out[d] = cropped.extent[d] = 1 + random.below(x[d] - part.begin[d]);
            other.turned[d] = random.below(2);
            round.shift[d] = rolled < 3 ? random.below(13) - 6 : 0;
            rolled += round.shift[d] != 0 ? 1 : 0;
        }
        check_move(ts::attributes_of(op_kind::pad, around), x, padded, [&](place p) {
            for (int d = 0; d < rank; ++d) {
                p[ts::to_size(d)] -= around.before[d];
                if (p[ts::to_size(d)] < 0 || p[ts::to_size(d)] >= x[d]) {
                    return index_t{-1};
                }
            }
            return from(p);
        });
        check_move(ts::attributes_of(op_kind::crop, part), x, cropped, [&](place p) {
            for (int d = 0; d < rank; ++d) {
                p[ts::to_size(d)] += part.begin[d];
            }
            return from(p);
        });
        check_move(ts::attributes_of(op_kind::flip, other), x, x, [&](place p) {
            for (int d = 0; d < rank; ++d) {
                p[ts::to_size(d)] = other.turned[d] != 0 ? x[d] - 1 - p[ts::to_size(d)] : p[ts::to_size(d)];
            }
            return from(p);
        });
        if (rolled > 0) {
            check_move(ts::attributes_of(op_kind::roll, round), x, x, [&](place p) {
                for (int d = 0; d < rank; ++d) {
                    p[ts::to_size(d)] = ((p[ts::to_size(d)] - round.shift[d]) % x[d] + x[d]) % x[d];
                }
                return from(p);
            });
        }

        ts::op::broadcast_to_attributes repeated{{}, rank - 1};
        shape few = x;
        for (int d = 1; d < rank; ++d) {
            repeated.extent[d - 1] = x[d];
            few.extent[d] = random.below(2) == 0 ? 1 : x[d];
        }
        check_move(ts::attributes_of(op_kind::broadcast_to, repeated), few, x, [&](place p) {
            for (int d = 0; d < rank; ++d) {
                p[ts::to_size(d)] = few[d] == 1 ? 0 : p[ts::to_size(d)];
            }
            return number_of(p, few);
        });
        if (rank == 4) {
            const ts::op::upsample_attributes factors{{1 + random.below(3), 1 + random.below(3)}};
            const shape larger = make_shape(x[0], x[1], x[2] * factors.factor[0], x[3] * factors.factor[1]);
            check_move(ts::attributes_of(op_kind::upsample_nearest, factors), x, larger, [&](place p) {
                p[2] /= factors.factor[0];
                p[3] /= factors.factor[1];
                return from(p);
            });
        }
    }
}

TEST_CASE("a reshape keeps the elements' order; where its extents are made of common factors, leading ones are split") {
    random_numbers random{4};
    int divided = 0;
    for (int trial = 0; trial < 200; ++trial) {
        shape x{2, {2, 1}};
        shape y{2, {2, 1}};
        for (int k = 0; k < 5; ++k) { // the same primes, put into one dimension or the next
            const index_t prime = random.below(2) == 0 ? 2 : 3;
            for (shape* s : {&x, &y}) {
                s->rank += random.below(2) == 0 && s->rank < ts::max_rank ? 1 : 0;
                index_t& last = s->extent[s->rank - 1];
                last = std::max<index_t>(last, 1) * prime;
            }
        }
        for (shape* s : {&x, &y}) {
            for (int d = 0; d < s->rank; ++d) {
                s->extent[d] = std::max<index_t>(s->extent[d], 1);
            }
        }
        ts::op::reshape_attributes a{{}, y.rank - 1};
        for (int d = 1; d < y.rank; ++d) {
            a.extent[d - 1] = y[d];
        }
        check_move(ts::attributes_of(op_kind::reshape, a), x, y, [&](const place& p) { return number_of(p, y); });
        const index_t open = random.below(y.rank - 1);
        a.extent[open] = -1;
        check_move(ts::attributes_of(op_kind::reshape, a), x, y, [&](const place& p) { return number_of(p, y); });
        const ts::description d = ts::op::describe_reshape(a, x);
        for (int l = 1; l < d.loops.size(); ++l) {
            if (!ts::splittable(d, l)) {
                continue;
            }
            ++divided; // shards are boxes of both sides, with the same elements
            loop_ranges half(d);
            half.range[l].end = 1;
            CHECK(ts::region(d, 0, half.range).volume() * d.loops[l].extent == x.volume());
            CHECK(ts::region(d, d.output(), half.range).volume() * d.loops[l].extent == y.volume());
        }
    }
    CHECK(divided > 150);
}

TEST_CASE("shards of a roll read what comes to them from either end, and nothing between") {
    const shape x = make_shape(1, 1, 12, 10);
    const shape both[] = {x, x, x, x};
    const ts::description d = ts::describe(ts::roll<ts::shift<2, 3>, ts::shift<3, -2>>::attributes, both, 4);
    for (index_t part = 0; part < 4; ++part) {
        loop_ranges shard(d);
        shard.range[2] = ts::even_part(12, 4, part);
        shard.range[3] = ts::even_part(10, 2, part % 2);
        index_t read = 0;
        for (int o = 0; o < 4; ++o) {
            read += ts::region(d, o, shard.range).volume();
        }
        CHECK(read == ts::region(d, d.output(), shard.range).volume());
    }
}

TEST_CASE("bilinear interpolation gives PyTorch's numbers") {
    // torch.nn.functional.interpolate(x, scale_factor = 2, mode = "bilinear", align_corners = False)
    const op_case twice{"upsample", ts::upsample_bilinear<2>::attributes, {make_shape(1, 1, 2, 2)}};
    op_instance op(twice);
    op.value[0].numbers = {1, 2, 3, 4};
    op.forward();
    CHECK(op.value[1].numbers ==
          std::vector<double>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
    // A slope stays one between the outermost centres, whatever the factor: the value at a place is the place.
    for (index_t factor = 1; factor < 8; ++factor) {
        const op_case row{"slope",
                          ts::attributes_of(op_kind::upsample_bilinear, ts::op::upsample_attributes{{1, factor}}),
                          {make_shape(1, 1, 1, 6)}};
        op_instance slope(row);
        slope.value[0].numbers = {0, 1, 2, 3, 4, 5};
        slope.forward();
        for (index_t i = 0; i < 6 * factor; ++i) {
            const double where = (static_cast<double>(i) + 0.5) / static_cast<double>(factor) - 0.5;
            CHECK(slope.value[1].numbers[ts::to_size(i)] ==
                  doctest::Approx(std::clamp(where, 0.0, 5.0)).epsilon(1e-12));
        }
    }
}

TEST_CASE("what a move cannot do is refused, with the numbers") {
    const auto refused = [](const ts::op_attributes& a, const shape& x) { return ts::infer(a, &x, 1).refused; };
    const shape image = make_shape(2, 3, 4, 5);
    CHECK(refused(ts::permute<0, 1, 2>::attributes, image).broken == ts::rule::permutation_is_none);
    CHECK(refused(ts::permute<1, 0, 2, 3>::attributes, image).broken == ts::rule::permutation_is_none);
    CHECK(refused(ts::permute<0, 1, 1, 3>::attributes, image).broken == ts::rule::permutation_is_none);
    CHECK(refused(ts::permute<0, 1, 2, 4>::attributes, image).found == 4);
    CHECK(refused(ts::reshape<7, -1>::attributes, image).broken == ts::rule::reshape_of_other_elements);
    CHECK(refused(ts::reshape<-1, -1>::attributes, image).broken == ts::rule::extent_is_zero);
    CHECK(refused(ts::reshape<INT64_MAX, INT64_MAX>::attributes, image).broken == ts::rule::reshape_of_other_elements);
    CHECK(refused(ts::broadcast_to<3, 4, 6>::attributes, image).broken == ts::rule::broadcast_of_several);
    CHECK(refused(ts::broadcast_to<4, 5>::attributes, image).broken == ts::rule::input_has_wrong_rank);
    CHECK(refused(ts::broadcast_to<-1, 5>::attributes, make_shape(2, 5)).broken == ts::rule::extent_is_zero);
    CHECK(refused(ts::pad<ts::margin<4, 1>>::attributes, image).broken == ts::rule::input_has_wrong_rank);
    CHECK(refused(ts::pad<ts::margin<2, INT64_MAX>>::attributes, image).broken == ts::rule::extent_too_large);
    CHECK(refused(ts::crop<ts::keep<2, INT64_MAX, INT64_MAX>>::attributes, image).broken ==
          ts::rule::slice_outside_input);
    CHECK(refused(ts::crop<ts::keep<2, -1, 2>>::attributes, image).found == -1);
    CHECK(refused(ts::flip<4>::attributes, image).broken == ts::rule::input_has_wrong_rank);
    CHECK(refused(ts::upsample_nearest<0>::attributes, image).broken == ts::rule::extent_is_zero);
    CHECK(refused(ts::upsample_bilinear<2>::attributes, make_shape(2, 3, 4)).broken == ts::rule::input_has_wrong_rank);
    CHECK(refused(ts::upsample_nearest<INT64_MAX>::attributes, image).broken == ts::rule::extent_too_large);
}

TEST_CASE("rows are taken and put together by index") {
    const op_case taken{"gather", {.kind = op_kind::gather_rows}, {make_shape(2, 3, 2), make_shape(2, 4)}};
    op_instance g(taken);
    g.value[0].numbers = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
    g.value[1].integers = {2, 0, 2, 1, 1, 1, 0, 0};
    g.forward();
    CHECK(g.value[2].numbers == std::vector<double>{5, 6, 1, 2, 5, 6, 3, 4, 13, 14, 13, 14, 11, 12, 11, 12});
    g.gradient[2].numbers = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8};
    g.backward();
    CHECK(g.gradient[0].numbers == std::vector<double>{1, 1, 1, 1, 2, 2, 12, 14, 4, 6, 0, 0});

    const auto put = [](const ts::op_attributes& a) {
        const op_case row{"scatter", a, {make_shape(1, 4, 2), make_shape(1, 4)}};
        op_instance s(row);
        s.value[0].numbers = {1, 8, 2, 7, 3, 6, 3, 5};
        s.value[1].integers = {0, 2, 0, 0};
        s.forward();
        s.gradient[2].numbers = {30, 60, 1, 1, 7, 9};
        s.backward();
        return std::pair(s.value[2].numbers, s.gradient[0].numbers);
    };
    using both = std::pair<std::vector<double>, std::vector<double>>;
    CHECK(put(ts::scatter_sum<3>::attributes) == both{{7, 19, 0, 0, 2, 7}, {30, 60, 7, 9, 30, 60, 30, 60}});
    CHECK(put(ts::scatter_mean<3>::attributes) ==
          both{{7.0 / 3, 19.0 / 3, 0, 0, 2, 7}, {10, 20, 7, 9, 10, 20, 10, 20}});
    CHECK(put(ts::scatter_max<3>::attributes) == both{{3, 8, 0, 0, 2, 7}, {0, 60, 7, 9, 30, 0, 0, 0}});
}
