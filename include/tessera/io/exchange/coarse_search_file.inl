// SPDX-License-Identifier: Apache-2.0
// Bodies of coarse_search_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/coarse_search_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::vector<std::string> searches_in(const std::string& text) {
    search_reader r(text);
    if (r.word() != "tessera-coarse-search" || r.word() != "1") {
        search_reader::refuse("it does not begin with 'tessera-coarse-search 1'; it is something else, or of another "
                              "version");
    }
    std::vector<std::string> all(to_size(r.number<int>(0, 1000, "the number of searches")));
    for (std::string& one : all) {
        one = r.text(to_size(r.count("the length of a search", static_cast<std::int64_t>(text.size()))));
    }
    if (!r.finished()) {
        search_reader::refuse("something follows the last search");
    }
    return all;
}

TESSERA_INLINE std::string text_of_searches(const std::vector<std::string>& all) {
    std::string text = "tessera-coarse-search 1 " + std::to_string(all.size()) + "\n";
    for (const std::string& one : all) {
        text += std::to_string(one.size()) + "\n" + one;
    }
    return text;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE file_journal::file_journal(std::string path) : path_(std::move(path)) {
    if (files::is_there(path_)) {
        kept_ = detail::searches_in(read_file(path_));
    }
}

TESSERA_INLINE std::optional<search::search_state>
file_journal::load(std::size_t number, const graph_view& g, const cluster& on, const search::mcmc_options& o) {
    if (number >= kept_.size()) {
        return std::nullopt;
    }
    return search_from_text(kept_[number], g, on, o);
}

TESSERA_INLINE void file_journal::save(std::size_t number, const search::search_state& state, const graph_view& g,
                                       const cluster& on, const search::mcmc_options& o) {
    kept_.resize(number + 1);
    kept_[number] = to_text(state, g, on, o);
    write_file_atomically(path_, detail::text_of_searches(kept_));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
