// SPDX-License-Identifier: Apache-2.0
// A network that is being written from a foreign graph: inputs and operators by name, with the numbers that their
// parameters begin with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"
#include "tessera/op/known_operators.hpp"
#include "tessera/part/onnx/view.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera::onnx {

/// Thrown where a network has no words for what a node does.
struct cannot_say {
    std::string why;
};

struct written_node {
    std::string name;
    bool is_input = false;
    element type = element::f32; ///< of an input
    op_attributes attributes;    ///< of an operator
    std::vector<int> reads;      ///< nodes before it
    int parameters_of = -1;      ///< the node whose parameters it takes
    shape extents;
};

/// What a parameter holds before training.
struct written_parameter {
    int node = -1;
    std::string slot; ///< "weight", "bias" or "statistics"
    std::vector<std::int64_t> extents;
    std::vector<float> numbers;
};

class network_writer {
public:
    std::vector<written_node> nodes;
    std::vector<written_parameter> parameters;

    view input(const std::string& name, const shape& extents, element type);

    /// An operator that reads whole nodes. Throws cannot_say with the rule that they break.
    view add(const std::string& wanted, const op_attributes& a, const std::vector<int>& reads);
    view add(const std::string& wanted, const op_attributes& a, const view& whole);
    /// The same, of an operator without attributes of its own.
    view add(const std::string& wanted, op_kind kind, const std::vector<int>& reads);
    /// An operator by the name that files know it by.
    static op_attributes named(const std::string& name);

    void parameter(int node, const char* slot, std::vector<std::int64_t> extents, std::vector<float> numbers);

    written_node& node_at(int n) { return nodes[to_size(n)]; }
    const written_node& node_at(int n) const { return nodes[to_size(n)]; }

    /// The view as a node of the network. Throws cannot_say where none can be made of it.
    view whole(const view& v, const std::string& wanted);

    /// Where nothing reads a node, it goes; the nodes of `kept` stay. Inputs stay.
    void keep_what_is_read(const std::set<int>& kept);
    /// Where keep_what_is_read() has put each node; -1: it is gone.
    std::vector<int> moved_to;

private:
    static void require_rank(std::size_t rank);

    /// The node of these attributes over one input, which is there once.
    view move(const std::string& wanted, const op_attributes& a, int from);

    view reshape(const view& from, const std::vector<index_t>& extents, const std::string& wanted);

    std::string unused(const std::string& wanted);

    std::map<std::string, int> taken_; ///< and the next number behind each
};

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/writer.inl"
#endif

#include "tessera/base/end_header.inl"
