// SPDX-License-Identifier: Apache-2.0
// A search from coarse to fine as a file: the searches that it consists of, one after the other, each as
// io/exchange/search_file.hpp has it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/search_file.hpp"
#include "tessera/search/coarse/coarse_search.hpp"

#include <vector>

namespace tessera::io {

namespace detail {

/// The searches of a file: its head, then for each a line with its length and its text. Throws tessera::error for
/// anything else.
std::vector<std::string> searches_in(const std::string& text);

std::string text_of_searches(const std::vector<std::string>& all);

} // namespace detail

/// Keeps the searches of search::coarse_search in a file, which is replaced as a whole after every round; where it
/// exists, they go on from what is there. Throws tessera::error for a file that cannot be read or is damaged, and later
/// for one of another network, machine, seed or options.
class file_journal : public search::search_journal {
public:
    explicit file_journal(std::string path);

    std::optional<search::search_state> load(std::size_t number, const graph_view& g, const cluster& on,
                                             const search::mcmc_options& o) override;
    void save(std::size_t number, const search::search_state& state, const graph_view& g, const cluster& on,
              const search::mcmc_options& o) override;

private:
    std::string path_;
    std::vector<std::string> kept_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/coarse_search_file.inl"
#endif

#include "tessera/base/end_header.inl"
