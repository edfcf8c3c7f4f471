// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of ts::sharded on GPUs: operators at the sizes of real networks, whole and in shards on the GPUs
// that there are (on one card, shards share it). Forward and backward apart: what the kernels take, what the movement
// of data takes, and what a run takes above both, which is dispatch.
#pragma once

#include "benchmarks/gpu_check/options.hpp"

#include <memory>

namespace gpu_check {

namespace rows {
struct conv3x3 : ts::conv2d<64, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct conv1x1 : ts::conv2d<1024, ts::window<1>, ts::no_bias> {};
struct conv7x7 : ts::conv2d<64, ts::window<7>, ts::stride<2>, ts::padding<3>> {};
struct depthwise : ts::conv2d<64, ts::window<3>, ts::padding<1>, ts::groups<64>, ts::no_bias> {};
struct fc : ts::linear<4096> {};
struct wide : ts::linear<3072> {};
struct norm : ts::batch_norm<> {};
struct rows_norm : ts::layer_norm<> {};
struct scores : ts::matmul<ts::heads<12>, ts::transpose_second, ts::scaled> {};
struct words : ts::embedding<50257, 768> {};
struct few_words : ts::embedding<50, 8> {};
struct places : ts::position_embedding<> {};
} // namespace rows

class operator_table {
public:
    operator_table(const options& o, row_filter& filter) : o_(o), filter_(filter) {
        std::printf("%-40s %-12s %-9s %6s %9s %9s %9s %9s %9s %9s\n", "operator", "split", "pass", "calls",
                    "kernels us", "moves us", "run us", "dispatch", "GFLOP/s", "MB crossed");
    }

    /// One operator, with the inputs of a real network or tiny ones.
    template <class Op, class... Split>
    void row(const std::string& name, const char* split, int devices, const std::vector<ts::shape>& large,
             const std::vector<ts::shape>& tiny) {
        if (!filter_.takes(name)) {
            return;
        }
        failed_ +=
            attempt(name + ", " + split, [&] { time<Op, Split...>(name, split, devices, o_.tiny ? tiny : large); }) ? 0
                                                                                                                    : 1;
    }
    template <class Op>
    void whole_and_samples(const std::string& name, const std::vector<ts::shape>& large,
                           const std::vector<ts::shape>& tiny) {
        row<Op>(name, "whole", 1, large, tiny);
        row<Op, ts::split<ts::sample, 2>>(name, "sample/2", 2, large, tiny);
    }
    template <class Op>
    void with_channels(const std::string& name, const std::vector<ts::shape>& large,
                       const std::vector<ts::shape>& tiny) {
        whole_and_samples<Op>(name, large, tiny);
        row<Op, ts::split<ts::channel, 2>>(name, "channel/2", 2, large, tiny);
    }
    int failed() const { return failed_; }

private:
    template <class Op, class... Split>
    void time(const std::string& name, const char* split, int devices, const std::vector<ts::shape>& inputs) {
        using type = ts::sharded<Op, Split...>;
        type op(ts::cuda::devices(devices), inputs, precision_of(o_));
        op.forward();
        op.backward();
        const ts::cuda::call_list& list = op.backend().calls(op.memory());
        const int tasks = static_cast<int>(list.first.size()) - 1;
        double walls[2];
        for (const bool backward : {false, true}) {
            std::vector<double> runs;
            for (int i = 0; i < (o_.tiny ? 3 : 24); ++i) {
                const double t = milliseconds([&] { backward ? op.backward() : op.forward(); });
                if (i >= (o_.tiny ? 0 : 4)) {
                    runs.push_back(t);
                }
            }
            walls[backward ? 1 : 0] = median(runs);
        }
        const std::vector<double> each = op.backend().time_calls(op.memory(), op.state(), o_.tiny ? 1 : 20);
        const int boundary = op.first_backward_task();
        for (const bool backward : {false, true}) {
            const call_sums s = sums_of(list, each, backward ? boundary : 0, backward ? tasks : boundary);
            const double wall = walls[backward ? 1 : 0];
            const auto flops = static_cast<double>(backward ? op.backward_flops() : op.forward_flops());
            std::printf("%-40s %-12s %-9s %6d %10.2f %9.2f %9.2f %9.2f %9.0f %9.2f\n", name.c_str(), split,
                        backward ? "backward" : "forward", s.calls, s.kernels * 1e3, s.movement * 1e3, wall * 1e3,
                        (wall - s.all()) * 1e3, s.kernels > 0 ? flops / s.kernels * 1e-6 : 0.0,
                        static_cast<double>(op.moved_bytes()) * 1e-6);
        }
        std::fflush(stdout);
    }

    const options& o_;
    row_filter& filter_;
    int failed_ = 0;
};

inline int operators(const options& o) {
    using ts::make_shape;
    using ts::split;
    row_filter filter(o);
    operator_table t(o, filter);
    if (o.tiny) {
        std::printf("tiny: the names say what would be run\n");
    }
    const auto image = [](int n, int c, int side) { return make_shape(n, c, side, side); };
    const std::vector<ts::shape> tiny{image(2, 64, 4)};
    t.with_channels<rows::conv3x3>("conv2d 64x64x56x56 to 64, 3x3", {image(64, 64, 56)}, tiny);
    t.row<rows::conv3x3, split<ts::height, 2>>("conv2d 64x64x56x56 to 64, 3x3", "height/2", 2, {image(64, 64, 56)},
                                               tiny);
    t.row<rows::conv3x3, split<ts::reduction, 2>>("conv2d 64x64x56x56 to 64, 3x3", "reduction/2", 2,
                                                  {image(64, 64, 56)}, tiny);
    t.with_channels<rows::conv1x1>("conv2d 64x256x14x14 to 1024, 1x1", {image(64, 256, 14)}, {image(2, 4, 3)});
    t.whole_and_samples<rows::conv7x7>("conv2d 64x3x224x224 to 64, 7x7/2", {image(64, 3, 224)}, {image(2, 3, 12)});
    t.whole_and_samples<rows::depthwise>("conv2d 64x64x56x56 depthwise", {image(64, 64, 56)}, tiny);
    t.with_channels<rows::fc>("linear 256x4096 to 4096", {make_shape(256, 4096)}, {make_shape(2, 8)});
    t.row<rows::fc, split<ts::reduction, 2>>("linear 256x4096 to 4096", "reduction/2", 2, {make_shape(256, 4096)},
                                             {make_shape(2, 8)});
    t.whole_and_samples<rows::wide>("linear 8x1024x768 to 3072", {make_shape(8, 1024, 768)}, {make_shape(2, 3, 8)});
    using pool3 = ts::max_pool<3, ts::stride<2>, ts::padding<1>>;
    t.with_channels<pool3>("max_pool 64x64x112x112, 3x3/2", {image(64, 64, 112)}, tiny);
    t.with_channels<ts::average_pool<2>>("average_pool 64x64x56x56, 2x2/2", {image(64, 64, 56)}, tiny);
    t.with_channels<ts::global_average_pool>("global_average_pool 64x2048x7x7", {image(64, 2048, 7)}, tiny);
    t.with_channels<ts::relu>("relu 64x256x56x56", {image(64, 256, 56)}, tiny);
    t.row<ts::sigmoid>("sigmoid 64x256x28x28", "whole", 1, {image(64, 256, 28)}, tiny);
    t.row<ts::tanh>("tanh 64x256x28x28", "whole", 1, {image(64, 256, 28)}, tiny);
    t.row<ts::gelu>("gelu 8x1024x3072", "whole", 1, {make_shape(8, 1024, 3072)}, {make_shape(2, 3, 4)});
    t.with_channels<ts::add>("add 64x256x56x56", {image(64, 256, 56), image(64, 256, 56)}, {tiny[0], tiny[0]});
    t.row<ts::multiply>("multiply 64x256x28x28", "whole", 1, {image(64, 256, 28), image(64, 256, 28)},
                        {tiny[0], tiny[0]});
    t.whole_and_samples<ts::concat>("concat of two 64x128x28x28", {image(64, 128, 28), image(64, 128, 28)},
                                    {tiny[0], tiny[0]});
    t.row<ts::slice<16, 32>>("slice 64x64x56x56", "whole", 1, {image(64, 64, 56)}, tiny);
    t.row<ts::flatten>("flatten 64x64x56x56", "whole", 1, {image(64, 64, 56)}, tiny);
    t.row<ts::dropout<50>>("dropout 256x4096", "whole", 1, {make_shape(256, 4096)}, {make_shape(2, 8)});
    t.row<ts::channel_dropout<20>>("channel_dropout 64x256x28x28", "whole", 1, {image(64, 256, 28)}, tiny);
    t.row<rows::norm>("batch_norm 64x256x28x28", "whole", 1, {image(64, 256, 28)}, tiny);
    t.row<rows::norm, split<ts::sample, 2>, ts::with_reduction>("batch_norm 64x256x28x28", "sample/2", 2,
                                                                {image(64, 256, 28)}, tiny);
    t.row<rows::norm, split<ts::channel, 2>>("batch_norm 64x256x28x28", "channel/2", 2, {image(64, 256, 28)}, tiny);
    t.whole_and_samples<rows::rows_norm>("layer_norm 8x1024x768", {make_shape(8, 1024, 768)}, {make_shape(2, 3, 4)});
    t.whole_and_samples<ts::softmax<ts::causal>>("softmax 8x12x1024x1024, causal", {make_shape(8, 12, 1024, 1024)},
                                                 {make_shape(2, 2, 4, 4)});
    t.whole_and_samples<rows::scores>("matmul 8x1024x768, 12 heads",
                                      {make_shape(8, 1024, 768), make_shape(8, 1024, 768)},
                                      {make_shape(2, 3, 24), make_shape(2, 3, 24)});
    const char* const look_up = "embedding 8x1024 of 50257 to 768";
    o.tiny ? t.whole_and_samples<rows::few_words>(look_up, {}, {make_shape(2, 3)})
           : t.whole_and_samples<rows::words>(look_up, {make_shape(8, 1024)}, {});
    t.whole_and_samples<rows::places>("position_embedding 8x1024x768", {make_shape(8, 1024, 768)},
                                      {make_shape(2, 3, 4)});
    t.whole_and_samples<ts::cross_entropy>("cross_entropy 256x1000", {make_shape(256, 1000)}, {make_shape(2, 4)});
    t.row<ts::cross_entropy, split<ts::channel, 2>, ts::with_reduction>("cross_entropy 256x1000", "channel/2", 2,
                                                                        {make_shape(256, 1000)}, {make_shape(2, 4)});
    std::printf("kernels, moves: each call alone on its GPU; dispatch: what the run takes above their sum (below 0 "
                "where shards "
                "overlap)\n");
    return filter.finish() && t.failed() == 0 ? 0 : 1;
}

} // namespace gpu_check
