// SPDX-License-Identifier: Apache-2.0
// A search from coarse to fine as a file: the searches that it consists of, one after the other, each as io/search_file.hpp has it.
#pragma once

#include "tessera/execute/coarse_search.hpp"
#include "tessera/io/search_file.hpp"

#include <memory>
#include <vector>

namespace tessera::io {

namespace detail {

/// The searches of a file: its head, then for each a line with its length and its text. Throws tessera::error for anything else.
inline std::vector<std::string> searches_in(const std::string& text) {
    search_reader r(text);
    if (r.word() != "tessera-coarse-search" || r.word() != "1") {
        search_reader::refuse("it does not begin with 'tessera-coarse-search 1'; it is something else, or of another "
                              "version");
    }
    std::vector<std::string> all(static_cast<std::size_t>(r.number<int>(0, 1000, "the number of searches")));
    for (std::string& one : all) {
        one =
            r.text(static_cast<std::size_t>(r.count("the length of a search", static_cast<std::int64_t>(text.size()))));
    }
    if (!r.finished()) {
        search_reader::refuse("something follows the last search");
    }
    return all;
}

inline std::string text_of_searches(const std::vector<std::string>& all) {
    std::string text = "tessera-coarse-search 1 " + std::to_string(all.size()) + "\n";
    for (const std::string& one : all) {
        text += std::to_string(one.size()) + "\n" + one;
    }
    return text;
}

} // namespace detail

/// Keeps the searches of search::coarse_search in a file, which is replaced as a whole after every round; where it exists, they go on from what is
/// there. Throws tessera::error for a file that cannot be read or is damaged, and later for one of another network, machine, seed or options.
inline search::search_journal journal_in(const std::string& path) {
    const auto kept = std::make_shared<std::vector<std::string>>();
    if (std::ifstream(path).good()) {
        *kept = detail::searches_in(read_file(path));
    }
    search::search_journal journal;
    journal.load = [kept](std::size_t number, const cluster& on, const graph_view& g,
                          const search::mcmc_options& o) -> std::optional<search::search_state> {
        if (number >= kept->size()) {
            return std::nullopt;
        }
        return search_from_text((*kept)[number], g, on, o);
    };
    journal.save = [kept, path](std::size_t number, const search::search_state& state, const cluster& on,
                                const graph_view& g, const search::mcmc_options& o) {
        kept->resize(number + 1);
        (*kept)[number] = to_text(state, g, on, o);
        write_file_atomically(path, detail::text_of_searches(*kept));
    };
    return journal;
}

} // namespace tessera::io
