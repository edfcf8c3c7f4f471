// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend does when something goes wrong, on make-believe libraries: who is named, and that nothing is
// left half done.
#include "support/cuda_make_believe.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;
using namespace test_support;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a call that fails is named with its task, and one that the GPU does wrong where each is waited for") {
    for (const bool checks : {false, true}) {
        CAPTURE(checks);
        on_gpus x(1, {.gpus = {0}, .measure = false, .check_calls = checks});
        ts::session<ts::cuda::backend> session = x.session();
        CHECK(std::isfinite(session.step(x.data.inputs)));
        cuda_fake::here().failing["cublasLtMatmul"] = 0;
        const std::string refused = message_of([&] { session.step(x.data.inputs); });
        CAPTURE(refused);
        CHECK(has(refused, "cublasLtMatmul failed with error 7"));
        CHECK(has(refused, "; in call "));
        CHECK(has(refused, ", cublasLtMatmul "));
        CHECK(has(refused, ", fc1 forward "));
        CHECK(has(refused, ", on GPU 0"));
        // An illegal address comes to light when somebody asks.
        cuda_fake::here().faulty["cublasLtMatmul"] = 0;
        const std::string late = message_of([&] { session.step(x.data.inputs); });
        CAPTURE(late);
        CHECK(has(late, "an illegal memory access"));
        CHECK(has(late, ", fc1 forward ") == checks);
        cuda_fake::here().fault = cudaSuccess;
        cuda_fake::here().faulty.clear();
    }
}

TEST_CASE("a capture that fails is ended, and the steps go on without it") {
    on_gpus plain(2, {.gpus = {0, 0}, .measure = false});
    on_gpus x(2, {.gpus = {0, 0}, .measure = false, .graph = true});
    ts::session<ts::cuda::backend> expected = plain.session();
    ts::session<ts::cuda::backend> session = x.session();
    CHECK(session.step(x.data.inputs) == expected.step(x.data.inputs)); // the next one would be captured
    for (const std::string function : {"cublasLtMatmul", "cudaEventRecord"}) {
        CAPTURE(function);
        cuda_fake::here().failing[function] = 1;
        const std::string text = message_of([&] { session.step(x.data.inputs); });
        CAPTURE(text);
        CHECK(has(text, function.c_str()));
        CHECK(cuda_fake::capturing == nullptr);
    }
    const int launches = cuda_fake::here().launches;
    for (int i = 0; i < 2; ++i) {
        CHECK(session.step(x.data.inputs) == expected.step(x.data.inputs));
    }
    CHECK(cuda_fake::here().launches == launches + 2);
}

TEST_CASE("a run that does not begin is ended too") {
    two_gpus x;
    ts::session<ts::cuda::backend> session = x.session();
    CHECK(std::isfinite(session.step(x.data.inputs)));
    cuda_fake::here().aborted = 0;
    cuda_fake::here().failing["cudaMemcpyAsync"] = 1; // the second device's step values
    CHECK(has(message_of([&] { session.step(x.data.inputs); }), "cudaMemcpyAsync"));
    CHECK(cuda_fake::here().aborted > 0);
}

TEST_CASE("a group of exchanges is closed where one of them fails, so that the others can be aborted") {
    for (const char* function : {"ncclReduceScatter", "ncclAllGather"}) {
        CAPTURE(function);
        two_gpus x;
        ts::session<ts::cuda::backend> session = x.session();
        CHECK(std::isfinite(session.step(x.data.inputs)));
        cuda_fake::here().aborted = 0;
        cuda_fake::here().failing[function] = 1; // the second member
        const std::string text = message_of([&] { session.step(x.data.inputs); });
        CAPTURE(text);
        CHECK(has(text, function));
        const bool names_task = has(text, " update 0.0, on GPU ") || has(text, " update 1.0, on GPU ");
        CHECK(names_task);
        CHECK(cuda_fake::here().open_groups == 0);
        CHECK(cuda_fake::here().aborted > 0);
    }
}

TEST_CASE("sums between GPUs give the same bits: switches may not add up, unless that is asked for") {
    const auto weights = [](bool same_bits) {
        on_gpus x(4, {.gpus = {0, 1, 2, 3}, .measure = false, .same_bits = same_bits});
        ts::session<ts::cuda::backend> session = x.session();
        for (int i = 0; i < 3; ++i) {
            session.step(x.data.inputs);
        }
        return session.parameter(0);
    };
    unsetenv("NCCL_NVLS_ENABLE");
    CHECK(weights(false) != weights(false));
    CHECK(weights(true) == weights(true));
    setenv("NCCL_NVLS_ENABLE", "1", 1);
    CHECK(has(message_of([&] { weights(true); }), "NCCL_NVLS_ENABLE is 1"));
    CHECK(weights(false).size() > 0);
    setenv("NCCL_NVLS_ENABLE", "0", 1);
}

TEST_CASE("communicators of some GPUs are split from that of all") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const batch_data data(g.view(), 7);
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F});
    ts::strategy s(g.view());
    for (ts::configuration& c : s.ops) {
        c.degree[0] = 2;
    }
    s.ops[0].degree[1] = 2; // of which each half of the weights is on two GPUs
    const oracle expected(g.view(), data, how, 3, 11);
    cuda_fake::here().cliques = cuda_fake::here().splits = 0;
    ts::cuda::backend backend(how, {.gpus = {3, 1, 0, 2}, .measure = false});
    ts::workers threads(4);
    ts::session<ts::cuda::backend> session(g.view(), s, 4, how, {.seed = 11}, backend, threads);
    for (double loss : expected.losses) {
        CHECK(session.step(data.inputs) == doctest::Approx(loss).epsilon(1e-5));
    }
    CHECK(cuda_fake::here().cliques == 1);
    CHECK(cuda_fake::here().splits >= 2);
}

TEST_CASE("a plan that does not fit in what is free on its GPUs is refused before it takes any of it") {
    const std::size_t all = cuda_fake::here().gpu_bytes;
    cuda_fake::here().gpu_bytes = std::size_t{100} << 20;
    {
        on_gpus x(4, {.gpus = {0, 1, 0, 1},
                      .measure = false}); // the libraries' workspaces alone are 32 MiB on each of four devices
        const std::size_t before = cuda_fake::here().memory.size();
        CHECK(std::isfinite(x.session().step(x.data.inputs)));
        cuda_fake::here().gpu_bytes = std::size_t{50} << 20;
        const std::string text = message_of([&] { x.session(); });
        CAPTURE(text);
        CHECK(has(text, " bytes more for arenas on GPU 0 (devices 0 2), and of its 52428800 bytes "));
        CHECK(cuda_fake::here().memory.size() >= before);
    }
    cuda_fake::here().gpu_bytes = all;
}
