// SPDX-License-Identifier: Apache-2.0
// Ranks that do not train the same thing are refused on all of them, by the name of what differs and before a number is
// computed from it; ranks that may differ are not. Each case is a group of its own in one program.
// Usage: mpirun -n RANKS identity RANDOM [RANKS_OF_NODE]: so many random changes besides, as if so many ranks had a
// node of their own.
#include "support/changed_training.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/learning_rate.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/execute/typed_trainer.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/search/by_hand/baselines.hpp"

extern template class tessera::session<tessera::reference::backend>; // in support/instances_reference.cpp

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace test_support;

namespace {

using session = ts::session<ts::reference::backend>;

struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
template <class Activation, int Percent>
struct small : ts::sequential<ts::features<6>, fc1, Activation, ts::dropout<Percent>, fc2, ts::cross_entropy> {};

/// What one rank trains, and how.
struct made {
    ts::graph network = ts::describe<small<ts::leaky_relu<>, 20>>(12);
    ts::optimizer update = ts::optimizer(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F});
    ts::session_options options{};
    std::function<ts::strategy(const ts::graph_view&, int)> how = [](const ts::graph_view& g, int devices) {
        return ts::search::data_parallel(g, devices);
    };
    std::function<double(std::uint64_t)> rate = ts::cosine_decay{.rate = 0.1, .steps = 6};
    std::uint64_t data_seed = 1;
    std::function<std::uint64_t(std::uint64_t)> batch = [](std::uint64_t step) { return step; }; ///< order
    std::function<void(batch_data&, std::uint64_t)> spoil = [](batch_data&, std::uint64_t) {};
    std::function<void(session&, std::uint64_t)> before = [](session&, std::uint64_t) {};
    bool in_parts = false;
    std::function<ts::index_t(std::uint64_t)> samples = [](std::uint64_t) { return 12; };
};

constexpr std::uint64_t steps = 4;

/// Trains; every rank that is not named trains the usual.
void train(const ts::local_devices& devices, const made& m, int rank, int ranks) {
    ts::reference::backend backend(m.update);
    const ts::graph_view g = m.network.view();
    session s(g, m.how(g, devices.count()), devices.count(), m.update, m.options, backend, devices.threads());
    for (std::uint64_t step = 0; step < steps; ++step) {
        batch_data data(g, 100 * m.data_seed + m.batch(step));
        m.spoil(data, step);
        m.before(s, step);
        s.set_learning_rate(m.rate(step));
        if (!m.in_parts) {
            const ts::index_t all = g.tensors[0].extents[0];
            const ts::index_t count = m.samples(step) < all ? m.samples(step) : all;
            s.step(ts::detail::samples_of(data.inputs, all, 0, count));
            continue;
        }
        // Of the others' samples there is nothing that could be compared.
        const ts::interval own = ts::even_part(g.tensors[0].extents[0], ranks, rank);
        const std::vector<ts::input_data> part =
            ts::detail::samples_of(data.inputs, g.tensors[0].extents[0], own.begin, own.size());
        s.step_part(part);
    }
    s.finish();
}

struct difference {
    const char* name;
    std::function<void(made&)> change;
    std::string expected; ///< empty: it is allowed
};

std::vector<difference> differences(int ranks) {
    std::vector<difference> all{
        {"nothing", [](made&) {}, ""},
        {"attribute", [](made& m) { m.network = ts::describe<small<ts::elu<>, 20>>(12); },
         "network.leaky_relu.operator is leaky_relu on rank "},
        {"dropout's share", [](made& m) { m.network = ts::describe<small<ts::leaky_relu<>, 21>>(12); },
         "network.dropout.percent is 21 on rank "},
        {"momentum", [](made& m) { m.update.momentum = 0.8F; }, "optimizer.momentum is 0.8 on rank "},
        {"rate", [](made& m) { m.update.learning_rate = 0.1000001F; }, "optimizer.learning_rate is 0.1000001 on rank "},
        {"decay", [](made& m) { m.update.weight_decay = 0.02F; }, "optimizer.weight_decay is 0.02 on rank "},
        {"group", [](made& m) { m.update.groups.push_back({.decay = 0}); }, "optimizer.groups"},
        {"schedule", [](made& m) { m.rate = ts::cosine_decay{.rate = 0.1, .steps = 7}; }, "step.learning_rate is "},
        {"schedule's end",
         [](made& m) {
             m.rate = [](std::uint64_t step) { return step < 3 ? ts::cosine_decay{.rate = 0.1, .steps = 6}(step) : 0; };
         },
         "step.learning_rate is 0 on rank "},
        {"seed of data", [](made& m) { m.data_seed = 2; }, "step.labels is "},
        {"order of batches",
         [](made& m) { m.batch = [](std::uint64_t step) {
                           return step == 1 ? 2 : step == 2 ? 1 : step;
                       }; },
         "step.labels is "},
        {"a label",
         [](made& m) {
             m.spoil = [](batch_data& d, std::uint64_t step) {
                 if (step == 3) {
                     d.labels[1][11] = (d.labels[1][11] + 1) % 4;
                 }
             };
         },
         "step.labels is "},
        {"inputs",
         [](made& m) {
             m.spoil = [](batch_data& d, std::uint64_t step) {
                 for (float& x : d.numbers[0]) {
                     x += step == 2 ? 1.0F : 0.0F;
                 }
             };
         },
         "step.inputs is "},
        {"samples of a batch", [](made& m) { m.samples = [](std::uint64_t step) { return step == 2 ? 7 : 12; }; },
         "step.samples is 7 on rank "},
        {"strategy", [](made& m) { m.how = [](const ts::graph_view& g, int) { return ts::strategy(g); }; },
         "strategy.fc1.degree is "},
        {"strategy's policy",
         [](made& m) {
             m.how = [](const ts::graph_view& g, int devices) {
                 ts::strategy s = ts::search::data_parallel(g, devices);
                 s.sync.update_at = ts::sync_time::after_backward;
                 return s;
             };
         },
         "strategy.synchronization.update_at is after_backward on rank "},
        {"a strategy that breaks a rule",
         [](made& m) {
             m.how = [](const ts::graph_view& g, int devices) {
                 ts::strategy s = ts::search::data_parallel(g, devices);
                 s.ops[0].start = 100;
                 return s;
             };
         },
         "strategy.fc1.start is 100 on rank "},
        {"dropout's seed", [](made& m) { m.options.seed = 2; }, "options.seed is 2 on rank "},
        {"seed after a while",
         [](made& m) {
             m.before = [](session& s, std::uint64_t step) {
                 if (step == 2) {
                     s.resume_after(s.steps(), 77, s.learning_rate());
                 }
             };
         },
         "step.seed is 77 on rank "},
        {"number of the batch",
         [](made& m) {
             m.before = [](session& s, std::uint64_t step) {
                 if (step == 2) {
                     s.resume_after(5, s.seed(), s.learning_rate());
                 }
             };
         },
         "step.number is 5 on rank "},
        {"a weight",
         [](made& m) {
             m.before = [](session& s, std::uint64_t step) {
                 std::vector<float> w = s.parameter(0);
                 if (step == 1) {
                     w[5] += 1;
                 }
                 s.set_parameter(0, w);
             };
         },
         "fc1/weight.values is "},
        {"option of the library", [](made& m) { m.options.fuse = false; }, "options.fuse is false on rank "},
        {"gradients kept", [](made& m) { m.options.keep_gradients = true; }, "options.keep_gradients is true on rank "},
        {"memory", [](made& m) { m.options.device_memory = 1 << 30; }, ""},
        {"a profile", [](made& m) { m.options.profile = "no/such/file"; }, ""},
        {"samples", [](made& m) { m.network = ts::describe<small<ts::leaky_relu<>, 20>>(24); },
         "network.samples is 24 on rank "},
    };
    if (12 % ranks == 0) {
        all.push_back({"parts", [](made& m) { m.in_parts = true; }, "step.part is true on rank "});
    }
    return all;
}

int wrong = 0;

/// `who` differs. What all ranks say must name it.
void run_case(ts::mpi::environment& mpi, int of_node, const difference& d, int who) {
    made m;
    const bool sets = std::string(d.name) == "a weight";
    if (sets) {
        m.before = [](session& s, std::uint64_t) { s.set_parameter(0, s.parameter(0)); };
    }
    if (mpi.rank() == who) {
        d.change(m);
    }
    const std::string words = message_of([&] {
        const ts::local_devices devices =
            ts::mpi::ranks(mpi, {.patience = 30, .failure_file = "", .ranks_of_node = of_node});
        train(devices, m, mpi.rank(), mpi.size());
    });
    // Rank 0's is what the others are held against.
    const std::string told = "rank " + std::to_string(who == 0 ? 1 : who);
    const bool good = d.expected.empty()
                          ? words == "accepted"
                          : contains(words, d.expected) && contains(words, told + " (process ") &&
                                contains(words, "tessera: rank " + std::to_string(mpi.rank()) + " stops: ");
    if (!good) {
        ++wrong;
        std::fprintf(stderr, "rank %d: %s differs on rank %d: %s\n", mpi.rank(), d.name, who, words.c_str());
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    const int draws = argc > 1 ? std::atoi(argv[1]) : 0;
    const int of_node = argc > 2 ? std::atoi(argv[2]) : 0;
    int cases = 0;
    for (const difference& d : differences(mpi.size())) {
        for (const int who : {0, mpi.size() - 1}) {
            // The text says the value of the rank that is held against rank 0 first.
            difference one = d;
            const std::size_t value = one.expected.find(" is ");
            if (who == 0 && value != std::string::npos) {
                one.expected.resize(value + 4);
            }
            run_case(mpi, of_node, one, who);
            ++cases;
        }
    }
    made parts; // each its own part: what ranks do not have in common is not compared
    parts.in_parts = true;
    parts.spoil = [&](batch_data& data, std::uint64_t) {
        const ts::interval own = ts::even_part(12, mpi.size(), mpi.rank());
        for (std::size_t i = 0; i < data.labels[1].size(); ++i) {
            const auto sample = static_cast<ts::index_t>(i);
            data.labels[1][i] = sample < own.begin || sample >= own.end ? mpi.rank() % 4 : data.labels[1][i];
        }
    };
    const std::string words = message_of([&] {
        const ts::local_devices devices =
            ts::mpi::ranks(mpi, {.patience = 30, .failure_file = "", .ranks_of_node = of_node});
        train(devices, parts, mpi.rank(), mpi.size());
    });
    if (words != "accepted") {
        ++wrong;
        std::fprintf(stderr, "rank %d: parts: %s\n", mpi.rank(), words.c_str());
    }
    for (int i = 0; i < draws; ++i) {
        const training usual = some_training();
        training other = some_training();
        test_support::random pick{static_cast<std::uint64_t>(i) + 500};
        const std::string name = change_at_random(other, pick);
        const training& mine = mpi.rank() == mpi.size() - 1 && !name.empty() ? other : usual;
        const std::string said = message_of([&] {
            const ts::local_devices devices =
                ts::mpi::ranks(mpi, {.patience = 30, .failure_file = "", .ranks_of_node = of_node});
            ts::reference::backend backend(usual.update);
            const session s(mine.network.view(), mine.how, devices.count(), mine.update, mine.options, backend,
                            devices.threads());
        });
        if (!name.empty() && (!contains(said, name) || !contains(said, "are there to train together, and differ: "))) {
            ++wrong;
            std::fprintf(stderr, "rank %d: change %d, of %s: %s\n", mpi.rank(), i, name.c_str(), said.c_str());
        }
        ++cases;
    }
    if (mpi.rank() == 0 && wrong == 0) {
        std::printf("%d cases on %d ranks\n", cases, mpi.size());
    }
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); }, 60);
}
