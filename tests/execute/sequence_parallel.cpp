// SPDX-License-Identifier: Apache-2.0
// Sequences that devices share, as Megatron's sequence parallelism and as Ulysses, and gradients that are summed before
// they are sent: the numbers of one device.
#include "support/sweep_check.hpp"

#include "examples/zoo/llama.hpp"
#include "examples/zoo/transformers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/backend/host/backend.hpp"
#endif

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = ts::search;
using namespace test_support;

template <int Layers, ts::index_t Width, int Heads, ts::index_t Positions>
using gpt = typename networks::gpt_parts<Layers, Width, Heads, Positions, 23>::network;
template <int Layers, ts::index_t Width, int Heads, ts::index_t Hidden, ts::index_t Positions>
using llama = typename networks::llama_parts<Layers, Width, Heads, Hidden, Positions, 23>::network;

const std::vector<sweep_case>& small_cases() {
    static const std::vector<sweep_case> all = [] {
        const ts::optimizer adam(ts::adam{.learning_rate = 0.01F, .weight_decay = 0.01F});
        const ts::optimizer plain(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
        return std::vector<sweep_case>{{"GPT of 2 blocks", ts::describe<gpt<2, 16, 4, 8>>(4), plain},
                                       {"GPT of 7 positions", ts::describe<gpt<1, 24, 6, 7>>(3), adam},
                                       {"LLaMA of 2 blocks", ts::describe<llama<2, 16, 4, 24, 8>>(4), adam},
                                       {"LLaMA of 9 positions", ts::describe<llama<1, 24, 6, 30, 9>>(5), plain}};
    }();
    return all;
}

/// Every way to share sequences in groups, with and without micro-batches; then random strategies that sum first.
template <class Make>
void share(Make make) {
    int shared = 0;
    for (const sweep_case& c : small_cases()) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        sweep_check check;
        int of_case = 0;
        for (const auto how : {search::sequence_sharing::megatron_sp, search::sequence_sharing::ulysses}) {
            for (const auto& [groups, most] : {std::pair{1, 2}, {1, 4}, {1, 6}, {2, 2}, {2, 3}, {3, 2}}) {
                const int each = search::most_that_share(g, most);
                if (each == 1) {
                    continue;
                }
                ts::strategy s = search::share_sequences(g, how, groups, each);
                for (const int micro_batches : {1, 2}) {
                    s.micro_batches = micro_batches;
                    for (ts::configuration& x : s.ops) {
                        x.uneven = true;
                    }
                    check.hold(c, groups * each, expected.run(s, groups * each, make), allowed_rounding);
                    ++of_case;
                }
            }
        }
        check.tell(c, of_case, "plans");
        shared += of_case;
    }
    CHECK(shared >= 60);
}

template <class Make>
void sum_first(Make make) {
    for (const sweep_case& c : small_cases()) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        sweep_check check;
        coverage seen;
        constexpr int strategies = 12;
        for (int i = 0; i < strategies; ++i) {
            const int devices = 2 + i % 5;
            ts::strategy s = random_strategy(g, devices, 7000 + static_cast<std::uint64_t>(i), seen);
            s.sums_first = true;
            check.hold(c, devices, expected.run(s, devices, make), allowed_rounding);
        }
        check.tell(c, strategies, "random strategies");
    }
}

} // namespace

TEST_CASE("shared sequences have the numbers of one device: reference") {
    const auto make = [](const ts::optimizer& how) { return ts::reference::backend(how); };
    share(make);
    sum_first(make);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("shared sequences have the numbers of one device: host") {
    share([](const ts::optimizer& how) { return ts::host::backend(how); });
}
#endif
