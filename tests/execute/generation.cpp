// SPDX-License-Identifier: Apache-2.0
// Generation: logits of new positions with kept keys and values are those of a forward pass over the whole sequence,
// under any strategy, whatever the pieces; and what is chosen, stops and is refused.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/generator.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/one_dimension.hpp"
#include "tessera/part/residual.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;
using ts::index_t;
using ts::token_list;

constexpr int longest = 12;
constexpr int samples = 4;
constexpr int vocabulary = 19;
constexpr int heads = 4;

struct words : ts::embedding<vocabulary, 16> {};
struct places : ts::position_embedding<> {};
struct query : ts::linear<16> {};
struct key : ts::linear<16> {};
struct value : ts::linear<16> {};
struct few_keys : ts::linear<8> {};
struct few_values : ts::linear<12> {};
struct wide_merge : ts::linear<16> {};
struct merge : ts::linear<16> {};
struct first_norm : ts::layer_norm<> {};
struct second_norm : ts::layer_norm<> {};
struct root_norm : ts::rms_norm<> {};
struct up : ts::linear<24> {};
struct gate : ts::linear<24> {};
struct down : ts::linear<16> {};
struct logits : ts::linear<vocabulary> {};
struct tied_logits : ts::linear<vocabulary, ts::no_bias> {};

/// As GPT-2, with dropout, which predictions leave out.
struct gpt
    : ts::sequential<
          ts::tokens<longest>, words, places, ts::dropout<10>,
          ts::repeat<2,
                     ts::branch<ts::residual<first_norm, ts::self_attention<heads, query, key, value, merge,
                                                                            ts::softmax<ts::causal>, ts::dropout<10>>>,
                                ts::residual<second_norm, up, ts::gelu, down>>>,
          ts::tied<tied_logits, words>, ts::cross_entropy> {};

/// As LLaMA, with keys and values of fewer heads; `Options` of attention, and of rotary.
template <class Weights, class... Turn>
struct llama
    : ts::sequential<
          ts::tokens<longest>, words,
          ts::repeat<2,
                     ts::residual<root_norm,
                                  ts::self_attention<heads, ts::branch<query, ts::rotary<ts::heads<heads>, Turn...>>,
                                                     ts::branch<few_keys, ts::rotary<ts::heads<2>, Turn...>>,
                                                     few_values, wide_merge, Weights>>,
                     ts::residual<ts::swiglu<gate, up, down>>>,
          logits, ts::cross_entropy> {};
using grouped = llama<ts::attention<ts::heads<heads>, ts::key_heads<2>, ts::causal>>;
using windowed =
    llama<ts::attention<ts::heads<heads>, ts::key_heads<2>, ts::causal, ts::sliding_window<3>>, ts::halves>;
using capped = llama<ts::attention<ts::heads<heads>, ts::key_heads<2>, ts::causal, ts::softcap<ts::number(2)>>,
                     ts::rotary_scale<2, 4>>;
using leaning = llama<ts::attention<ts::heads<heads>, ts::key_heads<2>, ts::causal, ts::alibi>>;

token_list random_tokens(test_support::random& pick, int count) {
    token_list all;
    for (int i = 0; i < count; ++i) {
        all.push_back(pick(vocabulary));
    }
    return all;
}

/// The logits of whole sequences, each by its length; behind it there is rubbish, which causal attention does not see.
template <class T>
std::vector<std::vector<float>> whole_pass(T& t, const std::vector<token_list>& all) {
    std::vector<std::int32_t> tokens;
    for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t i = 0; i < longest; ++i) {
            tokens.push_back(n < all.size() && i < all[n].size() ? all[n][i] : 1);
        }
    }
    const ts::input_data in{std::span<const std::int32_t>(tokens)};
    const ts::prediction p = t.predict(std::span(&in, 1));
    std::vector<std::vector<float>> rows(all.size());
    for (std::size_t n = 0; n < all.size(); ++n) {
        const auto begin = p.values.begin() + static_cast<std::ptrdiff_t>(n * longest * vocabulary);
        rows[n].assign(begin, begin + static_cast<std::ptrdiff_t>(all[n].size() * vocabulary));
    }
    return rows;
}

/// The largest difference, in units of the largest logit where that is above 1.
double furthest(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    double unit = 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
        unit = std::max(unit, std::abs(static_cast<double>(b[i])));
    }
    return most / unit;
}

/// Weights that are not small, so that attention is no mean.
template <class T>
void set_weights(T& t, std::uint64_t seed) {
    test_support::random pick{seed};
    for (int p = 0; p < t.graph().parameter_count; ++p) {
        std::vector<float> values = t.values().parameter(p);
        const bool is_matrix = t.graph().parameters[p].extents.rank > 1;
        for (float& x : values) {
            x = is_matrix ? static_cast<float>(pick(2001) - 1000) / 3000.0F
                          : x + static_cast<float>(pick(100)) / 400.0F;
        }
        t.values().set_parameter(p, values);
    }
}

struct covered {
    int split_heads = 0, split_samples = 0, replicas = 0;
};

/// Feeds random sequences in random parts, and compares every position; `again`: on top of what others have left.
template <class Net, class B>
void hold(const ts::strategy& s, std::uint64_t seed, covered& seen, double within) {
    test_support::random pick{seed};
    ts::trainer<Net, B> t(ts::local_devices(4), s, samples, ts::sgd{});
    set_weights(t, seed + 1);
    ts::generator<Net, B> g(t, {.piece = 1 + pick(12)}); // small and large pieces have loops of their own
    for (std::size_t op = 0; op < g.values().how().ops.size(); ++op) {
        const ts::op_node& o = g.values().network().network.ops[op];
        const ts::configuration& c = g.values().how().ops[op];
        if (std::string(ts::to_text(o.attributes.kind)) == "cached_attention") {
            seen.split_samples += c.degree[0] > 1;
            seen.split_heads += c.degree[1] > 1;
            seen.replicas += c.replicate > 1;
        }
    }
    for (int round = 0; round < 2; ++round) {
        std::vector<token_list> all;
        for (int n = 0; n < samples; ++n) {
            all.push_back(random_tokens(pick, 1 + pick(longest)));
        }
        const auto right = whole_pass(t, all);
        std::vector<std::vector<float>> made(samples);
        std::vector<index_t> lengths(samples, 0);
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            std::vector<token_list> now(samples);
            for (std::size_t n = 0; n < samples; ++n) {
                const auto left = all[n].size() - ts::to_size(lengths[n]);
                const auto take = std::min<std::size_t>(left, ts::to_size(pick(3) == 0 ? pick(longest) : pick(3)));
                const auto from = all[n].begin() + static_cast<std::ptrdiff_t>(lengths[n]);
                now[n].assign(from, from + static_cast<std::ptrdiff_t>(take));
                goes_on = goes_on || left > take;
            }
            const auto some = g.values().feed(now, lengths);
            for (std::size_t n = 0; n < samples; ++n) {
                made[n].insert(made[n].end(), some[n].begin(), some[n].end());
                lengths[n] += static_cast<index_t>(now[n].size());
            }
        }
        for (std::size_t n = 0; n < samples; ++n) {
            CHECK(furthest(made[n], right[n]) < within);
        }
    }
}

/// Every operator twice.
ts::strategy replicated(const ts::graph_view& g) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)].replicate = 2;
        s.place(op, {op % 4, (op + 1) % 4});
    }
    return s;
}

/// Where a network computes in bf16 the host has no part in it.
template <class Net>
void hold_everywhere(std::uint64_t seed, double within = 1e-5) {
    const ts::graph g = ts::describe<Net>(samples);
    const auto hold_on_all = [&](const ts::strategy& s, std::uint64_t random, covered& seen) {
        hold<Net, ts::reference::backend>(s, random, seen, within);
#ifdef TESSERA_TEST_HOST
        if constexpr (!requires { typename Net::precision_type; }) {
            hold<Net, ts::host::backend>(s, random, seen, within);
        }
#endif
    };
    covered seen;
    hold_on_all(ts::strategy(g.view()), seed, seen);
    test_support::coverage kinds;
    for (std::uint64_t k = 0; k < 6; ++k) {
        const ts::strategy s =
            k == 0 ? replicated(g.view()) : test_support::random_strategy(g.view(), 4, seed + k, kinds);
        CAPTURE(k);
        hold_on_all(s, seed + 10 * k, seen);
    }
    CHECK(seen.split_heads > 0);
    CHECK(seen.split_samples > 0);
    CHECK(seen.replicas > 0);
}

} // namespace

TEST_CASE("with kept keys and values GPT has the logits of whole sequences, under any strategy") {
    hold_everywhere<gpt>(1);
}
TEST_CASE("so has LLaMA with keys of fewer heads") { hold_everywhere<grouped>(2); }
TEST_CASE("so have a window, a cap and ALiBi") {
    hold_everywhere<windowed>(3);
    hold_everywhere<capped>(4);
    hold_everywhere<leaning>(5);
}

TEST_CASE("in bf16 they are those of a whole pass in bf16, and what is kept are bf16 numbers") {
    using half_gpt = ts::with_precision<ts::bf16, gpt>;
    hold_everywhere<half_gpt>(6, 2e-2);
    hold_everywhere<ts::with_precision<ts::bf16, grouped>>(7, 2e-2);
    // Further from a pass in fp32 than from one in bf16.
    const ts::graph g = ts::describe<gpt>(samples);
    ts::trainer<half_gpt, ts::reference::backend> half(ts::local_devices(1), ts::strategy(g.view()), samples,
                                                       ts::sgd{});
    ts::trainer<gpt, ts::reference::backend> full(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    set_weights(half, 3);
    set_weights(full, 3);
    ts::generator writer(half);
    test_support::random pick{9};
    const token_list tokens = random_tokens(pick, longest);
    const std::vector<index_t> lengths{0};
    const auto made = writer.values().feed(std::vector<token_list>{tokens}, lengths)[0];
    const double to_half = furthest(made, whole_pass(half, {tokens})[0]);
    const double to_full = furthest(made, whole_pass(full, {tokens})[0]);
    CAPTURE(to_half);
    CAPTURE(to_full);
    CHECK(to_half < to_full / 4);
    CHECK(to_full < 2e-2);
}

namespace {

/// What follows, with a forward pass over all that there is for every token.
template <class T>
token_list slowly(T& t, token_list all, const ts::generation_options& o, std::uint64_t sequence) {
    token_list made;
    while (static_cast<index_t>(made.size()) < o.new_tokens) {
        const auto rows = whole_pass(t, {all});
        const std::span<const float> last = std::span(rows[0]).last(vocabulary);
        made.push_back(ts::next_token(last, o.how, ts::draw_of(o.how.seed, sequence, all.size())));
        all.push_back(made.back());
        if (made.back() == o.stop_token) {
            break;
        }
    }
    return made;
}

template <class Net>
void refuse(const char* what) {
    const ts::graph g = ts::describe<Net>(samples);
    const ts::problem p = ts::problem_of_decoding(g.view(), ts::detail::usual_prediction(g.view()), 4);
    const std::string said = message_of(
        [&] { static_cast<void>(ts::decoding_of(g.view(), ts::detail::usual_prediction(g.view()), samples, 1, 4)); });
    INFO(said);
    CHECK(p);
    CHECK(contains(said, ts::to_text(p.broken)));
    CHECK(contains(said, what));
}

/// An operator of one's own, of which a position depends on its number.
struct ramp : ts::operation<ramp> {
    static constexpr const char* name = "ramp";
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(ts::loop_name::sample, ts::loop_name::position, ts::loop_name::channel);
        const auto x = w.input(n, t, c);
        w.output(n, t, c) = x * w.index(t);
    }
};
struct own_weights : ts::softmax<ts::causal> {}; // scores are a tensor then
struct along : ts::conv1d<16, ts::window<3>, ts::padding<1>> {};
struct lstm_input : ts::linear<64> {};
struct lstm_state : ts::linear<64> {};
struct gru_input : ts::linear<48> {};
struct gru_state : ts::linear<48> {};

} // namespace

TEST_CASE("what is generated is what a forward pass over all tokens says, for more prompts than a batch has samples") {
    const ts::graph g = ts::describe<gpt>(samples);
    test_support::random pick{7};
    test_support::coverage kinds;
    const ts::strategy s = test_support::random_strategy(g.view(), 4, 3, kinds);
    ts::trainer<gpt, ts::reference::backend> t(ts::local_devices(4), s, samples, ts::sgd{});
    set_weights(t, 5);
    std::vector<token_list> prompts;
    for (int n = 0; n < samples + 2; ++n) {
        prompts.push_back(random_tokens(pick, 1 + n));
    }
    ts::generation_options o{.new_tokens = 6};
    int stopped = 0;
    for (int kind = 0; kind < 3; ++kind) {
        o.how = kind == 0 ? ts::sampling{} : ts::sampling{.temperature = 1.5, .top_k = kind == 2 ? 5 : 0, .seed = 11};
        const auto plain = t.generate(prompts, o);
        o.stop_token = plain[1][2];
        const auto made = t.generate(prompts, o, {.max_length = longest, .piece = 2});
        for (std::size_t n = 0; n < prompts.size(); ++n) {
            CHECK(made[n] == slowly(t, prompts[n], o, n));
            CHECK(std::equal(made[n].begin(), made[n].end(), plain[n].begin()));
            stopped += made[n].size() < plain[n].size();
        }
        CHECK(made[1].size() <= 3);
        o.stop_token = -1;
    }
    CHECK(stopped >= 3);
    ts::predictor<gpt, ts::reference::backend> server(t);
    CHECK(server.generate(prompts, o) == t.generate(prompts, o));
    o.new_tokens = 0;
    CHECK(t.generate(prompts, o) == std::vector<token_list>(prompts.size()));
}

TEST_CASE("a generator has the weights that it was given last") {
    const ts::graph g = ts::describe<gpt>(samples);
    ts::trainer<gpt, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    set_weights(t, 5);
    ts::generator writer(t);
    const std::vector<token_list> prompts{{1, 2, 3}};
    const auto before = writer.generate(prompts, {.new_tokens = 8});
    set_weights(t, 6);
    CHECK(writer.generate(prompts, {.new_tokens = 8}) == before);
    writer.take(t);
    CHECK(writer.generate(prompts, {.new_tokens = 8}) != before);
}

TEST_CASE("prompts and options that cannot be are refused") {
    const ts::graph g = ts::describe<gpt>(samples);
    ts::trainer<gpt, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()), samples, ts::sgd{});
    const auto said = [&](const std::vector<token_list>& prompts, const ts::generation_options& o = {.new_tokens = 2},
                          const ts::generator_options& size = {}) {
        return message_of([&] { static_cast<void>(t.generate(prompts, o, size)); });
    };
    const token_list many(11, 1);
    CHECK(contains(said({{1}, many}), "prompt 1 has 11 tokens, which are 13 with 2 new ones, and the cache has 12"));
    CHECK(contains(said({{1, 2, 3}}, {.new_tokens = 2}, {.max_length = 4}), "the cache has 4 positions"));
    CHECK(said({{1, 2, 3}}, {.new_tokens = 2}, {.max_length = 5}) == "accepted");
    CHECK(contains(said({{1}, {}}), "prompt 1 is empty"));
    CHECK(contains(said({{1, vocabulary}}), "token 19, and the network takes tokens from 0 to 18"));
    CHECK(contains(said({{1, -1}}), "token -1"));
    CHECK(contains(said({{1}}, {.new_tokens = -1}), "-1 new tokens"));
    CHECK(contains(said({{1}}, {.how = {.temperature = -1}}), "a temperature of"));
    CHECK(contains(said({{1}}, {.how = {.top_k = -1}}), "top_k of -1"));
    CHECK(contains(said({{1}}, {.how = {.top_p = 0}}), "top_p of"));
    CHECK(contains(said({{1}}, {.how = {.top_p = 1.5}}), "top_p of"));
    CHECK(contains(said({{1}}, {.new_tokens = 2}, {.piece = 0}), "in pieces of 0"));
    CHECK(contains(said({{1}}, {.new_tokens = 2}, {.max_length = -1}), "max_length is at least 1"));
    // Rotary positions go on where a table of positions ends.
    const std::string table = said({{1}}, {.new_tokens = 2}, {.max_length = longest + 1});
    CHECK(contains(table, "the table has fewer rows than the sequence has positions"));
    CHECK(contains(table, "places"));
}

TEST_CASE("networks from which nothing can be generated are refused, naming the layer") {
    using ts::sequential;
    using tokens = ts::tokens<longest>;
    refuse<sequential<tokens, words, logits, ts::cross_entropy>>("logits");
    refuse<sequential<tokens, words, ts::self_attention<heads, query, key, value, merge, ts::softmax<>>, logits,
                      ts::cross_entropy>>("attention");
    using attends = ts::self_attention<heads, query, key, value, merge, ts::softmax<ts::causal>>;
    refuse<sequential<tokens, words, along, attends, logits, ts::cross_entropy>>("along");
    using by_hand = ts::self_attention<heads, query, key, value, merge, own_weights>;
    refuse<sequential<tokens, words, by_hand, logits, ts::cross_entropy>>("scores");
    refuse<sequential<tokens, words, attends, ramp, logits, ts::cross_entropy>>("ramp");
    using tabled = ts::self_attention<heads, query, key, value, merge,
                                      ts::attention<ts::heads<heads>, ts::causal, ts::position_buckets<8, 16>>>;
    refuse<sequential<tokens, words, tabled, logits, ts::cross_entropy>>("attention");
    // A state, which is not kept: a step reads a position of its own.
    using by_state = ts::lstm<longest, ts::lstm_cell<16, lstm_input, lstm_state>>;
    refuse<sequential<tokens, words, by_state, logits, ts::cross_entropy>>("step");
    using by_gates = ts::gru<longest, ts::gru_cell<16, gru_input, gru_state>>;
    refuse<sequential<tokens, words, by_gates, logits, ts::cross_entropy>>("step");
}
