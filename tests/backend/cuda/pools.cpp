// SPDX-License-Identifier: Apache-2.0
// Gradients of pools of images, which are made by blocks: bit for bit what the kernels of volumes make, which gather
// them element by element, and under random splits what the reference makes.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "tessera/backend/cuda/op/pooling.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

namespace {

namespace ts = tessera;
namespace cuda = ts::cuda;
using namespace test_support;

/// Numbers that are never the same twice in a row.
struct draws {
    std::uint64_t state;
    /// From `least` to `most`.
    ts::index_t operator()(ts::index_t least, ts::index_t most) {
        return least + static_cast<ts::index_t>(ts::op::mix(state++) % static_cast<std::uint64_t>(most - least + 1));
    }
};

/// What a kernel leaves in dx, and behind it.
std::vector<char> run(const cuda::kernel& k, ts::element type, const cuda::kernel_numbers& n, ts::index_t blocks,
                      ts::index_t threads, std::vector<std::vector<char>> inputs) {
    cuda::kernel_arguments a;
    a.numbers = n;
    std::size_t i = 0;
    for (std::vector<char>& x : inputs) {
        a.at[i++] = x.data();
    }
    const auto all = n.as<cuda::kernels::pool_numbers>();
    std::vector<char> dx(ts::to_size((all.planes * all.in[0] * all.in[1] + 64) * ts::bytes_of(type)), '\x55');
    a.at[i] = dx.data();
    cuda_emulation::launch(&k, type, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), a);
    return dx;
}

/// Of few values, so that there are ties, with some NaN and infinities.
std::vector<char> some_numbers(draws& draw, ts::element type, ts::index_t count, bool finite) {
    std::vector<float> x(ts::to_size(count));
    for (float& v : x) {
        const ts::index_t i = draw(0, finite ? 19 : 29);
        v = i < 20    ? static_cast<float>(i - 10) / 3.0F
            : i == 20 ? std::numeric_limits<float>::quiet_NaN()
            : i == 21 ? -std::numeric_limits<float>::infinity()
                      : 0.5F;
    }
    std::vector<char> stored(ts::to_size(count * ts::bytes_of(type)));
    ts::store_numbers(type, x.data(), count, reinterpret_cast<std::byte*>(stored.data()));
    return stored;
}

/// A row on both backends, whole and under random splits.
void check_splits(const tests::op_case& row, std::uint64_t seeds, std::set<std::string>& launched) {
    const ts::graph network = graph_of(row);
    const ts::graph_view g = network.view();
    batch_data data = data_of(row, g, 3);
    for (float& v : data.numbers[0]) {
        v = std::round(v * 2) / 2; // ties
    }
    coverage seen;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const int devices = 1 + static_cast<int>(seed) * 2;
        const ts::strategy s = seed == 0 ? ts::strategy(g) : random_strategy(g, devices, seed + 90, seen);
        CAPTURE(row.name);
        CAPTURE(seed);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, static_cast<int>(seed % 3)));
        each_result_beside(plain, emulated, g, s, devices, data,
                           [&](int result, const auto& got, const auto& expected) {
                               CAPTURE(result);
                               CHECK(relative(got, expected, 1e-6) < 1e-6);
                           });
        emulated.each_call([&](const cuda::call& c) {
            const auto* k = std::get_if<cuda::kernel_launch>(&c.body);
            launched.insert(k != nullptr ? k->which->name : "");
        });
    }
}

} // namespace

TEST_CASE("blocks of images make the bits that are gathered element by element") {
    draws draw{1};
    int bands = 0, across = 0, groups = 0, shared = 0, stacks = 0, gaps = 0, square = 0;
    for (int i = 0; i < 400; ++i) {
        cuda::kernels::pool_numbers n{
            .in_depth = 1, .out_depth = 1, .stride_depth = 1, .dilation_depth = 1, .size_depth = 1};
        const bool wide = i % 16 == 0;
        const bool large = i % 4 == 1;
        n.planes = wide || large ? draw(1, 3) : draw(1, 90);
        const bool even = draw(0, 1) == 0;
        for (int d = 0; d < 2; ++d) {
            n.in[d] = wide && d == 1 ? draw(257, 900) : wide ? draw(1, 9) : large ? draw(20, 90) : draw(1, 14);
            n.stride[d] = draw(1, 4);
            n.dilation[d] = draw(0, 2) == 0 ? draw(2, 4) : 1;
            n.size[d] = draw(1, 5);
            if (even && d == 1) {
                n.dilation[d] = n.dilation[0];
                n.size[d] = n.size[0];
            }
            const ts::index_t reach = (n.size[d] - 1) * n.dilation[d];
            n.first[d] = draw(-reach - 2, 3);
            n.out[d] = std::max<ts::index_t>(1, (n.in[d] - n.first[d] - draw(0, reach + 1)) / n.stride[d] + 1);
        }
        n.counts_padding = draw(0, 1);
        const ts::index_t blocks = cuda::detail::cut_pool(n, ts::index_t{512} << draw(0, 4));
        REQUIRE(blocks > 0);
        bands += n.blocks[0] > 1 ? 1 : 0;
        across += n.blocks[1] > 1 ? 1 : 0;
        groups += n.block_planes > 1 && n.block_planes < n.planes && n.planes % n.block_planes != 0 ? 1 : 0;
        shared += n.blocks[0] > 1 && n.size[0] > n.stride[0] ? 1 : 0;
        stacks += n.stack[0] > 1 && n.stack[1] > 1 && n.block[0] % n.stack[0] != 0 ? 1 : 0;
        gaps += n.stride[0] > n.size[0] ? 1 : 0;
        square +=
            n.dilation[0] == 1 && n.dilation[1] == 1 && n.size[0] == n.size[1] && (n.size[0] == 2 || n.size[0] == 3)
                ? 1
                : 0;
        const ts::index_t threads = ts::index_t{32} << draw(0, 3);
        const ts::element type = i % 3 == 2 ? ts::element::bf16 : ts::element::f32;
        const std::vector<char> x = some_numbers(draw, type, n.planes * n.in[0] * n.in[1], false);
        const std::vector<char> dy = some_numbers(draw, type, n.planes * n.out[0] * n.out[1], true);
        CAPTURE(i);
        CHECK(run(cuda::kernels::pool_maximum_backward, type, cuda::kernel_numbers(n), blocks, threads, {x, dy}) ==
              run(cuda::kernels::pool3d_maximum_backward, type, cuda::kernel_numbers(n), 2, 256, {x, dy}));
        n.average = 1;
        CHECK(run(cuda::kernels::pool_average_backward, type, cuda::kernel_numbers(n), blocks, threads, {dy}) ==
              run(cuda::kernels::pool3d_average_backward, type, cuda::kernel_numbers(n), 2, 256, {dy}));
    }
    for (const int count : {bands, across, groups, shared, stacks, gaps, square}) {
        CHECK(count > 10);
    }
}

TEST_CASE("blocks have room for what touches them, and there are enough of them") {
    const auto cut = [](ts::index_t planes, ts::index_t extent, ts::index_t window, ts::index_t stride) {
        const ts::index_t out = (extent - window) / stride + 1;
        cuda::kernels::pool_numbers n{.planes = planes,
                                      .in = {extent, extent},
                                      .out = {out, out},
                                      .stride = {stride, stride},
                                      .dilation = {1, 1},
                                      .size = {window, window}};
        const ts::index_t blocks = cuda::detail::cut_pool(n);
        return std::pair(n, blocks);
    };
    for (const ts::index_t planes : {ts::index_t{1}, ts::index_t{300}, ts::index_t{32768}}) {
        for (const ts::index_t extent : {1, 6, 13, 56, 112, 257, 1000, 70000}) {
            for (const ts::index_t window : {1, 2, 3, 7, 40}) {
                for (const ts::index_t stride : {1, 2, 7}) {
                    if (window > extent || (extent == 70000 && planes > 300)) {
                        continue;
                    }
                    const auto [n, blocks] = cut(planes, extent, window, stride);
                    CAPTURE(extent);
                    CAPTURE(window);
                    CAPTURE(stride);
                    CHECK((blocks == 0) == (extent == 70000)); // its places need 33 bits
                    if (blocks == 0) {
                        continue;
                    }
                    CHECK(n.block_planes * n.windows[0] * n.windows[1] <= cuda::detail::most_pool_windows);
                    CHECK(std::max(n.block[0], n.block[1]) <= cuda::detail::most_pool_side);
                    CHECK(n.blocks[0] * n.block[0] >= n.in[0]);
                    CHECK((n.blocks[0] - 1) * n.block[0] < n.in[0]);
                    CHECK(n.blocks[1] * n.block[1] >= n.in[1]);
                    CHECK((n.blocks[1] - 1) * n.block[1] < n.in[1]);
                    if (planes == 32768 && window <= 7) {
                        CHECK(blocks >= (extent < 6 ? 64 : 1000));
                    }
                }
            }
        }
    }
}

TEST_CASE("pools whose planes several blocks share give the reference's numbers under random splits") {
    using ts::op_kind;
    std::set<std::string> launched;
    const auto maximum = [](ts::op::pool_attributes a) { return ts::attributes_of(op_kind::max_pool, a); };
    const auto average = [](ts::op::average_pool_attributes a) { return ts::attributes_of(op_kind::average_pool, a); };
    const ts::shape square = ts::make_shape(2, 3, 41, 50);
    const ts::shape wide = ts::make_shape(2, 2, 5, 600);
    for (const ts::shape& x : {square, wide, ts::make_shape(9, 11, 9, 7)}) {
        check_splits({"max", maximum({.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}), {x}}, 3, launched);
        check_splits({"max with gaps", maximum({.window = {2, 3}, .stride = {3, 1}, .dilation = {2, 3}}), {x}}, 3,
                     launched);
        check_splits({"average", average({.window = {3, 2}, .stride = {2, 1}, .padding = {1, 1}}), {x}}, 3, launched);
    }
    CHECK(launched.contains("pool_maximum_backward"));
    CHECK(launched.contains("pool_average_backward"));
    CHECK(!launched.contains("pool3d_maximum_backward"));
    // More windows touch an element than a block has room for.
    const ts::shape far = ts::make_shape(1, 2, 110, 112);
    check_splits({"max far", maximum({.window = {2, 2}, .stride = {1, 1}, .dilation = {60, 60}}), {far}}, 1, launched);
    check_splits({"average far", average({.window = {2, 2}, .stride = {1, 1}, .dilation = {60, 60}}), {far}}, 1,
                 launched);
    CHECK(launched.contains("pool3d_maximum_backward"));
    CHECK(launched.contains("pool3d_average_backward"));
}
