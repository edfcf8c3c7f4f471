// SPDX-License-Identifier: Apache-2.0
// The numbers, words and strategies of a search file: see search_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/io/exchange/strategy_file.hpp"

#include <charconv>
#include <iterator>
#include <string>
#include <string_view>

namespace tessera::io::detail {

class search_writer {
public:
    search_writer(const graph_view& g, int devices) : g_(g), devices_(devices), names_(paths_of(g).ops) {}
    void number(std::int64_t x) { text += std::to_string(x) + ' '; }
    void line() { text.back() = '\n'; }

    /// As a strategy file has it, in one line.
    void write(const strategy& s) { text += text_of_json(strategy_json(g_, s, devices_, names_)) + "\n"; }
    std::string text;

private:
    graph_view g_;
    int devices_;
    std::vector<std::string> names_;
};

class search_reader {
public:
    explicit search_reader(std::string_view text) : text_(text) {}

    [[noreturn]] static void refuse(const std::string& what) { throw error("tessera: search file: " + what); }

    std::string_view word();
    std::string_view rest_of_line();
    /// The next so many bytes, which must be there.
    std::string text(std::size_t bytes);
    template <class T>
    T number(T least, T most, const char* what) {
        const std::string_view w = word();
        T x{};
        const auto [end, failed] = std::from_chars(w.data(), w.data() + w.size(), x);
        if (failed != std::errc{} || end != w.data() + w.size() || x < least || x > most) {
            refuse(std::string(what) + " is '" + std::string(w.substr(0, 40)) + "', which is not a number from " +
                   std::to_string(least) + " to " + std::to_string(most));
        }
        return x;
    }
    int small(const char* what, int least = INT32_MIN) { return number<int>(least, INT32_MAX, what); }
    bool flag(const char* what) { return number<int>(0, 1, what) == 1; }
    std::int64_t count(const char* what, std::int64_t most = INT64_MAX) { return number<std::int64_t>(0, most, what); }
    bool finished() const { return at_ == text_.size(); }

    /// Throws tessera::error for what is no strategy of the reader's network, or breaks a rule, on so many devices.
    strategy read_strategy(strategy_reader& of, int devices);

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/search_numbers.inl"
#endif

#include "tessera/base/end_header.inl"
