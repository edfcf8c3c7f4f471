// SPDX-License-Identifier: Apache-2.0
// The constants of a GPU's roofline, measured through the calls that plans make: the highest rate that each kind of
// work reaches, the memory's bandwidth, what starting a task costs, and what copies to and from the GPU reach. For
// machine/presets.hpp.
#pragma once

#include "benchmarks/gpu_check/options.hpp"
#include "support/one_operator.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/simulate/task_time.hpp"

#include <algorithm>

namespace gpu_check {

/// Milliseconds of the median of five runs of `repeats` calls of `issue(stream)`, for each call.
template <class Issue>
double time_on_gpu(int repeats, Issue&& issue) {
    const ts::cuda::stream_handle stream = ts::cuda::make_stream();
    const ts::cuda::event_handle before = ts::cuda::make_timer();
    const ts::cuda::event_handle after = ts::cuda::make_timer();
    std::vector<double> runs;
    for (int run = 0; run < 6; ++run) {
        ts::cuda::check(cudaEventRecord(before.get(), stream.get()), "cudaEventRecord");
        for (int i = 0; i < repeats; ++i) {
            issue(stream.get());
        }
        ts::cuda::check(cudaEventRecord(after.get(), stream.get()), "cudaEventRecord");
        ts::cuda::check(cudaEventSynchronize(after.get()), "cudaEventSynchronize");
        float taken = 0;
        ts::cuda::check(cudaEventElapsedTime(&taken, before.get(), after.get()), "cudaEventElapsedTime");
        if (run > 0) {
            runs.push_back(static_cast<double>(taken) / repeats);
        }
    }
    return median(runs);
}

struct copy_rates {    ///< 10^6 bytes per second
    double within = 0; ///< bytes read and written
    double to_gpu = 0; ///< from pinned memory
    double from_gpu = 0;
    double latency = 0; ///< ns of a copy of 4 bytes within the GPU
};

inline copy_rates measure_copies(const options& o) {
    const ts::index_t bytes = o.tiny ? 1 << 16 : ts::index_t{1} << 30;
    const auto size = ts::to_size(bytes);
    const ts::cuda::device_pointer a = ts::cuda::make_device_memory(bytes);
    const ts::cuda::device_pointer b = ts::cuda::make_device_memory(bytes);
    const ts::cuda::pinned_pointer host = ts::cuda::make_pinned_memory(bytes);
    const auto time = [&](void* to, const void* from, std::size_t n, cudaMemcpyKind kind, int repeats) {
        return time_on_gpu(repeats, [&](cudaStream_t s) {
            ts::cuda::check(cudaMemcpyAsync(to, from, n, kind, s), "cudaMemcpyAsync");
        });
    };
    const double mb = static_cast<double>(bytes) * 1e-6;
    copy_rates r;
    r.within = 2 * mb / time(b.get(), a.get(), size, cudaMemcpyDeviceToDevice, 10) * 1000;
    r.to_gpu = mb / time(a.get(), host.get(), size, cudaMemcpyHostToDevice, 3) * 1000;
    r.from_gpu = mb / time(host.get(), a.get(), size, cudaMemcpyDeviceToHost, 3) * 1000;
    r.latency = time(b.get(), a.get(), 4, cudaMemcpyDeviceToDevice, 100) * 1e6;
    return r;
}

/// Between two GPUs by NCCL, where there are two: bandwidth in one direction and the time of 4 bytes.
inline void print_links(const options& o) {
    int gpus = 0;
    ts::cuda::check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    if (gpus < 2 || o.tiny) {
        std::printf("between GPUs: not measured, %s\n", o.tiny ? "tiny" : "there is one");
        return;
    }
    ts::cuda::communicator_table table;
    const auto& members = table.get({0, 1});
    ts::cuda::device_pointer memory[2];
    ts::cuda::stream_handle streams[2];
    const ts::index_t bytes = ts::index_t{256} << 20;
    for (int g = 0; g < 2; ++g) {
        const ts::cuda::current_gpu current(g);
        memory[g] = ts::cuda::make_device_memory(bytes);
        streams[g] = ts::cuda::make_stream();
    }
    const auto send = [&](ts::index_t count) {
        std::vector<double> runs;
        for (int i = 0; i < 12; ++i) {
            const double t = milliseconds([&] {
                ts::cuda::check(ncclGroupStart(), "ncclGroupStart");
                ts::cuda::check(
                    ncclSend(memory[0].get(), ts::to_size(count), ncclFloat32, 1, members[0].get(), streams[0].get()),
                    "ncclSend");
                ts::cuda::check(
                    ncclRecv(memory[1].get(), ts::to_size(count), ncclFloat32, 0, members[1].get(), streams[1].get()),
                    "ncclRecv");
                ts::cuda::check(ncclGroupEnd(), "ncclGroupEnd");
                for (const ts::cuda::stream_handle& s : streams) {
                    ts::cuda::check(cudaStreamSynchronize(s.get()), "cudaStreamSynchronize");
                }
            });
            if (i > 1) {
                runs.push_back(t);
            }
        }
        return median(runs);
    };
    const double small = send(1);
    const double large = send(bytes / 4);
    std::printf("between GPUs 0 and 1: %.0f MB/s in one direction, %.0f ns for 4 bytes\n",
                static_cast<double>(bytes) * 1e-3 / (large - small), small * 1e6);
}

/// A device class with what was measured; the rates are those that the simulator's counts of operations and bytes
/// reach.
inline ts::device_class measure_roofline(const options& o, bool print) {
    using ts::make_shape;
    using ts::op_kind;
    const ts::index_t n = o.tiny ? 2 : 64;
    const ts::index_t side = o.tiny ? 4 : 28;
    const ts::index_t wide = o.tiny ? 16 : 8192;
    std::vector<tests::op_case> rows = {
        {"conv2d 3x3",
         ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .padding = {1, 1}, .out = 256}),
         {}},
        {"conv2d 1x1", ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.out = 512}), {}},
        {"linear",
         ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = wide}),
         {make_shape(wide, wide)}},
        {"add", {.kind = op_kind::add}, {make_shape(n * 4, wide, side), make_shape(n * 4, wide, side)}},
        {"relu", {.kind = op_kind::relu}, {make_shape(n * 4, wide, side)}},
        {"gelu in the cache", {.kind = op_kind::gelu}, {make_shape(n, wide)}},
        {"add of one number", {.kind = op_kind::add}, {make_shape(1, 1), make_shape(1, 1)}},
    };
    rows[0].inputs = {make_shape(n, o.tiny ? 4 : 256, side, side)};
    rows[1].inputs = {make_shape(n, o.tiny ? 4 : 512, side, side)};
    ts::device_class c;
    cudaDeviceProp gpu{};
    ts::cuda::check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
    c.name = gpu.name;
    c.memory_bytes = static_cast<ts::index_t>(gpu.totalGlobalMem);
    const copy_rates copies = measure_copies(o);
    c.memory_megabytes = std::max<ts::index_t>(1, static_cast<ts::index_t>(copies.within));
    ts::index_t smallest = 0;
    if (print) {
        std::printf("%-20s %-16s %10s %10s %12s %10s %10s\n", "operator", "pass", "GFLOP", "MB", "us", "GFLOP/s",
                    "MB/s");
    }
    for (const tests::op_case& row : rows) {
        ts::graph network = test_support::graph_of(row);
        set_precision(network, o);
        const ts::graph_view g = network.view();
        ts::lower_options how;
        how.keep_gradients = true;
        how.output_gradient = g.tensor_count - 1;
        ts::plan p = ts::lower(g, ts::strategy(g).view(), 1, how);
        ts::cuda::backend backend({}, {.gpus = {0}, .profile_path = o.profile});
        backend.bind(p, g, nullptr);
        ts::finish(g, p);
        const ts::cost::profile times = backend.task_times(p, g);
        for (const ts::task& t : p.tasks) {
            const ts::index_t time = times.find(ts::simulation::signature_of(g, p.tiles, t));
            if (t.kind() != ts::task_kind::compute || time < 1) {
                continue;
            }
            const ts::cost::work w = ts::simulation::work_of(g, g.describe(t.op), p.tiles, t);
            const double rate = static_cast<double>(w.flops) / static_cast<double>(time);
            const double traffic = static_cast<double>(w.bytes) / static_cast<double>(time) * 1000;
            ts::index_t& best = c.gigaflops[static_cast<int>(w.kind)];
            best = std::max(best, static_cast<ts::index_t>(rate));
            smallest = smallest == 0 ? time : std::min(smallest, time);
            if (print) {
                std::printf("%-20s %-16s %10.2f %10.2f %12.2f %10.0f %10.0f\n", row.name.c_str(), ts::to_text(t.what),
                            static_cast<double>(w.flops) * 1e-9, static_cast<double>(w.bytes) * 1e-6,
                            static_cast<double>(time) * 1e-3, rate, traffic);
            }
        }
    }
    c.launch = smallest;
    if (print) {
        std::printf("memory: %.0f MB/s (copy within the GPU, bytes read and written); 4 bytes take %.0f ns\n",
                    copies.within, copies.latency);
        std::printf("from pinned memory: %.0f MB/s; back: %.0f MB/s\n", copies.to_gpu, copies.from_gpu);
        print_links(o);
        std::printf("the smallest task takes %lld ns\n", static_cast<long long>(c.launch));
        std::printf("reached in %s, as a device class: {\"%s\", {%lld, %lld, %lld}, %lld, %lld, %lld, false}\n",
                    o.precision.c_str(), c.name.c_str(), static_cast<long long>(c.gigaflops[0]),
                    static_cast<long long>(c.gigaflops[1]), static_cast<long long>(c.gigaflops[2]),
                    static_cast<long long>(c.memory_megabytes), static_cast<long long>(c.memory_bytes),
                    static_cast<long long>(c.launch));
        const ts::device_class h200 = ts::machines::h200_nodes().classes[0];
        const auto peak = [&](ts::work_kind kind) { return h200.rate(kind, precision_of(o)); };
        const auto share = [](ts::index_t reached, ts::index_t most) {
            return static_cast<long long>(reached * 100 / most);
        };
        std::printf(
            "in per cent of machine/presets.hpp's %s: roofline_efficiency{{%lld, %lld, %lld}, %lld}; launch %lld ns "
            "where the preset says %lld\n",
            h200.name.c_str(), share(c.gigaflops[0], peak(ts::work_kind::convolution)),
            share(c.gigaflops[1], peak(ts::work_kind::matrix_product)),
            share(c.gigaflops[2], peak(ts::work_kind::elementwise)), share(c.memory_megabytes, h200.memory_megabytes),
            static_cast<long long>(c.launch), static_cast<long long>(h200.launch));
    }
    return c;
}

inline int roofline(const options& o) {
    measure_roofline(o, true);
    return 0;
}

} // namespace gpu_check
