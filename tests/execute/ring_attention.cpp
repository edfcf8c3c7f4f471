// SPDX-License-Identifier: Apache-2.0
// Attention whose keys and values go round a ring has the numbers of one device: with every option, keys of another
// length, shared tensors, rings of any devices and pieces, before and behind any layout.
#include "support/sweep_check.hpp"

#include "examples/zoo/llama.hpp"
#include "examples/zoo/transformers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/padded.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/backend/host/backend.hpp"
#endif

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = ts::search;
using namespace test_support;

struct words : ts::embedding<23, 12> {};
struct norm : ts::layer_norm<> {};
struct query : ts::linear<12> {};
template <ts::index_t Width>
struct key : ts::linear<Width, ts::no_bias> {}; // a bias of keys would have no gradient but rounding
template <ts::index_t Width>
struct value : ts::linear<Width> {};
struct merge : ts::linear<12> {};
struct logits : ts::linear<5> {};
template <class... Options>
struct core : ts::attention<ts::heads<4>, Options...> {};
template <ts::index_t Positions, ts::index_t Keys, class Weights>
struct net : ts::sequential<ts::tokens<Positions>, words,
                            ts::residual<norm, ts::self_attention<4, query, key<Keys>, value<Keys>, merge, Weights>>,
                            logits, ts::cross_entropy> {};

struct asks;
struct told;
struct gold;
struct asked;
struct met;
struct flat;
struct scores;
struct loss;
/// Queries of one length and keys of another; `Told` is key and value.
template <ts::index_t Queries, ts::index_t Keys, class Core>
using cross = ts::dag<ts::input<asks, ts::sequence<Queries, 12>>, ts::input<told, ts::sequence<Keys, 12>>,
                      ts::input<gold, ts::labels>, ts::node<asked, ts::linear<12>, asks>,
                      ts::node<merge, ts::linear<12, ts::no_bias>, told>, ts::node<met, Core, asked, merge, merge>,
                      ts::node<flat, ts::flatten, met>, ts::node<scores, ts::linear<5>, flat>,
                      ts::node<loss, ts::cross_entropy, scores, gold>>;
/// One tensor is query, key and value.
template <ts::index_t Positions, class Core>
using itself = ts::dag<ts::input<told, ts::sequence<Positions, 12>>, ts::input<gold, ts::labels>,
                       ts::node<merge, ts::linear<12, ts::no_bias>, told>, ts::node<met, Core, merge, merge, merge>,
                       ts::node<flat, ts::flatten, met>, ts::node<scores, ts::linear<5>, flat>,
                       ts::node<loss, ts::cross_entropy, scores, gold>>;

const std::vector<sweep_case>& option_cases() {
    static const std::vector<sweep_case> all = [] {
        const ts::optimizer plain(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
        const ts::optimizer clipped(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}, 0.05F);
        using window = ts::sliding_window<3>;
        using cap = ts::softcap<ts::number(2.0)>;
        return std::vector<sweep_case>{
            {"whole", ts::describe<net<9, 12, core<>>>(3), plain},
            {"causal", ts::describe<net<9, 12, core<ts::causal>>>(3), clipped},
            {"window", ts::describe<net<11, 12, core<window>>>(2), plain},
            {"causal window of grouped queries",
             ts::describe<net<11, 6, core<ts::key_heads<2>, ts::causal, window>>>(2), plain},
            {"cap and ALiBi", ts::describe<net<8, 12, core<ts::causal, cap, ts::alibi>>>(3), plain},
            {"dropped weights", ts::describe<net<8, 6, core<ts::key_heads<2>, ts::percent<30>>>>(3), plain},
            {"lengths", ts::describe<net<9, 12, ts::with_lengths<ts::padded_attention<ts::heads<4>, ts::causal>>>>(4),
             plain},
            {"more keys than queries", ts::describe<cross<5, 9, core<ts::causal>>>(3), plain},
            {"fewer keys than queries", ts::describe<cross<9, 5, core<>>>(3), plain},
            {"far from each other", ts::describe<cross<9, 4, core<ts::causal, window>>>(3), plain},
            {"one tensor", ts::describe<itself<9, core<ts::causal>>>(3), plain},
        };
    }();
    return all;
}

/// A ring of an attention: 2 to 4 pieces, even or not, of some or all samples and heads, on any devices.
void ring_at(const ts::graph_view& g, ts::strategy& s, int op, int devices, struct test_support::random& pick) {
    const ts::description d = g.describe(op);
    ts::configuration c;
    c.ring = c.uneven = c.reduces = true;
    c.stage = s.ops[ts::to_size(op)].stage;
    s.ops[ts::to_size(op)] = c;
    const int l = d.find_loop(ts::loop_name::position);
    const int pieces = 2 + pick(3);
    if (pick(2) == 0) {
        std::vector<ts::index_t> cuts;
        for (int i = 1; i < pieces; ++i) {
            const ts::index_t least = cuts.empty() ? 1 : cuts.back() + 1;
            cuts.push_back(least + pick(static_cast<int>(d.loops[l].extent - (pieces - i) - least) + 1));
        }
        s.cut(op, l, cuts);
    } else {
        s.ops[ts::to_size(op)].degree[l] = pieces;
    }
    for (const ts::loop_name name : {ts::loop_name::sample, ts::loop_name::channel}) {
        const int other = d.find_loop(name);
        s.ops[ts::to_size(op)].degree[other] = pick(3) == 0 ? 2 : 1;
    }
    std::vector<int> places;
    for (int i = 0; i < s.ops[ts::to_size(op)].shards(); ++i) {
        places.push_back(pick(devices));
    }
    s.place(op, places);
}

template <class Make>
void random_rings(Make make) {
    for (const sweep_case& c : option_cases()) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        sweep_check check;
        coverage seen;
        constexpr int strategies = 10;
        int held = 0;
        for (int i = 0; i < strategies; ++i) {
            CAPTURE(i);
            const int devices = 2 + i % 3;
            struct test_support::random pick {
                ts::op::mix(9100 + static_cast<std::uint64_t>(i))
            };
            ts::strategy s =
                i % 2 == 0 ? ts::strategy(g) : random_strategy(g, devices, 9000 + static_cast<std::uint64_t>(i), seen);
            for (int op = 0; op < g.op_count; ++op) {
                if (g.facts(op).merges) {
                    for (const int t : g.ops[op].inputs) { // which no one hands on in parts
                        if (g.tensors[t].producer >= 0) {
                            s.ops[ts::to_size(g.tensors[t].producer)].partial = 1;
                        }
                    }
                    ring_at(g, s, op, devices, pick);
                }
            }
            s.sums_first = pick(2) == 0;
            s.overlap = pick(2) == 0;
            s.micro_batches = 1 + pick(2);
            for (ts::configuration& x : s.ops) {
                x.recompute = x.ring && pick(3) == 0;
            }
            if (const ts::problem wrong = ts::check_strategy(g, s.view(), devices)) { // what a random layout lost
                continue;
            }
            check.hold(c, devices, expected.run(s, devices, make), allowed_rounding);
            ++held;
        }
        CHECK(2 * held > strategies);
        check.tell(c, held, "rings");
    }
}

template <int Layers, ts::index_t Width, int Heads, ts::index_t Positions>
using gpt = typename networks::gpt_parts<Layers, Width, Heads, Positions, 23>::network;
template <int Layers, ts::index_t Width, int Heads, ts::index_t Hidden, ts::index_t Positions>
using llama = typename networks::llama_parts<Layers, Width, Heads, Hidden, Positions, 23>::network;

template <class Make>
void by_hand(Make make) {
    const ts::optimizer adam(ts::adam{.learning_rate = 0.01F, .weight_decay = 0.01F});
    const ts::optimizer plain(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const std::vector<sweep_case> cases{{"GPT of 2 blocks", ts::describe<gpt<2, 16, 4, 8>>(4), plain},
                                        {"GPT of 9 positions", ts::describe<gpt<1, 24, 6, 9>>(3), adam},
                                        {"LLaMA of 11 positions", ts::describe<llama<1, 24, 6, 30, 11>>(5), plain}};
    for (const sweep_case& c : cases) {
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        sweep_check check;
        int plans = 0;
        for (const auto how : {search::sequence_sharing::ring, search::sequence_sharing::zigzag}) {
            for (const auto& [groups, share] : {std::pair{1, 2}, {1, 3}, {1, 4}, {2, 2}}) {
                ts::strategy s = search::share_sequences(g, how, groups, share);
                for (const int micro_batches : {1, 2}) {
                    s.micro_batches = micro_batches;
                    for (ts::configuration& x : s.ops) {
                        x.uneven = true;
                    }
                    CAPTURE(static_cast<int>(how));
                    check.hold(c, groups * share, expected.run(s, groups * share, make), allowed_rounding);
                    ++plans;
                }
            }
        }
        check.tell(c, plans, "plans");
    }
}

} // namespace

TEST_CASE("rings have the numbers of one device: reference") {
    const auto make = [](const ts::optimizer& how) { return ts::reference::backend(how); };
    random_rings(make);
    by_hand(make);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("rings have the numbers of one device: host") {
    const auto make = [](const ts::optimizer& how) { return ts::host::backend(how); };
    random_rings(make);
    by_hand(make);
}
#endif
