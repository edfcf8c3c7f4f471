// SPDX-License-Identifier: Apache-2.0
// Networks of the families by run-time sizes are the zoo's typed ones.
#include "examples/zoo/families.hpp"
#include "examples/zoo/zoo.hpp"
#include "support/counts.hpp"
#include "tessera/net/network_hash.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace {

using namespace test_support;
using ts::index_t;

/// The same tensors, parameters and operators, whatever layers are called.
void check_equal(const ts::graph& a, const ts::graph& b) {
    REQUIRE(a.tensors.size() == b.tensors.size());
    REQUIRE(a.parameters.size() == b.parameters.size());
    REQUIRE(a.ops.size() == b.ops.size());
    for (std::size_t t = 0; t < a.tensors.size(); ++t) {
        CHECK(a.tensors[t].extents == b.tensors[t].extents);
        CHECK(a.tensors[t].type == b.tensors[t].type);
        CHECK(a.tensors[t].producer == b.tensors[t].producer);
    }
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        const ts::parameter_node& x = a.parameters[p];
        const ts::parameter_node& y = b.parameters[p];
        CHECK(x.extents == y.extents);
        CHECK(x.slot == y.slot);
        CHECK(x.fan_in == y.fan_in);
        CHECK(x.trained == y.trained);
        CHECK(x.instance == y.instance);
        CHECK(x.initial == y.initial);
    }
    for (std::size_t i = 0; i < a.ops.size(); ++i) {
        const ts::op_node& x = a.ops[i];
        const ts::op_node& y = b.ops[i];
        INFO(x.name);
        CHECK(x.attributes == y.attributes);
        CHECK(x.instance == y.instance);
        CHECK(x.output == y.output);
        REQUIRE(x.inputs.size() == y.inputs.size());
        REQUIRE(x.parameters.size() == y.parameters.size());
        for (int k = 0; k < x.inputs.size(); ++k) {
            CHECK(x.inputs[k] == y.inputs[k]);
        }
        for (int k = 0; k < x.parameters.size(); ++k) {
            CHECK(x.parameters[k] == y.parameters[k]);
        }
    }
}

networks::family_sizes named(const char* name) {
    const auto s = networks::sizes_of(name);
    REQUIRE(s.has_value());
    return *s;
}

} // namespace

TEST_CASE("families make the zoo's GPTs, with the dropout that these were published with") {
    for (const char* name : {"gpt2_124m", "gpt2_355m", "gpt2_774m", "gpt2_1558m", "gpt3_125m", "gpt3_350m", "gpt3_760m",
                             "gpt3_1_3b", "gpt3_2_7b", "gpt3_6_7b", "gpt3_13b", "gpt3_175b"}) {
        CAPTURE(name);
        networks::family_sizes s = named(name);
        CHECK(s.dropout == 0);
        s.dropout = 10;
        const ts::graph made = networks::describe(s, 3);
        const ts::graph typed = networks::describe(name, 3);
        check_equal(made, typed);
        CHECK(ts::network_hash(made.view()) == ts::network_hash(typed.view()));
    }
}

TEST_CASE("families make the zoo's LLaMAs and Mixtral") {
    for (const char* name : {"llama2_7b", "llama2_13b", "llama3_8b", "mixtral_8x7b"}) {
        CAPTURE(name);
        check_equal(networks::describe(named(name), 2), networks::describe(name, 2));
    }
    for (const char* name : {"llama2_7b", "llama2_13b"}) { // the others call their norms differently
        CHECK(ts::network_hash(networks::describe(named(name), 2).view()) ==
              ts::network_hash(networks::describe(name, 2).view()));
    }
}

TEST_CASE("parameters of families are those of closed formulas, for any sizes") {
    std::mt19937 draw(3);
    const auto in = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(draw); };
    for (int i = 0; i < 100; ++i) {
        networks::family_sizes s;
        s.form = static_cast<networks::family>(in(0, 2));
        s.layers = in(1, 5);
        s.key_heads = in(1, 3);
        s.heads = s.key_heads * in(1, 3);
        const index_t each = 2 * in(1, 6);
        s.width = s.heads * each;
        s.hidden = in(1, 90);
        s.sequence = in(1, 40);
        s.vocabulary = in(2, 300);
        s.biases = in(0, 1) == 1;
        s.alibi = in(0, 1) == 1;
        s.tied = in(0, 1) == 1;
        s.dropout = in(0, 1) * 10;
        s.experts = in(2, 6);
        s.top = in(1, 2);
        index_t of_block = 0;
        index_t around = s.vocabulary * s.width * (s.tied ? 1 : 2);
        if (s.form == networks::family::gpt) {
            s.key_heads = 0;
            of_block =
                4 * s.width * s.width + 2 * s.width * s.hidden + 4 * s.width + (s.biases ? 5 * s.width + s.hidden : 0);
            around += 2 * s.width + (s.alibi ? 0 : s.sequence * s.width);
        } else {
            const index_t groups = s.key_heads * each;
            const index_t feed_forward = 3 * s.width * s.hidden;
            of_block =
                2 * s.width * s.width + 2 * s.width * groups + 2 * s.width +
                (s.form == networks::family::moe ? s.experts * feed_forward + s.experts * s.width : feed_forward);
            around += s.width;
        }
        CAPTURE(i);
        const ts::graph g = networks::describe(s, 2);
        CHECK(trained_parameters(g.view()) == s.layers * of_block + around);
        int dropouts = 0;
        for (const ts::op_node& o : g.ops) {
            dropouts += o.attributes.kind == ts::op_kind::dropout ? 1 : 0;
        }
        CHECK(dropouts == (s.dropout > 0 ? 1 + 2 * s.layers : 0));
    }
}

TEST_CASE("sizes that nobody says are worked out") {
    networks::family_sizes s = named("llama");
    s.hidden = 0;
    check_equal(networks::describe(s, 1), networks::describe("llama2_7b", 1));
    s = named("gpt");
    s.math = ts::precision::bf16;
    const ts::graph g = networks::describe(s, 1);
    CHECK(g.ops[5].attributes.math == ts::precision::bf16);
    CHECK(g.tensors[2].type == ts::element::bf16);
    CHECK(!networks::sizes_of("vgg16").has_value());
}

TEST_CASE("sizes that do not go together are refused in words") {
    const auto refused = [](auto change, const char* words) {
        networks::family_sizes s;
        s.form = networks::family::moe;
        change(s);
        CHECK_THROWS_WITH_AS(networks::describe(s, 1), doctest::Contains(words), ts::error);
    };
    using sizes = networks::family_sizes;
    refused([](sizes& s) { s.heads = 7; }, "the width 768 is no multiple of 7 heads");
    refused([](sizes& s) { s.layers = 0; }, "0 layers");
    refused([](sizes& s) { s.layers = 5000; }, "at most 4096");
    refused([](sizes& s) { s.key_heads = 5; }, "12 heads do not share 5");
    refused([](sizes& s) { s.top = 9; }, "9 of 8 experts");
    refused([](sizes& s) { s.dropout = 100; }, "100 per cent");
    refused([](sizes& s) { s.vocabulary = index_t{1} << 40; }, "tessera");
    CHECK_THROWS_AS(networks::describe(sizes{}, 0), ts::error);
}
