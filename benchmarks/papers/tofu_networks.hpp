// SPDX-License-Identifier: Apache-2.0
// Tofu's networks and machine (Wang, Huang and Li, EuroSys 2019), as values. What is recalled of the paper or assumed
// is said.
#pragma once

#include "benchmarks/papers/clusters.hpp"
#include "tessera/base/problem_text.hpp"
#include "tessera/net/graph_builder.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/batch_norm.hpp"
#include "tessera/op/conv2d.hpp"
#include "tessera/op/cross_entropy.hpp"
#include "tessera/op/flatten.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/pool.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/slice.hpp"
#include "tessera/op/tanh.hpp"

namespace papers {

/// Adds operators one after the other; each has a key of its own, but for steps of an unrolled layer.
class tofu_network {
public:
    explicit tofu_network(index_t batch) { grow_.batch = batch; }

    /// Bottleneck ResNet for 224 x 224 images whose channels are all `wide` times as many. The stem is widened too
    /// (assumed).
    static ts::graph wide_resnet(int layers, int wide, index_t batch) {
        const int middle = layers == 50 ? 6 : layers == 101 ? 23 : 36;
        const int blocks[] = {3, layers == 152 ? 8 : 4, middle, 3};
        tofu_network n(batch);
        int x = n.grow_.add_input(ts::make_shape(batch, 3, 224, 224), ts::element::f32, "images");
        x = n.plain(ts::op_kind::relu, n.conv(x, index_t{64} * wide, 7, 2));
        ts::op::pool_attributes pool;
        pool.window[0] = pool.window[1] = 3;
        pool.stride[0] = pool.stride[1] = 2;
        pool.padding[0] = pool.padding[1] = 1;
        x = n.add(ts::attributes_of(ts::op_kind::max_pool, pool), "pool", {x});
        for (int stage = 0; stage < 4; ++stage) {
            const index_t inner = (index_t{64} << stage) * wide;
            for (int block = 0; block < blocks[stage]; ++block) {
                const int stride = block == 0 && stage > 0 ? 2 : 1;
                int y = n.plain(ts::op_kind::relu, n.conv(x, inner, 1, 1));
                y = n.plain(ts::op_kind::relu, n.conv(y, inner, 3, stride));
                y = n.conv(y, 4 * inner, 1, 1);
                x = block == 0 ? n.conv(x, 4 * inner, 1, stride) : x;
                x = n.plain(ts::op_kind::relu, n.add(ts::op_attributes{.kind = ts::op_kind::add}, "add", {y, x}));
            }
        }
        x = n.plain(ts::op_kind::global_average_pool, x);
        x = n.add(ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = 1000, .bias = true}), "fc",
                  {x});
        return n.with_loss(x);
    }

    /// LSTM layers (assumed; the paper says RNN) over 20 steps of an input as wide as they are, and a classification by
    /// the last step.
    static ts::graph rnn(int layers, index_t hidden, index_t batch, int steps = 20) {
        tofu_network n(batch);
        const int input = n.grow_.add_input(ts::make_shape(batch, steps, hidden), ts::element::f32, "sequence");
        std::vector<int> x;
        const ts::type_key slices = n.next_key();
        for (int t = 0; t < steps; ++t) {
            x.push_back(n.add(slice(t, 1, 1), "step", {input}, slices));
        }
        for (int layer = 0; layer < layers; ++layer) {
            n.lstm(x, hidden);
        }
        int last = n.plain(ts::op_kind::flatten, x.back());
        last = n.add(ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = 16, .bias = true}), "fc",
                     {last});
        return n.with_loss(last);
    }

private:
    static ts::op_attributes slice(index_t begin, index_t out, index_t axis) {
        return ts::attributes_of(ts::op_kind::slice,
                                 ts::op::slice_attributes{.begin = begin, .out = out, .axis = axis});
    }
    ts::type_key next_key() { return ++key_; }

    int add(const ts::op_attributes& a, std::string_view name, const std::vector<int>& inputs, ts::type_key key = 0) {
        const int made = grow_.add_op(a, name, key == 0 ? next_key() : key, key != 0, inputs.data(),
                                      static_cast<int>(inputs.size()));
        if (made < 0) {
            throw ts::error(std::string(name) + ": " + ts::to_text(grow_.refused));
        }
        return made;
    }
    int plain(ts::op_kind kind, int x) { return add(ts::op_attributes{.kind = kind}, ts::to_text(kind), {x}); }

    /// With the batch norm behind it.
    int conv(int x, index_t channels, int window, int stride) {
        ts::op::conv2d_attributes a{.out = channels};
        a.window[0] = a.window[1] = window;
        a.stride[0] = a.stride[1] = stride;
        a.padding[0] = a.padding[1] = window / 2;
        return plain(ts::op_kind::batch_norm, add(ts::attributes_of(ts::op_kind::conv2d, a), "conv", {x}));
    }

    void lstm(std::vector<int>& x, index_t hidden) {
        ts::type_key keys[16];
        for (ts::type_key& k : keys) {
            k = next_key();
        }
        int state = -1;
        int cell = -1;
        for (int& step : x) {
            const auto of = [&](ts::op_kind kind, int place, const std::vector<int>& inputs) {
                return add(ts::op_attributes{.kind = kind}, ts::to_text(kind), inputs, keys[place]);
            };
            const auto layer = [&](const char* name, int from, bool bias, int place) {
                const ts::op::linear_attributes a{.out = 4 * hidden, .bias = bias};
                return add(ts::attributes_of(ts::op_kind::linear, a), name, {from}, keys[place]);
            };
            int gates = layer("from_input", step, true, 0);
            if (state >= 0) {
                gates = of(ts::op_kind::add, 1, {gates, layer("from_hidden", state, false, 2)});
            }
            const auto gate = [&](int number) {
                const int cut = add(slice(number * hidden, hidden, -1), "gate", {gates}, keys[3 + number]);
                return of(number == 2 ? ts::op_kind::tanh : ts::op_kind::sigmoid, 7 + number, {cut});
            };
            int next = of(ts::op_kind::multiply, 11, {gate(0), gate(2)});
            if (cell >= 0) {
                next = of(ts::op_kind::add, 12, {of(ts::op_kind::multiply, 13, {gate(1), cell}), next});
            }
            cell = next;
            state = step = of(ts::op_kind::multiply, 14, {gate(3), of(ts::op_kind::tanh, 15, {cell})});
        }
    }

    ts::graph with_loss(int x) {
        const int labels = grow_.add_input(ts::make_shape(grow_.batch), ts::element::i32, "labels");
        add(ts::op_attributes{.kind = ts::op_kind::cross_entropy}, "loss", {x, labels});
        return grow_.built();
    }

    ts::graph_builder grow_;
    ts::type_key key_ = 0;
};

/// One machine of 8 K80 GPUs (half boards of 12 GB): 21 GB/s from GPU to GPU and 10 GB/s to the host, which they share
/// (both recalled).
inline constexpr index_t tofu_host_megabytes = 10000;
inline ts::device_graph tofu_machine() {
    return nodes_of("8 K80", ts::machines::detail::gpu("K80", 4370, 240000, 12), 1, 8, {21000, 1000, 0, 0});
}

} // namespace papers
