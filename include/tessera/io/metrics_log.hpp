// SPDX-License-Identifier: Apache-2.0
// A log of a training's numbers: as CSV, and as event files that TensorBoard shows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/quoted.hpp"
#include "tessera/io/appended_file.hpp"
#include "tessera/io/event_file.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace tessera::io {

struct metrics_options {
    bool csv = true;    ///< the file metrics.csv of the folder
    bool events = true; ///< a new file events.out.tfevents.<seconds>.<host>.<process>.<number> of the folder
};

namespace detail {

/// The first line of a log. One line for each scalar, so that tags may come at any time without another header.
inline constexpr std::string_view metrics_header = "tag,step,value,wall_time\n";

/// The shortest decimal that reads back as the same double; "nan", "inf" and "-inf" where it is not finite.
inline std::string exact_number(double value) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

inline std::string metrics_line(const scalar& s) {
    return quoted::csv(s.tag) + "," + std::to_string(s.step) + "," + exact_number(s.value) + "," +
           exact_number(s.wall_time) + "\n";
}

/// Where the last whole line of a CSV text ends: quotes may hold line ends.
inline std::size_t end_of_lines(std::string_view text) {
    std::size_t end = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        quoted = quoted != (text[i] == '"');
        if (text[i] == '\n' && !quoted) end = i + 1;
    }
    return end;
}

} // namespace detail

/// Writes scalars as they come. Every one is handed to the system at once, so that a program that ends early loses
/// none; flush() waits for the disk. One thread at a time; of several processes one logs.
class metrics_log {
public:
    /// Makes the folder, if it is not there (its parent must be). Where the folder has a log, this one goes on in it:
    /// lines are added to metrics.csv, of which only a last line that was not written to its end is taken away, and a
    /// new event file begins beside the older ones, which TensorBoard joins. Throws tessera::error where a file cannot
    /// be made or written, or metrics.csv is something else than such a log, and where neither file is wanted.
    explicit metrics_log(std::string folder, const metrics_options& options = {}) : folder_(std::move(folder)) {
        if (!options.csv && !options.events) throw error("a log of metrics without files; choose CSV, events or both");
        if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
            throw error("cannot make the folder '" + folder_ + "' for a log of metrics: " +
                        std::generic_category().message(errno) + "; name one in a folder that exists and is writable");
        if (options.csv) open_csv();
        if (options.events) open_events();
    }

    /// Adds a scalar. Values that are not finite are written as they are. Throws tessera::error for an empty tag or one
    /// with a zero byte, and where writing fails: the file that it names then ends with the scalar before.
    void add(const scalar& s) {
        if (s.tag.empty() || s.tag.find('\0') != std::string::npos)
            throw error("a scalar is logged " +
                        std::string(s.tag.empty() ? "without a tag" : "by a tag with a zero byte") +
                        "; name what it is, such as \"loss\"");
        if (csv_) csv_->append(detail::metrics_line(s));
        if (events_) events_->append(event_of(s));
    }
    /// The same, at the time of now.
    void add(const std::string& tag, std::int64_t step, double value) { add(scalar{tag, step, value, now()}); }

    /// Waits until all of it is on the disk. Throws tessera::error where that fails.
    void flush() const {
        if (csv_) csv_->flush();
        if (events_) events_->flush();
    }

    [[nodiscard]] const std::string& folder() const { return folder_; }
    /// Empty where there is none.
    [[nodiscard]] std::string csv_path() const { return csv_ ? csv_->path() : std::string(); }
    [[nodiscard]] std::string events_path() const { return events_ ? events_->path() : std::string(); }

    /// Seconds since 1970-01-01 00:00 UTC.
    static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }

private:
    static constexpr int most_names = 1000;

    void open_csv() {
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

    void open_events() {
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

    std::string folder_;
    std::optional<detail::appended_file> csv_;
    std::optional<detail::appended_file> events_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
