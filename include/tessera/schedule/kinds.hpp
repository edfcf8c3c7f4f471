// SPDX-License-Identifier: Apache-2.0
// The pipeline schedules by name, for what chooses among them.
#pragma once

#include "tessera/schedule/chimera.hpp"
#include "tessera/schedule/fill_drain.hpp"
#include "tessera/schedule/gems.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/schedule/interleaved.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/schedule/zero_bubble.hpp"
#include "tessera/schedule/zero_bubble_v.hpp"

namespace tessera::schedule {

enum class kind : std::uint8_t {
    fill_drain,
    gpipe,
    one_forward_one_backward,
    interleaved,
    zero_bubble_h1,
    zero_bubble_v,
    chimera,
    gems,
};
inline constexpr int kinds = 8;

constexpr const char* to_text(kind k) {
    constexpr const char* names[] = {"fill-drain", "GPipe", "1F1B",    "interleaved 1F1B",
                                     "ZB-H1",      "ZB-V",  "Chimera", "GEMS"};
    return names[static_cast<int>(k)];
}

/// A schedule by its kind and size.
struct settings {
    kind which = kind::gpipe;
    int workers = 1;
    int micro_batches = 1;
    int chunks = 2; ///< interleaved: stages of every worker
    int parts = 1;  ///< GEMS: micro-batches of a mini-batch
    rematerialize again = rematerialize::none;

    /// Stages that the network must be cut into.
    constexpr int stages() const {
        return which == kind::interleaved ? workers * chunks : which == kind::zero_bubble_v ? workers * 2 : workers;
    }
    /// The worker of a stage, where micro-batches are not mirrored.
    constexpr int worker_of(int stage) const {
        const bool back = which == kind::zero_bubble_v && stage >= workers; // down the workers and up again
        return back ? 2 * workers - 1 - stage : stage % workers;
    }
    /// True where half of the micro-batches run on a second, mirrored replica.
    constexpr bool mirrors() const { return which == kind::chimera || which == kind::gems; }
    friend constexpr bool operator==(const settings&, const settings&) = default;
};

/// The rule that so many workers, micro-batches, chunks or parts break with a kind.
constexpr problem check(const settings& x) {
    for (const int n : {x.workers, x.micro_batches, x.chunks, x.parts}) {
        if (n < 1) {
            return {rule::pipeline_is_empty, -1, -1, n, 1};
        }
    }
    switch (x.which) {
    case kind::interleaved:
        return check_interleaved(x.workers, x.chunks, x.micro_batches);
    case kind::chimera:
        return check_chimera(x.workers, x.micro_batches);
    case kind::gems:
        return check_gems(x.workers, x.micro_batches, x.parts);
    default:
        return {};
    }
}

/// True where a kind takes so many workers and micro-batches.
constexpr bool is_possible(const settings& x) { return !check(x); }

/// The schedule. Throws tessera::error for sizes that its kind does not take.
inline pipeline_schedule make(const settings& x, const step_times& times = {}) {
    pipeline_schedule s;
    switch (x.which) {
    case kind::fill_drain:
        s = fill_drain(x.workers, x.micro_batches);
        break;
    case kind::gpipe:
        s = gpipe(x.workers, x.micro_batches);
        break;
    case kind::one_forward_one_backward:
        s = one_forward_one_backward(x.workers, x.micro_batches);
        break;
    case kind::interleaved:
        s = interleaved(x.workers, x.chunks, x.micro_batches);
        break;
    case kind::zero_bubble_h1:
        s = zero_bubble_h1(x.workers, x.micro_batches, times);
        break;
    case kind::zero_bubble_v:
        s = zero_bubble_v(x.workers, x.micro_batches);
        break;
    case kind::chimera:
        s = chimera(x.workers, x.micro_batches, times);
        break;
    case kind::gems:
        require(check_gems(x.workers, x.micro_batches, x.parts));
        s = gems(x.workers, x.micro_batches / x.parts, x.parts);
        break;
    }
    keep_results(s, x.again);
    return s;
}

/// "GEMS, 4 workers, 8 micro-batches in mini-batches of 2, all recomputed".
inline std::string to_text(const settings& x) {
    std::string s = to_text(x.which);
    s += ", " + std::to_string(x.workers) + (x.workers == 1 ? " worker, " : " workers, ");
    s += std::to_string(x.micro_batches) + (x.micro_batches == 1 ? " micro-batch" : " micro-batches");
    if (x.which == kind::interleaved) {
        s += ", " + std::to_string(x.chunks) + " chunks each";
    }
    if (x.which == kind::gems && x.parts > 1) {
        s += " in mini-batches of " + std::to_string(x.parts);
    }
    return s + (x.again == rematerialize::none  ? ""
                : x.again == rematerialize::all ? ", all recomputed"
                                                : ", all but the last recomputed");
}

} // namespace tessera::schedule
