// SPDX-License-Identifier: Apache-2.0
// The whole CUDA backend (threads, streams, events, handles, exchanges) on make-believe libraries: what it hands them
// must give the numbers of one device, however late the streams run.
#include "support/cuda_fake.hpp"
#include "support/cuda_make_believe.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include <unistd.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("random strategies give the numbers of one device, on one GPU and on several") {
    cuda_fake::here().exchanges = 0;
    cuda_runs::same_numbers(strategy_count(1), 3);
    CHECK(cuda_fake::here().exchanges > 100);
}

TEST_CASE("random pipelines give the numbers of one device, on one GPU and on several, issued or replayed") {
    cuda_fake::here().launches = 0;
    cuda_runs::pipelines(strategy_count(1), 3, true);
    CHECK(cuda_fake::here().launches > 0);
}

TEST_CASE("steps replayed from a graph give the same numbers, with the inputs, seed and rate of their own step") {
    cuda_fake::here().launches = 0;
    cuda_runs::same_numbers(strategy_count(1), 1, true);
    CHECK(cuda_fake::here().launches > 20);
    // Other inputs in every step: a graph must take them, not those of its capture.
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const ts::optimizer how(ts::adam{.learning_rate = 0.01F});
    ts::cuda::backend plain(how, {.gpus = {0, 0}, .measure = false});
    ts::cuda::backend replayed(how, {.gpus = {0, 0}, .measure = false, .graph = true});
    ts::workers threads(2);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    ts::session<ts::cuda::backend> a(g.view(), s, 2, how, {}, plain, threads);
    ts::session<ts::cuda::backend> b(g.view(), s, 2, how, {}, replayed, threads);
    for (std::uint64_t i = 0; i < 5; ++i) {
        const batch_data data(g.view(), 20 + i);
        a.set_learning_rate(0.01 / static_cast<double>(i + 1));
        b.set_learning_rate(0.01 / static_cast<double>(i + 1));
        CHECK(a.step(data.inputs) == b.step(data.inputs));
    }
    CHECK(a.parameter(0) == b.parameter(0));
}

TEST_CASE("a trainer learns, evaluates, and takes a short batch") { cuda_runs::trainer(); }

TEST_CASE("one operator in shards runs forward and backward as often as wanted") { cuda_runs::sharded(); }

TEST_CASE("updates by reduce-scatter and all-gather give the numbers of one device") {
    two_gpus x;
    const oracle expected(x.network.view(), x.data, x.how, 4, 11);
    ts::session<ts::cuda::backend> session = x.session();
    for (double loss : expected.losses) {
        CHECK(session.step(x.data.inputs) == doctest::Approx(loss).epsilon(1e-5));
    }
    const auto& list = x.backend.calls(session.training_executor().memory());
    int collectives = 0;
    for (const ts::cuda::call& c : list.calls) {
        collectives += std::holds_alternative<ts::cuda::collective>(c.body) ? 1 : 0;
    }
    CHECK(collectives == 2 * 5 * 2 + 2); // and the count of losses that are not finite
    for (const auto& copy : session.parameter_copies(0)) {
        CHECK(copy.second == session.parameter_copies(0)[0].second);
    }
}

TEST_CASE("an error of the exchange is told, ends what hangs, and the backend is not used again") {
    two_gpus x;
    ts::session<ts::cuda::backend> session = x.session();
    CHECK(std::isfinite(session.step(x.data.inputs)));
    cuda_fake::here().aborted = 0;
    cuda_fake::here().exchange_error = ncclRemoteError;
    const std::string text = message_of([&] { session.step(x.data.inputs); });
    CHECK(text.find("the communication between GPUs failed on GPU") != std::string::npos);
    CHECK(text.find("a peer is gone") != std::string::npos);
    CHECK(cuda_fake::here().aborted > 0);
    CHECK(message_of([&] { session.step(x.data.inputs); }).find("was aborted after an error") != std::string::npos);
    cuda_fake::here().exchange_error = ncclSuccess;
}

TEST_CASE("a GPU that does not answer is given up on") {
    two_gpus x;
    ts::cuda::backend impatient(x.how, {.gpus = {0, 1}, .measure = false, .patience = 0.05});
    ts::session<ts::cuda::backend> session(x.network.view(), x.strategy, 2, x.how, {}, impatient, x.threads);
    CHECK(std::isfinite(session.step(x.data.inputs)));
    cuda_fake::here().exchange_error = ncclInProgress;
    CHECK(message_of([&] { session.step(x.data.inputs); }).find("have not finished a step within") !=
          std::string::npos);
    cuda_fake::here().exchange_error = ncclSuccess;
}

TEST_CASE("calls are timed one by one, and sessions leave no memory behind") {
    const std::size_t before = cuda_fake::here().memory.size();
    {
        two_gpus x;
        ts::session<ts::cuda::backend> session = x.session();
        session.step(x.data.inputs);
        const auto& where = session.training_executor().memory();
        ts::run_state state;
        std::vector<const void*> pointers;
        for (const ts::input_data& i : x.data.inputs) {
            pointers.push_back(i.data);
        }
        pointers.resize(ts::to_size(x.network.view().tensor_count), x.data.inputs[1].data);
        state.inputs = pointers.data();
        const std::vector<double> times = x.backend.time_calls(where, state, 2);
        const auto& calls = x.backend.calls(where).calls;
        REQUIRE(times.size() == calls.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            CHECK((times[i] > 0) == (calls[i].group < 0));
        }
    }
    CHECK(cuda_fake::here().memory.size() == before);
}

TEST_CASE("of cuDNN's algorithms the fastest that repeats, has no TF32 and fits is taken, and measured once") {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(4);
    const ts::optimizer how;
    ts::cuda::backend backend(how, {.gpus = {0}});
    ts::workers threads(1);
    const batch_data data(g.view(), 7);
    const oracle expected(g.view(), data, how, 2, 11);
    ts::session<ts::cuda::backend> session(g.view(), ts::strategy(g.view()), 1, how, {.seed = 11}, backend, threads);
    for (double loss : expected.losses) {
        CHECK(session.step(data.inputs) == doctest::Approx(loss).epsilon(1e-5));
    }
    // A second backend takes what the first one measured from the file, and measures nothing.
    const std::string path = "/tmp/tessera_without_gpu_" + std::to_string(getpid());
    {
        ts::cuda::backend first(how, {.gpus = {0}, .profile_path = path});
        ts::session<ts::cuda::backend> one(g.view(), ts::strategy(g.view()), 1, how, {}, first, threads);
    }
    ts::cuda::backend second(how, {.gpus = {0}, .profile_path = path});
    CHECK(second.algorithms().known().size() == 5);
    std::remove(path.c_str());
    CHECK(backend.algorithms().known().size() == 5); // two convolutions, three ways; the input needs no gradient
    for (const auto& [call, choice] : backend.algorithms().known()) {
        CHECK(choice.algorithm == 3);
        CHECK(choice.multipliers == ts::cuda::math_type::plain);
        CHECK(choice.workspace == 512);
        CHECK(choice.milliseconds == doctest::Approx(4));
    }
}

TEST_CASE("tf32 and bf16, fused calls and whole norms reach the libraries as they are meant") {
    for (const ts::precision math : {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16}) {
        // The libraries need not have every fused call: then plain ones and a kernel give the same numbers.
        cuda_fake::here().sums_beside_products = math != ts::precision::tf32;
        cuda_fake::here().activates_convolutions = math != ts::precision::tf32;
        cuda_runs::precision(math, {0, 1}, [&](const ts::cuda::backend& backend) {
            // TF32 and bf16 may take tensor cores; the fastest algorithm does without, and so must its calls, or its
            // workspace is too small.
            for (const auto& [call, choice] : backend.algorithms().known()) {
                CHECK(call.math == math);
                CHECK(choice.algorithm == (math == ts::precision::fp32 ? 3 : 1));
                CHECK(choice.multipliers == ts::cuda::math_type::plain);
                CHECK(choice.workspace == 512);
            }
        });
    }
    cuda_fake::here().sums_beside_products = true;
    cuda_fake::here().activates_convolutions = true;
}

namespace {

/// A plan of two devices in shards and micro-batches, bound for the GPUs that it says.
struct timed_plan {
    ts::graph network = ts::describe<test_networks::residual_net::network>(4);
    ts::plan p;

    timed_plan(ts::cuda::backend& backend, const ts::optimizer& update, const std::vector<int>& gpus) {
        ts::strategy s(network.view());
        for (ts::configuration& c : s.ops) {
            c.degree[0] = 2;
            c.reduces = true;
        }
        s.micro_batches = 2;
        s.statistics = ts::statistics_over::micro_batch;
        ts::lower_options o;
        o.update = update;
        p = ts::lower(network.view(), s.view(), 2, o);
        backend.bind_for(p, network.view(), gpus);
        ts::finish(network.view(), p);
    }
};

} // namespace

TEST_CASE("what calls take arrives in the profile of tasks, in its file, and in the simulation") {
    const std::string path = "/tmp/tessera_times_" + std::to_string(getpid());
    const ts::optimizer how(ts::sgd{.momentum = 0.9F});
    const std::vector<int> gpus{0, 9}; // the second is not there
    ts::cuda::backend backend(how, {.gpus = {3}, .measure = false, .profile_path = path});
    const timed_plan x(backend, how, gpus);
    const ts::graph_view g = x.network.view();
    const ts::cost::profile measured = backend.task_times(x.p, g, gpus);
    ts::cuda::algorithm_table algorithms;
    for (const auto& [call, choice] : backend.algorithms().known()) {
        algorithms.add(call, choice);
    }
    const ts::cuda::call_list list = ts::cuda::make_call_list(x.p, g, {gpus, how}, algorithms);
    const ts::cluster machine(ts::machines::h200_nodes());
    const ts::simulation::timeline predicted = ts::simulation::simulate(g, x.p, machine, {&measured, {}});
    int kinds[6] = {};
    for (std::size_t i = 0; i < x.p.tasks.size(); ++i) {
        const ts::task& t = x.p.tasks[i];
        if (t.compute().fused) { // its time is that of the task before it
            continue;
        }
        const ts::index_t time = measured.find(ts::simulation::signature_of(g, x.p.tiles, t));
        double expected = 0;
        for (int c = list.first[i]; c < list.first[i + 1]; ++c) {
            const ts::cuda::call& y = list.calls[ts::to_size(c)];
            expected += ts::cuda::counts_as_work(y) ? cuda_fake::cost_of(y) : 0;
        }
        if (t.kind() != ts::task_kind::copy) {
            CAPTURE(i);
            CHECK(static_cast<double>(time) == doctest::Approx(expected).epsilon(1e-3));
            ++kinds[static_cast<int>(t.kind())];
        }
        if (t.kind() == ts::task_kind::compute) {
            CHECK(predicted.tasks[i].end - predicted.tasks[i].start == time);
        }
    }
    CHECK(kinds[static_cast<int>(ts::task_kind::compute)] > 20);
    CHECK(kinds[static_cast<int>(ts::task_kind::update)] > 5);
    CHECK(kinds[static_cast<int>(ts::task_kind::sum)] > 5);
    // Another backend finds all in the file, and measures nothing.
    {
        const int before = cuda_fake::here().timings;
        ts::cuda::backend second(how, {.gpus = {3}, .measure = false, .profile_path = path});
        CHECK(second.times().size() == backend.times().size());
        const ts::cost::profile again = second.task_times(x.p, g, gpus);
        CHECK(again.size() == measured.size());
        CHECK(cuda_fake::here().timings == before);
    }
    // A file of another machine, or with damaged lines, teaches nothing.
    ts::cuda::call_times other;
    other.read(path + ".times", "another machine");
    CHECK(other.size() == 0);
    backend.times().write(path + ".times", "a GPU");
    std::FILE* f = std::fopen((path + ".times").c_str(), "a");
    REQUIRE(f != nullptr);
    std::fputs("\nwords\n-5 x\n12\n7 a line without its end", f);
    std::fclose(f);
    other.read(path + ".times", "a GPU");
    CHECK(other.size() == backend.times().size());
    CHECK(message_of([&] { other.write("/no such folder/file", "a GPU"); }).find("cannot write") != std::string::npos);
    std::remove(path.c_str());
    std::remove((path + ".times").c_str());
}
