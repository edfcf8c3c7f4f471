// SPDX-License-Identifier: Apache-2.0
// Learning curves: a number of one or more trainings over their steps, as a chart.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/io/files/csv.hpp"
#include "tessera/io/reports/metrics_log.hpp"
#include "tessera/io/reports/svg_plot.hpp"

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
std::vector<scalar> read_metrics(const std::string& path);

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
plot_series curve_of(const logged_run& run, std::string_view tag, double smoothing = 0);

/// A chart of one tag of several runs; to_svg() draws it. Throws tessera::error for a run that has no such tag, which
/// names those it has.
line_chart learning_curve(const std::vector<logged_run>& runs, const std::string& tag,
                          const curve_options& options = {});

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/learning_curve.inl"
#endif

#include "tessera/base/end_header.inl"
