// SPDX-License-Identifier: Apache-2.0
// Small versions of the zoo's networks: the published graphs, few layers or steps deep where they are very deep, with
// narrower layers and smaller images. They are made of values, so that no type of a network is compiled for them.
#pragma once

#include "examples/zoo/zoo.hpp"
#include "support/known_operators.hpp"
#include "support/sweep.hpp"

#include <string>

namespace test_support {

/// Outputs of a layer, so that equal widths stay equal and multiples stay multiples; classes and experts, which are
/// few, stay.
inline ts::index_t narrower(ts::index_t out, ts::index_t divisor) {
    constexpr ts::index_t vocabulary = 8192;
    return out <= 8 ? out : out > vocabulary ? 13 : (out + divisor - 1) / divisor;
}

template <class Own, class Change>
void change(ts::op_attributes& a, const Change& to) {
    auto own = a.as<Own>();
    to(own);
    a.set(own);
}

/// The same network with layers `divisor` times as narrow, for images of `rows` (0: as they are), and where it is to be
/// smooth with gelus for relus.
inline ts::graph narrowed(ts::graph g, ts::index_t divisor, ts::index_t rows, bool smooth) {
    const ts::graph old = g;
    const auto node = [](auto& list, int i) -> auto& { return list[ts::to_size(i)]; };
    for (ts::tensor_node& t : g.tensors) {
        if (t.producer < 0 && t.extents.rank == 4 && rows > 0) {
            t.extents.extent[2] = t.extents.extent[3] = rows;
        }
    }
    for (ts::op_node& op : g.ops) {
        ts::op_attributes& a = op.attributes;
        const ts::shape before = node(old.tensors, op.inputs[0]).extents;
        const ts::shape now = node(g.tensors, op.inputs[0]).extents;
        switch (test_support::known(a.kind)) {
        case test_support::known_op::embedding:
            change<ts::op::embedding_attributes>(a, [&](auto& own) {
                own.vocabulary = narrower(own.vocabulary, divisor);
                own.out = narrower(own.out, divisor);
            });
            break;
        case test_support::known_op::conv2d:
        case test_support::known_op::transposed_conv2d:
            change<ts::op::conv2d_attributes>(a, [&](auto& own) { own.out = narrower(own.out, divisor); });
            break;
        case test_support::known_op::linear:
            change<ts::op::linear_attributes>(a, [&](auto& own) { own.out = narrower(own.out, divisor); });
            break;
        case test_support::known_op::expert_linear:
            change<ts::op::expert_linear_attributes>(a, [&](auto& own) { own.out = narrower(own.out, divisor); });
            break;
        case test_support::known_op::routed_linear:
            change<ts::op::routed_linear_attributes>(a, [&](auto& own) { own.out = narrower(own.out, divisor); });
            break;
        case test_support::known_op::slice: {
            auto own = a.as<ts::op::slice_attributes>();
            const int axis = ts::op::axis_of(own.axis, before.rank);
            const bool borders = before.rank == 4 && axis > 1; // as much is cut off as before
            const bool channels = axis == ts::op::channel_dimension(before.rank);
            own.begin = channels ? own.begin / divisor : own.begin;
            own.out = borders ? now[axis] - (before[axis] - own.out) : channels ? own.out / divisor : own.out;
            a.set(own);
            break;
        }
        case test_support::known_op::relu:
            a.kind = smooth ? ts::op_kind::gelu : a.kind;
            break;
        default:
            break;
        }
        if (a.kind == ts::op_kind::cross_entropy) {
            node(g.tensors, op.inputs[1]).extents = ts::op::rows_of(now);
        }
        ts::shape inputs[ts::max_inputs];
        for (int k = 0; k < op.inputs.size(); ++k) {
            inputs[k] = node(g.tensors, op.inputs[k]).extents;
        }
        const ts::inferred out = ts::infer(a, inputs, op.inputs.size());
        if (out.refused) {
            throw ts::error(ts::to_text(out.refused, op.name));
        }
        node(g.tensors, op.output).extents = out.output;
        for (const ts::operand& o : ts::describe(a, inputs, op.inputs.size()).operands) {
            if (o.kind != ts::operand_kind::parameter && o.kind != ts::operand_kind::state) {
                continue;
            }
            const int number = op.parameters[o.slot];
            ts::parameter_node& p = node(g.parameters, number);
            p.extents = o.extents;
            p.fan_in = o.extents.rank > 2
                           ? o.extents.volume() / (o.extents[0] * (o.extents.rank == 3 ? o.extents[1] : 1))
                       : o.extents.rank > 1 ? o.extents[1]
                       : number > 0         ? node(g.parameters, number - 1).fan_in
                                            : 1;
        }
    }
    return g;
}

/// How a network is made small, and by which rate it learns. Deep networks of batch norms magnify rounding: where an
/// input of a relu is within it of zero, a gradient jumps, and of a hundred thousand some are. These are compared as
/// smooth functions.
struct small_network {
    const char* name;
    ts::index_t divisor;
    ts::index_t rows;
    ts::index_t batch;
    float rate;
    bool smooth = false;
    bool repetitive = false; ///< has only kinds of blocks that others have, or many of them: left to longer runs
    int strategies = 1;      ///< the least that a run takes
};

inline constexpr small_network small_networks[] = {
    {"lenet5", 2, 28, 4, 0.05F},
    {"alexnet", 32, 63, 4, 0.2F},
    {"vgg16", 32, 32, 4, 0.3F},
    {"vgg19", 32, 32, 4, 0.3F, false, true},
    {"resnet50", 16, 64, 4, 1e-4F, true},
    {"resnet101", 16, 64, 4, 1e-4F, true, true},
    {"resnet110_v2", 4, 16, 4, 1e-3F, true},
    {"resnet1001_v2", 4, 16, 4, 1e-3F, true, true},
    {"densenet121", 8, 64, 4, 1e-3F, true},
    {"inception_v3", 16, 107, 4, 2e-4F, true},
    {"amoebanet_d_18_208", 4, 64, 4, 5e-5F, true, true},
    {"unet", 16, 60, 2, 2.0F},
    {"padded_unet", 16, 16, 3, 0.3F, false, true},
    {"rnntc", 16, 0, 4, 2.0F},
    {"rnnlm", 16, 0, 4, 1.0F},
    {"nmt", 16, 0, 4, 1.0F},
    {"transformer", 32, 0, 3, 0.2F},
    {"bert_large", 32, 0, 3, 0.2F},
    {"gpt2_124m", 32, 0, 3, 0.05F},
    {"moe_8", 16, 0, 4, 0.05F},
    {"routed_moe_8", 1, 0, 4, 0.05F},
    {"mixtral_8x7b", 1, 0, 3, 0.05F},
    {"dlrm", 1, 0, 5, 0.5F},
    {"resnext50", 1, 0, 4, 1e-3F, true},
    {"vit_b_16", 1, 0, 4, 0.05F},
    {"efficientnet_b0", 1, 0, 4, 1e-3F},
    {"llama2_7b", 1, 0, 3, 0.05F},
    {"padded_lstm", 1, 0, 4, 0.2F},
    {"padded_gru", 1, 0, 4, 0.2F},
    {"two_towers", 16, 0, 6, 0.05F},
    {"contrastive_towers", 16, 0, 6, 2e-4F},
    {"llama3_1_8b", 1, 0, 3, 0.05F, false, false, 3},
    {"mistral_7b", 1, 0, 3, 0.05F, false, false, 3},
    {"qwen3_0_6b", 1, 0, 3, 0.05F, false, false, 3},
    {"qwen3_8b", 1, 0, 3, 0.05F, false, true},
    {"gemma_2b", 1, 0, 3, 0.05F, false, false, 3},
    {"gemma2_2b", 1, 0, 3, 0.05F, false, false, 3},
    {"whisper_tiny", 1, 0, 3, 0.05F, false, false, 3},
    {"t5_small", 1, 0, 3, 0.05F, false, false, 3},
    {"t5_v1_1_small", 1, 0, 3, 0.05F, false, false, 3},
    {"deepseek_v3", 1, 0, 3, 0.05F, false, false, 3},
};

inline sweep_case make_small(const small_network& n) {
    ts::graph (*describe)(ts::index_t) = nullptr;
    for (const networks::zoo_entry& e : networks::zoo()) {
        describe = std::string(e.name) == n.name ? e.describe : describe;
    }
    for (const networks::zoo_entry& e : networks::zoo_shallow()) {
        describe = std::string(e.name) == n.name ? e.describe : describe;
    }
    if (describe == nullptr) {
        throw ts::error(std::string("tests: the zoo has no network called ") + n.name);
    }
    return {n.name, narrowed(describe(n.batch), n.divisor, n.rows, n.smooth),
            ts::optimizer(ts::sgd{.learning_rate = n.rate, .momentum = 0.9F})};
}

/// Relative differences of losses and gradients, and of changes of weights apart from their rounding, as in the spine's
/// test.
inline constexpr double allowed = 1e-4;

/// Euclidean.
template <class Vector>
double norm_of(const Vector& x) {
    double squares = 0;
    for (const auto v : x) {
        squares += static_cast<double>(v) * static_cast<double>(v);
    }
    return std::sqrt(squares);
}

/// Weights are kept as floats: every step rounds them by up to 2^-24 of their size, which is the more of their change
/// the less they change. The largest such share, counted as compare() does.
inline double rounding_of_weights(const ts::graph_view& g, const oracle& expected, int steps, std::uint64_t seed) {
    double largest = 0;
    for (const auto& c : expected.change) {
        largest = std::max(largest, norm_of(c));
    }
    double share = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        std::vector<float> start(ts::to_size(g.parameters[p].extents.volume()));
        ts::initialize(g, p, seed, start);
        const double change = std::max(norm_of(expected.change[ts::to_size(p)]), 1e-3 * largest);
        share = change > 0 ? std::max(share, steps * std::ldexp(norm_of(start), -24) / change) : share;
    }
    return share;
}

/// The largest relative difference of two runs' gradients, as compare() takes it.
inline double difference(const oracle& a, const oracle& b) {
    double worst = 0;
    for (std::size_t step = 0; step < a.gradients.size(); ++step) {
        double largest = 0;
        for (const std::vector<double>& e : a.gradients[step]) {
            largest = std::max(largest, norm_of(e));
        }
        for (std::size_t p = 0; p < a.gradients[step].size(); ++p) {
            worst = std::max(worst, relative(b.gradients[step][p], a.gradients[step][p], 1e-3 * largest));
        }
    }
    return worst;
}

/// What some strategies of a network came to: the largest differences from one device, and one strategy's losses.
struct zoo_result {
    int operators = 0;
    double first_loss = 0;
    double last_loss = 0;
    double loss = 0;
    double gradient = 0;
    double change = 0;
    double rounding = 0;    ///< what weights kept as floats may add to it
    double sensitivity = 0; ///< of gradients on one device in double to the last bit of the starting weights
    bool repeats = true;
    std::string worst;
    std::string failure;

    /// As the spine's test allows, and thirty times what the last bit of one device's weights does to them.
    double allowed_gradient() const { return allowed + 30 * sensitivity; }
    double allowed_change() const { return allowed_gradient() + rounding; }
};

/// Four steps each under `strategies` random strategies on 1 to `most` devices, the first of them on `seed` devices,
/// counted around.
template <class Make>
zoo_result train_small(const sweep_case& c, int strategies, int seed, bool measure_sensitivity, coverage& seen,
                       Make make, int most = 4) {
    constexpr int steps = 4;
    const ts::graph_view g = c.network.view();
    const batch_data data(g, 7);
    const oracle expected(g, data, c.how, steps, 11);
    zoo_result all;
    all.operators = g.op_count;
    all.rounding = rounding_of_weights(g, expected, steps, 11);
    if (measure_sensitivity) {
        all.sensitivity = difference(expected, oracle(g, data, c.how, steps, 11, 1, std::ldexp(1.0, -24)));
    }
    for (int i = 0; i < strategies; ++i) {
        const int devices = 1 + (seed + i) % most;
        const ts::strategy s = random_strategy(g, devices, 2000 + static_cast<std::uint64_t>(seed * 100 + i), seen);
        const sweep_result r = run_strategy(c, s, devices, data, expected, 11, make);
        all.failure += r.failure;
        if (r.seen.losses.empty()) {
            continue;
        }
        all.first_loss = r.seen.losses.front();
        all.last_loss = r.seen.losses.back();
        all.repeats = all.repeats && r.repeats && r.seen.copies_equal;
        all.worst = r.seen.gradient > all.gradient ? r.seen.worst : all.worst;
        all.loss = std::max(all.loss, r.seen.loss);
        all.gradient = std::max(all.gradient, r.seen.gradient);
        all.change = std::max(all.change, r.seen.change);
    }
    return all;
}

} // namespace test_support
