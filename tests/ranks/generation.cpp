// SPDX-License-Identifier: Apache-2.0
// Generation over ranks: the tokens, and the bits of the logits, of one process with as many devices, under random
// strategies; and ranks that go on with different prompts, or choose differently, are refused on all of them.
// Usage: mpirun -n RANKS generation DEVICES_EACH STRATEGIES [RANKS_OF_NODE], the last as if so many ranks had a node of
// their own.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"

#include "examples/zoo/transformers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/generator.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/ranks/mpi.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace test_support;

namespace {

namespace ts = tessera;

constexpr int samples = 3;
constexpr int vocabulary = 23;
struct gpt : networks::gpt_parts<2, 16, 4, 12, vocabulary>::network {};
struct half_gpt : ts::with_precision<ts::bf16, gpt> {};

/// What one side has made: tokens, and logits.
struct made {
    std::vector<std::vector<ts::token_list>> tokens;
    std::vector<std::vector<float>> logits;
    friend bool operator==(const made&, const made&) = default;
};

ts::token_list tokens_of(test_support::random& pick, int count) {
    ts::token_list all;
    for (int i = 0; i < count; ++i) {
        all.push_back(pick(vocabulary));
    }
    return all;
}

/// Twice, with other weights the second time, so that what other nodes have of the first is not used.
template <class Net, class Backend>
made generate(const ts::local_devices& devices, const ts::strategy& s, std::uint64_t seed) {
    test_support::random pick{seed};
    ts::trainer<Net, Backend> t(devices, s, samples, ts::sgd{});
    ts::generator<Net, Backend> writer(t, {.piece = 1 + pick(4)});
    made all;
    for (int round = 0; round < 2; ++round) {
        for (int p = 0; p < t.graph().parameter_count; ++p) {
            std::vector<float> values = t.values().parameter(p);
            for (float& x : values) {
                x += static_cast<float>(pick(2001) - 1000) / 2000.0F;
            }
            t.values().set_parameter(p, values);
        }
        writer.take(t);
        std::vector<ts::token_list> prompts;
        for (int n = 0; n < samples + 1; ++n) {
            prompts.push_back(tokens_of(pick, 1 + pick(5)));
        }
        all.tokens.push_back(writer.generate(prompts, {.new_tokens = 5}));
        const ts::sampling how{.temperature = 1.5, .top_k = 9, .top_p = 0.95, .seed = seed};
        all.tokens.push_back(writer.generate(prompts, {.new_tokens = 5, .how = how, .stop_token = 4}));
        prompts.resize(samples);
        for (auto& logits : writer.values().feed(prompts, std::vector<ts::index_t>(samples, 0))) {
            all.logits.push_back(std::move(logits));
        }
    }
    return all;
}

int wrong = 0;
int equal = 0;

template <class Net, class Backend>
void compare(const char* name, const ts::local_devices& over, const ts::local_devices& here, int strategies) {
    const ts::graph network = ts::describe<Net>(samples);
    coverage seen;
    for (int k = 0; k < strategies; ++k) {
        const auto seed = static_cast<std::uint64_t>(k) + 1;
        const ts::strategy s = random_strategy(network.view(), over.count(), seed, seen);
        const made alone = generate<Net, Backend>(here, s, seed);
        const bool same = generate<Net, Backend>(over, s, seed) == alone;
        ++(same ? equal : wrong);
        if (!same) {
            std::fprintf(stderr, "wrong on rank %d: %s, strategy %d\n", over.threads().group()->rank(), name, k);
        }
    }
}

/// The last rank does something else than the others: `expected` is said on all.
template <class Change>
void refuse(ts::mpi::environment& mpi, int of_node, const std::string& expected, Change&& change) {
    const std::string said = message_of([&] {
        const ts::local_devices devices =
            ts::mpi::ranks(mpi, {.patience = 30, .failure_file = "", .ranks_of_node = of_node});
        const ts::graph g = ts::describe<gpt>(samples);
        ts::trainer<gpt, ts::reference::backend> t(devices, ts::strategy(g.view()), samples, ts::sgd{});
        std::vector<ts::token_list> prompts{{1, 2, 3}, {4}};
        ts::generation_options o{.new_tokens = 3, .how = {.temperature = 1}};
        if (mpi.rank() == mpi.size() - 1) {
            change(prompts, o);
        }
        t.generate(prompts, o);
    });
    if (!contains(said, expected) || !contains(said, "rank " + std::to_string(mpi.size() - 1))) {
        ++wrong;
        std::fprintf(stderr, "rank %d: not '%s': %s\n", mpi.rank(), expected.c_str(), said.c_str());
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: generation DEVICES_EACH STRATEGIES [RANKS_OF_NODE]\n");
        return 2;
    }
    const int of_node = argc > 3 ? std::atoi(argv[3]) : 0;
    const int strategies = std::atoi(argv[2]);
    {
        const ts::local_devices over =
            ts::mpi::ranks(mpi, {.devices_each = std::atoi(argv[1]), .patience = 120, .ranks_of_node = of_node});
        const ts::local_devices here(over.count());
        compare<gpt, ts::reference::backend>("reference", over, here, strategies);
        compare<half_gpt, ts::reference::backend>("reference in bf16", over, here, strategies);
#ifdef TESSERA_TEST_HOST
        compare<gpt, ts::host::backend>("host", over, here, strategies);
#endif
    }
    using prompts = std::vector<ts::token_list>;
    using options = ts::generation_options;
    refuse(mpi, of_node, "generation.tokens is ", [](prompts& p, options&) { p[1][0] = 5; });
    refuse(mpi, of_node, "generation.sequences is 1 on rank ", [](prompts& p, options&) { p.pop_back(); });
    refuse(mpi, of_node, "generation.seed is 2 on rank ", [](prompts&, options& o) { o.how.seed = 2; });
    refuse(mpi, of_node, "generation.new_tokens is 4 on rank ", [](prompts&, options& o) { o.new_tokens = 4; });
    if (mpi.rank() == 0) {
        std::printf("%d ranks of %s devices: %d equal, %d wrong\n", mpi.size(), argv[1], equal, wrong);
    }
    return wrong == 0 && equal > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); }, 60);
}
