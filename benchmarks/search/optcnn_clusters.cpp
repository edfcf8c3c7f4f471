// SPDX-License-Identifier: Apache-2.0
// Prints what OptCNN finds on nodes of GPUs, priced on their device graph and on a uniform machine with the worst link,
// how it was found, how wide the problem was, and which of what it found and the baselines is the fastest by
// simulation:
//   optcnn_clusters [nodes [network...]]
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/search/optcnn/compared.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

namespace ts = tessera;

/// One layer of a GRU (Cho et al. 2014). There is no operator that subtracts yet: what lets the new state in has
/// weights of its own, where the paper takes 1 less the gate that keeps the old one; the shapes and the data that move
/// are the same otherwise.
template <int Layer, ts::index_t Hidden>
struct gru_cell {
    struct in : ts::linear<4 * Hidden> {};
    struct again : ts::linear<4 * Hidden, ts::no_bias> {};
    template <int Gate>
    struct gate : ts::slice<Gate * Hidden, Hidden> {};

    static constexpr int operators(int steps) { return 22 * steps - 16; } // from zeros there is less to do
    static constexpr void unroll(ts::graph_builder& b, int* x, int steps) {
        using namespace ts::detail;
        int hidden = -1;
        for (int t = 0; t < steps && !b.refused; ++t) {
            const int from_input = apply_layer<in>(b, x[t], -1, t > 0);
            if (hidden < 0) {
                const int fresh = apply_layer<ts::tanh>(b, apply_layer<gate<3>>(b, from_input));
                hidden = apply_layer<ts::multiply>(b, apply_layer<ts::sigmoid>(b, apply_layer<gate<2>>(b, from_input)),
                                                   fresh);
            } else {
                const int from_hidden = apply_layer<again>(b, hidden, -1, t > 1);
                const auto opened = [&]<int Gate>(gate<Gate>) {
                    return apply_layer<ts::sigmoid>(b, apply_layer<ts::add>(b, apply_layer<gate<Gate>>(b, from_input),
                                                                            apply_layer<gate<Gate>>(b, from_hidden)));
                };
                const int reset = apply_layer<ts::multiply>(b, opened(gate<0>{}), apply_layer<gate<3>>(b, from_hidden));
                const int fresh =
                    apply_layer<ts::tanh>(b, apply_layer<ts::add>(b, apply_layer<gate<3>>(b, from_input), reset));
                const int kept = apply_layer<ts::multiply>(b, opened(gate<1>{}), hidden);
                hidden = apply_layer<ts::add>(b, kept, apply_layer<ts::multiply>(b, opened(gate<2>{}), fresh));
            }
            x[t] = hidden;
        }
    }
};

/// Two layers of a GRU over 40 words, and the next word at every step.
struct gru_parts {
    struct words : ts::embedding<10000, 1024> {};
    struct logits : ts::linear<10000> {};
    using network = ts::sequential<ts::tokens<40>, words, ts::lstm<40, gru_cell<0, 1024>, gru_cell<1, 1024>>, logits,
                                   ts::cross_entropy>;
};
struct gru : gru_parts::network {};

double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

void row(const networks::zoo_entry& network, const ts::cluster& on, ts::index_t samples) {
    const ts::graph g = network.describe(samples * on.devices());
    const auto start = benchmarks::clock_type::now();
    const auto found = ts::search::optcnn_search(g.view(), on);
    const double seconds = benchmarks::milliseconds_since(start) * 1e-3;
    const ts::machine uniform = ts::uniform_machine(on, g.view().ops[0].attributes.math);
    const ts::strategy before = ts::search::optcnn_search(g.view(), uniform).best;
    std::printf("%s, %lld samples on %d devices: %d operators, eliminations leave %d; %s", network.name,
                static_cast<long long>(samples * on.devices()), on.devices(), g.view().op_count,
                found.model.statistics.remaining, to_text(found.model.by));
    if (found.model.by != ts::search::optcnn_method::eliminations) {
        std::printf(", width %d", found.model.width);
    }
    std::printf("; %.1f s\n%s  %-28s %12.3f ms a step\n\n", seconds, to_text(found).c_str(), "OptCNN on the worst link",
                in_ms(ts::search::simulate_finished(g.view(), on, before).makespan));
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    const int nodes = count > 1 ? std::atoi(arguments[1]) : 2;
    std::vector<std::string> wanted(arguments + (count > 2 ? 2 : count), arguments + count);
    if (wanted.empty()) {
        wanted = {"alexnet", "resnet50", "inception_v3", "dlrm", "amoebanet_d_18_208", "rnntc", "rnnlm", "nmt", "gru"};
    }
    const ts::cluster on(ts::machines::h200_nodes(nodes));
    for (const std::string& name : wanted) {
        if (name == "gru") {
            row({"gru", "", ts::describe<gru>}, on, 64);
        }
        for (const networks::zoo_entry& n : networks::zoo()) {
            if (n.name == name) {
                row(n, on, 64);
            }
        }
    }
}
