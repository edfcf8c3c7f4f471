// SPDX-License-Identifier: Apache-2.0
// Split problems and profiles for fuzz_files: good ones, and what is done with one that is read.
#pragma once

#include "search/placement/random_split_problem.hpp"
#include "tessera/io/layer_profile_file.hpp"
#include "tessera/io/split_problem_file.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/search/placement/contiguous.hpp"
#include "tessera/search/placement/list_placement.hpp"

namespace fuzz_data {

inline std::vector<std::string> split_problems() {
    std::vector<std::string> all;
    std::mt19937 random(1);
    for (int i = 0; i < 6; ++i) {
        const auto p = placement_test::random_problem(random, {8, 3, i % 2 == 0, i % 3 == 0});
        all.push_back(io::to_text(io::to_json(p)));
    }
    return all;
}

/// False where it does not come back the same, or its split breaks a rule or is better than its bound.
inline bool read_split_problem(const std::string& text) {
    namespace sp = tessera::search::placement;
    const sp::split_problem p = io::split_problem_from_text(text);
    if (!(io::split_problem_from_text(io::to_text(io::to_json(p))) == p)) return false;
    if (p.devices() > 8) return true;
    const sp::contiguous_found found = sp::contiguous_optimum(p, {.most_downsets = 2000, .most_pairs = 200'000});
    if (found.devices.empty()) return !found.why.empty();
    return sp::trouble_of(p, found.devices).empty() && found.load >= found.lower_bound * (1 - 1e-9);
}

inline std::vector<std::string> profiles() {
    return {"node1 -- Input -- forward_compute_time=635.902, backward_compute_time=0.000, activation_size=64.0, "
            "parameter_size=0.000\n"
            "node3 -- LSTM(8, 4) -- forward_compute_time=1.5, backward_compute_time=2.25, activation_size=[64.0; "
            "16.0], parameter_size=1024.000\n"
            "node2 -- __getitem__(1) -- forward_compute_time=0.000, backward_compute_time=0.000, "
            "activation_size=16.0, parameter_size=0.000 -- stage_id=1\n"
            "\tnode1 -- node3\n\tnode3 -- node2\n"};
}

/// False where it does not come back the same, or a placement of it is shorter than its work allows.
inline bool read_profile_of_layers(const std::string& text) {
    namespace sp = tessera::search::placement;
    const sp::layer_profile p = io::profile_from_text(text);
    if (!(io::profile_from_text(io::profile_text(p)) == p)) return false;
    const sp::cost_graph g = sp::to_cost_graph(p);
    tessera::machine two;
    two.devices = 2;
    two.link_megabytes = 1000;
    const tessera::cluster on(tessera::fully_linked(two));
    sp::evaluator e(g, on);
    tessera::index_t work = 0;
    for (const sp::cost_node& n : g.nodes) work += n.times.front().forward + n.times.front().backward;
    return 2 * sp::by_list(e).step >= work && e.priced(sp::assignment(g.nodes.size(), 1)).step == work;
}

} // namespace fuzz_data
