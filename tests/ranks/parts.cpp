// SPDX-License-Identifier: Apache-2.0
// Ranks that hand in their own part of a batch alone take the same steps as with the whole batch; where a device reads
// samples of another part they are refused. Averages and weights change places over ranks as they do in one process,
// and the same weights are pruned. Usage: mpirun -n RANKS parts
#include "support/networks.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/pruning.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/search/by_hand/baselines.hpp"

extern template class tessera::session<tessera::reference::backend>; // in support/instances_reference.cpp

#include <cstdio>
#include <cstring>
#include <vector>

using namespace test_support;

namespace {

constexpr ts::index_t samples = 12;

int wrong = 0;
void check(bool good, const char* what, int rank) {
    if (!good) {
        ++wrong;
        std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
    }
}

/// The samples of a part, copied, so that nothing lies before or behind them.
struct part_of_batch {
    std::vector<std::vector<float>> numbers;
    std::vector<std::vector<std::int32_t>> labels;
    std::vector<ts::input_data> inputs;

    part_of_batch(const batch_data& all, ts::index_t begin, ts::index_t end) {
        for (std::size_t k = 0; k < all.tensors.size(); ++k) {
            const bool floats = all.labels[k].empty();
            const std::size_t each = (floats ? all.numbers[k].size() : all.labels[k].size()) / ts::to_size(samples);
            const auto from = static_cast<std::ptrdiff_t>(each * ts::to_size(begin));
            const auto to = static_cast<std::ptrdiff_t>(each * ts::to_size(end));
            numbers.emplace_back();
            labels.emplace_back();
            floats ? numbers[k].assign(all.numbers[k].begin() + from, all.numbers[k].begin() + to)
                   : labels[k].assign(all.labels[k].begin() + from, all.labels[k].begin() + to);
        }
        for (std::size_t k = 0; k < all.tensors.size(); ++k) {
            all.labels[k].empty() ? inputs.emplace_back(std::span<const float>(numbers[k]))
                                  : inputs.emplace_back(std::span<const std::int32_t>(labels[k]));
        }
    }
};

int program(ts::mpi::environment& mpi) {
    const ts::local_devices devices = ts::mpi::ranks(mpi, {.patience = 60});
    const ts::graph g = ts::describe<test_networks::residual_net::network>(samples);
    const ts::optimizer how = ts::optimizer(ts::adam{.learning_rate = 0.01F}).averaging(0.9F).pruning();
    ts::reference::backend backend(how);
    const auto session_of = [&](const ts::strategy& s) {
        return ts::owned<ts::session<ts::reference::backend>>(
            new ts::session<ts::reference::backend>(g.view(), s, devices.count(), how, {}, backend, devices.threads()));
    };
    const ts::strategy by_samples = ts::search::data_parallel(g.view(), devices.count());
    const auto whole = session_of(by_samples);
    const auto parts = session_of(by_samples);
    const ts::interval mine = ts::even_part(samples, mpi.size(), mpi.rank());
    for (std::uint64_t step = 0; step < 4; ++step) {
        const batch_data data(g.view(), step);
        const part_of_batch own(data, mine.begin, mine.end);
        check(whole->step(data.inputs) == parts->step_part(own.inputs), "the loss", mpi.rank());
    }
    for (int p = 0; p < g.view().parameter_count; ++p) {
        check(whole->parameter(p) == parts->parameter(p), "a parameter", mpi.rank());
    }
    ts::workers here(devices.count());
    ts::session<ts::reference::backend> in_one(g.view(), by_samples, devices.count(), how, {}, backend, here);
    for (std::uint64_t step = 0; step < 4; ++step) {
        in_one.step(batch_data(g.view(), step).inputs);
    }
    for (const bool use : {true, false}) {
        whole->use_ema(use);
        in_one.use_ema(use);
        for (int p = 0; p < g.view().parameter_count; ++p) {
            check(whole->parameter(p) == in_one.parameter(p), "an average, or what stood in its place", mpi.rank());
        }
    }
    for (std::uint64_t step = 4; step < 8; ++step) {
        for (int p = 0; p < g.view().parameter_count; ++p) {
            if (ts::is_prunable(g.view().parameters[p])) {
                ts::prune(*whole, p, 0.2 * static_cast<double>(step - 3));
                ts::prune(in_one, p, 0.2 * static_cast<double>(step - 3));
                check(ts::pruned_share(*whole, p) > 0, "what is pruned", mpi.rank());
            }
        }
        check(whole->step(batch_data(g.view(), step).inputs) == in_one.step(batch_data(g.view(), step).inputs),
              "the loss of what is pruned", mpi.rank());
    }
    for (int p = 0; p < g.view().parameter_count; ++p) {
        const std::vector<float> a = whole->parameter(p);
        const std::vector<float> b = in_one.parameter(p);
        check(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0, "a pruned parameter", mpi.rank());
    }
    const batch_data data(g.view(), 9);
    check(contains(message_of([&] { parts->step_part(data.inputs); }), "were given"), "a whole batch as a part",
          mpi.rank());
    const auto alone = session_of(ts::strategy(g.view())); // all on device 0
    const part_of_batch own(data, mine.begin, mine.end);
    check(contains(message_of([&] { alone->step_part(own.inputs); }), "device 0 reads the samples 0 to 11"),
          "samples of others", mpi.rank());
    check(contains(message_of([&] { devices.of_one_process("sharded"); }), "sharded runs in one process"),
          "one process", mpi.rank());
    if (mpi.rank() == 0 && wrong == 0) {
        std::printf("equal\n");
    }
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi); }, 60);
}
