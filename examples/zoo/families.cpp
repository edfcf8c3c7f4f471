// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/families.hpp"

#include "tessera/net/describe.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/records.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"
#include "tessera/op/router_losses.hpp"
#include "tessera/op/routing.hpp"

#include <initializer_list>
#include <string>

namespace networks {

namespace {

namespace ts = tessera;
using ts::op_kind;

/// Appends layers by their names, as the zoo's types call them.
class family_builder {
public:
    family_builder(const family_sizes& s, ts::index_t batch) : s_(s) {
        b_.batch = batch;
        b_.repeating = 1; // a layer comes again with every block, with parameters of its own
    }

    ts::graph build() {
        const int tokens = b_.add_input(ts::make_shape(b_.batch, s_.sequence), ts::element::i32, "input");
        const int words =
            add("words", ts::attributes_of(op_kind::embedding, ts::op::embedding_attributes{s_.vocabulary, s_.width}),
                {tokens});
        const int last = s_.form == family::gpt ? gpt_blocks(words) : llama_blocks(words);
        const int scores = s_.tied ? add("logits", linear(s_.vocabulary, false), {last}, "words")
                                   : add("logits", linear(s_.vocabulary, false), {last});
        ts::detail::append_loss(b_, ts::cross_entropy::attributes, "cross_entropy", key("cross_entropy"), scores);
        if (b_.refused) {
            throw ts::error(ts::to_text(b_.refused, b_.refused_at));
        }
        ts::graph g = b_.built();
        ts::set_precision(g, s_.math);
        return g;
    }

private:
    static ts::type_key key(std::string_view name) { return ts::detail::hash_text(name); }

    int add(std::string_view name, const ts::op_attributes& a, std::initializer_list<int> reads,
            std::string_view parameters_of = {}) {
        return b_.add_op(a, name, key(name), false, reads.begin(), static_cast<int>(reads.size()),
                         parameters_of.empty() ? 0 : key(parameters_of));
    }
    static ts::op_attributes linear(ts::index_t out, bool bias) {
        return ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = out, .bias = bias});
    }
    int dropped(int x) {
        return s_.dropout == 0
                   ? x
                   : add("dropout", ts::attributes_of(op_kind::dropout, ts::op::dropout_attributes{s_.dropout}), {x});
    }
    ts::op_attributes attention() const {
        ts::op::attention_attributes a;
        a.heads = s_.heads;
        a.key_heads = s_.key_heads;
        a.causal = true;
        a.alibi = s_.alibi;
        a.percent = s_.dropout;
        return ts::attributes_of(op_kind::attention, a);
    }

    int gpt_blocks(int words) {
        const ts::op_attributes norm = ts::layer_norm<>::attributes;
        int x = dropped(s_.alibi ? words : add("places", ts::position_embedding<>::attributes, {words}));
        for (int i = 0; i < s_.layers; ++i) {
            const int a = add("norm<0>", norm, {x});
            const int q = add("query<0>", linear(s_.width, s_.biases), {a});
            const int k = add("key<0>", linear(s_.width, s_.biases), {a});
            const int v = add("value<0>", linear(s_.width, s_.biases), {a});
            const int mixed = add("attention", attention(), {q, k, v});
            x = add("add", ts::add::attributes, {x, dropped(add("merge<0>", linear(s_.width, s_.biases), {mixed}))});
            const int f = add("norm<1>", norm, {x});
            const int wide = add("gelu", ts::gelu::attributes, {add("wide", linear(s_.hidden, s_.biases), {f})});
            x = add("add", ts::add::attributes, {x, dropped(add("narrow", linear(s_.width, s_.biases), {wide}))});
        }
        return add("last_norm", norm, {x});
    }

    int turned(std::string_view name, ts::index_t heads, int x) {
        ts::op_attributes rotary = ts::rotary<>::attributes;
        ts::op::rotary_attributes own;
        own.heads = heads;
        own.base = s_.rotary_base;
        rotary.set(own);
        const int y = add(name, linear(heads * (s_.width / s_.heads), false), {x});
        // Rotations of as many heads are one layer.
        return b_.add_op(rotary, "rotary", key("rotary") + static_cast<ts::type_key>(heads), false, &y, 1);
    }

    int llama_blocks(int words) {
        const ts::op_attributes norm = ts::rms_norm<>::attributes;
        const ts::index_t groups = s_.key_heads == 0 ? s_.heads : s_.key_heads;
        int x = dropped(words);
        for (int i = 0; i < s_.layers; ++i) {
            const int a = add("attention_norm", norm, {x});
            const int q = turned("query", s_.heads, a);
            const int k = turned("key", groups, a);
            const int v = add("value", linear(groups * (s_.width / s_.heads), false), {a});
            const int mixed = add("attention", attention(), {q, k, v});
            x = add("add", ts::add::attributes, {x, dropped(add("merge", linear(s_.width, false), {mixed}))});
            const int f = add("feed_forward_norm", norm, {x});
            x = add("add", ts::add::attributes, {x, dropped(s_.form == family::moe ? mixture(f) : swiglu(f))});
        }
        return add("last_norm", norm, {x});
    }

    int swiglu(int x) {
        const int gate = add("gate", linear(s_.hidden, false), {x});
        const int up = add("up", linear(s_.hidden, false), {x});
        return add("down", linear(s_.width, false), {add("silu_gate", ts::silu_gate::attributes, {gate, up})});
    }

    /// What routed_experts<> of part/routing.hpp makes of Mixtral's router and experts.
    int mixture(int x) {
        const int all = add("softmax", ts::softmax<>::attributes, {add("router", linear(s_.experts, false), {x})});
        const auto keep = [&](bool normalized) {
            return ts::attributes_of(op_kind::keep_top, ts::op::keep_top_attributes{s_.top, normalized});
        };
        ts::op_attributes balance = ts::load_balance_loss<ts::top<2>, ts::weight<1, 50>>::attributes;
        balance.set(ts::op::load_balance_options{s_.top});
        add("loss", balance, {all, add("kept", keep(false), {all})});
        const int gates = add("keep_top", keep(true), {all});
        ts::op::token_slots_attributes room;
        room.top = s_.top;
        room.factor = s_.capacity;
        const int slots = add("slots", ts::attributes_of(op_kind::token_slots, room), {gates});
        const int sent = add("dispatch", ts::dispatch_tokens::attributes, {x, slots});
        const auto expert = [&](std::string_view name, ts::index_t out, int y) {
            return add(name, ts::attributes_of(op_kind::routed_linear, ts::op::routed_linear_attributes{out}),
                       {y, slots});
        };
        const int gate = expert("gate", s_.hidden, sent);
        const int up = expert("up", s_.hidden, sent);
        const int down = expert("down", s_.width, add("silu_gate", ts::silu_gate::attributes, {gate, up}));
        return add("combine", ts::combine_tokens::attributes, {gates, slots, down});
    }

    const family_sizes& s_;
    ts::graph_builder b_;
};

void require_sizes(const family_sizes& s) {
    const auto refuse = [](const std::string& what) {
        throw ts::error("the network's sizes do not go together: " + what);
    };
    const auto at_least_one = [&](ts::index_t n, const char* what) {
        if (n < 1) {
            refuse("it has " + std::to_string(n) + " " + what + ", and needs at least 1");
        }
    };
    at_least_one(s.layers, "layers");
    at_least_one(s.width, "channels");
    at_least_one(s.heads, "heads");
    at_least_one(s.sequence, "positions");
    at_least_one(s.vocabulary, "words");
    constexpr int most_layers = 4096;
    if (s.layers > most_layers) {
        refuse(std::to_string(s.layers) + " layers; at most " + std::to_string(most_layers) + " are planned for");
    }
    if (s.width % s.heads != 0) {
        refuse("the width " + std::to_string(s.width) + " is no multiple of " + std::to_string(s.heads) + " heads");
    }
    if (s.dropout < 0 || s.dropout > 99) {
        refuse("a dropout of " + std::to_string(s.dropout) + " per cent; it is 0 to 99");
    }
    if (s.form != family::gpt && s.key_heads != 0 && (s.key_heads < 1 || s.heads % s.key_heads != 0)) {
        refuse(std::to_string(s.heads) + " heads do not share " + std::to_string(s.key_heads) + " of keys and values");
    }
    if (s.form == family::moe && (s.top < 1 || s.top > s.experts)) {
        refuse("a token goes to " + std::to_string(s.top) + " of " + std::to_string(s.experts) + " experts");
    }
}

constexpr family_sizes gpt_of(int layers, ts::index_t width, ts::index_t heads, ts::index_t sequence) {
    return {.layers = layers, .width = width, .heads = heads, .sequence = sequence};
}
constexpr family_sizes llama_of(int layers, ts::index_t width, ts::index_t heads, ts::index_t key_heads,
                                ts::index_t hidden, ts::index_t sequence, ts::index_t vocabulary, double base) {
    return {.form = family::llama,
            .layers = layers,
            .width = width,
            .heads = heads,
            .key_heads = key_heads,
            .hidden = hidden,
            .sequence = sequence,
            .vocabulary = vocabulary,
            .tied = false,
            .rotary_base = base};
}
constexpr family_sizes mixtral() {
    family_sizes s = llama_of(32, 4096, 32, 8, 14336, 4096, 32000, 1e6);
    s.form = family::moe;
    return s;
}
constexpr family_sizes mpt() {
    family_sizes s{.layers = 32, .width = 4096, .heads = 32, .sequence = 2048, .vocabulary = 50368};
    s.biases = false;
    s.alibi = true;
    return s;
}

constexpr named_sizes all_families[] = {
    {"gpt", "GPT of any size; if none is said, of GPT-2's 124M parameters", gpt_of(12, 768, 12, 1024)},
    {"mpt", "GPT without biases and with ALiBi, as MPT (MosaicML 2023); of 7B parameters", mpt()},
    {"llama", "LLaMA of any size; of LLaMA 2's 7B parameters", llama_of(32, 4096, 32, 0, 11008, 4096, 32000, 1e4)},
    {"moe", "Mixtral of any size; of 8x7B parameters", mixtral()},
};
constexpr named_sizes all_networks[] = {
    {"gpt2_124m", "", gpt_of(12, 768, 12, 1024)},
    {"gpt2_355m", "", gpt_of(24, 1024, 16, 1024)},
    {"gpt2_774m", "", gpt_of(36, 1280, 20, 1024)},
    {"gpt2_1558m", "", gpt_of(48, 1600, 25, 1024)},
    {"gpt3_125m", "", gpt_of(12, 768, 12, 2048)},
    {"gpt3_350m", "", gpt_of(24, 1024, 16, 2048)},
    {"gpt3_760m", "", gpt_of(24, 1536, 16, 2048)},
    {"gpt3_1_3b", "", gpt_of(24, 2048, 16, 2048)},
    {"gpt3_2_7b", "", gpt_of(32, 2560, 32, 2048)},
    {"gpt3_6_7b", "", gpt_of(32, 4096, 32, 2048)},
    {"gpt3_13b", "", gpt_of(40, 5120, 40, 2048)},
    {"gpt3_175b", "", gpt_of(96, 12288, 96, 2048)},
    {"llama2_7b", "", llama_of(32, 4096, 32, 0, 11008, 4096, 32000, 1e4)},
    {"llama2_13b", "", llama_of(40, 5120, 40, 0, 13824, 4096, 32000, 1e4)},
    {"llama3_8b", "", llama_of(32, 4096, 32, 8, 14336, 8192, 128256, 5e5)},
    {"mixtral_8x7b", "", mixtral()},
};

} // namespace

std::span<const named_sizes> families() { return all_families; }

std::optional<family_sizes> sizes_of(std::string_view name) {
    for (const std::span<const named_sizes> list :
         {std::span<const named_sizes>(all_families), std::span<const named_sizes>(all_networks)}) {
        for (const named_sizes& n : list) {
            if (n.name == name) {
                return n.sizes;
            }
        }
    }
    return std::nullopt;
}

ts::graph describe(const family_sizes& asked, ts::index_t batch) {
    require_sizes(asked);
    if (batch < 1) {
        throw ts::error("the network is described for " + std::to_string(batch) + " samples; it needs at least 1");
    }
    family_sizes s = asked;
    if (s.hidden == 0) {
        constexpr ts::index_t whole = 256;
        s.hidden = s.form == family::gpt ? 4 * s.width : (8 * s.width / 3 + whole - 1) / whole * whole;
    }
    return family_builder(s, batch).build();
}

} // namespace networks
