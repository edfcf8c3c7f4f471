// SPDX-License-Identifier: Apache-2.0
// Learning curves: a number of one or more trainings over their steps, as a chart.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/csv.hpp"
#include "tessera/io/metrics_log.hpp"
#include "tessera/io/svg_plot.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// What a training logged.
struct logged_run {
    std::string name{}; ///< in the legend
    std::vector<scalar> scalars{};
};

/// The scalars of metrics.csv in the order in which they were logged, to the bit; a last line that was not written to
/// its end is left out. `path` is the file. Throws tessera::error for a file that is none, has no scalars, or is larger
/// than 1 GiB.
inline std::vector<scalar> read_metrics(const std::string& path) {
    const std::string text = detail::read_whole(path, "name the metrics.csv of a log of metrics");
    const csv_table table(std::string_view(text).substr(0, detail::end_of_lines(text)), path);
    const std::size_t tag = table.column("tag");
    const std::size_t step = table.column("step");
    const std::size_t value = table.column("value");
    const std::size_t time = table.column("wall_time");
    std::vector<scalar> all(static_cast<std::size_t>(table.rows()));
    for (std::size_t r = 0; r < all.size(); ++r) {
        const auto read = [&](std::size_t column, auto& number) {
            const std::string& field = table.text(static_cast<std::int64_t>(r), column);
            const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), number);
            if (code != std::errc{} || end != field.data() + field.size())
                throw error("'" + path + "': scalar " + std::to_string(r + 1) + " has a " + table.columns()[column] +
                            " that is no number; correct the line");
        };
        all[r].tag = table.text(static_cast<std::int64_t>(r), tag);
        read(step, all[r].step);
        read(value, all[r].value);
        read(time, all[r].wall_time);
    }
    return all;
}

struct curve_options {
    std::string title{}; ///< empty: the tag
    /// From 0 (none) to below 1: y is the exponential moving average s_i = (a s_(i-1) + (1 - a) v_i) / (1 - a^i) with
    /// s_0 = 0 before the division, i from 1, which leaves out the values that are not finite (the correction of Kingma
    /// and Ba, "Adam", ICLR 2015, section 3). The legend says so.
    double smoothing = 0;
    int width = 900;
    int height = 540;
};

/// One tag of a run over its steps. Where a step is no greater than those before it, the training has gone on from an
/// earlier checkpoint: the points from that step on are dropped, as what follows takes their place.
inline plot_series curve_of(const logged_run& run, std::string_view tag, double smoothing = 0) {
    if (!(smoothing >= 0 && smoothing < 1))
        throw error("a curve smoothed by " + detail::plot_number(smoothing) + "; choose a number from 0 to below 1");
    std::vector<std::int64_t> steps;
    plot_series curve{run.name, {}, {}};
    for (const scalar& s : run.scalars) {
        if (s.tag != tag) continue;
        while (!steps.empty() && steps.back() >= s.step) {
            steps.pop_back();
            curve.y.pop_back();
        }
        steps.push_back(s.step);
        curve.y.push_back(s.value);
    }
    curve.x.assign(steps.begin(), steps.end());
    if (smoothing > 0) {
        curve.name += " (smoothed by " + detail::plot_number(smoothing) + ")";
        double sum = 0;
        double weight = 0;
        for (double& y : curve.y) {
            if (!is_finite(y)) continue; // a gap of the curve
            sum = smoothing * sum + (1 - smoothing) * y;
            weight = smoothing * weight + (1 - smoothing);
            y = sum / weight;
        }
    }
    return curve;
}

/// A chart of one tag of several runs; to_svg() draws it. Throws tessera::error for a run that has no such tag, which
/// names those it has.
inline line_chart learning_curve(const std::vector<logged_run>& runs, const std::string& tag,
                                 const curve_options& options = {}) {
    line_chart chart{options.title.empty() ? tag : options.title, "step", tag, {}, options.width, options.height};
    for (const logged_run& run : runs) {
        chart.series.push_back(curve_of(run, tag, options.smoothing));
        if (!chart.series.back().x.empty()) continue;
        std::set<std::string_view> seen;
        std::string known;
        for (const scalar& s : run.scalars)
            if (seen.insert(s.tag).second) known += (known.empty() ? "" : ", ") + s.tag;
        throw error("the run '" + run.name + "' has no '" + tag + "' to draw; it has " +
                    (known.empty() ? "nothing" : known));
    }
    return chart;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
