// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of operators in shards, over a table of operators and splits: time of a forward and of a backward run (which
// includes the reduction of the parameters' gradients), rate of the operator's own arithmetic, bytes moved between devices.
// Google Benchmark's flags apply, such as --benchmark_filter=conv.
#include <tessera/host.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

struct conv5x5 : ts::conv2d<20, ts::window<5>> {};
struct conv3x3 : ts::conv2d<64, ts::window<3>, ts::padding<1>> {};
struct pool2 : ts::max_pool<2> {};
struct norm : ts::batch_norm<> {};
struct fc : ts::linear<1024> {};

/// Builds the operator before the first measurement, and once for forward and backward.
template <class Op, class... Options>
void add_row(const std::string& name, int devices, const std::vector<ts::shape>& inputs) {
    using type = ts::sharded<Op, Options...>;
    auto op = std::make_shared<std::unique_ptr<type>>();
    const auto ready = [op, devices, inputs]() -> type& {
        if (*op == nullptr) {
            *op = std::make_unique<type>(ts::host::devices(devices), inputs);
            (*op)->forward();
        }
        return **op;
    };
    for (const bool backward : {false, true}) {
        benchmark::RegisterBenchmark(
            (name + (backward ? " backward" : " forward")).c_str(),
            [ready, backward](benchmark::State& state) {
                type& what = ready();
                for (auto _ : state) {
                    backward ? what.backward() : what.forward();
                }
                const auto flops = static_cast<double>(backward ? what.backward_flops() : what.forward_flops());
                state.counters["GFLOP"] =
                    benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
                state.counters["moved_bytes"] = static_cast<double>(what.moved_bytes());
            })
            ->UseRealTime();
    }
}

template <class Op>
void add_rows(const std::string& name, const std::vector<ts::shape>& inputs) {
    using ts::split;
    add_row<Op>(name + " whole", 1, inputs);
    add_row<Op, split<ts::sample, 2>>(name + " sample/2", 2, inputs);
    add_row<Op, split<ts::channel, 2>>(name + " channel/2", 2, inputs);
}

void add_table() {
    using ts::make_shape;
    using ts::split;
    add_rows<conv5x5>("conv5x5 64x10x12x12", {make_shape(64, 10, 12, 12)});
    add_row<conv5x5, split<ts::sample, 2>, split<ts::channel, 2>>("conv5x5 64x10x12x12 sample/2 channel/2", 4,
                                                                  {make_shape(64, 10, 12, 12)});
    add_rows<conv3x3>("conv3x3 32x64x28x28", {make_shape(32, 64, 28, 28)});
    add_row<conv3x3, split<ts::height, 2>>("conv3x3 32x64x28x28 height/2", 2, {make_shape(32, 64, 28, 28)});
    add_row<conv3x3, split<ts::reduction, 2>>("conv3x3 32x64x28x28 reduction/2", 2, {make_shape(32, 64, 28, 28)});
    add_rows<fc>("linear 64x1024", {make_shape(64, 1024)});
    add_row<fc, split<ts::reduction, 2>>("linear 64x1024 reduction/2", 2, {make_shape(64, 1024)});
    add_rows<pool2>("max_pool2 64x20x24x24", {make_shape(64, 20, 24, 24)});
    add_rows<ts::relu>("relu 64x20x24x24", {make_shape(64, 20, 24, 24)});
    add_row<norm>("batch_norm 64x20x24x24 whole", 1, {make_shape(64, 20, 24, 24)});
    add_row<norm, split<ts::sample, 2>, ts::with_reduction>("batch_norm 64x20x24x24 sample/2", 2,
                                                            {make_shape(64, 20, 24, 24)});
    add_rows<ts::add>("add 64x20x24x24", {make_shape(64, 20, 24, 24), make_shape(64, 20, 24, 24)});
    add_row<ts::cross_entropy>("cross_entropy 64x1000 whole", 1, {make_shape(64, 1000)});
    add_row<ts::cross_entropy, split<ts::sample, 2>>("cross_entropy 64x1000 sample/2", 2, {make_shape(64, 1000)});
    add_row<ts::cross_entropy, split<ts::channel, 2>, ts::with_reduction>("cross_entropy 64x1000 channel/2", 2,
                                                                          {make_shape(64, 1000)});
}

} // namespace

int main(int count, char** arguments) {
    try {
        benchmark::Initialize(&count, arguments);
        if (benchmark::ReportUnrecognizedArguments(count, arguments)) return EXIT_FAILURE;
        add_table();
        benchmark::RunSpecifiedBenchmarks();
        benchmark::Shutdown();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "sharded: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
