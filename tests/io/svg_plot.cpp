// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/svg_plot.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using tessera::io::line_chart;
using tessera::io::plot_series;
using tessera::io::to_svg;

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

/// Whether every element is closed in the right order and every & starts an entity that we use.
bool well_formed(const std::string& xml) {
    std::vector<std::string> open;
    for (std::size_t at = 0; at < xml.size(); ++at) {
        if (xml[at] == '&') {
            bool known = false;
            for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
                known |= xml.compare(at, std::string{entity}.size(), entity) == 0;
            if (!known) return false;
        }
        if (xml[at] == '>') return false; // one that no < opened
        if (xml[at] != '<') continue;
        const auto end = xml.find('>', at);
        if (end == std::string::npos) return false;
        const std::string tag = xml.substr(at + 1, end - at - 1);
        if (tag.find('<') != std::string::npos || occurrences(tag, "\"") % 2 != 0) return false;
        if (tag[0] == '/') {
            if (open.empty() || open.back() != tag.substr(1)) return false;
            open.pop_back();
        } else if (tag.back() != '/') {
            if (open.empty() && at != 0) return false;
            open.push_back(tag.substr(0, tag.find(' ')));
        }
        at = end;
    }
    return open.empty();
}

/// The points of the first polyline.
std::vector<std::pair<double, double>> points(const std::string& svg) {
    std::vector<std::pair<double, double>> result;
    auto at = svg.find("points=\"") + 8;
    const auto end = svg.find('"', at);
    while (at < end) {
        const auto comma = svg.find(',', at);
        const auto stop = std::min(svg.find(' ', comma), end);
        result.emplace_back(std::stod(svg.substr(at, comma - at)), std::stod(svg.substr(comma + 1, stop - comma - 1)));
        at = stop + 1;
    }
    return result;
}

} // namespace

TEST_CASE("a chart shows each point of each curve where it belongs") {
    const line_chart chart{
        .title = "Loss",
        .x_label = "step",
        .y_label = "loss",
        .series = {{"one device", {0, 1, 2, 4}, {2.5, 1.5, 1, 0.5}}, {"two devices", {0, 4}, {2.4, 0.6}}}};
    const std::string svg = to_svg(chart);
    CHECK(well_formed(svg));
    CHECK(occurrences(svg, "<polyline ") == 2);
    const auto at = points(svg);
    REQUIRE(at.size() == 4);
    const double x_unit = at[1].first - at[0].first;
    const double y_unit = at[0].second - at[1].second;
    CHECK(x_unit > 50);
    CHECK(y_unit < -50); // up is a smaller y
    CHECK(at[2].first - at[0].first == doctest::Approx(2 * x_unit).epsilon(0.001));
    CHECK(at[3].first - at[0].first == doctest::Approx(4 * x_unit).epsilon(0.001));
    CHECK(at[0].second - at[2].second == doctest::Approx(1.5 * y_unit).epsilon(0.001));
    CHECK(at[0].second - at[3].second == doctest::Approx(2 * y_unit).epsilon(0.001));
    for (const auto& [x, y] : at) {
        CHECK(x >= 0);
        CHECK(x <= chart.width);
        CHECK(y >= 0);
        CHECK(y <= chart.height);
    }
    for (const char* text : {">Loss<", ">step<", ">loss<", ">one device<", ">two devices<", ">0<", ">0.5<", ">2.5<"})
        CHECK(occurrences(svg, text) >= 1);
}

TEST_CASE("the first eight curves all look different, and all but the first are dashed") {
    line_chart chart{.title = "t", .x_label = "x", .y_label = "y"};
    for (int i = 0; i < 8; ++i) chart.series.push_back({"c", {0, 1}, {0, 1}});
    const std::string svg = to_svg(chart);
    CHECK(occurrences(svg, "stroke-dasharray") == 14); // curve and legend
    for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK(tessera::io::detail::curve_style(i) != tessera::io::detail::curve_style(j));
}

TEST_CASE("names are escaped") {
    const std::string svg =
        to_svg({.title = "a < b & \"c\"", .x_label = "<x>", .y_label = "\x01", .series = {{"&", {0, 1}, {1, 2}}}});
    CHECK(well_formed(svg));
    CHECK(occurrences(svg, "a &lt; b &amp; &quot;c&quot;") == 1);
}

TEST_CASE("values that are not finite leave a gap") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    const std::string svg = to_svg({.series = {{"c", {0, 1, 2, 3, 4, 5, 6}, {1, 2, nan, 4, infinity, 6, 7}}}});
    CHECK(well_formed(svg));
    CHECK(occurrences(svg, "<polyline ") == 2);
    CHECK(occurrences(svg, "<circle ") == 1);
    CHECK(occurrences(svg, "nan") == 0);
    CHECK(occurrences(svg, "inf") == 0);
}

TEST_CASE("flat, single, tiny and huge curves have an axis") {
    for (const double y : {0.0, 3.0, -1e-9, 1e12}) {
        const std::string svg = to_svg({.series = {{"c", {5, 5}, {y, y}}}});
        CHECK(well_formed(svg));
        CHECK(occurrences(svg, "nan") == 0);
        CHECK(occurrences(svg, "inf") == 0);
        CHECK(points(svg).size() == 2);
    }
    for (const double high : {1e-7, 0.3, 1.0, 7.0, 938.0, 4690.0, 1e9}) {
        const tessera::io::detail::plot_axis axis{.low = -high / 3, .high = high, .last_pixel = 1};
        const auto ticks = axis.ticks();
        CHECK(ticks.size() >= 3);
        CHECK(ticks.size() <= 11);
        for (const double tick : ticks) {
            CHECK(tick >= axis.low);
            CHECK(tick <= axis.high);
        }
    }
}

TEST_CASE("a chart that cannot be drawn is refused") {
    CHECK_THROWS_WITH_AS(static_cast<void>(to_svg({.series = {{"c", {0, 1}, {1}}}})),
                         "the curve 'c' has 2 x but 1 y; give as many of each", tessera::error);
    CHECK_THROWS_AS(static_cast<void>(to_svg({})), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(to_svg({.series = {{"c", {}, {}}}})), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(to_svg({.series = {{"c", {0}, {0}}}, .width = 100})), tessera::error);
    CHECK_THROWS_AS(static_cast<void>(to_svg({.series = std::vector<plot_series>(100, {"c", {0}, {0}})})),
                    tessera::error);
}
