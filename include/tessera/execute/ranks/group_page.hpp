// SPDX-License-Identifier: Apache-2.0
// The memory by which the processes of a group on one node see each other: how it lies, and nothing of what is done
// with it.
#pragma once
#include "tessera/base/begin_header.inl"

#include <atomic>
#include <cstdint>

namespace tessera {

/// The most processes of a group, and the most lists of a plan that it runs.
inline constexpr int max_processes = 256;
inline constexpr int max_group_lists = 1024;

/// Where a list of a plan stands in a run.
struct alignas(64) list_counter {
    std::atomic<int> value{0}; ///< tasks that have finished
    std::atomic<int> sleepers{0};
    std::atomic<int> size{0};
};

/// What the processes of a group see of each other: lies in memory that they share.
struct group_page {
    struct alignas(64) rank_slot {
        struct post {
            std::atomic<std::uint64_t> what{0};
            std::atomic<std::uint64_t> number{0};
        };
        post posts[2]{};                          ///< of the last barrier and of the one before
        std::atomic<std::uint64_t> step{0};       ///< of the last run
        std::atomic<std::int64_t> waits_since{0}; ///< ns; 0: for nothing, or not for long
        std::atomic<int> waits_on{-1};            ///< rank
        char waits_for[384] = {};                 ///< written before `waits_since`
        std::atomic<std::uint64_t> barriers{0};   ///< that it has come to
        std::atomic<std::uint64_t> arrived{
            0}; ///< with several nodes: barriers before which all that it has sent is here
        std::atomic<int> process{0};
        std::atomic<int> terminated{0};     ///< it has been sent SIGTERM
        std::atomic<std::int64_t> heard{0}; ///< ns; of a rank on another node: when it was last heard of
        char host[64] = {};
    };
    alignas(64) std::atomic<std::uint64_t> arrived{0};
    alignas(64) std::atomic<int> failed{0}; ///< 1: somebody is writing why; 2: it is written
    std::atomic<int> told{0};               ///< somebody has said so
    std::atomic<int> over{0};               ///< all have left, or are about to
    std::atomic<int> asked{0};              ///< somebody asks where everybody is
    char words[1024] = {};
    rank_slot slots[max_processes];
    list_counter lists[max_group_lists]; ///< of the plan that runs
};

} // namespace tessera

#include "tessera/base/end_header.inl"
