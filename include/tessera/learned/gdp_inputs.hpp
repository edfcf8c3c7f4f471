// SPDX-License-Identifier: Apache-2.0
// What a GDP policy reads of a cost graph, as arrays of the policy's size.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/gdp_network.hpp"
#include "tessera/search/placement/experts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::learned {

/// Numbers of a node. The paper's are the kind of an operator and the shape of its output, which a cost graph does not
/// have; these stand for them.
inline constexpr int gdp_features = 8;

/// The inputs of one graph, see gdp_parts. Row i is the i-th node in topological order.
struct gdp_inputs {
    std::vector<float> features;
    std::vector<std::int32_t> senders;
    std::vector<std::int32_t> receivers;
    std::vector<float> shares;
    std::vector<float> visible;
    std::vector<float> prior;
    std::vector<float> weights;
    std::vector<int> leader; ///< of every row: the first row of the group that has to lie on one device with it
};

namespace detail {

using search::placement::evaluator;

/// The most work on a way from a source to each node, itself left out; or, back, from behind the node to a sink.
std::vector<double> levels(const evaluator& e, bool back);

/// A list less its mean, over its standard deviation; zeros where all are alike. Of numbers that are all alike but for
/// a small part the network makes rows that are all alike, and what it learns is then what all of them have in common.
void standardize(std::vector<double>& list);

/// By node: work, bytes made, bytes held; whether it has parameters; nodes that read it, and that it reads; the longest
/// ways of work to it and behind it. Each with mean 0 and deviation 1 over the nodes of the graph. The last two are
/// what tells a node where it lies in the graph.
std::vector<std::vector<double>> features_of(const evaluator& e);

void require_fits(const gdp_shape& s, const evaluator& e);

} // namespace detail

/// The inputs of a graph on its machine. Throws tessera::error where the policy is too small for it, or made for
/// another number of devices.
gdp_inputs gdp_inputs_of(const gdp_shape& s, search::placement::evaluator& e, double prior);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/gdp_inputs.inl"
#endif

#include "tessera/base/end_header.inl"
