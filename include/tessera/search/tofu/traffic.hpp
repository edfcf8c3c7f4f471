// SPDX-License-Identifier: Apache-2.0
// Tofu's cost (EuroSys 2019, section 5): all bytes that the splits of operators make devices exchange in a step of
// training.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/redistribute.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/search/optcnn/additive_problem.hpp"
#include "tessera/search/tofu/splits.hpp"
#include "tessera/strategy/pieces.hpp"

#include <map>

namespace tessera::search {

/// How bytes are counted.
enum class tofu_count : std::uint8_t {
    devices, ///< what every device receives, as plans move it; regions are intersected, halos and all
    /// The paper's: each step by itself, as if what the steps before it moved were in place: between f groups S bytes
    /// cross (1 - 1/f) S if they are split along another dimension, (f - 1) S if they become whole in each or are added
    /// up, 2 (f - 1) S if both.
    groups,
};

struct tofu_traffic_options {
    tofu_count count = tofu_count::devices;
    /// Parameters are stored in slices, each on one device, and gathered where they are needed, forward and backward,
    /// as Tofu's are; otherwise every shard keeps what it needs.
    bool slices_parameters = true;
};

/// Counts the bytes of a network's operators after the first steps. Histories are lists of loops, one for each step so
/// far.
class tofu_traffic {
public:
    using history = std::vector<int>;

    tofu_traffic(const graph_view& g, const tofu_steps& steps, const tofu_traffic_options& o);

    const graph_view& network() const { return g_; }
    const std::vector<description>& descriptions() const { return descriptions_; }
    const tofu_steps& steps() const { return steps_.back(); }

    /// Bytes of a parameter, which is operand `which` of an operator: n devices hold, or need, each region of it. Each
    /// adds up the n-th part of its gradient, of which k devices have a summand: k (n - 1) / n of its bytes. To have
    /// all of it again they take (n - 1) times its bytes, after the update or, where it is stored in slices, before
    /// forward and before what reads it backward.
    index_t parameter(int op, int which, const history& h) const;

    /// Bytes of the sums inside an operator whose loops are split (a softmax's, the statistics of a batch norm),
    /// forward and backward.
    index_t inside(int op, const history& h) const;

    /// Bytes between the operator that makes input `slot` of operator `op` and this one, of the tensor forward and of
    /// its gradient backward.
    index_t edge(int op, int slot, const history& from, const history& to);

private:
    bool needs_gradient(int tensor) const { return needs_gradient_[to_size(tensor)] != 0; }

    int first_alike(int op) const;

    void find_gradients();

    const std::vector<piece>& pieces(int op, int which, operand_tensor what, const history& h);

    index_t by_devices(int producer, int op, int input, bool back, const history& from, const history& to);

    /// What a step leaves of a tensor: the dimension that it splits, or that every group has the whole, or a summand of
    /// it.
    static constexpr int whole = -1;
    static constexpr int summand = -2;
    static int state_of(const description& d, int which, int loop);

    index_t by_groups(int producer, int op, int input, bool back, const history& from, const history& to) const;

    graph_view g_;
    tofu_traffic_options o_;
    std::vector<tofu_steps> steps_; ///< the first 0, 1, ... of them, and all
    std::vector<description> descriptions_;
    std::vector<int> kinds_;           ///< the first operator that is alike
    std::vector<char> needs_gradient_; ///< by tensor
    std::map<history, std::vector<piece>> pieces_;
    std::map<history, index_t> edges_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/tofu/traffic.inl"
#endif

#include "tessera/base/end_header.inl"
