// SPDX-License-Identifier: Apache-2.0
// Generation on the host for generate_torch.py, which starts this and has PyTorch do the same in turns.
//   generate_peer SAMPLES PROMPT NEW DEVICES FILE
// writes the weights of a GPT, parameter by parameter, to FILE; for each line "run" it generates NEW tokens, the
// likeliest, for prompts of PROMPT tokens, and prints the milliseconds; for "tokens" it prints the tokens.
#include "examples/zoo/transformers.hpp"

#include <tessera/host.hpp>

#include <tessera/execute/generator.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {

namespace ts = tessera;

constexpr int vocabulary = 8192;
struct network : networks::gpt_parts<6, 384, 6, 512, vocabulary>::network {};

void serve(int samples, int prompt, int more, int devices, const char* file) {
    const ts::graph g = ts::describe<network>(samples);
    ts::trainer<network> trainer(ts::host::devices(devices),
                                 devices > 1 ? ts::search::data_parallel(g.view(), devices) : ts::strategy(g.view()),
                                 samples, ts::sgd{}, {.for_training = false});
    std::ofstream out(file, std::ios::binary);
    for (int p = 0; p < g.view().parameter_count; ++p) {
        const std::vector<float> values = trainer.values().parameter(p);
        out.write(reinterpret_cast<const char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    out.close();
    std::vector<ts::token_list> prompts(ts::to_size(samples));
    for (int n = 0; n < samples; ++n) {
        for (int i = 0; i < prompt; ++i) {
            prompts[ts::to_size(n)].push_back((n * 1009 + i * 31 + 7) % vocabulary);
        }
    }
    ts::generator writer(trainer, {.piece = prompt < 64 ? prompt : 64});
    std::puts("ready");
    std::fflush(stdout);
    std::vector<ts::token_list> made;
    for (char line[16]; std::fgets(line, sizeof line, stdin) != nullptr;) {
        if (std::strncmp(line, "run", 3) == 0) {
            const ts::index_t begin = ts::nanoseconds_now();
            made = writer.generate(prompts, {.new_tokens = more});
            std::printf("%.4f\n", static_cast<double>(ts::nanoseconds_now() - begin) * 1e-6);
        } else {
            for (const ts::token_list& one : made) {
                for (const std::int32_t t : one) {
                    std::printf("%d ", t);
                }
            }
            std::puts("");
        }
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::fputs("usage: generate_peer SAMPLES PROMPT NEW DEVICES FILE\n", stderr);
        return EXIT_FAILURE;
    }
    try {
        serve(std::atoi(arguments[1]), std::atoi(arguments[2]), std::atoi(arguments[3]), std::atoi(arguments[4]),
              arguments[5]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "generate_peer: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
