// SPDX-License-Identifier: Apache-2.0
// A compute task as the host backend sees it: the call, the memory formats of its operands, and how it is computed.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/format.hpp"
#include "tessera/op/window.hpp"
#include "tessera/task/compute.hpp"

#include <span>

namespace tessera::host {

/// How a task is computed: part of the plan (task::implementation).
enum class engine_kind : std::uint8_t {
    generic,  ///< plain loops read off the description
    onednn,   ///< a oneDNN primitive
    winograd, ///< oneDNN's Winograd convolution
    vectors,  ///< kernels of our own
};

constexpr const char* to_text(engine_kind e) {
    constexpr const char* names[] = {"generic", "onednn", "winograd", "vectors"};
    return names[static_cast<int>(e)];
}

/// One way to compute a task: who computes it, in which formats, with how much extra memory.
struct candidate {
    engine_kind engine = engine_kind::generic;
    int value[max_operands];    ///< format of every operand that is touched, else -1
    int gradient[max_operands]; ///< likewise of gradients
    index_t scratch = 0;        ///< bytes
    index_t workspace = 0;      ///< bytes that forward leaves to backward
    std::uint32_t unused = 0;   ///< operands whose values this way does not touch after all
    double seconds = -1;        ///< measured or estimated

    candidate();
};

/// Whether two ways are the same: one engine, the same formats everywhere.
bool same_formats(const candidate& a, const candidate& b);

/// A call with everything that a job needs to run it.
struct bound_call {
    compute_call call;
    candidate how;
    void* scratch = nullptr;
    void* workspace = nullptr;
};

/// Something prepared that runs every step.
struct job {
    job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    virtual ~job() = default;
    virtual void run(const run_state& run) = 0;
    /// Before it is timed by itself: writes into its workspace what forward would have left there, where others than
    /// such numbers lead astray.
    virtual void stand_alone() {}
    /// In the words of the operator table (op/table.hpp), which are a page of the documentation: tests hold them against
    /// this.
    virtual const char* computed_by() const { return "own kernel"; }
};

inline bool is_forward(pass p) { return p == pass::forward || p == pass::evaluate || p == pass::recompute; }

/// Geometry of a window operator's shard in the terms of vendor libraries: local shapes and asymmetric padding.
struct local_window {
    shape x, y;
    op::windows a;
    index_t pad_begin[op::max_window_dimensions]{};
    index_t pad_end[op::max_window_dimensions]{};

    local_window(const compute_call& c);
    /// As much padding before the shard's part of the input as behind it.
    bool is_symmetric() const;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/call.inl"
#endif

#include "tessera/base/end_header.inl"
