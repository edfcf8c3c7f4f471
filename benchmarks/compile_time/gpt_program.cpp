// SPDX-License-Identifier: Apache-2.0
// A GPT of 124 million parameters, as README's pages have it, and steps on one sequence. Compiled with
// -DTESSERA_COMPILED against the compiled library, else against the headers; see programs.py.
#include <tessera/host.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ts = tessera;

struct words : ts::embedding<50257, 768> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct norm3 : ts::layer_norm<> {};
struct query : ts::linear<768> {};
struct key : ts::linear<768> {};
struct value : ts::linear<768> {};
struct merge : ts::linear<768> {};
struct wide : ts::linear<3072> {};
struct narrow : ts::linear<768> {};
struct logits : ts::linear<50257, ts::no_bias> {};
using attention = ts::self_attention<12, query, key, value, merge, ts::softmax<ts::causal>, ts::dropout<10>>;
struct gpt : ts::sequential<ts::tokens<1024>, words, places,
                            ts::repeat<12, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
                            norm3, ts::tied<logits, words>, ts::cross_entropy> {};

struct text {
    std::vector<std::int32_t> inputs, labels;
    int size = 1;
};

int main(int argc, char** argv) {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
    const ts::graph g = ts::describe<gpt>(1);
    ts::trainer<gpt> trainer(ts::host::devices(2), ts::search::data_parallel(g.view(), 1), 1,
                             ts::adam{.learning_rate = 3e-4F});
    text t;
    for (int i = 0; i < 1024; ++i) {
        t.inputs.push_back(i * 7 % 50257);
        t.labels.push_back((i + 1) * 7 % 50257);
    }
    double loss = 0;
    for (int i = 0; i < steps; ++i) {
        loss = trainer.step(t);
    }
    std::printf("loss of step %d: %.6f\n", steps, loss);
}
