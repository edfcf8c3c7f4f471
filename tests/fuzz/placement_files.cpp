// SPDX-License-Identifier: Apache-2.0
// Split problems, PipeDream's profiles and the contest's problems for fuzz_files.
#include "fuzz/target.hpp"
#include "search/placement/random_split_problem.hpp"
#include "tessera/io/exchange/contest_file.hpp"
#include "tessera/io/exchange/layer_profile_file.hpp"
#include "tessera/io/exchange/split_problem_file.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/search/certified/certified.hpp"
#include "tessera/search/placement/contiguous.hpp"
#include "tessera/search/placement/list_placement.hpp"

namespace {

namespace ts = tessera;
namespace io = tessera::io;
namespace sp = tessera::search::placement;
using fuzz::counted;

/// False where it does not come back the same, or its split breaks a rule or is better than its bound.
bool read_split_problem(const std::string& text) {
    const sp::split_problem p = counted([&] { return io::split_problem_from_text(text); });
    if (!(io::split_problem_from_text(io::to_text(io::to_json(p))) == p)) {
        return false;
    }
    if (p.devices() > 8 || p.nodes.size() > 40) {
        return true;
    }
    const sp::contiguous_found found = sp::contiguous_optimum(p, {.most_downsets = 2000, .most_pairs = 200'000});
    if (found.devices.empty()) {
        return !found.why.empty();
    }
    return sp::trouble_of(p, found.devices).empty() && found.load >= found.lower_bound * (1 - 1e-9);
}

/// So many nodes in a row, the first eight of which have a group each that others follow.
const sp::split_problem& nodes_in_a_row() {
    static const sp::split_problem p = [] {
        sp::split_problem made;
        made.accelerators = 2;
        made.cpus = 1;
        made.memory = 1e9;
        made.nodes.resize(20'000);
        for (std::size_t v = 0; v < made.nodes.size(); ++v) {
            made.nodes[v].id = static_cast<std::int64_t>(v);
            made.nodes[v].group = static_cast<int>(v % 8);
        }
        return made;
    }();
    return p;
}
std::string answer(int nodes) {
    std::string of[3]; // devices
    for (int v = 0; v < std::max(nodes, 8); ++v) {
        std::string& ids = of[v % 3];
        ids += (ids.empty() ? "" : ",") + std::to_string(v);
    }
    return R"({"maxLoad": 1.5, "fpgas": [{"load": 1.5, "nodes": [)" + of[0] + R"(]}, {"load": 1, "nodes": [)" + of[1] +
           R"(]}], "cpus": [{"load": 0, "nodes": [)" + of[2] + "]}]}";
}
/// Each node lies on a device that there is.
bool read_answer(const std::string& text) {
    const sp::split_problem& p = nodes_in_a_row();
    const sp::split s = counted([&] { return io::split_from_text(p, text); });
    return s.size() == p.nodes.size() &&
           std::all_of(s.begin(), s.end(), [&](int device) { return device >= 0 && device < p.devices(); });
}

/// False where it does not come back the same, or a placement of it is shorter than its work allows.
bool read_profile_of_layers(const std::string& text) {
    const sp::layer_profile p = counted([&] { return io::profile_from_text(text); });
    if (!(io::profile_from_text(io::profile_text(p)) == p)) {
        return false;
    }
    if (p.layers.size() > 200) {
        return true;
    }
    const sp::cost_graph g = sp::to_cost_graph(p);
    ts::machine two;
    two.devices = 2;
    two.link_megabytes = 1000;
    const ts::cluster on(ts::fully_linked(two));
    sp::evaluator e(g, on);
    ts::index_t work = 0;
    for (const sp::cost_node& n : g.nodes) {
        work += n.times.front().forward + n.times.front().backward;
    }
    return 2 * sp::by_list(e).step >= work && e.priced(sp::assignment(g.nodes.size(), 1)).step == work;
}

/// False where a bound is above the cost, or a choice costs or uses other than is said.
bool read_contest(const std::string& text) {
    namespace search = tessera::search;
    static const std::string path = fuzz::path_for("contest");
    fuzz::put(path, text);
    const search::choice_problem p = counted([&] { return io::read_contest_problem(path).problem; });
    if (text.size() > 20'000) {
        return true;
    }
    search::certified_options o;
    o.rounds = 2;
    o.round_work = 20'000;
    o.finish_steps = 5'000;
    const search::certified_result found = search::solve_certified(p, o);
    if (found.choice.empty()) {
        return true;
    }
    const search::evaluation_of_choice value = search::evaluate(p, found.choice);
    return value.fits(p) && value.cost == found.value.cost && found.bound <= value.cost;
}

} // namespace

std::vector<fuzz::target> fuzz::placement_targets() {
    std::vector<std::string> splits;
    std::mt19937 random(1);
    for (int i = 0; i < 6; ++i) {
        splits.push_back(
            io::to_text(io::to_json(placement_test::random_problem(random, {8, 3, i % 2 == 0, i % 3 == 0}))));
    }
    const auto chain = [first = splits[1]](int n) {
        sp::split_problem p = io::split_problem_from_text(first);
        p.nodes.resize(1);
        p.edges.clear();
        for (int i = 1; i < n; ++i) {
            p.nodes.push_back(p.nodes[0]);
            p.nodes.back().id = i;
        }
        p.nodes[0].id = 0;
        return io::to_text(io::to_json(p));
    };
    const auto layers = [](int n) {
        std::string text;
        std::string edges;
        for (int i = 0; i < n; ++i) {
            const std::string node = "node" + std::to_string(i);
            text += node + " -- Linear -- forward_compute_time=1.5, backward_compute_time=2.25, activation_size=64.0, "
                           "parameter_size=1024.000\n";
            edges += i == 0 ? "" : "\tnode" + std::to_string(i - 1) + " -- " + node + "\n";
        }
        return text + edges;
    };
    const auto contest = [](int n) {
        std::string intervals;
        std::string costs;
        for (int i = 0; i < n; ++i) {
            intervals +=
                (i == 0 ? "[" : ",[") + std::to_string(i) + "," + std::to_string(i + 1) + "]"; // each after the last
            costs += i == 0 ? "[1,2]" : ",[1,2]";
        }
        return R"({"problem": {"name": "large", "usage_limit": 50, "nodes": {"intervals": [)" + intervals +
               R"(], "costs": [)" + costs + R"(], "usages": [)" + costs +
               R"(]}, "edges": {"nodes": [[0, 1]], "costs": [[1, 2, 3, 4]]}}})";
    };
    return {
        {"split", splits, {{5000, chain}}, read_split_problem},
        {"answer", {answer(12), answer(3)}, {{20'000, answer}}, read_answer},
        {"layers",
         {"node1 -- Input -- forward_compute_time=635.902, backward_compute_time=0.000, activation_size=64.0, "
          "parameter_size=0.000\n"
          "node3 -- LSTM(8, 4) -- forward_compute_time=1.5, backward_compute_time=2.25, activation_size=[64.0; "
          "16.0], parameter_size=1024.000\n"
          "node2 -- __getitem__(1) -- forward_compute_time=0.000, backward_compute_time=0.000, "
          "activation_size=16.0, parameter_size=0.000 -- stage_id=1\n"
          "\tnode1 -- node3\n\tnode3 -- node2\n"},
         {{20'000, layers}},
         read_profile_of_layers},
        {"contest",
         {R"({"problem": {"name": "small", "usage_limit": 50,
  "nodes": {"intervals": [[0, 7], [4, 4]], "costs": [[15, 1000000000000000000], [55, 65, 7]], "usages": [[10, 0], [25, 20, 9]]},
  "edges": {"nodes": [[0, 1]], "costs": [[1, 2, 3, 4, 5, 1000000000000000000]]}}})",
          R"({"problem": {"name": "chain", "usage_limit": 30,
  "nodes": {"intervals": [[0, 3], [1, 4], [2, 6], [5, 6]], "costs": [[3, 9], [2, 2], [8, 1], [0]],
            "usages": [[20, 5], [10, 8], [7, 19], [1]]},
  "edges": {"nodes": [[0, 1], [1, 2], [0, 2], [2, 3]],
            "costs": [[0, 4, 4, 0], [0, 9, 9, 0], [1, 0, 0, 1], [5, 0]]}}})"},
         {{50'000, contest}},
         read_contest},
    };
}
