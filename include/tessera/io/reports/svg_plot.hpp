// SPDX-License-Identifier: Apache-2.0
// Line charts as SVG, such as one loss curve over another.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/quoted.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// One curve: point i is (x[i], y[i]). Where one of the two is not finite, the curve has a gap.
struct plot_series {
    std::string name;
    std::vector<double> x;
    std::vector<double> y;
};

/// A line chart; sizes in pixels. Put the curve that others lie on first: it is drawn wide and full, those after it
/// thin and dashed.
struct line_chart {
    std::string title{};
    std::string x_label{};
    std::string y_label{};
    std::vector<plot_series> series{};
    int width = 900;
    int height = 540;
};

namespace detail {

/// Few digits, and a point whatever the locale.
std::string plot_number(double value, int digits = 6);

inline std::string pixels(double value) { return plot_number(std::round(value * 100) / 100, 8); }

/// The range of values on one axis, and the pixels that it covers.
struct plot_axis {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double first_pixel = 0;
    double last_pixel = 0;

    void include(double value);

    /// Makes room around a single value, and a margin, as a share of the range.
    void widen(double margin);

    [[nodiscard]] double pixel(double value) const;

    /// Four to ten round values in the range: multiples of 1, 2 or 5 times a power of ten.
    [[nodiscard]] std::vector<double> ticks() const;
};

bool is_drawn(const plot_series& series, std::size_t i);

/// How the curve of this number looks. Colours of Okabe and Ito (2008), distinguishable by the colour-blind too.
std::string curve_style(std::size_t number);

std::string plot_line(double x1, double y1, double x2, double y2, const std::string& style);

std::string plot_text(double x, double y, std::string_view anchor, std::string_view text, const std::string& more = {});

/// One polyline per stretch without a gap; a point alone between two gaps becomes a dot.
std::string curve(const plot_series& series, std::size_t number, const plot_axis& x, const plot_axis& y);

} // namespace detail

/// The chart as a self-contained SVG document. Throws tessera::error where a curve has unequally many x and y, where
/// there is no finite point at all, or where the chart is too small for its legend.
std::string to_svg(const line_chart& chart);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/svg_plot.inl"
#endif

#include "tessera/base/end_header.inl"
