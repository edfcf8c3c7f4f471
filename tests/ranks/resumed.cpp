// SPDX-License-Identifier: Apache-2.0
// Trains over ranks to a step, goes on from the newest checkpoint, saves after every step beside the training, and says
// what it has come to. Usage: mpirun -n RANKS resumed FOLDER STEPS DEVICES_EACH [MILLISECONDS of each step]
// [data|zero|model|compressed] [RANKS_OF_NODE], the last as if so many ranks had a node of their own.
#include "support/kept_training.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/io/files/checkpoint_folder.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/search/by_hand/baselines.hpp"

extern template class tessera::session<tessera::reference::backend>; // in support/instances_reference.cpp

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;

using namespace test_support;

/// Of everything that goes on, bit for bit.
template <class Session>
std::uint64_t hash_of(Session& s) {
    std::uint64_t h = ts::op::mix(s.steps() ^ s.seed());
    for (const std::vector<float>& all : everything(s)) {
        for (const float x : all) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &x, sizeof bits);
            h = ts::op::mix(h ^ bits);
        }
    }
    return h;
}

/// Data parallelism, whose tensors each rank has whole; with slices of all of them; with boxes; with gradients that
/// leave out what is saved, too.
ts::strategy strategy_called(const std::string& name, const ts::graph_view& g, int devices) {
    ts::strategy s = name == "model" ? ts::search::model_parallel(g, devices) : ts::search::data_parallel(g, devices);
    if (name == "zero" || name == "compressed") {
        s.sync = ts::schedule::make(ts::schedule::policy_named(name == "zero" ? "zero-3" : "one-bit-gradients"),
                                    {ts::schedule::gradients_of(g, {}), devices, {}, {}});
    }
    return s;
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(
            stderr,
            "usage: resumed FOLDER STEPS DEVICES_EACH [MILLISECONDS] [data|zero|model|compressed] [RANKS_OF_NODE]\n");
        return 2;
    }
    const std::string folder = argv[1];
    const auto steps = static_cast<std::uint64_t>(std::atoll(argv[2]));
    const ts::local_devices devices = ts::mpi::ranks(
        mpi, {.devices_each = std::atoi(argv[3]), .patience = 30, .ranks_of_node = argc > 6 ? std::atoi(argv[6]) : 0});
    const ts::graph g = ts::describe<net>(samples);
    const ts::optimizer how(ts::adam{.learning_rate = 0.01F}, 1.0F);
    ts::reference::backend backend(how);
    ts::session<ts::reference::backend> session(g.view(),
                                                strategy_called(argc > 5 ? argv[5] : "data", g.view(), devices.count()),
                                                devices.count(), how, {}, backend, devices.threads());
    const auto from = ts::io::resume_newest(session, folder);
    {
        ts::io::checkpoint_saver saver(session, {.folder = folder, .keep = 2});
        while (session.steps() < steps) {
            const data d = batch_of(session.steps());
            session.step(
                std::vector<ts::input_data>{std::span<const float>(d.images), std::span<const std::int32_t>(d.labels)});
            saver.save();
            usleep(argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) * 1000U : 0U);
        }
        saver.finish();
    }
    session.bring_to_all_nodes();
    const std::uint64_t hash = hash_of(session);
    if (mpi.rank() == 0) {
        std::printf("from step %llu to %llu: %016llx\n", static_cast<unsigned long long>(from ? from->state.step : 0),
                    static_cast<unsigned long long>(session.steps()), static_cast<unsigned long long>(hash));
        for (std::size_t i = 0; from && i < from->left_out.size(); ++i) {
            std::printf("left out: %s\n", from->left_out[i].c_str());
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); }, 30);
}
