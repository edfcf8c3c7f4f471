// SPDX-License-Identifier: Apache-2.0
// Whole Transformers of today, small, as their papers have them, trained on the host for tests/torch/blocks.py to
// repeat with Hugging Face's: blocks FOLDER
//
// Writes FOLDER/NAME.safetensors for each: what it was fed, its losses, and its parameters in their order before and
// after the steps.
#include "support/random_strategy.hpp"
#include "support/same_numbers.hpp"

#include "tessera/host.hpp"
#include "tessera/io/files/safetensors.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/part/routing.hpp"

#include <cstdio>
#include <filesystem>
#include <list>

namespace {

namespace ts = tessera;

constexpr ts::index_t width = 16, positions = 6, vocabulary = 23;
constexpr int heads = 4, key_heads = 2;
constexpr ts::index_t each = width / heads;

struct words : ts::embedding<vocabulary, width> {};
struct first_norm : ts::rms_norm<> {};
struct second_norm : ts::rms_norm<> {};
struct last_norm : ts::rms_norm<> {};
struct logits : ts::linear<vocabulary, ts::no_bias> {};
struct gate : ts::linear<24, ts::no_bias> {};
struct up : ts::linear<24, ts::no_bias> {};
struct down : ts::linear<width, ts::no_bias> {};
struct merge : ts::linear<width, ts::no_bias> {};
using gated = ts::swiglu<gate, up, down>;

struct grouped : ts::attention<ts::heads<heads>, ts::key_heads<key_heads>, ts::causal> {};
template <int Heads>
struct turn : ts::rotary<ts::heads<Heads>, ts::halves> {};

template <class Attention, class Middle>
using decoder = ts::sequential<ts::tokens<positions>, words,
                               ts::repeat<2, ts::residual<first_norm, Attention>, ts::residual<second_norm, Middle>>,
                               last_norm, logits, ts::cross_entropy>;

namespace llama {
struct query : ts::linear<width, ts::no_bias> {};
struct key : ts::linear<each * key_heads, ts::no_bias> {};
struct value : ts::linear<each * key_heads, ts::no_bias> {};
using attention =
    ts::self_attention<heads, ts::branch<query, turn<heads>>, ts::branch<key, turn<key_heads>>, value, merge, grouped>;
struct network : decoder<attention, gated> {};
} // namespace llama

namespace qwen2 { // biases in queries, keys and values
struct query : ts::linear<width> {};
struct key : ts::linear<each * key_heads> {};
struct value : ts::linear<each * key_heads> {};
using attention =
    ts::self_attention<heads, ts::branch<query, turn<heads>>, ts::branch<key, turn<key_heads>>, value, merge, grouped>;
struct network : decoder<attention, gated> {};
} // namespace qwen2

namespace qwen3 { // norms of each head's queries and keys
struct query_norm : ts::rms_norm<> {};
struct key_norm : ts::rms_norm<> {};
template <class Layer, class Norm, int Heads>
using normed =
    ts::branch<Layer, ts::reshape<positions * Heads, each>, Norm, ts::reshape<positions, Heads * each>, turn<Heads>>;
using attention = ts::self_attention<heads, normed<llama::query, query_norm, heads>,
                                     normed<llama::key, key_norm, key_heads>, llama::value, merge, grouped>;
struct network : decoder<attention, gated> {};
} // namespace qwen3

namespace mixtral {
struct router : ts::linear<4, ts::no_bias> {};
struct wide_gate : ts::routed_linear<24> {};
struct wide : ts::routed_linear<24> {};
struct narrow : ts::routed_linear<width> {};
struct slots : ts::token_slots<ts::top<2>, ts::no_drop> {};
using mixture = ts::routed_experts<
    slots, ts::branch<router, ts::softmax<>, ts::keep_top<ts::top<2>, ts::normalized>>,
    ts::branches<ts::multiply, ts::branch<ts::with_slots<wide_gate>, ts::silu>, ts::with_slots<wide>>,
    ts::with_slots<narrow>>;
struct network : decoder<llama::attention, mixture> {};
} // namespace mixtral

namespace t5 { // an encoder and a decoder with a table of buckets each, all products without scale
using some = ts::initial_weights<ts::initial::normal<1, 2>>;
template <bool IsDecoder>
struct parts {
    struct query : ts::linear<width, ts::no_bias> {};
    struct key : ts::linear<width, ts::no_bias> {};
    struct value : ts::linear<width, ts::no_bias> {};
    struct output : ts::linear<width, ts::no_bias> {};
    struct into : ts::linear<24, ts::no_bias> {};
    struct out_of : ts::linear<width, ts::no_bias> {};
    struct norm : ts::rms_norm<> {};
    struct next_norm : ts::rms_norm<> {};
    struct end_norm : ts::rms_norm<> {};
};
using enc = parts<false>;
using dec = parts<true>;
struct cross_query : ts::linear<width, ts::no_bias> {};
struct cross_key : ts::linear<width, ts::no_bias> {};
struct cross_value : ts::linear<width, ts::no_bias> {};
struct cross_output : ts::linear<width, ts::no_bias> {};
struct cross_norm : ts::rms_norm<> {};
struct both_ways : ts::attention<ts::heads<heads>, ts::score_scale<1>, ts::position_buckets<8, 5>, some> {};
struct backwards : ts::attention<ts::heads<heads>, ts::score_scale<1>, ts::position_buckets<8, 5>, ts::causal, some> {};
struct plain : ts::attention<ts::heads<heads>, ts::score_scale<1>> {};
struct smaller : ts::scale<0.25> {}; // 1 / sqrt(width), before the table of words that is used once more
struct source;
struct target;
struct truth;
struct memory;
struct scores;
struct loss;
template <class P>
using feed_forward = ts::residual<typename P::next_norm, typename P::into, ts::relu, typename P::out_of>;
template <class P, class Core>
using attends =
    ts::residual<typename P::norm, ts::self_attention<heads, typename P::query, typename P::key, typename P::value,
                                                      typename P::output, ts::shared<Core>>>;
using reads =
    ts::residual<cross_norm,
                 ts::cross_attention<memory, heads, cross_query, cross_key, cross_value, cross_output, plain>>;
struct network
    : ts::dag<
          ts::input<source, ts::tokens<8>>, ts::input<target, ts::tokens<positions>>,
          ts::input<truth, ts::tokens<positions>>,
          ts::chain<memory, source, words, ts::repeat<2, attends<enc, both_ways>, feed_forward<enc>>, enc::end_norm>,
          ts::chain<scores, target, ts::shared<words>, ts::repeat<2, attends<dec, backwards>, reads, feed_forward<dec>>,
                    dec::end_norm, smaller, ts::tied<logits, words>>,
          ts::node<loss, ts::cross_entropy, scores, truth>> {};
} // namespace t5

struct tensors_of_file {
    std::list<std::vector<float>> numbers; // which `all` refers to
    std::vector<ts::io::named_tensor> all;

    void add(const std::string& name, const ts::shape& s, std::vector<float> x) {
        numbers.push_back(std::move(x));
        all.push_back({name, {s.extent, s.extent + s.rank}, numbers.back()});
    }
};

void train(const std::string& name, const ts::graph& network, const std::filesystem::path& folder) {
    constexpr int devices = 2, steps = 3;
    const ts::graph_view g = network.view();
    tensors_of_file to;
    test_support::coverage seen;
    const ts::strategy how = test_support::random_strategy(g, devices, 40, seen);
    ts::host::backend backend(ts::sgd{.learning_rate = 0.1F});
    ts::workers threads(devices);
    ts::session<ts::host::backend> session(g, how, devices, ts::sgd{.learning_rate = 0.1F}, {}, backend, threads);
    const auto add_parameters = [&](const std::string& when) {
        for (int p = 0; p < g.parameter_count; ++p) {
            to.add(when + std::to_string(p), g.parameters[p].extents, session.parameter(p));
        }
    };
    const test_support::batch_data data(g, 7);
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        const auto& x = data.labels[k];
        to.add("input" + std::to_string(k), g.tensors[data.tensors[k]].extents, {x.begin(), x.end()});
    }
    add_parameters("before");
    std::vector<float> losses;
    for (int step = 0; step < steps; ++step) {
        losses.push_back(static_cast<float>(session.step(data.inputs)));
    }
    add_parameters("after");
    to.add("losses", ts::make_shape(steps), losses);
    ts::io::write_safetensors((folder / (name + ".safetensors")).string(), to.all);
}

} // namespace

int main(int count, char** words_of_line) {
    if (count != 2) {
        std::fprintf(stderr, "blocks FOLDER\n");
        return 2;
    }
    const std::filesystem::path folder = words_of_line[1];
    try {
        std::filesystem::create_directories(folder);
        train("llama", ts::describe<llama::network>(4), folder);
        train("qwen2", ts::describe<qwen2::network>(4), folder);
        train("qwen3", ts::describe<qwen3::network>(4), folder);
        train("mixtral", ts::describe<mixtral::network>(4), folder);
        train("t5", ts::describe<t5::network>(4), folder);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
