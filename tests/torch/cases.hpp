// SPDX-License-Identifier: Apache-2.0
// Plans that are exported to PyTorch and trained there and here: networks, each under strategies of every kind,
// schedules and policies.
#pragma once

#include "networks.hpp"
#include "random_strategy.hpp"

#include "examples/zoo/experts.hpp"

#include "tessera/net/describe.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/image_norm.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/op/reshape.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/row_losses.hpp"
#include "tessera/schedule/gradients.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/pipeline.hpp"

#include <string>
#include <vector>

namespace torch_cases {

namespace ts = tessera;

/// AlexNet's operators for 3 x 40 x 40 pixels and narrow layers.
namespace alexnet {
struct conv1 : ts::conv2d<8, ts::window<5>, ts::stride<2>, ts::padding<2>> {};
struct conv2 : ts::conv2d<12, ts::window<5>, ts::padding<2>> {};
struct conv3 : ts::conv2d<16, ts::window<3>, ts::padding<1>> {};
struct conv4 : ts::conv2d<12, ts::window<3>, ts::padding<1>> {};
struct conv5 : ts::conv2d<12, ts::window<3>, ts::padding<1>> {};
struct fc6 : ts::linear<24> {};
struct fc7 : ts::linear<24> {};
struct fc8 : ts::linear<10> {};
struct network : ts::sequential<ts::image<3, 40, 40>, conv1, ts::relu, ts::max_pool<3, ts::stride<2>>, conv2, ts::relu,
                                ts::max_pool<3, ts::stride<2>>, conv3, ts::relu, conv4, ts::relu, conv5, ts::relu,
                                ts::max_pool<3, ts::stride<2>>, ts::flatten, ts::dropout<50>, fc6, ts::relu,
                                ts::dropout<50>, fc7, ts::relu, fc8, ts::cross_entropy> {};
} // namespace alexnet

/// U-Net as its paper has it (Ronneberger et al. 2015): pools down, transposed convolutions up, crops of what is
/// tapped.
namespace unet {
struct down1 : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct down2 : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct up : ts::transposed_conv2d<4, ts::window<2>, ts::stride<2>> {};
struct merge : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct classes : ts::conv2d<3, ts::window<1>> {};
struct skip;
struct network : ts::sequential<ts::image<1, 16, 16>, down1, ts::relu, ts::save<skip>, ts::max_pool<2>, down2, ts::relu,
                                up, ts::tap<ts::concat, skip>, merge, ts::relu, classes, ts::cross_entropy> {};
} // namespace unet

/// The network of the report that Tessera's project began with: convolutions 1-10-20, dropout of channels, fully
/// connected 320-50-10.
namespace report {
struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct network
    : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, conv2, ts::channel_dropout<50>,
                     ts::max_pool<2>, ts::relu, ts::flatten, fc1, ts::relu, ts::dropout<50>, fc2, ts::cross_entropy> {};
} // namespace report

/// Operators that are loop nests, the library's and own ones: means, maxima, a window, places, what is the same for all
/// of a sample.
namespace nests {
struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct gate : ts::conv2d<4, ts::window<1>> {};
struct skip;
/// A vector at the first position, whose row is zeros.
struct first_token : ts::operation<first_token> {
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        const auto token = w.parameter(uniform, c);
        w.output(n, t, c) = x + select(w.index(t) == 0, token, 0);
    }
};
/// Each number and its right neighbour, which the last one has not.
struct neighbours : ts::operation<neighbours> {
    static constexpr void body(auto& w) {
        const auto [n, c, h] = w.loops(sample, channel, height);
        const auto v = w.loop(width, w.extent(0, 3));
        const auto k = w.window(window_width, 2);
        const auto weight = w.parameter(ones, k);
        w.output(n, c, h, v) = w.sum(k, w.input(n, c, h, v + k) * weight);
    }
};
struct classes : ts::linear<5> {};
struct network : ts::sequential<ts::image<2, 8, 8>, stem, neighbours, ts::instance_norm<>, ts::relu, ts::save<skip>,
                                ts::max_over_kept<2, 3>, gate, ts::sigmoid, ts::tap<ts::multiply, skip>,
                                ts::max_pool<2>, ts::reshape<4, 16>, ts::permute<0, 2, 1>, ts::pad<ts::margin<1, 1, 0>>,
                                first_token, ts::rms_norm<>, ts::mean_over<1>, classes, ts::smooth_cross_entropy<0.1>> {
};
} // namespace nests

/// A mixture of experts beside a Transformer's usual layers; words are few, so that slots run out.
struct experts : networks::moe_parts<1, 8, 2, 6, 4, 12, 3, 2, 20>::network {};

/// In bf16, of whose stored numbers each is rounded.
struct rounded_images : ts::with_precision<ts::bf16, test_networks::lenet5::network> {};
struct rounded_words : ts::with_precision<ts::bf16, test_networks::transformer::network> {};

struct one_case {
    std::string name;
    ts::graph_view g;
    ts::strategy how;
    int ranks = 2;
    ts::optimizer update = ts::sgd{.learning_rate = 0.05F};
};

/// Every operator that has the loop is split along it, unevenly where it must be; the others by samples or not at all.
inline ts::strategy along(const ts::graph_view& g, ts::loop_name name, int ranks, bool others_by_samples) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        const bool has = d.find_loop(name) >= 0 && ts::splittable(d, d.find_loop(name));
        ts::configuration c =
            ts::search::detail::split_along(d, has || !others_by_samples ? name : ts::loop_name::sample, ranks);
        s.ops[ts::to_size(op)] = c;
    }
    return s;
}

/// Samples cut at `first` of the batch.
inline ts::strategy uneven(const ts::graph_view& g, ts::index_t first) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        s.cut(op, d.find_loop(ts::loop_name::sample), {first});
        s.ops[ts::to_size(op)].reduces = true;
    }
    return s;
}

inline ts::strategy replicated(const ts::graph_view& g, int ranks) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        ts::configuration& c = s.ops[ts::to_size(op)];
        c = ranks > 2 ? ts::search::detail::split_along(g.describe(op), ts::loop_name::sample, ranks / 2) : c;
        c.replicate = op % 3 == 2 ? 1 : 2;
    }
    return s;
}

/// Whole operators, one after the other on the ranks.
inline ts::strategy placed(const ts::graph_view& g, int ranks) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)].start = op * ranks / g.op_count;
    }
    return s;
}

inline ts::strategy piped(const ts::graph_view& g, const ts::schedule::schedule_record& which, int workers,
                          int micro_batches, int width = 1,
                          ts::schedule::rematerialize again = ts::schedule::rematerialize::none) {
    ts::schedule::settings x{&which, workers, micro_batches, {}, again};
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(op * x.stages() / g.op_count);
    }
    ts::search::pipeline_options how;
    how.width = width;
    how.again = x.again;
    how.inside.assign(ts::to_size(x.stages()),
                      width > 1 ? ts::search::baseline::data_parallel : ts::search::baseline::single_device);
    return ts::search::pipeline(g, stage, ts::schedule::make(x), how);
}

/// The report's: convolutions and pools on both ranks, the fully connected layers and the labels on rank 0.
inline ts::strategy of_report(const ts::graph_view& g) {
    ts::strategy s(g);
    bool images = true;
    for (int op = 0; op < g.op_count; ++op) {
        images = images && !g.facts(op).view;
        if (images) {
            s.ops[ts::to_size(op)] = ts::search::detail::split_along(g.describe(op), ts::loop_name::sample, 2);
        }
    }
    return s;
}

inline ts::strategy with_policy(const ts::graph_view& g, ts::strategy s, int ranks,
                                const ts::schedule::policy_record& r) {
    ts::schedule::policy_setting x;
    x.gradients = ts::schedule::gradients_of(g);
    x.members = ranks;
    s.sync = ts::schedule::make(r, x);
    return s;
}

} // namespace torch_cases
