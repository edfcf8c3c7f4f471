// SPDX-License-Identifier: Apache-2.0
// Split problems and splits in the JSON of dnn-partitioning, the code published with Tarnawski et al., "Efficient
// Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020): "maxSizePerFPGA", "maxFPGAs", "maxCPUs",
// "nodes" and "edges". Its "FPGA" is any accelerator. Both its throughput and its latency problems have this form.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/nearest.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/search/placement/split_problem.hpp"

#include <map>

namespace tessera::io {

namespace placement = search::placement;

namespace detail {

/// Such objects may hold other members too, for people to look at; one that is nearly called like a known member is
/// refused.
json_object loose_object(const json_value& of, const std::vector<std::string>& known);

double split_number(const json_value& x);

/// true, false, 1 or 0.
inline bool split_flag(const json_value& x) { return x.is_number() ? x.integer(0, 1) == 1 : x.boolean(); }

/// Numbers of nodes by id, each once.
class node_numbers {
public:
    void add(const json_value& id);
    int of(const json_value& id) const;

private:
    std::map<std::int64_t, int> numbers_;
};

placement::split_node split_node_from(const json_value& x, std::map<std::int64_t, int>& groups);

} // namespace detail

/// The problem that a document holds, its groups numbered in the order in which they come. All edges out of a node cost
/// the same (to 1e-6), for its output is moved once; edges that come twice count once. Throws tessera::error, with line
/// and member, for whatever is missing or wrong, ids that come twice, edges to nothing, numbers that are negative or
/// too large, and cycles.
placement::split_problem split_problem_from(const json_document& document);

placement::split_problem split_problem_from_text(std::string_view text, const std::string& called = "split problem");
placement::split_problem read_split_problem(const std::string& path);

/// The problem as a value whose text is a file of the format; groups are color classes by number.
json to_json(const placement::split_problem& p);

/// A split of the problem as the format's programs print it: nodes by id and load of every device, and the greatest
/// load.
json to_json(const placement::split_problem& p, const placement::split& s);

/// A split from such a text, of which loads are ignored. A node that is not in it goes where its group is. Throws
/// tessera::error, with line and member, for ids that are unknown or come twice, for more devices than the problem has
/// (empty ones beyond do not count), and for nodes without a device. Whether it keeps the rules, trouble_of says.
placement::split split_from_text(const placement::split_problem& p, std::string_view text,
                                 const std::string& called = "split");
placement::split read_split(const placement::split_problem& p, const std::string& path);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/split_problem_file.inl"
#endif

#include "tessera/base/end_header.inl"
