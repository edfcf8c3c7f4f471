// SPDX-License-Identifier: Apache-2.0
// Bodies of learning_curve.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/learning_curve.hpp"

namespace tessera::io {

TESSERA_INLINE std::vector<scalar> read_metrics(const std::string& path) {
    const std::string text = detail::read_whole(path, "name the metrics.csv of a log of metrics");
    const csv_table table(std::string_view(text).substr(0, detail::end_of_lines(text)), path);
    const std::size_t tag = table.column("tag");
    const std::size_t step = table.column("step");
    const std::size_t value = table.column("value");
    const std::size_t time = table.column("wall_time");
    std::vector<scalar> all(to_size(table.rows()));
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

TESSERA_INLINE plot_series curve_of(const logged_run& run, std::string_view tag, double smoothing) {
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

TESSERA_INLINE line_chart learning_curve(const std::vector<logged_run>& runs, const std::string& tag,
                                         const curve_options& options) {
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
