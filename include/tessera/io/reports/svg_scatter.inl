// SPDX-License-Identifier: Apache-2.0
// Bodies of svg_scatter.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/svg_scatter.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string mark(double x, double y, std::size_t number) {
    constexpr std::array<const char*, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#000000", "#56b4e9"};
    const std::string colour = colours[number % colours.size()];
    const std::string style = "fill=\"none\" stroke-width=\"1.6\" stroke=\"" + colour + "\"";
    const auto at = [&](double dx, double dy) { return pixels(x + dx) + "," + pixels(y + dy); };
    switch (number % 6) {
    case 0:
        return "<circle cx=\"" + pixels(x) + "\" cy=\"" + pixels(y) + "\" r=\"4\" " + style + "/>\n";
    case 1:
        return "<polygon points=\"" + at(-4, 4) + " " + at(4, 4) + " " + at(0, -4) + "\" " + style + "/>\n";
    case 2:
        return "<polygon points=\"" + at(-4, -4) + " " + at(4, -4) + " " + at(4, 4) + " " + at(-4, 4) + "\" " + style +
               "/>\n";
    case 3:
        return "<polygon points=\"" + at(-5, 0) + " " + at(0, -5) + " " + at(5, 0) + " " + at(0, 5) + "\" " + style +
               "/>\n";
    case 4:
        return plot_line(x - 4, y - 4, x + 4, y + 4, style) + plot_line(x - 4, y + 4, x + 4, y - 4, style);
    default:
        return plot_line(x - 5, y, x + 5, y, style) + plot_line(x, y - 5, x, y + 5, style);
    }
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string scatter_svg(const scatter_chart& chart) {
    detail::plot_axis axis; // of decimal logarithms, for both directions
    for (const plot_series& series : chart.series) {
        if (series.x.size() != series.y.size())
            throw error("the series '" + series.name + "' has " + std::to_string(series.x.size()) + " x but " +
                        std::to_string(series.y.size()) + " y; give as many of each");
        for (const std::vector<double>* values : {&series.x, &series.y})
            for (const double value : *values) {
                if (!(is_finite(value) && value > 0))
                    throw error("the series '" + series.name + "' has the value " + detail::plot_number(value) +
                                "; on logarithmic axes all must be positive and finite");
                axis.include(std::log10(value));
            }
    }
    if (!(axis.low <= axis.high))
        throw error("the chart '" + chart.title + "' has no point; give it a series with at least one");
    axis.widen(0.03);
    constexpr double left = 80;
    constexpr double top = 50;
    constexpr double bottom = 65;
    constexpr double legend = 170;
    detail::plot_axis x = axis;
    detail::plot_axis y = axis;
    x.first_pixel = left, x.last_pixel = chart.width - legend;
    y.first_pixel = chart.height - bottom, y.last_pixel = top;
    if (x.last_pixel - left < 100 || y.first_pixel - top < 100)
        throw error("the chart '" + chart.title + "' of " + std::to_string(chart.width) + "x" +
                    std::to_string(chart.height) + " pixels has no room for its points and legend; make it larger");

    const std::string size =
        "width=\"" + std::to_string(chart.width) + "\" height=\"" + std::to_string(chart.height) + "\"";
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " +
                      std::to_string(chart.width) + " " + std::to_string(chart.height) +
                      "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect " + size + " fill=\"white\"/>\n";
    for (double power = std::floor(axis.low); power <= axis.high; ++power) {
        for (const int digit : {1, 2, 5}) {
            const double value = power + std::log10(digit);
            if (value < axis.low || value > axis.high) continue;
            const std::string text = detail::plot_number(std::pow(10.0, power) * digit);
            svg += detail::plot_line(x.pixel(value), top, x.pixel(value), y.first_pixel, "stroke=\"#dddddd\"");
            svg += detail::plot_line(left, y.pixel(value), x.last_pixel, y.pixel(value), "stroke=\"#dddddd\"");
            svg += detail::plot_text(x.pixel(value), y.first_pixel + 20, "middle", text);
            svg += detail::plot_text(left - 9, y.pixel(value) + 4.5, "end", text);
        }
    }
    svg += detail::plot_line(x.pixel(axis.low), y.pixel(axis.low), x.pixel(axis.high), y.pixel(axis.high),
                             "stroke=\"#333333\" stroke-dasharray=\"6 4\"");
    const std::string turned = " transform=\"rotate(-90 20 " + detail::pixels((top + y.first_pixel) / 2) + ")\"";
    const double middle = (left + x.last_pixel) / 2;
    svg += detail::plot_text(middle, top - 20, "middle", chart.title, " font-size=\"17\" font-weight=\"bold\"");
    svg += detail::plot_text(middle, y.first_pixel + 46, "middle", chart.x_label);
    svg += detail::plot_text(20, (top + y.first_pixel) / 2, "middle", chart.y_label, turned);
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const plot_series& series = chart.series[i];
        const double at = top + 22 * (static_cast<double>(i) + 0.5);
        svg += "<g class=\"series\">\n<title>" + quoted::svg(series.name) + "</title>\n";
        for (std::size_t k = 0; k < series.x.size(); ++k)
            svg += detail::mark(x.pixel(std::log10(series.x[k])), y.pixel(std::log10(series.y[k])), i);
        svg += detail::mark(x.last_pixel + 22, at, i);
        svg += "</g>\n" + detail::plot_text(x.last_pixel + 36, at + 4.5, "start", series.name);
    }
    return svg + "</svg>\n";
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
