// SPDX-License-Identifier: Apache-2.0
// Problems of the contest's format for fuzz_files: good ones, and what is done with one that is read.
#pragma once

#include "tessera/io/contest_file.hpp"
#include "tessera/io/file.hpp"
#include "tessera/search/certified/certified.hpp"

#include <unistd.h>

namespace fuzz_data {

namespace io = tessera::io;

inline std::vector<std::string> contest_problems() {
    return {R"({"problem": {"name": "small", "usage_limit": 50,
  "nodes": {"intervals": [[0, 7], [4, 4]], "costs": [[15, 1000000000000000000], [55, 65, 7]], "usages": [[10, 0], [25, 20, 9]]},
  "edges": {"nodes": [[0, 1]], "costs": [[1, 2, 3, 4, 5, 1000000000000000000]]}}})",
            R"({"problem": {"name": "chain", "usage_limit": 30,
  "nodes": {"intervals": [[0, 3], [1, 4], [2, 6], [5, 6]], "costs": [[3, 9], [2, 2], [8, 1], [0]],
            "usages": [[20, 5], [10, 8], [7, 19], [1]]},
  "edges": {"nodes": [[0, 1], [1, 2], [0, 2], [2, 3]],
            "costs": [[0, 4, 4, 0], [0, 9, 9, 0], [1, 0, 0, 1], [5, 0]]}}})"};
}

/// False where a bound is above the cost, or a choice costs or uses other than is said.
inline bool read_contest(const std::string& text) {
    namespace search = tessera::search;
    static const std::string path = "fuzz_files.contest." + std::to_string(::getpid());
    io::write_file_atomically(path, text);
    const search::choice_problem p = io::read_contest_problem(path).problem;
    search::certified_options o;
    o.rounds = 2;
    o.round_work = 20'000;
    o.finish_steps = 5'000;
    const search::certified_result found = search::solve_certified(p, o);
    if (found.choice.empty()) return true;
    const search::evaluation_of_choice value = search::evaluate(p, found.choice);
    return value.fits(p) && value.cost == found.value.cost && found.bound <= value.cost;
}

} // namespace fuzz_data
