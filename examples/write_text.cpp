// SPDX-License-Identifier: Apache-2.0
// A small GPT learns a text that a Debian machine has and goes on with the beginnings of sentences: keys and values of
// what stands there are kept, and every new token is computed alone. Over two devices, split by samples.
// Usage: write_text [STEPS [NEW_TOKENS]]
#include "examples/output.hpp"
#include "examples/texts.hpp"
#include "examples/zoo/transformers.hpp"

#include <tessera/host.hpp>

#include <tessera/execute/generator.hpp>
#include <tessera/io/data/build_vocabulary.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ts = tessera;

namespace {

constexpr int context = 64;
constexpr int batch = 16;
constexpr int tokens = 512;

/// 2 layers of 4 heads in 64 channels.
struct writer_network : networks::gpt_parts<2, 64, 4, context, tokens>::network {};

/// With one blank for all that stands between two words.
std::string words_of(const std::string& text) {
    std::string all;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!blank || all.empty() || all.back() != ' ') {
            all += blank ? ' ' : c;
        }
    }
    return all;
}

void write(int steps, int new_tokens) {
    texts::text text = texts::find();
    text.contents = words_of(text.contents);
    const ts::io::vocabulary words = ts::io::build_vocabulary(text.contents, tokens, true);
    const ts::io::text_set windows(words.encode(text.contents), context);
    const ts::graph network = ts::describe<writer_network>(batch);
    ts::trainer<writer_network> trainer(ts::host::devices(2), ts::search::data_parallel(network.view(), 2), batch,
                                        ts::adam{.learning_rate = 0.003F});
    double loss = 0;
    for (int step = 0; step < steps;) {
        for (const auto& b : windows.batches(batch, {.shuffle_seed = static_cast<std::uint64_t>(step + 1)})) {
            if (step == steps) {
                break;
            }
            loss = trainer.step(b);
            ++step;
        }
    }
    std::printf("%s: after %d steps the loss is %.3f\n", text.name.c_str(), steps, loss);

    ts::generator generator(trainer);
    std::vector<ts::token_list> prompts;
    const char* const beginnings[] = {"The ", "You may copy and ", "In any case"};
    for (const char* const begins : beginnings) {
        const auto all = words.encode(begins);
        prompts.emplace_back(all.begin(), all.end());
    }
    const ts::sampling ways[] = {{}, {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .seed = 7}};
    for (const ts::sampling& how : ways) {
        const auto more = generator.generate(prompts, {.new_tokens = new_tokens, .how = how});
        for (std::size_t n = 0; n < prompts.size(); ++n) {
            std::string line = beginnings[n];
            for (const std::int32_t t : more[n]) {
                line += words.text_of(t);
            }
            std::printf("%s: %s\n", how.temperature > 0 ? "drawn" : "likeliest", line.c_str());
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int steps = count > 1 ? std::atoi(arguments[1]) : 300;
        const int new_tokens = count > 2 ? std::atoi(arguments[2]) : 24;
        if (steps < 1 || new_tokens < 1) {
            throw ts::error("steps and new tokens are at least 1");
        }
        write(steps, new_tokens);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "write_text: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("write_text");
}
