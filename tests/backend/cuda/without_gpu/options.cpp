// SPDX-License-Identifier: Apache-2.0
// Options of the CUDA backend on make-believe libraries: they reach it, and do what they say.
#include "support/cuda_make_believe.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include <unistd.h>

namespace {

namespace ts = tessera;
using namespace test_support;

ts::cuda::convolution filter_gradient(int samples, int channels) {
    ts::cuda::convolution c;
    c.way = ts::cuda::convolution::direction::backward_filter;
    const int x[] = {samples, channels, 32, 32};
    const int w[] = {channels, channels, 3, 3};
    for (int i = 0; i < 4; ++i) {
        c.x[i] = c.y[i] = x[i];
        c.w[i] = w[i];
    }
    c.padding[0] = c.padding[1] = 1;
    return c;
}

} // namespace

TEST_CASE(
    "the workspace of a convolution follows the GPU's memory, is never less than its arrays, or what an option says") {
    auto& gpu = cuda_fake::here();
    const std::size_t all = gpu.gpu_bytes;
    const std::size_t usual = gpu.third_wants;
    const auto algorithm = [](ts::index_t most, bool times, int samples = 1) {
        return ts::cuda::convolution_search(0, most, times).search(filter_gradient(samples, 16)).algorithm;
    };
    gpu.gpu_bytes = std::size_t{256} << 20; // of which a 32nd is 8 MiB
    for (const bool times : {false, true}) {
        CAPTURE(times);
        gpu.third_wants = std::size_t{8} << 20;
        CHECK(algorithm(0, times) == 2);
        CHECK(algorithm(1 << 20, times) == 3);
        gpu.third_wants += 1;
        CHECK(algorithm(0, times) == 3);
        CHECK(algorithm(10 << 20, times) == 2);
        CHECK(algorithm(0, times, 128) == 2); // whose arrays have 16 MiB
    }
    // Where there is no room to measure, cuDNN estimates.
    gpu.gpu_bytes = 1 << 10;
    const std::size_t allocations = gpu.memory.size();
    const ts::cuda::algorithm_choice found = ts::cuda::convolution_search(0, 0, true).search(filter_gradient(1, 16));
    CHECK(found.algorithm == 3);
    CHECK(gpu.memory.size() == allocations);
    gpu.gpu_bytes = all;
    gpu.third_wants = usual;
}

TEST_CASE("of cublasLt's proposals for a product the fastest is taken, where there is room to measure") {
    auto& gpu = cuda_fake::here();
    const std::size_t all = gpu.gpu_bytes;
    gpu.proposal_costs = {5000, 7000, 100, 9000};
    ts::cuda::matrix_product m;
    m.m = 8;
    m.n = 4;
    m.k = 16;
    m.workspace = 1024;
    CHECK(ts::cuda::product_search(0, true).search(m).algorithm == 2);
    CHECK(ts::cuda::product_search(0, true).search(m).milliseconds > 0);
    CHECK(ts::cuda::product_search(0, false).search(m).algorithm == 0);
    m.sums = true; // for which cublasLt may have no epilogue
    gpu.sums_beside_products = false;
    CHECK(ts::cuda::product_search(0, true).search(m).algorithm == 0);
    gpu.sums_beside_products = true;
    gpu.gpu_bytes = 1 << 10;
    const std::size_t allocations = gpu.memory.size();
    CHECK(ts::cuda::product_search(0, true).search(m).algorithm == 0);
    CHECK(gpu.memory.size() == allocations);
    gpu.gpu_bytes = all;
    // In a training every product runs by what was found, and the numbers are the same.
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const batch_data data(g.view(), 1);
    double losses[2] = {};
    for (const bool measures : {false, true}) {
        ts::cuda::backend backend({}, {.gpus = {0}, .measure = measures});
        ts::workers threads(1);
        ts::session<ts::cuda::backend> session(g.view(), ts::strategy(g.view()), 1, {}, {.seed = 4}, backend, threads);
        gpu.proposals_run.clear();
        losses[measures ? 1 : 0] = session.step(data.inputs);
        CHECK((gpu.proposals_run[2] > 0) == measures);
        CHECK((gpu.proposals_run[0] > 0) == !measures);
        CHECK(gpu.proposals_run[1] + gpu.proposals_run[3] == 0);
    }
    CHECK(losses[0] == losses[1]);
    gpu.proposal_costs = {0};
}

TEST_CASE("before a graph is replayed the processor copies nothing that lies in a row") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F});
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    ts::workers threads(2);
    const auto run = [&](bool graph) {
        ts::cuda::backend backend(how, {.gpus = {0, 0}, .measure = false, .graph = graph});
        ts::session<ts::cuda::backend> session(g.view(), s, 2, how, {.seed = 11}, backend, threads);
        std::vector<double> losses;
        for (std::uint64_t i = 0; i < 4; ++i) {
            losses.push_back(session.step(batch_data(g.view(), 30 + i).inputs));
        }
        const std::size_t pinned = cuda_fake::here().pinned_bytes();
        CHECK(pinned == 2 * sizeof(ts::cuda::step_values)); // no place to pack anything
        return losses;
    };
    const int launches = cuda_fake::here().launches;
    CHECK(run(true) == run(false));
    CHECK(cuda_fake::here().launches == launches + 3);
}

TEST_CASE("a trainer and a sharded operator hand the backend its own options and theirs") {
    const ts::cuda::devices devices(2);
    const ts::graph g = ts::describe<cuda_runs::small>(8);
    ts::strategy s(g.view());
    s.ops[0].degree[1] = 2;
    const batch_data data(g.view(), 5);
    using trainer = ts::trainer<cuda_runs::small, ts::cuda::backend>;
    const int launches = cuda_fake::here().launches;
    const std::size_t one = cuda_fake::here().used_bytes(1);
    {
        trainer t(devices, s, 8, ts::sgd{.learning_rate = 0.2F}, {}, {.gpus = {0, 0}, .graph = true});
        for (int i = 0; i < 4; ++i) {
            t.step(std::span<const ts::input_data>(data.inputs));
        }
        CHECK(cuda_fake::here().used_bytes(1) == one);
    }
    CHECK(cuda_fake::here().launches == launches + 3);
    CHECK(message_of([&] { trainer(devices, s, 8, ts::sgd{}, {.profile = "here"}, {.profile_path = "there"}); }) ==
          "tessera: what is measured is to be kept in here and in there; name the file in the trainer's options or in "
          "the backend's");
    // What a trainer's options say of measuring.
    struct conv : ts::conv2d<4, ts::window<3>> {};
    struct fc : ts::linear<4> {};
    struct seen : ts::sequential<ts::image<2, 8, 8>, conv, ts::flatten, fc, ts::cross_entropy> {};
    const std::string path = "/tmp/tessera_options_" + std::to_string(getpid());
    const ts::cuda::devices alone(1);
    const ts::strategy whole(ts::describe<seen>(4).view());
    for (const bool measures : {false, true}) {
        CAPTURE(measures);
        ts::trainer<seen, ts::cuda::backend> t(alone, whole, 4, ts::sgd{}, {.measure = measures, .profile = path});
        ts::cuda::algorithm_table known;
        int measured = 0;
        std::FILE* f = std::fopen(path.c_str(), "r");
        REQUIRE(f != nullptr);
        char line[1024];
        CHECK(std::fgets(line, sizeof line, f) != nullptr);
        CHECK((std::string(line).find(", estimated") == std::string::npos) == measures);
        for (; std::fgets(line, sizeof line, f) != nullptr; ++measured) {
        }
        std::fclose(f);
        CHECK(measured == 5); // forward and backward filter, three products
        std::remove(path.c_str());
    }
    std::remove((path + ".times").c_str());
    // The same of one operator.
    const std::size_t before = cuda_fake::here().used_bytes(1);
    ts::sharded_on<ts::cuda::backend, conv, ts::split<ts::sample, 2>> op(
        devices, ts::make_shape(4, 2, 8, 8), ts::precision::fp32, {.gpus = {0, 0}, .measure = false});
    op.forward();
    CHECK(cuda_fake::here().used_bytes(1) == before);
}
