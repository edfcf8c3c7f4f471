// SPDX-License-Identifier: Apache-2.0
// Speed of the host kernels against oneDNN with `any` formats, one thread, measured in turns:
//   g++ -O2 -std=c++20 -I. -Iinclude benchmarks/kernels/conv_n16.cpp -ldnnl -lgomp && OMP_NUM_THREADS=1 ./a.out
//   [blocks]
// Each speed is the best of many slices of a millisecond; each ratio is the median over the rounds, in which the two
// took their slices one after the other, so that a clock that changes between rounds does not matter.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "benchmarks/support/timing.hpp"
#include "tessera/backend/host/kernels/conv_gradient_n16.hpp"
#include "tessera/backend/host/kernels/linear_n16.hpp"

namespace {

namespace k = tessera::host::kernels;

/// Floats on a 64-byte border.
struct tensor {
    std::vector<float> memory;
    float* data;
    explicit tensor(std::size_t count) : memory(count + 32) {
        static std::mt19937 engine{7};
        std::uniform_real_distribution<float> draw{-1, 1};
        for (float& f : memory) f = draw(engine);
        data = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    }
};

struct contestant {
    std::string name;
    double flops;
    std::function<void()> run;
    double best = 0;                 ///< GFLOP/s
    std::vector<double> rounds = {}; ///< GFLOP/s of each
};

/// Slices of about a millisecond, every contestant in turn.
void race(std::vector<contestant>& all, int rounds) {
    std::vector<int> repeats;
    for (contestant& c : all) {
        c.run();
        repeats.push_back(std::max(1, static_cast<int>(1 / benchmarks::milliseconds(c.run))));
    }
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double ms = benchmarks::milliseconds([&] {
                for (int r = 0; r < repeats[i]; ++r) all[i].run();
            });
            all[i].rounds.push_back(all[i].flops * repeats[i] / ms * 1e-6);
            all[i].best = std::max(all[i].best, all[i].rounds.back());
        }
}

/// A row of the table: ours and oneDNN's in turns.
void print(const char* name, const std::vector<contestant>& all) {
    std::printf("%-24s", name);
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < all[i].rounds.size(); ++r)
            ratios.push_back(all[i].rounds[r] / all[i + 1].rounds[r]);
        std::sort(ratios.begin(), ratios.end());
        std::printf("  %-7s %6.1f / %6.1f, ratio %5.2f", all[i].name.c_str(), all[i].best, all[i + 1].best,
                    ratios[ratios.size() / 2]);
    }
    std::printf("\n");
    std::fflush(stdout);
}

using dims = dnnl::memory::dims;
const dnnl::engine& engine() {
    static const dnnl::engine e{dnnl::engine::kind::cpu, 0};
    return e;
}

dnnl::memory::desc any(dims d) { return {std::move(d), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any}; }

/// The descriptor of a primitive; of a backward one for the `hint` of its forward one. (oneDNN 2 wants what is computed
/// as a descriptor of its own.)
template <class Primitive, class... What>
typename Primitive::primitive_desc described(const What&... what) {
#if DNNL_VERSION_MAJOR == 2
    return {typename Primitive::desc{what...}, engine()};
#else
    return {engine(), what...};
#endif
}
template <class Primitive, class Hint, class... What>
typename Primitive::primitive_desc described_after(const Hint& hint, const What&... what) {
#if DNNL_VERSION_MAJOR == 2
    return {typename Primitive::desc{what...}, engine(), hint};
#else
    return {engine(), what..., hint};
#endif
}

/// A primitive with memories of its own in whatever formats it chose.
std::function<void()> prepared(const dnnl::primitive& p,
                               const std::vector<std::pair<int, dnnl::memory::desc>>& arguments) {
    std::unordered_map<int, dnnl::memory> bound;
    for (const auto& [index, description] : arguments) {
        dnnl::memory m{description, engine()};
        float* f = static_cast<float*>(m.get_data_handle());
        std::fill(f, f + description.get_size() / sizeof(float), 0.5F);
        bound.emplace(index, m);
    }
    return [p, bound, stream = dnnl::stream{engine()}]() mutable {
        p.execute(stream, bound);
        stream.wait();
    };
}

void convolution(const char* name, const k::conv_shape& s) {
    tensor x(tessera::to_size(s.blocks) * tessera::to_size(s.in_channels * s.in_height * s.in_width) * 16);
    tensor y(tessera::to_size(s.blocks) * tessera::to_size(s.out_channels * s.out_height * s.out_width) * 16);
    tensor w(tessera::to_size(s.out_channels * s.in_channels * s.kernel_h * s.kernel_w)),
        bias(tessera::to_size(s.out_channels));
    tensor dx(x.memory.size()), dy(y.memory.size()), dw(w.memory.size()), db(bias.memory.size());
    tensor room(
        std::max({k::conv_forward_scratch(s), k::conv_backward_data_scratch(s), k::conv_backward_weights_scratch(s)}) /
        4);
    const double flops = 2.0 * static_cast<double>(tessera::to_size(s.blocks) * 16 *
                                                   tessera::to_size(s.out_channels * s.out_height * s.out_width) *
                                                   tessera::to_size(s.in_channels * s.kernel_h * s.kernel_w));

    const dims source{s.blocks * 16, s.in_channels, s.in_height, s.in_width};
    const dims weights{s.out_channels, s.in_channels, s.kernel_h, s.kernel_w};
    const dims result{s.blocks * 16, s.out_channels, s.out_height, s.out_width};
    const dims strides{s.stride_h, s.stride_w}, before{s.pad_top, s.pad_left};
    const dims after{(s.out_height - 1) * s.stride_h + s.kernel_h - s.in_height - s.pad_top,
                     (s.out_width - 1) * s.stride_w + s.kernel_w - s.in_width - s.pad_left};
    using forward = dnnl::convolution_forward;
    using data = dnnl::convolution_backward_data;
    using weight = dnnl::convolution_backward_weights;
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto f = described<forward>(dnnl::prop_kind::forward_training, direct, any(source), any(weights),
                                      any({s.out_channels}), any(result), strides, before, after);
    const auto d = described_after<data>(f, direct, any(source), any(weights), any(result), strides, before, after);
    const auto g = described_after<weight>(f, direct, any(source), any(weights), any({s.out_channels}), any(result),
                                           strides, before, after);

    std::vector<contestant> all{
        {"forward", flops, [&] { k::conv_forward(x.data, w.data, bias.data, y.data, s, false, true, room.data); }},
        {"forward oneDNN", flops,
         prepared(forward{f}, {{DNNL_ARG_SRC, f.src_desc()},
                               {DNNL_ARG_WEIGHTS, f.weights_desc()},
                               {DNNL_ARG_BIAS, f.bias_desc()},
                               {DNNL_ARG_DST, f.dst_desc()}})},
        {"data", flops, [&] { k::conv_backward_data(dy.data, w.data, dx.data, s, true, room.data); }},
        {"data oneDNN", flops,
         prepared(data{d}, {{DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                            {DNNL_ARG_WEIGHTS, d.weights_desc()},
                            {DNNL_ARG_DIFF_SRC, d.diff_src_desc()}})},
        {"weights", flops, [&] { k::conv_backward_weights(x.data, dy.data, dw.data, db.data, s, false, room.data); }},
        {"weights oneDNN", flops,
         prepared(weight{g}, {{DNNL_ARG_SRC, g.src_desc()},
                              {DNNL_ARG_DIFF_DST, g.diff_dst_desc()},
                              {DNNL_ARG_DIFF_WEIGHTS, g.diff_weights_desc()},
                              {DNNL_ARG_DIFF_BIAS, g.diff_bias_desc()}})},
    };
    race(all, 60);
    print(name, all);
}

void fully_connected(const k::linear_shape& s) {
    tensor x(tessera::to_size(s.blocks * s.inputs) * 16), y(tessera::to_size(s.blocks * s.outputs) * 16),
        w(tessera::to_size(s.inputs * s.outputs)), bias(tessera::to_size(s.outputs));
    tensor dx(x.memory.size()), dy(y.memory.size()), dw(w.memory.size()), db(bias.memory.size());
    tensor room(k::linear_backward_weights_scratch(s) / 4);
    const double flops = 2.0 * s.blocks * 16 * s.inputs * s.outputs;
    const dims source{s.blocks * 16, s.inputs}, weights{s.outputs, s.inputs}, result{s.blocks * 16, s.outputs};
    using forward = dnnl::inner_product_forward;
    using data = dnnl::inner_product_backward_data;
    using weight = dnnl::inner_product_backward_weights;
    const auto f =
        described<forward>(dnnl::prop_kind::forward_training, any(source), any(weights), any({s.outputs}), any(result));
    const auto d = described_after<data>(f, any(source), any(weights), any(result));
    const auto g = described_after<weight>(f, any(source), any(weights), any({s.outputs}), any(result));
    std::vector<contestant> all{
        {"forward", flops, [&] { k::linear_forward(x.data, w.data, bias.data, y.data, s, false); }},
        {"forward oneDNN", flops,
         prepared(forward{f}, {{DNNL_ARG_SRC, f.src_desc()},
                               {DNNL_ARG_WEIGHTS, f.weights_desc()},
                               {DNNL_ARG_BIAS, f.bias_desc()},
                               {DNNL_ARG_DST, f.dst_desc()}})},
        {"data", flops, [&] { k::linear_backward_data(dy.data, w.data, dx.data, s); }},
        {"data oneDNN", flops,
         prepared(data{d}, {{DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                            {DNNL_ARG_WEIGHTS, d.weights_desc()},
                            {DNNL_ARG_DIFF_SRC, d.diff_src_desc()}})},
        {"weights", flops, [&] { k::linear_backward_weights(x.data, dy.data, dw.data, db.data, s, false, room.data); }},
        {"weights oneDNN", flops,
         prepared(weight{g}, {{DNNL_ARG_SRC, g.src_desc()},
                              {DNNL_ARG_DIFF_DST, g.diff_dst_desc()},
                              {DNNL_ARG_DIFF_WEIGHTS, g.diff_weights_desc()},
                              {DNNL_ARG_DIFF_BIAS, g.diff_bias_desc()}})},
    };
    race(all, 60);
    print(("fc " + std::to_string(s.inputs) + " -> " + std::to_string(s.outputs)).c_str(), all);
}

/// One register tile on data that stays in the first-level cache: as fast as multiply-adds get here.
void ceiling() {
    tensor x(4096), y(4096);
    std::vector<k::detail::tap> taps(16);
    for (int i = 0; i < 16; ++i) taps[tessera::to_size(i)] = {i * 16, i * 4};
    k::detail::listed_sum work;
    work.taps = taps.data();
    work.tap_count = 16;
    work.repeats = 200;
    work.scalars = y.data;
    for (int b = 0; b < k::detail::largest_columns; ++b) {
        work.vectors[b] = x.data + b * 16;
        work.ends.out[b] = y.data + 1024 + b * 16;
    }
    for (int a = 0; a < k::detail::largest_rows; ++a) work.ends.out_row[a] = a * 128;
    work.ends.start = k::detail::zero_vector;
    const auto tile = k::detail::listed_tiles().cheapest(k::detail::covering{4, 60, 1000});
    std::vector<contestant> all{
        {"peak", 2.0 * 3200 * tile.rows * tile.columns * k::detail::listed_tiles().width, [&] { tile.run(work); }}};
    race(all, 100);
    std::printf("tile %dx%d in cache: %.1f GFLOP/s\n", tile.rows, tile.columns, all[0].best);
    std::fflush(stdout);
}

k::conv_shape conv(int blocks, int in, int extent, int out, int kernel, int pad) {
    const int result = extent + 2 * pad - kernel + 1;
    return {.blocks = blocks,
            .in_channels = in,
            .in_height = extent,
            .in_width = extent,
            .out_channels = out,
            .out_height = result,
            .out_width = result,
            .kernel_h = kernel,
            .kernel_w = kernel,
            .pad_top = pad,
            .pad_left = pad};
}

} // namespace

int main(int argc, char** argv) {
    const int blocks = argc > 1 ? std::atoi(argv[1]) : 4;
    std::printf("batch %d, GFLOP/s of ours / oneDNN\n", blocks * 16);
    ceiling();
    convolution("conv 1->10 5x5 28", conv(blocks, 1, 28, 10, 5, 0));
    convolution("conv 10->20 5x5 12", conv(blocks, 10, 12, 20, 5, 0));
    convolution("conv 1->6 5x5 pad 2 28", conv(blocks, 1, 28, 6, 5, 2));
    convolution("conv 6->16 5x5 14", conv(blocks, 6, 14, 16, 5, 0));
    ceiling();
    convolution("conv 16->16 3x3 28", conv(blocks, 16, 28, 16, 3, 1));
    convolution("conv 32->32 3x3 14", conv(blocks, 32, 14, 32, 3, 1));
    convolution("conv 64->64 3x3 8", conv(blocks, 64, 8, 64, 3, 1));
    if (blocks < 16) convolution("conv 64->64 3x3 28", conv(1, 64, 28, 64, 3, 1));
    ceiling();
    for (const auto& [inputs, outputs] : {std::pair{320, 50}, {50, 10}, {400, 120}, {120, 84}, {84, 10}})
        fully_connected({blocks, inputs, outputs});
    ceiling();
}
