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
    std::vector<char> dx(static_cast<std::size_t>((n.n[0] * n.n[1] * n.n[2] + 64) * ts::bytes_of(type)), '\x55');
    a.at[i] = dx.data();
    cuda_emulation::launch(&k, type, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), a);
    return dx;
}

/// Of few values, so that there are ties, with some NaN and infinities.
std::vector<char> some_numbers(draws& draw, ts::element type, ts::index_t count, bool finite) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& v : x) {
        const ts::index_t i = draw(0, finite ? 19 : 29);
        v = i < 20    ? static_cast<float>(i - 10) / 3.0F
            : i == 20 ? std::numeric_limits<float>::quiet_NaN()
            : i == 21 ? -std::numeric_limits<float>::infinity()
                      : 0.5F;
    }
    std::vector<char> stored(static_cast<std::size_t>(count * ts::bytes_of(type)));
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
        cuda::kernel_numbers k;
        ts::index_t* const n = k.n;
        const bool wide = i % 16 == 0;
        const bool large = i % 4 == 1;
        n[0] = wide || large ? draw(1, 3) : draw(1, 90);
        const bool even = draw(0, 1) == 0;
        n[15] = n[16] = n[18] = n[19] = n[20] = 1;
        for (int d = 0; d < 2; ++d) {
            n[1 + d] = wide && d == 1 ? draw(257, 900) : wide ? draw(1, 9) : large ? draw(20, 90) : draw(1, 14);
            n[7 + d] = draw(1, 4);
            n[9 + d] = draw(0, 2) == 0 ? draw(2, 4) : 1;
            n[11 + d] = draw(1, 5);
            if (even && d == 1) {
                n[9 + d] = n[9];
                n[11 + d] = n[11];
            }
            const ts::index_t reach = (n[11 + d] - 1) * n[9 + d];
            n[5 + d] = draw(-reach - 2, 3);
            n[3 + d] = std::max<ts::index_t>(1, (n[1 + d] - n[5 + d] - draw(0, reach + 1)) / n[7 + d] + 1);
        }
        n[14] = draw(0, 1);
        const ts::index_t blocks = cuda::detail::cut_pool(k, ts::index_t{512} << draw(0, 4));
        REQUIRE(blocks > 0);
        bands += n[24] > 1 ? 1 : 0;
        across += n[25] > 1 ? 1 : 0;
        groups += n[21] > 1 && n[21] < n[0] && n[0] % n[21] != 0 ? 1 : 0;
        shared += n[24] > 1 && n[11] > n[7] ? 1 : 0;
        stacks += n[30] > 1 && n[31] > 1 && n[22] % n[30] != 0 ? 1 : 0;
        gaps += n[7] > n[11] ? 1 : 0;
        square += n[9] == 1 && n[10] == 1 && n[11] == n[12] && (n[11] == 2 || n[11] == 3) ? 1 : 0;
        const ts::index_t threads = ts::index_t{32} << draw(0, 3);
        const ts::element type = i % 3 == 2 ? ts::element::bf16 : ts::element::f32;
        const std::vector<char> x = some_numbers(draw, type, n[0] * n[1] * n[2], false);
        const std::vector<char> dy = some_numbers(draw, type, n[0] * n[3] * n[4], true);
        CAPTURE(i);
        CHECK(run(cuda::kernels::pool_maximum_backward, type, k, blocks, threads, {x, dy}) ==
              run(cuda::kernels::pool3d_maximum_backward, type, k, 2, 256, {x, dy}));
        n[13] = 1;
        CHECK(run(cuda::kernels::pool_average_backward, type, k, blocks, threads, {dy}) ==
              run(cuda::kernels::pool3d_average_backward, type, k, 2, 256, {dy}));
    }
    for (const int count : {bands, across, groups, shared, stacks, gaps, square}) {
        CHECK(count > 10);
    }
}

TEST_CASE("blocks have room for what touches them, and there are enough of them") {
    const auto cut = [](ts::index_t planes, ts::index_t extent, ts::index_t window, ts::index_t stride) {
        cuda::kernel_numbers k;
        ts::index_t* const n = k.n;
        n[0] = planes;
        n[1] = n[2] = extent;
        n[3] = n[4] = (extent - window) / stride + 1;
        n[7] = n[8] = stride;
        n[9] = n[10] = 1;
        n[11] = n[12] = window;
        k.n[95] = cuda::detail::cut_pool(k);
        return k;
    };
    for (const ts::index_t planes : {ts::index_t{1}, ts::index_t{300}, ts::index_t{32768}}) {
        for (const ts::index_t extent : {1, 6, 13, 56, 112, 257, 1000, 70000}) {
            for (const ts::index_t window : {1, 2, 3, 7, 40}) {
                for (const ts::index_t stride : {1, 2, 7}) {
                    if (window > extent || (extent == 70000 && planes > 300)) {
                        continue;
                    }
                    const cuda::kernel_numbers k = cut(planes, extent, window, stride);
                    const ts::index_t* const n = k.n;
                    CAPTURE(extent);
                    CAPTURE(window);
                    CAPTURE(stride);
                    CHECK((n[95] == 0) == (extent == 70000)); // its places need 33 bits
                    if (n[95] == 0) {
                        continue;
                    }
                    CHECK(n[21] * n[26] * n[27] <= cuda::detail::most_pool_windows);
                    CHECK(std::max(n[22], n[23]) <= cuda::detail::most_pool_side);
                    CHECK(n[24] * n[22] >= n[1]);
                    CHECK((n[24] - 1) * n[22] < n[1]);
                    CHECK(n[25] * n[23] >= n[2]);
                    CHECK((n[25] - 1) * n[23] < n[2]);
                    if (planes == 32768 && window <= 7) {
                        CHECK(n[95] >= (extent < 6 ? 64 : 1000));
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
