// SPDX-License-Identifier: Apache-2.0
// Small random networks for the tests of Tofu's search. All extents are powers of two from 8 on, so that every loop can
// be split in each of three steps.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/net/graph_builder.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/cross_entropy.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/softmax.hpp"

#include <algorithm>
#include <random>

namespace tests {

namespace ts = tessera;

/// Draws the inputs of operators among the tensors that there are, the latest rather than others.
class tofu_graph_maker {
public:
    explicit tofu_graph_maker(unsigned seed) : random_{seed} {}

    /// Sums, products and permutations of one [1,R,R,R]: every split of every loop cuts all that the operator reads and
    /// writes, and what reads a tensor in two orders moves some of it.
    ts::graph cuts(int ops) {
        const ts::index_t rows = ts::index_t{8} << below(2);
        tensors_ = {grow_.add_input(ts::make_shape(1, rows, rows, rows), ts::element::f32, "x")};
        add(ts::op_attributes{.kind = ts::op_kind::relu}, {0});
        for (int i = 1; i < ops; ++i) {
            const int latest = static_cast<int>(tensors_.size()) - 1;
            if (i == 1 || (i + 1 < ops && below(2) == 0)) {
                ts::op::permute_attributes order{{0, 1, 2, 3}, 4};
                std::shuffle(order.order + 1, order.order + 4, random_);
                add(ts::attributes_of(ts::op_kind::permute, order), {1 + below(latest)});
            } else {
                add(ts::op_attributes{.kind = below(2) == 0 ? ts::op_kind::add : ts::op_kind::multiply},
                    {latest, 1 + below(latest)});
            }
        }
        return grow_.built();
    }

    /// Linear layers of some widths, activations, sums and softmaxes of [N,C].
    ts::graph layers(int ops) {
        const ts::index_t rows = width(), columns = width(); // in one order with every compiler
        tensors_ = {grow_.add_input(ts::make_shape(rows, columns), ts::element::f32, "x")};
        int wide = 0;
        for (int i = 0; i < ops; ++i) {
            const int kind = below(5);
            const int x = some();
            if (kind < 2 && wide < 3) {
                ++wide;
                add(ts::attributes_of(ts::op_kind::linear,
                                      ts::op::linear_attributes{.out = width(), .bias = below(2) == 0}),
                    {x});
                continue;
            }
            std::vector<int> alike;
            for (const int t : tensors_) {
                if (grow_.tensors[t].extents == grow_.tensors[x].extents) {
                    alike.push_back(t);
                }
            }
            if (kind == 3 && alike.size() > 1) {
                add(ts::op_attributes{.kind = ts::op_kind::add},
                    {x, alike[ts::to_size(below(static_cast<int>(alike.size())))]});
            } else {
                add(ts::op_attributes{.kind = kind == 4 ? ts::op_kind::softmax : ts::op_kind::relu}, {x});
            }
        }
        return grow_.built();
    }

    /// The same behind a loss for everything that nothing else reads.
    ts::graph trained(int ops) {
        layers(ops);
        std::vector<char> read(tensors_.size(), 0);
        for (int op = 0; op < grow_.op_count; ++op) {
            for (const int t : grow_.ops[op].inputs) {
                read[ts::to_size(t)] = 1;
            }
        }
        for (std::size_t t = 0; t < read.size(); ++t) {
            if (read[t] == 0) {
                const int labels = grow_.add_input(ts::make_shape(grow_.tensors[0].extents[0]), ts::element::i32, "y");
                const int inputs[] = {static_cast<int>(t), labels};
                grow_.add_op({.kind = ts::op_kind::cross_entropy}, "cross_entropy", ++key_, false, inputs, 2);
            }
        }
        return grow_.built();
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    ts::index_t width() { return ts::index_t{8} << below(4); }
    int some() {
        const int n = static_cast<int>(tensors_.size());
        return tensors_[ts::to_size(std::max(below(n), below(n)))];
    }
    void add(const ts::op_attributes& a, const std::vector<int>& inputs) {
        const int made =
            grow_.add_op(a, ts::to_text(a.kind), ++key_, false, inputs.data(), static_cast<int>(inputs.size()));
        if (made < 0) {
            throw ts::error("a random network breaks a rule");
        }
        tensors_.push_back(made);
    }

    std::mt19937 random_;
    ts::graph_builder grow_;
    std::vector<int> tensors_;
    ts::type_key key_ = 0;
};

} // namespace tests
