// SPDX-License-Identifier: Apache-2.0
// How busy a machine's link is over time with MXNet's servers and with P3 (Jayarajan et al. 2019, section 5),
// simulated, as SVG on standard output.
#include "benchmarks/papers/p3.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/vgg19.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/machine/lanes.hpp"

namespace {

using namespace papers;
using ts::io::detail::pixels;

constexpr int machines = 4;
constexpr int bins = 320;
constexpr double width = 860;
constexpr double row_height = 110;

struct curve {
    std::string title;
    std::vector<double> busy; ///< share of each bin
    double ms = 0;            ///< of all bins together
    double mean = 0;
};

/// The lane from machine 0's host to the fabric during the last three of four steps.
curve utilization(const char* title, const workers& w, p3_system which, double gigabits) {
    const ts::cluster on(throttled_nodes(machines, gigabits));
    const ts::device_graph& g = on.graph();
    const std::vector<ts::lane_place> places = ts::lanes_of(g);
    int out = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto name = [&](int c) { return g.components[ts::to_size(c)].name; };
        out = name(places[i].from) == "host 0" && name(places[i].to) == "fabric" ? static_cast<int>(i) : out;
    }
    const ts::plan p = w.plan(p3_policy(w, which), 4);
    ts::simulation::task_activities activities(on, w.view(), w.times(mxnet_server));
    const ts::simulation::activity_graph a = ts::simulation::activities_of(p, activities);
    std::vector<int> order(a.items.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int>(i);
    }
    ts::simulation::schedule times;
    ts::simulation::scheduler(on.devices(), activities.lanes()).run(a.items, order, times);
    curve c;
    const double begin = static_cast<double>(times.makespan) / 4;
    const double span = static_cast<double>(times.makespan) - begin;
    c.ms = span * 1e-6;
    c.busy.assign(bins, 0);
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        for (const ts::simulation::lane_use& u : a.items[i].lanes) {
            const double from = (static_cast<double>(times.start[i]) - begin) / span * bins;
            const double to = (static_cast<double>(times.start[i] + u.busy) - begin) / span * bins;
            for (int b = std::max(0, static_cast<int>(from)); u.lane == out && b < bins && b < to; ++b) {
                c.busy[ts::to_size(b)] += std::max(0.0, std::min(to, b + 1.0) - std::max(from, b * 1.0));
            }
        }
    }
    for (const double b : c.busy) {
        c.mean += b / bins;
    }
    char text[160];
    std::snprintf(text, sizeof text, "%s: three steps in %.0f ms, link busy %.0f %% of the time", title, c.ms,
                  100 * c.mean);
    c.title = text;
    return c;
}

void draw(const std::vector<curve>& all) {
    double longest = 0;
    for (const curve& c : all) {
        longest = std::max(longest, c.ms);
    }
    const double left = 60;
    const double height = 50 + static_cast<double>(all.size()) * (row_height + 40);
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width + 100) + "\" height=\"" + pixels(height) +
        "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    double top = 40;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const curve& c = all[i];
        if (i % 2 == 0) { // the two of a network share a time axis
            longest = std::max(c.ms, all[i + 1].ms);
        }
        const double scale = width / longest;
        const double base = top + row_height;
        svg +=
            "<text x=\"" + pixels(left) + "\" y=\"" + pixels(top - 8) + "\">" + ts::quoted::svg(c.title) + "</text>\n";
        std::string path = "M" + pixels(left) + " " + pixels(base);
        for (int b = 0; b < bins; ++b) {
            const double y = base - row_height * std::min(1.0, c.busy[ts::to_size(b)]);
            path += " L" + pixels(left + b * c.ms * scale / bins) + " " + pixels(y) + " L" +
                    pixels(left + (b + 1) * c.ms * scale / bins) + " " + pixels(y);
        }
        path += " L" + pixels(left + c.ms * scale) + " " + pixels(base) + " Z";
        svg += "<path d=\"" + path + "\" fill=\"" + (i % 2 == 0 ? "#d55e00" : "#0072b2") + "\"/>\n";
        const std::string thin = "stroke=\"#444\" stroke-width=\"1\"";
        svg += ts::io::detail::plot_line(left, base, left + width, base, thin);
        svg += ts::io::detail::plot_line(left, top, left, base, thin);
        for (const int percent : {0, 50, 100}) {
            svg += "<text x=\"" + pixels(left - 8) + "\" y=\"" + pixels(base - row_height * percent / 100 + 4) +
                   "\" text-anchor=\"end\" font-size=\"11\">" + std::to_string(percent) + " %</text>\n";
        }
        const double step = longest > 3000 ? 1000 : longest > 800 ? 200 : 100;
        for (double t = 0; t <= longest; t += step) {
            svg += ts::io::detail::plot_line(left + t * scale, base, left + t * scale, base + 4, thin);
            svg += "<text x=\"" + pixels(left + t * scale) + "\" y=\"" + pixels(base + 16) +
                   "\" text-anchor=\"middle\" font-size=\"11\">" + pixels(t) + (t == 0 ? " ms" : "") + "</text>\n";
        }
        top = base + 40;
    }
    std::fputs((svg + "</svg>\n").c_str(), stdout);
}

} // namespace

int main() {
    std::vector<curve> all;
    const workers resnet(ts::describe<networks::resnet50>(32), machines, p4000());
    all.push_back(utilization("ResNet-50 at 4 Gb/s, MXNet's servers", resnet, p3_system::servers, 4));
    all.push_back(utilization("ResNet-50 at 4 Gb/s, P3", resnet, p3_system::priorities, 4));
    const workers vgg(ts::describe<networks::vgg19>(32), machines, p4000());
    all.push_back(utilization("VGG-19 at 15 Gb/s, MXNet's servers", vgg, p3_system::servers, 15));
    all.push_back(utilization("VGG-19 at 15 Gb/s, P3", vgg, p3_system::priorities, 15));
    draw(all);
}
