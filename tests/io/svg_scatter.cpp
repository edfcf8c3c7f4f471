// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/svg_scatter.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

} // namespace

TEST_CASE("a scatter plot has a mark for every point, and the legend one for every series") {
    tessera::io::scatter_chart chart{.title = "predicted < measured", .x_label = "x", .y_label = "y", .series = {}};
    chart.series.push_back({"circles", {1, 10, 100}, {1.1, 9, 120}});
    chart.series.push_back({"triangles", {2, 3}, {2, 3}});
    const std::string svg = scatter_svg(chart);
    CHECK(svg.rfind("<svg ", 0) == 0);
    CHECK(svg.find("</svg>") == svg.size() - 7);
    CHECK(occurrences(svg, "<circle ") == 3 + 1);
    CHECK(occurrences(svg, "<polygon ") == 2 + 1);
    CHECK(occurrences(svg, "class=\"series\"") == 2);
    CHECK(svg.find("predicted &lt; measured") != std::string::npos);
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
        tessera::io::scatter_chart broken = chart;
        broken.series[1].y[0] = bad;
        CHECK_THROWS_WITH_AS(scatter_svg(broken), doctest::Contains("'triangles'"), tessera::error);
    }
    tessera::io::scatter_chart uneven = chart;
    uneven.series[0].x.pop_back();
    CHECK_THROWS_WITH_AS(scatter_svg(uneven), doctest::Contains("2 x but 3 y"), tessera::error);
    chart.series.clear();
    CHECK_THROWS_WITH_AS(scatter_svg(chart), doctest::Contains("has no point"), tessera::error);
}
