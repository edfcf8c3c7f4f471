// SPDX-License-Identifier: Apache-2.0
// Binding a plan to the host: an implementation for every compute task, a memory format for every tile, reorders where
// a task wants another format than its operand has, and scratch memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/choose.hpp"
#include "tessera/plan/scratch.hpp"

namespace tessera::host::detail {

class binder {
public:
    /// `states`: numbers of optimizer state for each of a parameter.
    binder(plan& p, const format_table& table, int states) : p_(p), table_(table), states_(states) {}

    void run(const decisions& d);

private:
    tile& tile_at(int t) { return p_.tiles[to_size(t)]; }

    void set_size(int t);

    // ---- rewriting --------------------------------------------------------------------------------------------------

    void rewrite(const std::vector<candidate>& chosen);

    /// One that repeats the elements of tile `t`.
    int add_tile(int t, int f);

    struct converted {
        int from = 0, format = 0, to = 0, step = 0;
    };

    /// The tile that holds the same elements in format `f`, which a reorder task before the one at hand makes if need
    /// be.
    int as(int t, int f);

    /// A result under another name, whose elements a format holds in the order of the first one's indices, is kept
    /// plain.
    void make_readable(result_piece& r);

    /// The alias `t`, or one like it, on the tile `base`.
    int alias_of(int t, int base);

    int reorder(int t, int f);

    void rewrite_compute(task& t, const candidate& k);

    void bind_workspace(task& t, index_t bytes);

    /// A copy of whole tiles keeps their format; one of parts works on plain tiles.
    void rewrite_copy(task& t);

    /// What is added to keeps its format; where the first source is no target, the sum is plain.
    void rewrite_sum(task& t);

    void rewrite_update(task& t);

    /// For one parameter: what the task reads from `read` to `read_end` and writes from `write` to `write_end`.
    void rewrite_update(task& t, std::size_t read, std::size_t read_end, std::size_t write, std::size_t write_end,
                        int state);

    int parameter_format(const tile& sum);

    /// What forward leaves to backward beside its output.
    struct left_behind {
        int op = 0, shard_number = 0, micro_batch = 0, tile = -1;
    };

    plan& p_;
    const format_table& table_;
    int states_;
    std::vector<converted> converted_;
    int step_ = 0; ///< of the task at hand
    std::vector<left_behind> workspaces_;
    int device_ = 0; ///< of the task at hand, with its stream
    task_stream stream_ = task_stream::compute;
};

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/bind.inl"
#endif

#include "tessera/base/end_header.inl"
