// SPDX-License-Identifier: Apache-2.0
// Programs of the guides docs/prediction.md and docs/gpus.md, word for word, with what they print.
#include <tessera/tessera.hpp>

#include <tessera/backend/cuda/bind.hpp>
#include <tessera/backend/cuda/calls/print.hpp>
#include <tessera/execute/learning_rate.hpp>
#include <tessera/execute/pruning.hpp>
#include <tessera/machine/presets.hpp>
#include <tessera/plan/finish.hpp>
#include <tessera/plan/lower/lower.hpp>
#include <tessera/schedule/buckets.hpp>
#include <tessera/schedule/one_forward_one_backward.hpp>
#include <tessera/schedule/quantized_gradients.hpp>
#include <tessera/schedule/stale_gradients.hpp>
#include <tessera/simulate/simulate.hpp>
#include <tessera/strategy/typed_groups.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace ts = tessera;

namespace {

struct fc1 : ts::linear<64> {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::features<256>, fc1, ts::relu, fc2, ts::cross_entropy> {};

// clang-format off
using piped = ts::strategy_of<network, 4, 128,
    ts::stages_from<fc1, fc2>, ts::micro_batches<8>, ts::pipeline<ts::one_forward_one_backward, ts::devices_each<2>>,
    ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::buckets<>>>;
struct conv1 : ts::conv2d<64, ts::window<3>, ts::initial_weights<ts::initial::kaiming_normal>> {};
struct head : ts::linear<10, ts::initial_weights<ts::initial::truncated_normal<2, 100>>,
                         ts::initial_bias<ts::initial::zeros>> {};
// clang-format on
struct drawn : ts::sequential<ts::image<3, 4, 4>, conv1, ts::flatten, head, ts::cross_entropy> {};
struct middle : ts::linear<192> {};
struct block : ts::linear<192> {};
struct repeated
    : ts::sequential<ts::image<3, 8, 8>, conv1, ts::flatten, middle, ts::repeat<2, block>, head, ts::cross_entropy> {};

/// What a trainer would do in step 600.
struct rates_at_600 {
    double rate[2] = {};
    int given = 0;
    template <class Schedule>
    void set_learning_rate(Schedule s) {
        rate[given++] = s(600);
    }
};

} // namespace

TEST_CASE("layers say what their parameters hold before training") {
    const ts::graph g = ts::describe<drawn>(2);
    CHECK(g.parameters[0].initial.how == ts::initial_values::kaiming_normal);
    CHECK(g.parameters[2].initial.number == 0.02F);
    CHECK(g.parameters[3].initial.how == ts::initial_values::zeros);
}

TEST_CASE("groups of parameters and schedules of the guide") {
    // clang-format off
    const auto how = ts::with_groups(ts::adamw{.learning_rate = 3e-4F, .weight_decay = 0.1F},
                                     ts::group<ts::biases_and_norms>{.decay = 0},
                                     ts::group<conv1, ts::instance<block, 0>>{.rate = 0.1F},
                                     ts::group_at{.path = "head/bias", .rate = 2});
    // clang-format on
    const ts::optimizer checked = ts::optimizer_for<repeated>(how).value;
    CHECK(checked.groups.size() == 4);
    rates_at_600 trainer;
    // clang-format off
    trainer.set_learning_rate(ts::warm_up{500, ts::cosine_decay{.rate = 3e-4, .steps = 9500, .last = 3e-5}});
    trainer.set_learning_rate(
        ts::sequential_rates{1000, ts::constant_rate{0.1}, ts::polynomial_decay{.rate = 0.1, .steps = 4000}});
    // clang-format on
    CHECK(trainer.rate[0] < 3e-4);
    CHECK(trainer.rate[1] == 0.1);
}

namespace {

/// What a trainer is asked to prune.
struct pruned_so {
    double scheduled = 0;
    double now = 0;
    template <class... L>
    void set_pruning(const ts::pruning_schedule& s) {
        scheduled = s(1200);
    }
    template <class... L>
    void prune(double share) {
        now = share;
    }
};

} // namespace

TEST_CASE("pruning of the guide") {
    pruned_so trainer;
    // clang-format off
    const ts::optimizer pruned = ts::optimizer(ts::sgd{.momentum = 0.9F}).pruning();
    trainer.set_pruning<fc1, conv1>({.last = 0.9, .begin = 200, .every = 50, .times = 20});
    trainer.prune<fc2>(0.5); // now
    // clang-format on
    CHECK(pruned.prunes);
    CHECK(trainer.scheduled == 0.9);
    CHECK(trainer.now == 0.5);
}

TEST_CASE("late gradients of the guide") {
    const ts::graph g = ts::describe<network>(128);
    ts::strategy s = ts::search::data_parallel(g.view(), 4);
    // clang-format off
    s.sync = ts::schedule::stale_gradients(ts::schedule::gradients_of(g.view()), 2);
    s.steps_per_plan = 8;
    s.overlap = true;
    // clang-format on
    CHECK(!ts::check_strategy(g.view(), s.view(), 4));
    CHECK(ts::lower(g.view(), s.view(), 4).staleness == 2);
}

TEST_CASE("a pipeline as a type") {
    static_assert(piped::ok);
    const ts::strategy s(piped::view());
    CHECK(s.schedule.workers == ts::schedule::one_forward_one_backward(2, 8).workers);
    CHECK(s.ops[2].stage == 1);
    CHECK(s.ops[2].start == 2);
    CHECK(!s.sync.messages.empty());
}

TEST_CASE("gradients of 8 bits") {
    const ts::graph g = ts::describe<network>(128);
    ts::strategy s = ts::search::data_parallel(g.view(), 4);
    // clang-format off
    s.sync = ts::schedule::eight_bit_gradients(ts::schedule::gradients_of(g.view()));
    // clang-format on
    CHECK(!ts::check_strategy(g.view(), s.view(), 4));
    CHECK(ts::lower(g.view(), s.view(), 4).compress.how == ts::compression::eight_bits);
}

TEST_CASE("a plan is simulated on a machine that nobody here has") {
    // clang-format off
    const ts::graph g = ts::describe<network>(128);
    const ts::strategy s = ts::search::data_parallel(g.view(), 4);
    const ts::cluster node(ts::machines::p100_nodes(1));

    ts::plan p = ts::lower(g.view(), s.view(), node.devices());
    ts::finish(g.view(), p);
    const ts::simulation::timeline when = ts::simulation::simulate(g.view(), p, node);
    std::printf("%.1f us a step, device 0 computes %.1f us\n",
                static_cast<double>(when.makespan) * 1e-3, static_cast<double>(when.device_busy[0]) * 1e-3);
    // clang-format on
    char printed[100];
    std::snprintf(printed, sizeof printed, "%.1f us a step, device 0 computes %.1f us",
                  static_cast<double>(when.makespan) * 1e-3, static_cast<double>(when.device_busy[0]) * 1e-3);
    CHECK(std::string(printed) == "59.7 us a step, device 0 computes 45.7 us");
}

TEST_CASE("a list of calls is made and printed without a GPU") {
    const ts::graph g = ts::describe<network>(128);
    const ts::strategy s = ts::search::data_parallel(g.view(), 2);
    // clang-format off
    const ts::cuda::list_options options{{0, 1}, ts::sgd{}, true}; // a GPU for each device, the optimizer, fuse
    ts::cuda::algorithm_table algorithms;
    ts::plan p = ts::lower(g.view(), s.view(), 2);
    ts::cuda::bind(p, g.view(), options, algorithms);
    ts::finish(g.view(), p);
    const ts::cuda::call_list list = ts::cuda::make_call_list(p, g.view(), options, algorithms);
    std::printf("%s", ts::cuda::to_text(list, p, g.view()).c_str());
    // clang-format on
    const std::string text = ts::cuda::to_text(list, p, g.view());
    for (const char* line : {
             // clang-format off
R"(
1 task 1 compute fc1 forward | device 0 gpu 0 | cublasLtMatmul 64x64x256 TN bias relu workspace 33554432 <0:p0+65536 <0:a33554432+65536 >0:a33619968+16384 <0:p65536+256 >0:a0+33554432
)",
R"(
26 task 20 update fc2 update | nccl gpu 0 | ncclReduceScatter 320 f32 >0:a33701888+2560 | group 1 communicator 0 rank 0 | after 22 | event
)",
R"(
46 task 29 update fc1 update | nccl gpu 0 | ncclAllGather 8192 f32 >0:p0+65536 | group 6 communicator 0 rank 0 | after 44
)"
             // clang-format on
         }) {
        CHECK_MESSAGE(text.find(line) != std::string::npos, line);
    }
}
