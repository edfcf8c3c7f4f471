// SPDX-License-Identifier: Apache-2.0
// A search under way as a file: numbers in lines, strategies as strategy files have them, and a sum that tells whether
// anything has changed. Whoever reads it goes on exactly where it stopped.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/io/exchange/search_numbers.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/reports/progress.hpp"
#include "tessera/net/network_hash.hpp"
#include "tessera/search/mcmc/parallel.hpp"

namespace tessera::io {

namespace detail {

std::uint64_t sum_of(std::string_view text);

/// What a search is about: another network (its attributes, too), machine (its rates, too), seed, temperature, price of
/// bytes, optimizer or rule to stop by gives another number, the same in every locale and with every digit of what they
/// are.
std::uint64_t subject_of(const graph_view& g, const cluster& on, const search::mcmc_options& o);

} // namespace detail

std::string to_text(const search::search_state& state, const graph_view& g, const cluster& on,
                    const search::mcmc_options& o);

/// Throws tessera::error for another version, for a text that is damaged in any way, and for one of another network,
/// machine, seed, budget, rule to stop by, temperature or price of bytes.
search::search_state search_from_text(std::string_view text, const graph_view& g, const cluster& on,
                                      const search::mcmc_options& o);

/// Replaces the file, or leaves it as it was; see write_file_atomically().
void write_search(const std::string& path, const search::search_state& state, const graph_view& g, const cluster& on,
                  const search::mcmc_options& o);
search::search_state read_search(const std::string& path, const graph_view& g, const cluster& on,
                                 const search::mcmc_options& o);

/// Runs a search to its end with a progress bar on the terminal (silent elsewhere). A path, if given, keeps the state
/// after every round, and a search of the same subject goes on from what is there.
search::mcmc_result run_search(const graph_view& g, const cluster& on,
                               const std::vector<search::named_strategy>& starts,
                               const search::parallel_search_options& o, const std::string& path = {},
                               const progress_options& progress = {.unit = "proposals"});

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/search_file.inl"
#endif

#include "tessera/base/end_header.inl"
