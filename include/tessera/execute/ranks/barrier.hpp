// SPDX-License-Identifier: Apache-2.0
// What the processes of a group come together for, and how it is said when that fails.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <cstdint>
#include <string>

namespace tessera {

/// For what the processes of a group meet: all for the same.
enum class barrier_point : std::uint64_t {
    take_memory,
    give_memory,
    compare_trainings,
    compare_plans,
    set_parameter,
    begin_run,
    end_run,
    finish_transfers,
    leave,
    share_parameters,
    agree,
    join_values,
    load_checkpoint,
};

constexpr const char* to_text(barrier_point m) {
    constexpr const char* names[] = {"make a plan or memory for it",
                                     "give back memory, at its end or after an error",
                                     "train together",
                                     "run one plan",
                                     "set a parameter",
                                     "begin a run of a plan",
                                     "end a run of a plan",
                                     "finish the transfers of a step",
                                     "leave the group",
                                     "share parameters between nodes",
                                     "agree on what was measured",
                                     "read what devices of all of them have",
                                     "load a checkpoint"};
    return names[static_cast<int>(m)];
}

/// A process of a group has failed, ended, not come in time, or done something else than the others.
class group_error : public error {
public:
    group_error(const std::string& words, bool is_first) : error(words), is_first_(is_first) {}
    /// Of all processes' errors of one failure the first: the others need not be told again.
    bool is_first() const { return is_first_; }

private:
    bool is_first_;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
