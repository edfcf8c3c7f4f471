// SPDX-License-Identifier: Apache-2.0
// Scatter plots as SVG on two logarithmic axes of one scale, such as predictions over measurements.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/reports/svg_plot.hpp"

namespace tessera::io {

/// Points with the diagonal on which x = y; sizes in pixels. All values must be positive.
struct scatter_chart {
    std::string title{};
    std::string x_label{};
    std::string y_label{};
    std::vector<plot_series> series{};
    int width = 900;
    int height = 700;
};

namespace detail {

/// A mark for the series of this number at a place: shapes and colours differ.
std::string mark(double x, double y, std::size_t number);

} // namespace detail

/// The chart as a self-contained SVG document. Throws tessera::error where a series has unequally many x and y, where a
/// value is not positive and finite, or where there is no point at all.
std::string scatter_svg(const scatter_chart& chart);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/svg_scatter.inl"
#endif

#include "tessera/base/end_header.inl"
