// SPDX-License-Identifier: Apache-2.0
// Networks for sequences have the numbers that are published for them, and the closed formulas of their layers.
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/transformers.hpp"
#include "support/counts.hpp"

#include <doctest/doctest.h>

namespace {

using namespace test_support;
using ts::index_t;

/// Weights and biases of a block: four layers of attention, two layers of four times the width, two norms.
index_t block_parameters(index_t width) { return 12 * width * width + 13 * width; }

/// One LSTM layer whose input is as wide as its state.
index_t lstm_parameters(index_t hidden) { return 4 * hidden * (hidden + hidden) + 4 * hidden; }

template <class Net>
index_t parameters_of() {
    const ts::graph g = ts::describe<Net>(1);
    CHECK(static_cast<int>(g.ops.size()) == Net::op_count);
    return trained_parameters(g.view());
}

} // namespace

TEST_CASE("the GPT family") {
    // OpenAI's download script names the models by these counts: 124M, 355M, 774M, 1558M; 124439808 is also what Hugging Face's
    // transformers counts for "gpt2".
    CHECK(parameters_of<networks::gpt2_124m>() == 124439808);
    CHECK(parameters_of<networks::gpt2_355m>() == 50257 * 1024 + 1024 * 1024 + 24 * block_parameters(1024) + 2 * 1024);
    CHECK(parameters_of<networks::gpt2_355m>() / 1000000 == 354);
    CHECK(parameters_of<networks::gpt2_774m>() / 1000000 == 774);
    CHECK(parameters_of<networks::gpt2_1558m>() / 1000000 == 1557);
    // Brown et al. 2020, table 2.1: 175.0 billion.
    CHECK(static_cast<double>(parameters_of<networks::gpt3_175b>()) == doctest::Approx(175.0e9).epsilon(0.003));
}

TEST_CASE("the multiply-adds of GPT-2") {
    const ts::graph g = ts::describe<networks::gpt2_124m>(2);
    const index_t tokens = 2 * 1024;
    const index_t layers = 12 * 12 * 768 * 768 + 50257 * 768; // of every token; the output layer included
    const index_t attention = 12 * 2 * 1024 * 768;            // scores and mixtures, masked or not
    CHECK(multiply_adds(g.view()) == tokens * (layers + attention));
}

TEST_CASE("BERT-large has 340 million parameters, counted by its layers") {
    const index_t embedding = (30522 + 512 + 2) * 1024 + 2 * 1024;
    const index_t head = 1024 * 1024 + 1024 + 2 * 1024 + 30522; // transform, its norm, and the output's bias
    CHECK(parameters_of<networks::bert_large>() == embedding + 24 * block_parameters(1024) + head);
    CHECK(static_cast<double>(parameters_of<networks::bert_large>()) ==
          doctest::Approx(340e6).epsilon(0.02)); // Devlin et al. 2019, section 3
}

TEST_CASE("the Transformer of 2017 has 65 million parameters") {
    const index_t attention = 4 * (512 * 512 + 512) + 2 * 512;
    const index_t wide = 2 * 512 * 2048 + 2048 + 512 + 2 * 512;
    const index_t counted = 37000 * 512 + 6 * (attention + wide) + 6 * (2 * attention + wide);
    CHECK(parameters_of<networks::transformer_base<64>>() == counted);
    // Vaswani et al. 2017, table 3; the size of its vocabulary is "about 37000".
    CHECK(static_cast<double>(counted) == doctest::Approx(65e6).epsilon(0.04));
}

TEST_CASE("the recurrent networks of FlexFlow") {
    CHECK(parameters_of<networks::rnntc>() == 32000 * 1024 + 4 * lstm_parameters(1024) + 2 * 1024 + 2);
    CHECK(parameters_of<networks::rnnlm>() == 2 * 10000 * 2048 + 10000 + 2 * lstm_parameters(2048));
    CHECK(parameters_of<networks::rnnlm_2_steps>() == parameters_of<networks::rnnlm>());
    const index_t attention = 3 * 1024 * 1024;
    const index_t others = 3 * 32000 * 1024 + 32000 + 4 * lstm_parameters(1024);
    CHECK(parameters_of<networks::nmt>() == others + attention);
    CHECK(others / 1000000 == 131);
    const ts::graph wide = ts::describe<networks::nmt_2048>(64);
    CHECK(trained_parameters(wide.view()) == 3 * 32000 * 2048 + 32000 + 4 * lstm_parameters(2048) + 3 * 2048 * 2048);
    CHECK(wide.ops.size() > 2000);
}

TEST_CASE("an unrolled LSTM multiplies as its formula says") {
    const ts::graph g = ts::describe<networks::rnnlm>(1);
    const index_t hidden = 2048;
    const index_t steps = 40;
    const index_t cells = 2 * (steps * 4 * hidden * hidden + (steps - 1) * 4 * hidden * hidden);
    CHECK(multiply_adds(g.view()) == cells + steps * hidden * 10000);
}
