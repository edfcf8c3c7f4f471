// SPDX-License-Identifier: Apache-2.0
// Bodies of svg_plot.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/svg_plot.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string plot_number(double value, int digits) {
    std::array<char, 48> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits).ptr;
    return {text.data(), end};
}

TESSERA_INLINE void plot_axis::include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
}

TESSERA_INLINE void plot_axis::widen(double margin) {
    double extra = (high - low) * margin;
    if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) extra = std::max(std::abs(low) * 0.1, 0.5);
    low -= extra;
    high += extra;
}

TESSERA_INLINE double plot_axis::pixel(double value) const {
    return first_pixel + (value - low) / (high - low) * (last_pixel - first_pixel);
}

TESSERA_INLINE std::vector<double> plot_axis::ticks() const {
    const double power = std::pow(10.0, std::floor(std::log10((high - low) / 5)));
    const double rough = (high - low) / 5 / power;
    const double step = power * (rough < 2 ? 1 : rough < 5 ? 2 : 5);
    std::vector<double> result;
    for (double k = std::ceil(low / step); k * step <= high && result.size() < 12; ++k)
        result.push_back(k * step + 0.0); // no -0
    return result;
}

TESSERA_INLINE bool is_drawn(const plot_series& series, std::size_t i) {
    return is_finite(series.x[i]) && is_finite(series.y[i]);
}

TESSERA_INLINE std::string curve_style(std::size_t number) {
    constexpr std::array<const char*, 7> colours{"#56b4e9", "#d55e00", "#000000", "#009e73",
                                                 "#cc79a7", "#e69f00", "#0072b2"};
    constexpr std::array<const char*, 4> dashes{"7 5", "2 4", "12 4 2 4", "16 6"};
    const std::string colour = colours[number % colours.size()];
    std::string style = "fill=\"none\" stroke-linejoin=\"round\" stroke=\"" + colour + "\"";
    if (number == 0) return style + " stroke-width=\"5\"";
    return style + " stroke-width=\"2\" stroke-dasharray=\"" + dashes[(number - 1) % dashes.size()] + "\"";
}

TESSERA_INLINE std::string plot_line(double x1, double y1, double x2, double y2, const std::string& style) {
    return "<line x1=\"" + pixels(x1) + "\" y1=\"" + pixels(y1) + "\" x2=\"" + pixels(x2) + "\" y2=\"" + pixels(y2) +
           "\" " + style + "/>\n";
}

TESSERA_INLINE std::string plot_text(double x, double y, std::string_view anchor, std::string_view text,
                                     const std::string& more) {
    return "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" text-anchor=\"" + std::string{anchor} + "\"" + more +
           ">" + quoted::svg(text) + "</text>\n";
}

TESSERA_INLINE std::string curve(const plot_series& series, std::size_t number, const plot_axis& x,
                                 const plot_axis& y) {
    std::string result =
        "<g class=\"series\" " + curve_style(number) + ">\n<title>" + quoted::svg(series.name) + "</title>\n";
    for (std::size_t i = 0; i < series.x.size();) {
        std::size_t points = 0;
        std::string path;
        const std::size_t first = i;
        for (; i < series.x.size() && is_drawn(series, i); ++i, ++points)
            path += (points > 0 ? " " : "") + pixels(x.pixel(series.x[i])) + "," + pixels(y.pixel(series.y[i]));
        if (points == 1)
            result += "<circle cx=\"" + pixels(x.pixel(series.x[first])) + "\" cy=\"" +
                      pixels(y.pixel(series.y[first])) + "\" r=\"2\"/>\n";
        if (points > 1) result += "<polyline points=\"" + path + "\"/>\n";
        if (points == 0) ++i;
    }
    return result + "</g>\n";
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string to_svg(const line_chart& chart) {
    detail::plot_axis x;
    detail::plot_axis y;
    std::size_t longest = 0;
    for (const plot_series& series : chart.series) {
        if (series.x.size() != series.y.size())
            throw error("the curve '" + series.name + "' has " + std::to_string(series.x.size()) + " x but " +
                        std::to_string(series.y.size()) + " y; give as many of each");
        longest = std::max(longest, series.name.size());
        for (std::size_t i = 0; i < series.x.size(); ++i) {
            if (!detail::is_drawn(series, i)) continue;
            x.include(series.x[i]);
            y.include(series.y[i]);
        }
    }
    if (!(x.low <= x.high))
        throw error("the chart '" + chart.title + "' has no finite point; give it a curve with at least one");
    x.widen(0);
    y.widen(0.05);

    constexpr double left = 80;
    constexpr double top = 50;
    constexpr double bottom = 65;
    constexpr double row = 22;
    const double legend = 70 + 7.5 * static_cast<double>(longest); // characters are about this wide
    const double right = chart.width - legend;
    const double floor = chart.height - bottom;
    if (right - left < 100 || floor - top < 100 || row * static_cast<double>(chart.series.size()) > floor - top)
        throw error("the chart '" + chart.title + "' of " + std::to_string(chart.width) + "x" +
                    std::to_string(chart.height) +
                    " pixels has no room for its curves and legend; make it larger or the names shorter");
    x.first_pixel = left, x.last_pixel = right;
    y.first_pixel = floor, y.last_pixel = top;

    const std::string size =
        "width=\"" + std::to_string(chart.width) + "\" height=\"" + std::to_string(chart.height) + "\"";
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " +
                      std::to_string(chart.width) + " " + std::to_string(chart.height) +
                      "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect " + size + " fill=\"white\"/>\n";
    const std::string grid = "stroke=\"#dddddd\"";
    const std::string frame = "stroke=\"#333333\"";
    for (const double tick : x.ticks()) {
        svg += detail::plot_line(x.pixel(tick), top, x.pixel(tick), floor, grid);
        svg += detail::plot_line(x.pixel(tick), floor, x.pixel(tick), floor + 5, frame);
        svg += detail::plot_text(x.pixel(tick), floor + 20, "middle", detail::plot_number(tick));
    }
    for (const double tick : y.ticks()) {
        svg += detail::plot_line(left, y.pixel(tick), right, y.pixel(tick), grid);
        svg += detail::plot_line(left - 5, y.pixel(tick), left, y.pixel(tick), frame);
        svg += detail::plot_text(left - 9, y.pixel(tick) + 4.5, "end", detail::plot_number(tick));
    }
    svg += detail::plot_line(left, floor, right, floor, frame) + detail::plot_line(left, top, left, floor, frame);
    const double middle = (left + right) / 2;
    const std::string turned = " transform=\"rotate(-90 20 " + detail::pixels((top + floor) / 2) + ")\"";
    svg += detail::plot_text(middle, top - 20, "middle", chart.title, " font-size=\"17\" font-weight=\"bold\"");
    svg += detail::plot_text(middle, floor + 46, "middle", chart.x_label);
    svg += detail::plot_text(20, (top + floor) / 2, "middle", chart.y_label, turned);
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const double at = top + row * (static_cast<double>(i) + 0.5);
        svg += detail::curve(chart.series[i], i, x, y);
        svg += detail::plot_line(right + 12, at, right + 54, at, detail::curve_style(i));
        svg += detail::plot_text(right + 62, at + 4.5, "start", chart.series[i].name);
    }
    return svg + "</svg>\n";
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
