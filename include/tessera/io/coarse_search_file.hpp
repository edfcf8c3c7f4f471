// SPDX-License-Identifier: Apache-2.0
// A search from coarse to fine as a file: the searches that it consists of, one after the other, each as io/search_file.hpp has it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/search_file.hpp"
#include "tessera/search/coarse/coarse_search.hpp"

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
class file_journal : public search::search_journal {
public:
    explicit file_journal(std::string path) : path_(std::move(path)) {
        if (files::is_there(path_)) {
            kept_ = detail::searches_in(read_file(path_));
        }
    }

    std::optional<search::search_state> load(std::size_t number, const graph_view& g, const cluster& on,
                                             const search::mcmc_options& o) override {
        if (number >= kept_.size()) {
            return std::nullopt;
        }
        return search_from_text(kept_[number], g, on, o);
    }
    void save(std::size_t number, const search::search_state& state, const graph_view& g, const cluster& on,
              const search::mcmc_options& o) override {
        kept_.resize(number + 1);
        kept_[number] = to_text(state, g, on, o);
        write_file_atomically(path_, detail::text_of_searches(kept_));
    }

private:
    std::string path_;
    std::vector<std::string> kept_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
