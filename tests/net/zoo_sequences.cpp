// SPDX-License-Identifier: Apache-2.0
// Networks for sequences have the numbers that are published for them, and the closed formulas of their layers.
#include "examples/zoo/zoo.hpp"
#include "support/counts.hpp"
#include "tessera/op/attention.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace test_support;
using ts::index_t;

/// Weights and biases of a block: four layers of attention, two layers of four times the width, two norms.
index_t block_parameters(index_t width) { return 12 * width * width + 13 * width; }

/// One LSTM layer whose input is as wide as its state.
index_t lstm_parameters(index_t hidden) { return 4 * hidden * (hidden + hidden) + 4 * hidden; }

index_t parameters_of(const std::string& name) { return trained_parameters(networks::describe(name, 1).view()); }

double billions(const std::string& name) { return static_cast<double>(parameters_of(name)) / 1e9; }

} // namespace

TEST_CASE("the GPT family") {
    // OpenAI's download script names the models by these counts: 124M, 355M, 774M, 1558M; 124439808 is also what
    // Hugging Face's transformers counts for "gpt2".
    CHECK(parameters_of("gpt2_124m") == 124439808);
    CHECK(parameters_of("gpt2_355m") == 50257 * 1024 + 1024 * 1024 + 24 * block_parameters(1024) + 2 * 1024);
    CHECK(parameters_of("gpt2_355m") / 1000000 == 354);
    CHECK(parameters_of("gpt2_774m") / 1000000 == 774);
    CHECK(parameters_of("gpt2_1558m") / 1000000 == 1557);
    // Brown et al. 2020, table 2.1.
    CHECK(billions("gpt3_125m") == doctest::Approx(0.125).epsilon(0.01));
    CHECK(billions("gpt3_350m") == doctest::Approx(0.350).epsilon(0.02));
    CHECK(billions("gpt3_760m") == doctest::Approx(0.760).epsilon(0.01));
    CHECK(billions("gpt3_1_3b") == doctest::Approx(1.3).epsilon(0.02));
    CHECK(billions("gpt3_2_7b") == doctest::Approx(2.7).epsilon(0.02));
    CHECK(billions("gpt3_6_7b") == doctest::Approx(6.7).epsilon(0.01));
    CHECK(billions("gpt3_13b") == doctest::Approx(13.0).epsilon(0.02));
    CHECK(billions("gpt3_175b") == doctest::Approx(175.0).epsilon(0.003));
}

TEST_CASE("LLaMA 2") {
    // What Hugging Face's transformers counts of Llama-2-7b and Llama-2-13b.
    CHECK(parameters_of("llama2_7b") == 6738415616);
    CHECK(parameters_of("llama2_13b") == 13015864320);
}

TEST_CASE("padded recurrences have the parameters of PyTorch's, both biases of a gate included, once for all steps") {
    const auto recurrence = [](index_t gates, index_t in, index_t hidden) {
        return gates * hidden * (in + hidden + 2);
    };
    CHECK(parameters_of("padded_lstm") ==
          20000 * 256 + 2 * (recurrence(4, 256, 256) + recurrence(4, 512, 256)) + 2 * 512 + 2);
    CHECK(parameters_of("padded_gru") == 2 * 15000 * 620 + 2 * recurrence(3, 620, 1000) + 15000 * 1001);
}

TEST_CASE("two towers have the parameters of their layers") {
    const auto layer = [](index_t in, index_t out) { return in * out + out; };
    CHECK(parameters_of("two_towers") == 100000 * 512 + layer(512, 512) + layer(512, 128) + layer(256, 512) +
                                             layer(512, 128) + layer(2 * 128, 512) + layer(512, 8));
    CHECK(parameters_of("contrastive_towers") == 49408 * 512 + layer(512, 512) + layer(512, 512) + layer(2048, 512) +
                                                     layer(512, 512) + 1); // and a temperature
}

TEST_CASE("the multiply-adds of GPT-2") {
    const ts::graph g = networks::describe("gpt2_124m", 2);
    const index_t tokens = 2 * 1024;
    const index_t layers = 12 * 12 * 768 * 768 + 50257 * 768; // of every token; the output layer included
    const index_t seen = 1024 * 1025 / 2;                     // by all queries of a sample
    const index_t attention = 2 * 12 * seen * 2 * 768;        // scores and mixtures
    CHECK(multiply_adds(g.view()) == tokens * layers + attention);
}

TEST_CASE("BERT-large has 340 million parameters, counted by its layers") {
    const index_t embedding = (30522 + 512 + 2) * 1024 + 2 * 1024;
    const index_t head = 1024 * 1024 + 1024 + 2 * 1024 + 30522; // transform, its norm, and the output's bias
    CHECK(parameters_of("bert_large") == embedding + 24 * block_parameters(1024) + head);
    CHECK(billions("bert_large") == doctest::Approx(0.340).epsilon(0.02)); // Devlin et al. 2019, section 3
}

TEST_CASE("the Transformer of 2017 has 65 million parameters") {
    const index_t attention = 4 * (512 * 512 + 512) + 2 * 512;
    const index_t wide = 2 * 512 * 2048 + 2048 + 512 + 2 * 512;
    const index_t counted = 37000 * 512 + 6 * (attention + wide) + 6 * (2 * attention + wide);
    CHECK(parameters_of("transformer") == counted);
    // Vaswani et al. 2017, table 3; the size of its vocabulary is "about 37000".
    CHECK(static_cast<double>(counted) == doctest::Approx(65e6).epsilon(0.04));
}

TEST_CASE("the recurrent networks of FlexFlow") {
    CHECK(parameters_of("rnntc") == 32000 * 1024 + 4 * lstm_parameters(1024) + 2 * 1024 + 2);
    CHECK(parameters_of("rnnlm") == 2 * 10000 * 2048 + 10000 + 2 * lstm_parameters(2048));
    CHECK(parameters_of("rnnlm_2_steps") == parameters_of("rnnlm"));
    const index_t attention = 3 * 1024 * 1024;
    const index_t others = 3 * 32000 * 1024 + 32000 + 4 * lstm_parameters(1024);
    CHECK(parameters_of("nmt") == others + attention);
    CHECK(others / 1000000 == 131);
    const ts::graph wide = networks::describe("nmt_2048", 64);
    CHECK(trained_parameters(wide.view()) == 3 * 32000 * 2048 + 32000 + 4 * lstm_parameters(2048) + 3 * 2048 * 2048);
    CHECK(wide.ops.size() > 2000);
}

TEST_CASE("an unrolled LSTM multiplies as its formula says") {
    const ts::graph g = networks::describe("rnnlm", 1);
    const index_t hidden = 2048;
    const index_t steps = 40;
    const index_t cells = 2 * (steps * 4 * hidden * hidden + (steps - 1) * 4 * hidden * hidden);
    CHECK(multiply_adds(g.view()) == cells + steps * hidden * 10000);
}

TEST_CASE("DLRM for Criteo Kaggle has 540 million parameters") {
    const auto layer = [](index_t in, index_t out) { return in * out + out; };
    const index_t bottom = layer(13, 512) + layer(512, 256) + layer(256, 64) + layer(64, 16);
    const index_t pairs = 27 * 26 / 2; // of 26 categories and the numbers
    const index_t top = layer(16 + pairs, 512) + layer(512, 256) + layer(256, 2);
    CHECK(parameters_of("dlrm") == index_t{33762577} * 16 + bottom + top);
    CHECK(billions("dlrm") == doctest::Approx(0.540).epsilon(0.002)); // Naumov et al. 2019, section 5 (recalled)
    const ts::graph g = networks::describe("dlrm", 8);
    const index_t weights = bottom + top - (512 + 256 + 64 + 16) - (512 + 256 + 2);
    CHECK(multiply_adds(g.view()) == 8 * (weights + 27 * 27 * 16)); // all products of pairs, of which half are used
}

TEST_CASE("mixtures of experts") {
    const index_t width = 1024;
    const index_t hidden = 8192;
    const index_t experts = 2048;
    const index_t mixture = experts * 2 * width * hidden + experts * width;
    const index_t dense = 2 * 4 * width * width + 4 * width + width; // two wide layers with their biases
    const index_t attention = 4 * (width * width + width);
    const index_t norms = 2 * 2 * width;
    const index_t counted = 18 * (2 * (attention + norms) + dense + mixture) + (32000 + 1024) * width + 2 * width;
    CHECK(parameters_of("moe_2048") == counted);
    // Lepikhin et al. 2021, table 1: MoE(2048E, 36L) has 600 billion.
    CHECK(billions("moe_2048") == doctest::Approx(600).epsilon(0.035));
    // Dispatch and combination multiply every token with every slot; experts, their slots.
    const ts::graph g = networks::describe("moe_8", 2);
    const index_t tokens = 512;
    const index_t slots = 8 * 128;
    const index_t block = 4 * 768 * 768 + (tokens + 1) * 768; // attention of a token, causal
    const index_t wide = 2 * 768 * 3072;
    const index_t expected =
        2 *
        (6 * (tokens * (2 * block + wide + 768 * 8) + 2 * tokens * slots * 768 + slots * wide) + tokens * 768 * 32000);
    CHECK(multiply_adds(g.view()) == expected);
}

TEST_CASE("mixtures of experts whose tokens are sent") {
    // The same parameters as with masks; and no product that dispatches or combines.
    CHECK(parameters_of("routed_moe_8") == parameters_of("moe_8"));
    const ts::graph g = networks::describe("routed_moe_8", 2);
    const index_t tokens = 512;
    const index_t slots = 8 * 128;
    const index_t block = 4 * 768 * 768 + (tokens + 1) * 768; // attention of a token, causal
    const index_t wide = 2 * 768 * 3072;
    CHECK(multiply_adds(g.view()) ==
          2 * (6 * (tokens * (2 * block + wide + 768 * 8) + slots * wide) + tokens * 768 * 32000));
}

TEST_CASE("language models whose heads share keys and values") {
    // Counts of the published weights on Hugging Face, which follow from their configurations; a table that the output
    // layer shares counts once.
    CHECK(parameters_of("llama3_8b") == 8030261248);
    CHECK(parameters_of("llama3_1_8b") == 8030261248);
    CHECK(parameters_of("llama3_1_70b") == 70553706496);
    CHECK(parameters_of("mistral_7b") == 7241732096);
    CHECK(parameters_of("qwen3_0_6b") == 596049920);
    CHECK(parameters_of("qwen3_0_6b") - 151936 * 1024 == 440467456); // its model card: 0.44B without the embedding
    CHECK(parameters_of("qwen3_8b") == 8190735360);
    CHECK(parameters_of("gemma_2b") == 2506172416);
    CHECK(parameters_of("gemma2_2b") == 2614341888);
    CHECK(parameters_of("mixtral_8x7b") == 46702792704); // Jiang et al. 2024: 47 billion
}

TEST_CASE("what language models of one form differ in") {
    // The operators of a kind, in order.
    const auto of = [](const ts::graph& g, ts::op_kind kind) {
        std::vector<ts::op_attributes> all;
        for (const ts::op_node& op : g.ops) {
            if (op.attributes.kind == kind) {
                all.push_back(op.attributes);
            }
        }
        return all;
    };
    const auto check = [&](const std::string& name, const ts::op_attributes& first, const ts::op_attributes& second,
                           std::size_t count) {
        CAPTURE(name);
        const std::vector<ts::op_attributes> found = of(networks::describe(name, 1), first.kind);
        REQUIRE(found.size() == count);
        CHECK(found[0] == first);
        CHECK(found[1] == second);
    };
    using ts::causal;
    using ts::heads;
    using ts::key_heads;
    using ts::rotary_base;
    const auto grouped = ts::attention<heads<32>, key_heads<8>, causal>::attributes;
    check("llama3_8b", grouped, grouped, 32);
    check("llama3_8b", ts::rotary<heads<32>, rotary_base<500000>>::attributes,
          ts::rotary<heads<8>, rotary_base<500000>>::attributes, 64);
    using scaled = ts::rotary_scale<8, 8192, 1, 4>;
    check("llama3_1_8b", ts::rotary<heads<32>, rotary_base<500000>, scaled>::attributes,
          ts::rotary<heads<8>, rotary_base<500000>, scaled>::attributes, 64);
    const auto windowed = ts::attention<heads<32>, key_heads<8>, causal, ts::sliding_window<4096>>::attributes;
    check("mistral_7b", windowed, windowed, 32);
    check("qwen3_8b", ts::head_rms_norm<heads<32>, ts::epsilon<1e-6>>::attributes,
          ts::head_rms_norm<heads<8>, ts::epsilon<1e-6>>::attributes, 72);
    check("gemma2_2b",
          ts::attention<heads<8>, key_heads<4>, causal, ts::softcap<50>, ts::sliding_window<4096>>::attributes,
          ts::attention<heads<8>, key_heads<4>, causal, ts::softcap<50>>::attributes, 26);
    check("mixtral_8x7b", ts::rotary<heads<32>, rotary_base<1000000>>::attributes,
          ts::rotary<heads<8>, rotary_base<1000000>>::attributes, 64);
}

TEST_CASE("DeepSeek-V3 has 671 billion parameters, of which a token uses 37") {
    const index_t width = 7168;
    const index_t latent = width * 1536 + 1536 + 1536 * 128 * (128 + 64) + width * (512 + 64) + 512 +
                           512 * 128 * (128 + 128) + 128 * 128 * width; // and the norms of both latent vectors
    const index_t norms = 2 * width;
    const index_t dense = 3 * width * 18432;
    const index_t expert = 3 * width * 2048;
    const index_t router = 256 * width + 256;
    const index_t ends = 2 * 129280 * width + width;
    CHECK(parameters_of("deepseek_v3") ==
          ends + 61 * (latent + norms) + 3 * dense + 58 * (router + (256 + 1) * expert));
    CHECK(parameters_of("deepseek_v3") == index_t{671026419200}); // Liu et al. 2024, abstract: 671B
    const index_t used = ends + 61 * (latent + norms) + 3 * dense + 58 * (router + (8 + 1) * expert);
    CHECK(static_cast<double>(used) / 1e9 == doctest::Approx(37).epsilon(0.02)); // the same
}

TEST_CASE("Whisper") {
    // Counts of OpenAI's weights; the encoder's positions are no parameters. Radford et al. 2023, table 1: 39M, 74M.
    CHECK(parameters_of("whisper_tiny") == 37184640);
    CHECK(parameters_of("whisper_base") == 71825920);
    const auto blocks = [](index_t width) { return 12 * width * width + 12 * width; }; // no bias of keys
    const index_t width = 384;
    const index_t crossed = 4 * width * width + 3 * width + 2 * width;
    CHECK(parameters_of("whisper_tiny") ==
          3 * width * (80 + width) + 2 * width + 4 * (2 * blocks(width) + crossed) + (51865 + 448 + 2 * 2) * width);
    // 1500 positions see each other in the encoder; words see those, and words up to their own.
    const ts::graph g = networks::describe("whisper_tiny", 2);
    const index_t sound = 1500;
    const index_t words = 448;
    const index_t seen = words * (words + 1) / 2;
    const index_t layers = 2 * sound * 3 * width * 80 + sound * 3 * width * width + // two convolutions
                           4 * (sound * 12 * width * width + words * 14 * width * width + sound * 2 * width * width) +
                           words * 51865 * width;
    CHECK(multiply_adds(g.view()) == 2 * (layers + 4 * 2 * width * (sound * sound + seen + words * sound)));
}

TEST_CASE("GPT-2 without logits has the parameters of GPT-2") {
    CHECK(parameters_of("gpt2_124m_without_logits") == parameters_of("gpt2_124m"));
    CHECK(parameters_of("gpt2_124m") == 124439808);
}

TEST_CASE("T5") {
    // Counts of Google's weights, of which those of 1.1 are Flan-T5's as well.
    CHECK(parameters_of("t5_small") == 60506624);
    CHECK(parameters_of("t5_base") == 222903552);
    CHECK(parameters_of("t5_v1_1_small") == 76961152);
    CHECK(parameters_of("t5_v1_1_base") == 247577856);
    // Source and target see themselves, and the target the source.
    const ts::graph g = networks::describe("t5_small", 2);
    const index_t width = 512;
    const index_t tokens = 512;
    const index_t seen = tokens * tokens + tokens * (tokens + 1) / 2 + tokens * tokens;
    const index_t layer = tokens * (4 + 4 + 4 + 2 * 2 * 4) * width * width; // attention thrice, two networks
    CHECK(multiply_adds(g.view()) == 2 * (6 * (layer + 2 * width * seen) + tokens * 32128 * width));
}
