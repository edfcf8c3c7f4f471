// SPDX-License-Identifier: Apache-2.0
// Bodies of metrics_log.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/metrics_log.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string exact_number(double value) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

TESSERA_INLINE std::string metrics_line(const scalar& s) {
    return quoted::csv(s.tag) + "," + std::to_string(s.step) + "," + exact_number(s.value) + "," +
           exact_number(s.wall_time) + "\n";
}

TESSERA_INLINE std::size_t end_of_lines(std::string_view text) {
    std::size_t end = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        quoted = quoted != (text[i] == '"');
        if (text[i] == '\n' && !quoted) end = i + 1;
    }
    return end;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE metrics_log::metrics_log(std::string folder, const metrics_options& options)
    : folder_(std::move(folder)) {
    if (!options.csv && !options.events) throw error("a log of metrics without files; choose CSV, events or both");
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
        throw error("cannot make the folder '" + folder_ + "' for a log of metrics: " +
                    std::generic_category().message(errno) + "; name one in a folder that exists and is writable");
    if (options.csv) open_csv();
    if (options.events) open_events();
}

TESSERA_INLINE void metrics_log::add(const scalar& s) {
    if (s.tag.empty() || s.tag.find('\0') != std::string::npos)
        throw error("a scalar is logged " + std::string(s.tag.empty() ? "without a tag" : "by a tag with a zero byte") +
                    "; name what it is, such as \"loss\"");
    if (csv_) csv_->append(detail::metrics_line(s));
    if (events_) events_->append(event_of(s));
}

TESSERA_INLINE void metrics_log::flush() const {
    if (csv_) csv_->flush();
    if (events_) events_->flush();
}

TESSERA_INLINE double metrics_log::now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TESSERA_INLINE void metrics_log::open_csv() {
    csv_.emplace(folder_ + "/metrics.csv");
    if (csv_->is_regular() && csv_->bytes() > 0) {
        const std::string text = files::read(csv_->path(), std::size_t{1} << 30U);
        const std::size_t end = detail::end_of_lines(text);
        const std::string_view header = detail::metrics_header;
        if (text.substr(0, header.size()) != header && !(end == 0 && header.substr(0, text.size()) == text))
            throw error("'" + csv_->path() + "' is there and is no log of metrics, as its first line is not \"" +
                        std::string(header.substr(0, header.size() - 1)) +
                        "\"; log to another folder. It was left as it was");
        if (end < text.size()) csv_->shorten(static_cast<std::int64_t>(end));
    }
    if (csv_->bytes() == 0) csv_->append(detail::metrics_header);
}

TESSERA_INLINE void metrics_log::open_events() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {'h', 'o', 's', 't'};
    const double time = now();
    std::string seconds = std::to_string(static_cast<std::int64_t>(time));
    seconds.insert(0, seconds.size() < 10 ? 10 - seconds.size() : 0, '0'); // names sort by time
    const std::string stem =
        folder_ + "/events.out.tfevents." + seconds + "." + host.data() + "." + std::to_string(::getpid()) + ".";
    for (int number = 0; !events_ || !events_->is_open(); ++number) {
        if (number == most_names)
            throw error("cannot make an event file '" + stem + "0': it and " + std::to_string(most_names - 1) +
                        " more are there; wait for a second, or log to another folder");
        events_.emplace(stem + std::to_string(number), true);
    }
    events_->append(first_event(time));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
