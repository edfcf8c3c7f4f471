// SPDX-License-Identifier: Apache-2.0
// Trainings over ranks with GPUs of their own, which do not exist: CUDA's libraries are make-believe, NCCL works
// between the processes.
// Usage: mpirun -n RANKS gpu_training WHAT WHO DEVICES_EACH FOLDER [RANKS_OF_NODE], the last as if so many ranks had a
// node of their own. WHAT is
//   strategies: under each of several a training is saved in FOLDER, loaded under the next one and on one device, and
//     goes on, bit for bit as in one process;
//   or what rank WHO does otherwise: another optimizer (optimizer), no fused calls (fuse), GPUs for other devices
//     (gpus), a communicator of another size (size), the GPU of another rank (shared, with TESSERA_TEST_SHARED_GPUS in
//     the environment), an end while NCCL connects (connect) or in a step (die), a stop there (stop), an error of its
//     GPU (fault); none: nothing.
#include "support/cuda_fake.hpp"
#include "support/kept_training.hpp"
#include "support/policies.hpp"
#include "support/random_pipeline.hpp"

#include "tessera/cuda.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

extern template class tessera::session<tessera::cuda::backend>; // in support/cuda_gpu_instances.cpp

using namespace test_support;

namespace {

using session = ts::session<ts::cuda::backend>;

double step(session& s) {
    const data d = batch_of(s.steps());
    return s.step(
        std::vector<ts::input_data>{std::span<const float>(d.images), std::span<const std::int32_t>(d.labels)});
}
double loss_of_evaluation(session& s) {
    const data d = batch_of(99);
    return s
        .evaluate(
            std::vector<ts::input_data>{std::span<const float>(d.images), std::span<const std::int32_t>(d.labels)})
        .loss;
}

/// A session with what it needs, on GPUs one after the other or as ranks take them.
struct gpu_training {
    ts::cuda::backend backend;
    session values;

    gpu_training(const ts::graph& g, const ts::strategy& s, int devices, const ts::optimizer& update,
                 ts::workers& threads, const ts::cuda::backend_options& o = {.measure = false, .most_workspace = 65536})
        : backend(update, o), values(g.view(), s, devices, update, {.seed = 7}, backend, threads) {}
};

std::vector<std::pair<std::string, ts::strategy>> strategies(const ts::graph_view& g, int devices) {
    std::vector<std::pair<std::string, ts::strategy>> all{
        {"data parallel", ts::search::data_parallel(g, devices)},
        {"channels split", ts::search::model_parallel(g, devices)},
        {"one weird trick", ts::search::one_weird_trick(g, devices)},
    };
    coverage seen;
    for (const std::uint64_t seed : {3U, 5U}) {
        all.push_back({"pipeline", random_pipeline(g, devices, seed, seen).how});
    }
    for (const char* policy : {"ring-all-reduce", "buckets", "parameter-server", "p3", "zero-1", "zero-2", "zero-3"}) {
        all.push_back({policy, ts::search::data_parallel(g, devices)});
        all.back().second.sync = small_policy(g, devices, policy).second;
    }
    return all;
}

/// The number of what differs.
int run_strategies(const ts::mpi::environment& mpi, const ts::local_devices& devices, const std::string& folder) {
    const ts::graph g = ts::describe<net>(samples);
    const ts::optimizer how(ts::adam{.learning_rate = 0.01F}, 1.0F);
    ts::workers here(devices.count());
    const auto all = strategies(g.view(), devices.count());
    int wrong = 0;
    const auto require = [&](bool good, const std::string& which, const char* what) {
        if (!good) {
            std::fprintf(stderr, "wrong on rank %d: %s: %s\n", mpi.rank(), which.c_str(), what);
            ++wrong;
        }
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [name, s] = all[i];
        const auto& [next_name, next] = all[(i + 1) % all.size()];
        const std::string path = folder + "/" + std::to_string(i);
        gpu_training ours(g, s, devices.count(), how, devices.threads());
        gpu_training alone(g, s, devices.count(), how, here);
        for (int k = 0; k < 3; ++k) {
            require(step(ours.values) == step(alone.values), name, "the loss of a step");
        }
        require(loss_of_evaluation(ours.values) == loss_of_evaluation(alone.values), name, "an evaluation");
        ours.values.bring_to_all_nodes();
        const auto kept = everything(ours.values);
        require(kept == everything(alone.values), name, "parameters and state after three steps");
        for (int p = 0; p < g.view().parameter_count; ++p) {
            require(ours.values.parameter(p) == alone.values.parameter(p), name, "a parameter that is read");
        }
        ts::io::save_checkpoint(ours.values, path);
        gpu_training other(g, next, devices.count(), how, devices.threads());
        gpu_training other_alone(g, next, devices.count(), how, here);
        gpu_training one(g, one_device(), 1, how, here);
        ts::io::load_checkpoint(other.values, path);
        ts::io::load_checkpoint(other_alone.values, path);
        ts::io::load_checkpoint(one.values, path);
        other.values.bring_to_all_nodes();
        require(everything(other.values) == kept, name + " loaded under " + next_name, "parameters and state");
        require(everything(one.values) == kept, name + " loaded on one device", "parameters and state");
        require(step(other.values) == step(other_alone.values), name + " loaded under " + next_name, "the next step");
    }
    if (mpi.rank() == 0) {
        std::printf("%d strategies, %d wrong\n", static_cast<int>(all.size()), wrong);
    }
    return wrong;
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 5 && argc != 6) {
        std::fprintf(stderr, "usage: gpu_training WHAT WHO DEVICES_EACH FOLDER [RANKS_OF_NODE]\n");
        return 2;
    }
    const std::string what = argv[1];
    const bool me = mpi.rank() == std::atoi(argv[2]);
    const int each = std::atoi(argv[3]);
    const ts::local_devices devices = ts::mpi::ranks(mpi, {.devices_each = each,
                                                           .patience = what == "strategies" ? 60.0 : 3.0,
                                                           .ranks_of_node = argc > 5 ? std::atoi(argv[5]) : 0});
    if (what == "strategies") {
        return run_strategies(mpi, devices, argv[4]) == 0 ? 0 : 1;
    }
    cuda_fake::machine& gpus = cuda_fake::here();
    const ts::graph g = ts::describe<net>(samples);
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F, .momentum = me && what == "optimizer" ? 0.9F : 0.0F});
    ts::cuda::backend_options o{.measure = false, .most_workspace = 65536, .fuse = !(me && what == "fuse")};
    if ((me && what == "gpus") || what == "shared") {
        o.gpus.assign(ts::to_size(what == "gpus" ? each + 1 : each), 0);
    }
    gpus.more_ranks = me && what == "size" ? 1 : 0;
    gpus.signal_of_exchange = !me ? 0 : what == "connect" || what == "die" ? SIGKILL : what == "stop" ? SIGSTOP : 0;
    gpus.exchanges_before_signal = what == "connect" ? -1 : 20;
    gpu_training ours(g, ts::search::data_parallel(g.view(), devices.count()), devices.count(), how, devices.threads(),
                      o);
    for (int k = 0; k < 20; ++k) {
        if (me && k == 3 && what == "fault") {
            gpus.fault.store(cudaErrorIllegalAddress);
        }
        step(ours.values);
    }
    if (mpi.rank() == 0) {
        std::printf("20 steps\n");
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); }, 30);
}
