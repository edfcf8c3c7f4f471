// SPDX-License-Identifier: Apache-2.0
// Names of tasks of bound plans: equal for tasks that do the same work in the same formats from the same levels of the
// caches.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/catalog.hpp"
#include "tessera/base/shape_text.hpp"
#include "tessera/execute/local/copy_box.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/plan/call.hpp"
#include "tessera/plan/parts.hpp"
#include "tessera/simulate/reuse.hpp"

namespace tessera::host {

/// Where a task finds memory when it starts.
struct residence {
    int level = 1; ///< 0 to 4, see cache_distances
    simulation::holder held = simulation::holder::own;

    friend bool operator==(const residence&, const residence&) = default;
};

/// Bytes touched since, from which on memory is no longer in the first-level cache, in the second-level cache, for sure
/// in the shared third-level cache, and possibly in it: the levels 0 to 4. They are thresholds, not the sizes of
/// the caches: tasks are measured with just so much touched in between (see task_clock.hpp).
struct cache_distances {
    index_t of[4] = {16 << 10, 640 << 10, 6 << 20, 24 << 20};
};

/// `bytes` of the access and of all accesses of its task: what makes up little of them counts as near.
residence residence_of(const simulation::reuse& r, index_t bytes, index_t all_bytes, const cache_distances& far = {});

namespace detail {

inline const tile& tile_at(const plan& p, int i) { return p.tiles[to_size(i)]; }

std::string compute_name(const plan& p, const task& t, const graph_view& g, const description* d,
                         const format_table& table, const operator_rows& rows);
std::string copy_name(const plan& p, const task& t);

/// What a task does, whatever its backend says: engine and formats. `call` points into the graph's description `d`.
std::string work_name(const plan& p, const task& t, const graph_view& g, const description* d,
                      const format_table& table, const operator_rows& rows, const optimizer& update);

/// The levels at which a task finds what it touches.
std::string residence_name(const std::vector<residence>& where);

} // namespace detail

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/measure/task_name.inl"
#endif

#include "tessera/base/end_header.inl"
