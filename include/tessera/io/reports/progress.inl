// SPDX-License-Identifier: Apache-2.0
// Bodies of progress.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/progress.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string clock_time(double seconds) {
    const auto whole = std::llround(std::clamp(seconds, 0.0, 3.5e6));
    std::array<char, 32> text{};
    if (whole >= 3600)
        std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
    return text.data();
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string progress_line(const std::string& label, const std::string& unit, std::int64_t done,
                                         std::int64_t total, double seconds, std::size_t columns,
                                         const std::string& note) {
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

TESSERA_INLINE progress_bar::progress_bar(std::string label, std::int64_t total, progress_options options)
    : label_{std::move(label)}, unit_{options.unit}, total_{total}, options_{options} {
    if (total < 0)
        throw error("a progress bar for " + std::to_string(total) + " items; give 0 where nobody knows how many");
    draws_ = ::isatty(options_.descriptor) == 1;
    draw();
}

TESSERA_INLINE void progress_bar::advance(std::int64_t items, const std::string& note) {
    done_ += items;
    if (!draws_ || clock::now() - drawn_ < options_.interval) return;
    note_ = note;
    draw();
}

TESSERA_INLINE void progress_bar::clear() noexcept {
    if (length_ == 0) return;
    std::array<char, 512> blank{};
    const std::size_t size = std::min(length_, blank.size() - 2);
    blank.fill(' ');
    blank[0] = blank[size + 1] = '\r';
    put(blank.data(), size + 2);
    length_ = 0;
}

TESSERA_INLINE std::size_t progress_bar::columns() const {
    winsize size{};
    const bool known = ::ioctl(options_.descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return std::min<std::size_t>(known ? size.ws_col - 1U : 79U, 500U);
}

TESSERA_INLINE void progress_bar::draw() {
    if (!draws_) return;
    drawn_ = clock::now();
    const double seconds = std::chrono::duration<double>(drawn_ - start_).count();
    std::string line = '\r' + progress_line(label_, unit_, done_, total_, seconds, columns(), note_);
    const std::size_t length = line.size() - 1;
    if (length < length_) line.append(length_ - length, ' ');
    length_ = length;
    put(line.data(), line.size());
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
