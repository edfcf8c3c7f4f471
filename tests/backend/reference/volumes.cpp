// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools of volumes by the reference's loops, against loops that are written out here without any
// description.
#include "op/harness.hpp"
#include "support/known_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using namespace tests;
using ts::index_t;

/// Reads x[n,c,d,h,w], or `outside` beyond its planes, rows and columns.
double volume_at(const tile& x, index_t n, index_t c, const index_t (&p)[3], double outside) {
    const ts::shape e = x.region.extents();
    for (int k = 0; k < 3; ++k) {
        if (p[k] < 0 || p[k] >= e[2 + k]) {
            return outside;
        }
    }
    return x.numbers[ts::to_size((((n * e[1] + c) * e[2] + p[0]) * e[3] + p[1]) * e[4] + p[2])];
}

/// Calls body(number of the element, n, c, place) for each element of y[n,c,d,h,w].
template <class Body>
void for_each_voxel(const ts::shape& y, Body&& body) {
    std::size_t i = 0;
    for (index_t n = 0; n < y[0]; ++n) {
        for (index_t c = 0; c < y[1]; ++c) {
            for (index_t d = 0; d < y[2]; ++d) {
                for (index_t h = 0; h < y[3]; ++h) {
                    for (index_t w = 0; w < y[4]; ++w) {
                        body(i++, n, c, {d, h, w});
                    }
                }
            }
        }
    }
}

using place = index_t[3];

/// Where element (q, r, s) of the window lies whose output is at `p`.
template <class Own>
struct window_place {
    index_t at[3];

    window_place(const Own& a, const place& p, index_t q, index_t r, index_t s) {
        const index_t inside[3] = {q, r, s};
        for (int k = 0; k < 3; ++k) {
            at[k] = p[k] * a.stride[k] + inside[k] * a.dilation[k] - a.padding[k];
        }
    }
};

void check_convolution(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::conv3d_attributes>();
    const ts::shape& x = op.row.inputs[0];
    const index_t in = x[1] / a.groups;
    const tile& y = op.value[ts::to_size(op.d.output())];
    ts::shape expected = ts::make_shape(x[0], a.out, 0, 0, 0);
    for (int k = 0; k < 3; ++k) { // torch.nn.Conv3d's formula
        expected.extent[2 + k] =
            (x[2 + k] + 2 * a.padding[k] - a.dilation[k] * (a.window[k] - 1) - 1) / a.stride[k] + 1;
    }
    REQUIRE(y.region.extents() == expected);
    for_each_voxel(expected, [&](std::size_t i, index_t n, index_t o, const place& p) {
        double sum = a.bias ? op.value[2].numbers[ts::to_size(o)] : 0.0;
        for (index_t c = 0; c < in; ++c) {
            for (index_t q = 0; q < a.window[0]; ++q) {
                for (index_t r = 0; r < a.window[1]; ++r) {
                    for (index_t s = 0; s < a.window[2]; ++s) {
                        const index_t w = (((o * in + c) * a.window[0] + q) * a.window[1] + r) * a.window[2] + s;
                        sum += op.value[1].numbers[ts::to_size(w)] * volume_at(op.value[0], n,
                                                                               o / (a.out / a.groups) * in + c,
                                                                               window_place(a, p, q, r, s).at, 0);
                    }
                }
            }
        }
        CHECK(y.numbers[i] == doctest::Approx(sum).epsilon(1e-12));
    });
}

void check_pool(const op_instance& op, bool is_max) {
    const auto a = op.row.attributes.as<ts::op::average_pool3d_attributes>();
    const tile& y = op.value[ts::to_size(op.d.output())];
    for_each_voxel(y.region.extents(), [&](std::size_t i, index_t n, index_t c, const place& p) {
        double largest = -1e300;
        double sum = 0;
        double count = 0;
        for (index_t q = 0; q < a.window[0]; ++q) {
            for (index_t r = 0; r < a.window[1]; ++r) {
                for (index_t s = 0; s < a.window[2]; ++s) {
                    const double x = volume_at(op.value[0], n, c, window_place(a, p, q, r, s).at, -1e300);
                    if (x > -1e299) {
                        largest = std::max(largest, x);
                        sum += x;
                        ++count;
                    }
                }
            }
        }
        count = a.count_padding ? static_cast<double>(a.window[0] * a.window[1] * a.window[2]) : count;
        CHECK(y.numbers[i] == doctest::Approx(is_max ? largest : sum / count).epsilon(1e-12));
    });
}

} // namespace

TEST_CASE("convolutions and pools of volumes follow their formulas") {
    int checked = 0;
    for (const op_case& c : op_table()) {
        const ts::op_kind kind = c.attributes.kind;
        if (kind != ts::op_kind::conv3d && kind != ts::op_kind::max_pool3d && kind != ts::op_kind::average_pool3d) {
            continue;
        }
        CAPTURE(c.name);
        op_instance op(c);
        op.forward();
        kind == ts::op_kind::conv3d ? check_convolution(op) : check_pool(op, kind == ts::op_kind::max_pool3d);
        ++checked;
    }
    CHECK(checked == 15);
}

TEST_CASE("a convolution of volumes that are one plane is that of images") {
    const op_case flat{"",
                       ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 2},
                                                                                        .stride = {2, 1},
                                                                                        .padding = {1, 1},
                                                                                        .dilation = {1, 2},
                                                                                        .out = 4,
                                                                                        .groups = 2,
                                                                                        .bias = true}),
                       {ts::make_shape(2, 4, 5, 4)}};
    const op_case deep{"",
                       ts::attributes_of(ts::op_kind::conv3d, ts::op::conv3d_attributes{.window = {1, 3, 2},
                                                                                        .stride = {1, 2, 1},
                                                                                        .padding = {0, 1, 1},
                                                                                        .dilation = {1, 1, 2},
                                                                                        .out = 4,
                                                                                        .groups = 2,
                                                                                        .bias = true}),
                       {ts::make_shape(2, 4, 1, 5, 4)}};
    op_instance images(flat);
    op_instance volumes(deep);
    images.forward();
    images.backward();
    volumes.forward();
    volumes.backward();
    for (int o = 0; o < 4; ++o) {
        CHECK(images.value[ts::to_size(o)].numbers == volumes.value[ts::to_size(o)].numbers);
        CHECK(images.gradient[ts::to_size(o)].numbers == volumes.gradient[ts::to_size(o)].numbers);
    }
}
