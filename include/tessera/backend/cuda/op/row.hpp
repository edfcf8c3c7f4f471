// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend offers for one operator: its row in the table (table.hpp), at the end of the file that has its
// code.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/record.hpp"
#include "tessera/task/compute.hpp"

#include <string>
#include <type_traits>

namespace tessera::cuda {

struct shard_call; // compose.hpp

/// task::implementation of a compute task that does all nests of its shard, see operator_row::is_one_call.
inline constexpr int whole_operator = 1;

using composing_function = void (*)(const shard_call&);

/// Null: there is no such pass. Calls are named as function_of() names them, one after the other, "-" where a pass
/// makes none: those of a whole shard in fp32. Each row serves all precisions unless it says so.
struct operator_row {
    const op_record*
        of; ///< null in a row that an operator of one's own brings: op_record{..., .rows = {{"cuda", &row}}}
    composing_function forward;
    composing_function backward;
    composing_function update = nullptr; ///< of running statistics
    const char* calls_forward;
    const char* calls_backward;
    const char* why = ""; ///< there are kernels of our own among them; empty where there are none
    const char* code =
        nullptr; ///< of its kernels; several rows of a file may have the same. (Kernels of one's own have theirs in
                 ///< kernel::text)
    std::string (*text)() = nullptr;  ///< the same where it is made of expressions
    precision most = precision::bf16; ///< serves what comes before this one, too
    /// Whether all nests of a shard whose sums no split divides are one vendor call.
    bool (*is_one_call)(const op_attributes&) = nullptr;
    bool keeps_intermediates = false; ///< that call leaves what is between the nests, in fp32, else there is nothing
    /// Whether its call also computes a relu after it, of a shard that is (or is not) the first part of a split sum.
    bool (*takes_relu)(const op_attributes&, bool first_part) = nullptr;
    bool is_relu = false; ///< which those take
    /// Whether a shard of these ranges may have an input tile of this region in place of exactly what it touches.
    bool (*takes_tile)(const op_attributes&, const description&, const interval* ranges, const box& tile) = nullptr;

    /// What composes a pass: forward again and forward of an evaluation as forward.
    constexpr composing_function composes(pass what) const {
        return what == pass::update                                                         ? update
               : what == pass::forward || what == pass::recompute || what == pass::evaluate ? forward
                                                                                            : backward;
    }
    constexpr bool offers(pass what, precision math) const {
        // g++ does not compare addresses while it compiles for sanitizers; networks ask of forward and backward, which
        // every row has.
        return math <= most && ((std::is_constant_evaluated() && what != pass::update) || composes(what) != nullptr);
    }
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
