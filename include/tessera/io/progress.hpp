// SPDX-License-Identifier: Apache-2.0
// A progress bar on the terminal: how much is done, how fast, how long it still takes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/number_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace tessera::io {

struct progress_options {
    /// Copied by the bar; until then it must live. A view, because g++ 12 at -O3 warns of temporaries with a string here.
    std::string_view unit = "images";
    std::chrono::milliseconds interval{100}; ///< the line is drawn at most once in this time
    int descriptor = STDERR_FILENO;          ///< nothing is written unless this is a terminal
};

namespace detail {

/// 93 s as "1:33", 3750 s as "1:02:30".
inline std::string clock_time(double seconds) {
    const auto whole = std::llround(std::clamp(seconds, 0.0, 3.5e6));
    std::array<char, 32> text{};
    if (whole >= 3600)
        std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
    return text.data();
}

} // namespace detail

/// The line for `done` of `total` items after `seconds`, at most `columns` bytes of it. A total of 0 is one that nobody
/// knows.
inline std::string progress_line(const std::string& label, const std::string& unit, std::int64_t done,
                                 std::int64_t total, double seconds, std::size_t columns,
                                 const std::string& note = {}) {
    constexpr std::int64_t cells = 24;
    std::string line = label + ' ';
    if (total > 0) {
        const std::int64_t shown = std::clamp<std::int64_t>(done, 0, total);
        const double share = static_cast<double>(shown) / static_cast<double>(total);
        const auto full = static_cast<std::size_t>(share * cells);
        line += '[' + std::string(full, '=') + std::string(cells - full, ' ') + "] ";
        line += std::to_string(static_cast<int>(share * 100)) + "% ";
    }
    line += std::to_string(done) + (total > 0 ? '/' + std::to_string(total) : std::string{}) + ' ' + unit;
    if (done > 0 && seconds > 0) {
        const double rate = static_cast<double>(done) / seconds;
        std::array<char, 32> text{};
        print_to(text.data(), text.size(), rate < 100 ? ", %.1f " : ", %.0f ", rate);
        line += text.data() + unit + "/s";
        if (total > done) line += ", " + detail::clock_time(static_cast<double>(total - done) / rate) + " left";
    }
    if (!note.empty()) line += ", " + note;
    if (line.size() > columns) line.resize(columns);
    return line;
}

/// Draws its line while it lives and removes it at its end. Silent where there is no terminal, such as in a pipe.
class progress_bar {
public:
    /// `total` items will come; 0 where nobody knows. Throws tessera::error below 0.
    progress_bar(std::string label, std::int64_t total, progress_options options = {})
        : label_{std::move(label)}, unit_{options.unit}, total_{total}, options_{options} {
        if (total < 0)
            throw error("a progress bar for " + std::to_string(total) + " items; give 0 where nobody knows how many");
        draws_ = ::isatty(options_.descriptor) == 1;
        draw();
    }
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    ~progress_bar() { clear(); }

    /// So many items more are done. The note, such as the loss, stands at the end of the line.
    void advance(std::int64_t items, const std::string& note = {}) {
        done_ += items;
        if (!draws_ || clock::now() - drawn_ < options_.interval) return;
        note_ = note;
        draw();
    }

    /// Removes the line, so that something else can be printed; the next draw brings it back.
    void clear() noexcept {
        if (length_ == 0) return;
        std::array<char, 512> blank{};
        const std::size_t size = std::min(length_, blank.size() - 2);
        blank.fill(' ');
        blank[0] = blank[size + 1] = '\r';
        put(blank.data(), size + 2);
        length_ = 0;
    }

    [[nodiscard]] std::int64_t done() const { return done_; }

private:
    using clock = std::chrono::steady_clock;

    /// One less than the terminal's columns, as a full line would wrap.
    [[nodiscard]] std::size_t columns() const {
        winsize size{};
        const bool known = ::ioctl(options_.descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
        return std::min<std::size_t>(known ? size.ws_col - 1U : 79U, 500U);
    }

    void draw() {
        if (!draws_) return;
        drawn_ = clock::now();
        const double seconds = std::chrono::duration<double>(drawn_ - start_).count();
        std::string line = '\r' + progress_line(label_, unit_, done_, total_, seconds, columns(), note_);
        const std::size_t length = line.size() - 1;
        if (length < length_) line.append(length_ - length, ' ');
        length_ = length;
        put(line.data(), line.size());
    }

    /// In one call, so that lines of other writers are not torn. A terminal that is gone is no reason to stop the work.
    void put(const char* text, std::size_t size) noexcept { draws_ = ::write(options_.descriptor, text, size) >= 0; }

    std::string label_;
    std::string unit_;
    std::int64_t total_ = 0;
    progress_options options_;
    std::string note_;
    std::int64_t done_ = 0;
    std::size_t length_ = 0;
    bool draws_ = false;
    clock::time_point start_ = clock::now();
    clock::time_point drawn_ = start_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
