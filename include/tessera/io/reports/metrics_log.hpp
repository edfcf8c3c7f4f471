// SPDX-License-Identifier: Apache-2.0
// A log of a training's numbers: as CSV, and as event files that TensorBoard shows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/quoted.hpp"
#include "tessera/io/files/appended_file.hpp"
#include "tessera/io/reports/event_file.hpp"

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
std::string exact_number(double value);

std::string metrics_line(const scalar& s);

/// Where the last whole line of a CSV text ends: quotes may hold line ends.
std::size_t end_of_lines(std::string_view text);

} // namespace detail

/// Writes scalars as they come. Every one is handed to the system at once, so that a program that ends early loses
/// none; flush() waits for the disk. One thread at a time; of several processes one logs.
class metrics_log {
public:
    /// Makes the folder, if it is not there (its parent must be). Where the folder has a log, this one goes on in it:
    /// lines are added to metrics.csv, of which only a last line that was not written to its end is taken away, and a
    /// new event file begins beside the older ones, which TensorBoard joins. Throws tessera::error where a file cannot
    /// be made or written, or metrics.csv is something else than such a log, and where neither file is wanted.
    explicit metrics_log(std::string folder, const metrics_options& options = {});

    /// Adds a scalar. Values that are not finite are written as they are. Throws tessera::error for an empty tag or one
    /// with a zero byte, and where writing fails: the file that it names then ends with the scalar before.
    void add(const scalar& s);
    /// The same, at the time of now.
    void add(const std::string& tag, std::int64_t step, double value) { add(scalar{tag, step, value, now()}); }

    /// Waits until all of it is on the disk. Throws tessera::error where that fails.
    void flush() const;

    [[nodiscard]] const std::string& folder() const { return folder_; }
    /// Empty where there is none.
    [[nodiscard]] std::string csv_path() const { return csv_ ? csv_->path() : std::string(); }
    [[nodiscard]] std::string events_path() const { return events_ ? events_->path() : std::string(); }

    /// Seconds since 1970-01-01 00:00 UTC.
    static double now();

private:
    static constexpr int most_names = 1000;

    void open_csv();

    void open_events();

    std::string folder_;
    std::optional<detail::appended_file> csv_;
    std::optional<detail::appended_file> events_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/metrics_log.inl"
#endif

#include "tessera/base/end_header.inl"
