// SPDX-License-Identifier: Apache-2.0
// Training steps of whole networks: call by call and replayed from a CUDA graph, over the sum of their calls' times
// alone; and PyTorch's step on the same card, in the same run and precision. Inputs come from pinned memory of the
// processor in every step, on both sides.
#pragma once

#include "benchmarks/gpu_check/options.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/transformers.hpp"

#include "tessera/execute/session.hpp"

#include <algorithm>
#include <memory>

namespace gpu_check {

/// A network of the table by its name, also peer.py's.
struct network_row {
    std::string name;
    int batch = 1;
    ts::graph network;
    double most_ratio = 0; ///< that the step may be of its calls' sum; 0: none is asked for
    double speed_up = 0;   ///< that is asked for, against the peer
};

/// Tokens and 12 layers; dropout is off on both sides, for comparisons of speed.
struct gpt2_without_dropout {
    template <int Place>
    struct norm : ts::layer_norm<> {};
    struct words : ts::embedding<50257, 768> {};
    struct places : ts::position_embedding<> {};
    struct query : ts::linear<768> {};
    struct key : ts::linear<768> {};
    struct value : ts::linear<768> {};
    struct merge : ts::linear<768> {};
    struct wide : ts::linear<3072> {};
    struct narrow : ts::linear<768> {};
    struct logits : ts::linear<50257, ts::no_bias> {};
    using attention = ts::self_attention<12, query, key, value, merge, ts::softmax<ts::causal>>;
    using network =
        ts::sequential<ts::tokens<1024>, words, places,
                       ts::repeat<12, ts::residual<norm<0>, attention>, ts::residual<norm<1>, wide, ts::gelu, narrow>>,
                       norm<2>, ts::tied<logits, words>, ts::cross_entropy>;
};
/// The same in small.
struct tiny_gpt {
    struct words : ts::embedding<17, 8> {};
    struct places : ts::position_embedding<> {};
    struct query : ts::linear<8> {};
    struct key : ts::linear<8> {};
    struct value : ts::linear<8> {};
    struct merge : ts::linear<8> {};
    struct logits : ts::linear<17, ts::no_bias> {};
    using attention = ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>;
    using network = ts::sequential<ts::tokens<4>, words, places, ts::repeat<2, ts::residual<attention>>,
                                   ts::tied<logits, words>, ts::cross_entropy>;
};
/// A bottleneck's worth of ResNet-50 for machines that make believe.
struct tiny_resnet {
    struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
    struct norm : ts::batch_norm<> {};
    struct fc : ts::linear<5> {};
    using network = ts::sequential<ts::image<4, 6, 6>, ts::residual<conv, norm>, ts::relu, ts::global_average_pool, fc,
                                   ts::cross_entropy>;
};

inline std::vector<network_row> network_rows(const options& o) {
    std::vector<network_row> rows;
    if (o.tiny) {
        rows.push_back({"lenet5", 2, ts::describe<networks::lenet5>(2), 0, 0});
        rows.push_back({"resnet50", 4, ts::describe<tiny_resnet::network>(4), 1.05, 1});
        rows.push_back({"gpt2", 2, ts::describe<tiny_gpt::network>(2), 0, 1});
    } else {
        rows.push_back({"lenet5", 256, ts::describe<networks::lenet5>(256), 0, 0});
        rows.push_back({"mlp", 256, ts::describe<networks::mlp>(256), 0, 0});
        rows.push_back({"alexnet", 128, ts::describe<networks::alexnet_without_dropout>(128), 0, 1});
        rows.push_back({"resnet50", 64, ts::describe<networks::resnet50>(64), 1.05, 1});
        rows.push_back({"vgg16", 32, ts::describe<networks::vgg16>(32), 0, 1});
        rows.push_back({"gpt2", 8, ts::describe<gpt2_without_dropout::network>(8), 0, 1});
    }
    for (network_row& r : rows) {
        set_precision(r.network, o);
    }
    return rows;
}

/// The peer's milliseconds for a network, eager and compiled; 0 where it cannot run.
struct peer_times {
    double eager = 0;
    double compiled = 0;
};

inline peer_times ask_peer(const options& o, const network_row& row) {
    peer_times t;
    if (o.peer.empty()) {
        return t;
    }
    const char* const python = std::getenv("PYTHON");
    const std::string command = "timeout 420 '" + std::string(python != nullptr ? python : "python3") + "' '" + o.peer +
                                "' " + row.name + " " + std::to_string(row.batch) + " " + o.precision +
                                (o.tiny    ? " --cpu"
                                 : o.eager ? " --eager"
                                           : "");
    FILE* answer = popen(command.c_str(), "r");
    if (answer != nullptr) {
        if (std::fscanf(answer, "%lf %lf", &t.eager, &t.compiled) != 2) {
            t = {};
        }
        (void)pclose(answer);
    }
    return t;
}

/// A network in training on GPU 0.
class training {
public:
    training(const options& o, const ts::graph_view& g, const ts::strategy& s, bool graph)
        : o_(o), g_(g), batch_(g), backend_(how_, {.gpus = {0}, .graph = graph, .profile_path = o.profile}) {
        build_ = milliseconds([&] {
                     session_ = std::make_unique<ts::session<ts::cuda::backend>>(g, s, 1, how_, ts::session_options{},
                                                                                 backend_, threads_);
                 }) /
                 1000;
    }

    double build() const { return build_; } ///< seconds until it could step
    /// Median of 20 steps, in milliseconds.
    double step() {
        std::vector<double> walls;
        for (int i = 0; i < (o_.tiny ? 4 : 25); ++i) {
            const double wall = milliseconds([&] { session_->step(batch_.inputs); });
            if (i >= (o_.tiny ? 2 : 5)) {
                walls.push_back(wall);
            }
        }
        return median(walls);
    }
    /// Times of the calls of a step, each alone, in milliseconds.
    std::vector<double> times() {
        ts::run_state state;
        state.inputs = batch_.pointers.data();
        return backend_.time_calls(session_->training_executor().memory(), state, o_.tiny ? 1 : 5);
    }
    static call_sums sums(const ts::cuda::call_list& list, const std::vector<double>& times) {
        return sums_of(list, times, 0, static_cast<int>(list.first.size()) - 1);
    }
    call_sums sums() { return sums(calls(), times()); }
    const ts::cuda::call_list& calls() { return backend_.calls(session_->training_executor().memory()); }
    const ts::plan& plan() const { return session_->training_plan(); }
    ts::cuda::backend& backend() { return backend_; }

private:
    const options& o_;
    ts::graph_view g_;
    ts::optimizer how_{ts::sgd{.learning_rate = 0.001F, .momentum = 0.9F}};
    pinned_batch batch_;
    ts::cuda::backend backend_;
    ts::workers threads_{1};
    std::unique_ptr<ts::session<ts::cuda::backend>> session_;
    double build_ = 0;
};

/// "ok", or what was missed.
inline const char* verdict(bool asked, bool reached) { return !asked ? "" : reached ? " ok" : " MISSED"; }

inline void print_costliest(const options& o, training& t, const ts::graph_view& g, const std::vector<double>& times) {
    std::vector<int> order(times.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int>(i);
    }
    const auto costs = [&](int call) { return times[ts::to_size(call)]; };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return costs(a) > costs(b); });
    for (int i = 0; i < o.calls && i < static_cast<int>(order.size()); ++i) {
        const int call = order[ts::to_size(i)];
        std::printf("  %8.3f ms %s\n", costs(call), ts::cuda::to_text(t.calls(), t.plan(), g, call).c_str());
    }
}

inline void time_network(const options& o, const network_row& row) {
    const ts::graph_view g = row.network.view();
    double build = 0;
    double plain = 0;
    double graph = 0;
    call_sums calls;
    {
        training t(o, g, ts::strategy(g), false);
        build = t.build();
        plain = t.step();
        const std::vector<double> times = t.times();
        calls = training::sums(t.calls(), times);
        print_costliest(o, t, g, times);
    }
    {
        training t(o, g, ts::strategy(g), true);
        graph = t.step();
    }
    const peer_times other = ask_peer(o, row);
    const double best = std::min(plain, graph);
    const double ratio = calls.all() > 0 ? best / calls.all() : 0;
    std::printf("%-10s %6d %8.1f %7d %10.3f %10.3f %10.3f %10.3f %8.3f%s", row.name.c_str(), row.batch, build,
                calls.calls, calls.kernels, calls.movement, plain, graph, ratio,
                verdict(row.most_ratio > 0, ratio <= row.most_ratio));
    if (other.eager > 0) {
        const double peer = other.compiled > 0 ? std::min(other.eager, other.compiled) : other.eager;
        std::printf(" %10.3f %10.3f %8.2f%s", other.eager, other.compiled, peer / best,
                    verdict(row.speed_up > 0, peer / best >= row.speed_up));
    } else if (!o.peer.empty()) {
        std::printf("  the peer gave no times");
    }
    std::printf("\n");
    std::fflush(stdout);
}

inline int all_networks(const options& o) {
    row_filter filter(o);
    int failed = 0;
    std::printf(
        "training steps, SGD with momentum, %s; milliseconds, medians of 20; ratio: the faster step over kernels "
        "and movement\n",
        o.precision.c_str());
    std::printf("%-10s %6s %8s %7s %10s %10s %10s %10s %8s %10s %10s %8s\n", "network", "batch", "build s", "calls",
                "kernels", "movement", "step", "graph", "ratio", "torch", "compiled", "speed-up");
    for (const network_row& row : network_rows(o)) {
        if (filter.takes(row.name)) {
            failed += attempt(row.name, [&] { time_network(o, row); }) ? 0 : 1;
        }
    }
    return filter.finish() && failed == 0 ? 0 : 1;
}

} // namespace gpu_check
