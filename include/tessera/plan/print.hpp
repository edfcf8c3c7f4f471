// SPDX-License-Identifier: Apache-2.0
// Strategies and plans as a person reads them: a table, lists of tasks, and a drawing for Graphviz.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/shape_text.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/plan/plan.hpp"

#include <string>
#include <vector>

namespace tessera {

namespace detail {

/// Rows of cells as lines whose columns are aligned.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

inline std::string text_of(const interval& i) { return std::to_string(i.begin) + ":" + std::to_string(i.end); }

std::string text_of(const box& b);

inline void append_word(std::string& text, const std::string& word) { text += (text.empty() ? "" : " ") + word; }

/// How an operator is split: "sample/2 channel/3@8,20 partial/2" (with cut points, where the pool is given), or "-".
std::string text_of_splits(const description& d, const configuration& c, const index_t* pool);

/// A list of devices with its runs: "0-3 6 8-15".
std::string text_of_devices(const std::vector<int>& devices);

/// What a tile holds: t12 gradient conv1 [0:4,0:10,0:24,0:24].
std::string text_of_tile(const graph_view& g, const plan& p, int which);

/// A task's key: conv1 forward 0.0 (shard, micro-batch), and what kind it is where that is not clear.
std::string key_of_task(const graph_view& g, const task& t);

std::string hexadecimal(std::uint64_t x);

/// Bytes that a task moves from or to a tile of another device.
index_t bytes_across(const plan& p, const task& t, int which, bool write);

std::string task_line(const graph_view& g, const plan& p, const task& t);

std::string text_of(const synchronization& s);

} // namespace detail

/// A strategy as a table: one line for every operator with what it makes, how it is split and where its shards run, and
/// one for the synchronization if it is not the usual one. A split with cut points lists them: sample/2@3.
std::string to_text(const graph_view& g, const strategy_view& s);

/// A plan as text: what it needs and moves, then every device's tasks in order, each with its key, the tiles it writes
/// (kind, tensor, region, memory format if not plain), the tiles it reads and the tasks of other lists that it waits
/// for.
std::string to_text(const graph_view& g, const plan& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/print.inl"
#endif

#include "tessera/base/end_header.inl"
