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
    /// Copied by the bar; until then it must live. A view, because g++ 12 at -O3 warns of temporaries with a string
    /// here.
    std::string_view unit = "images";
    std::chrono::milliseconds interval{100}; ///< the line is drawn at most once in this time
    int descriptor = STDERR_FILENO;          ///< nothing is written unless this is a terminal
};

namespace detail {

/// 93 s as "1:33", 3750 s as "1:02:30".
std::string clock_time(double seconds);

} // namespace detail

/// The line for `done` of `total` items after `seconds`, at most `columns` bytes of it. A total of 0 is one that nobody
/// knows.
std::string progress_line(const std::string& label, const std::string& unit, std::int64_t done, std::int64_t total,
                          double seconds, std::size_t columns, const std::string& note = {});

/// Draws its line while it lives and removes it at its end. Silent where there is no terminal, such as in a pipe.
class progress_bar {
public:
    /// `total` items will come; 0 where nobody knows. Throws tessera::error below 0.
    progress_bar(std::string label, std::int64_t total, progress_options options = {});
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    ~progress_bar() { clear(); }

    /// So many items more are done. The note, such as the loss, stands at the end of the line.
    void advance(std::int64_t items, const std::string& note = {});

    /// Removes the line, so that something else can be printed; the next draw brings it back.
    void clear() noexcept;

    [[nodiscard]] std::int64_t done() const { return done_; }

private:
    using clock = std::chrono::steady_clock;

    /// One less than the terminal's columns, as a full line would wrap.
    [[nodiscard]] std::size_t columns() const;

    void draw();

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

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/progress.inl"
#endif

#include "tessera/base/end_header.inl"
