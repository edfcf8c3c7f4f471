// SPDX-License-Identifier: Apache-2.0
// What a Placeto learner knows besides its weights and its optimizer's state; as text, too.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/learning_progress.hpp"

#include <deque>

namespace tessera::learned {

/// Of one graph.
struct placeto_graph_progress {
    std::deque<std::vector<double>> returns; ///< of the last updates, the oldest first: the mean return at every step
    search::placement::found best{};         ///< with all evaluations so far
};

struct placeto_progress {
    std::uint64_t random = 0; ///< state of the random numbers
    std::int64_t updates = 0;
    std::vector<placeto_graph_progress> graphs;
};

/// One line for the whole, and one for each graph; returns in hexadecimal, so that nothing is lost.
std::string to_text(const placeto_progress& p);

/// What to_text() has written. Throws tessera::error for any other text.
placeto_progress placeto_progress_of(const std::string& text);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/placeto_progress.inl"
#endif

#include "tessera/base/end_header.inl"
