// SPDX-License-Identifier: Apache-2.0
// Bodies of report_network.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/report_network.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string device_colour(int device, int devices) {
    const int hue = (device * 360) / std::max(devices, 1);
    return "hsl(" + std::to_string(hue) + ",65%," + (device % 2 == 0 ? "55%" : "40%") + ")";
}

TESSERA_INLINE std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < units.size(); ++unit) {
        bytes /= 1000;
    }
    return plot_number(bytes, 3) + " " + units[unit];
}

TESSERA_INLINE network_places places_of(const graph_view& g, int page) {
    network_places p;
    p.row.assign(to_size(g.op_count), 0);
    for (int op = g.op_count; op-- > 0;) { // rows from the end, so that what is read late does not stand far above
        p.rows = std::max(p.rows, p.row[to_size(op)] + 1);
        for (const int t : g.ops[op].inputs) {
            if (const int producer = g.tensors[t].producer; producer >= 0) {
                int& its = p.row[to_size(producer)];
                its = std::max(its, p.row[to_size(op)] + 1);
            }
        }
    }
    for (int& row : p.row) {
        row = p.rows - 1 - row;
    }
    for (int op = 0; op < g.op_count; ++op) {
        const int row = p.row[to_size(op)];
        int wanted = INT_MAX;
        for (const int t : g.ops[op].inputs) {
            if (const int producer = g.tensors[t].producer; producer >= 0) {
                const int its = p.column[to_size(producer)];
                wanted = std::abs(its) < std::abs(wanted) ? its : wanted;
            }
        }
        wanted = wanted == INT_MAX ? 0 : wanted;
        int column = wanted;
        for (int step = 1; p.taken.count({row, column}) != 0; ++step) {
            column = wanted + (step % 2 == 1 ? (step + 1) / 2 : -step / 2);
        }
        p.taken.insert({row, column});
        p.column.push_back(column);
    }
    int least = 0;
    for (const int c : p.column) {
        least = std::min(least, c);
    }
    std::set<std::pair<int, int>> shifted;
    for (const auto& [row, column] : p.taken) {
        shifted.insert({row, column - least});
        p.columns = std::max(p.columns, column - least + 1);
    }
    p.taken.swap(shifted);
    for (int& c : p.column) {
        c -= least;
    }
    const int folds = std::max(1, page / p.columns);
    p.fold = std::max((p.rows + folds - 1) / folds, std::min(p.rows, 10));
    return p;
}

TESSERA_INLINE network_drawing::network_drawing(const shown_run& r)
    : r_(r), small(r.network.op_count > 500), places_(places_of(r.network, small ? 12 : 6)) {
    for (const movement& m : movements_of(r.network, r.plan)) {
        if (m.what == tile_kind::activation || m.what == tile_kind::gradient) {
            moved_[m.source][m.op] += m.bytes; // a gradient is fetched by who made the tensor or by a reader
        }
    }
}

TESSERA_INLINE std::string network_drawing::svg() {
    const int folds = (places_.rows + places_.fold - 1) / places_.fold;
    const double width = folds * places_.columns * across + 40;
    const double height = std::min(places_.rows, places_.fold) * down + 40;
    std::string out = "<svg class=\"network\" xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) +
                      "\" height=\"" + pixels(height) + "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) +
                      "\">\n";
    for (int op = 0; op < r_.network.op_count; ++op) {
        for (const int t : r_.network.ops[op].inputs) {
            if (const int producer = r_.network.tensors[t].producer; producer >= 0) {
                out += edge(producer, op);
            }
        }
    }
    for (int op = 0; op < r_.network.op_count; ++op) {
        out += node(op);
    }
    return out + "</svg>\n";
}

TESSERA_INLINE double network_drawing::left(int op) const {
    return 30 + (fold_of(op) * places_.columns + places_.column[to_size(op)]) * across;
}

TESSERA_INLINE index_t network_drawing::bytes_on(int producer, int reader) const {
    const auto from = moved_.find(producer);
    if (from == moved_.end()) {
        return 0;
    }
    const auto to = from->second.find(reader);
    const auto back = from->second.find(producer);
    int first = reader;
    for (int op = r_.network.op_count; op-- > 0;) {
        for (const int t : r_.network.ops[op].inputs) {
            first = r_.network.tensors[t].producer == producer ? op : first;
        }
    }
    return (to == from->second.end() ? 0 : to->second) +
           (back == from->second.end() || first != reader ? 0 : back->second);
}

TESSERA_INLINE std::string network_drawing::edge(int from, int to) const {
    const double x1 = left(from) + wide / 2;
    const double y1 = top(from) + tall;
    const double x2 = left(to) + wide / 2;
    const double y2 = top(to) - 2;
    const int rows = places_.row[to_size(to)] - places_.row[to_size(from)];
    bool blocked = false; // a box stands below the producer before the reader's row
    for (int row = 1; row < rows; ++row) {
        blocked =
            blocked || places_.taken.count({places_.row[to_size(from)] + row, places_.column[to_size(from)]}) != 0;
    }
    const double bend = small ? 12 : 22;
    std::string path = "M" + pixels(x1) + " " + pixels(y1);
    const auto curve = [&path](double ax, double ay, double bx, double by, double x, double y) {
        path += "C" + pixels(ax) + " " + pixels(ay) + " " + pixels(bx) + " " + pixels(by) + " " + pixels(x) + " " +
                pixels(y);
    };
    if (fold_of(from) !=
        fold_of(to)) { // round below the boxes, up beside those of the reader's fold, and in from above
        const double at = 30 + fold_of(to) * places_.columns * across - 22;
        const double low = std::min(places_.rows, places_.fold) * down + 12;
        curve(x1, y1 + bend / 2, left(from) + wide + 12, y1, left(from) + wide + 12, y1 + bend);
        path += "L" + pixels(left(from) + wide + 12) + " " + pixels(low) + "L" + pixels(at) + " " + pixels(low) + "L" +
                pixels(at) + " " + pixels(y2 - 6);
        curve(at, y2 - 16, x2, y2 - 20, x2, y2);
    } else {
        const double at = blocked ? left(from) + wide + 14 : x1; // beside the boxes, or straight down
        if (blocked) {
            curve(x1, y1 + bend, at, y1, at, y1 + bend + (small ? 4 : 8));
        }
        path += "L" + pixels(at) + " " + pixels(y2 - bend);
        curve(at, y2 - bend / 3, x2, y2 - bend, x2, y2);
    }
    const index_t bytes = bytes_on(from, to);
    const double width =
        bytes == 0 ? 1 : std::min(1.5 + 0.6 * std::max(0.0, std::log10(static_cast<double>(bytes)) - 3), 6.0);
    std::string text = "<path class=\"" + std::string(bytes > 0 ? "moves" : "stays") + "\" d=\"" + path +
                       "\" stroke-width=\"" + pixels(width) + "\"><title>" +
                       quoted::svg(r_.names[to_size(from)] + " to " + r_.names[to_size(to)] + ": " +
                                   bytes_text(static_cast<double>(bytes)) + " move in a step") +
                       "</title></path>\n";
    if (bytes > 0 && rows == 1 && fold_of(from) == fold_of(to)) {
        const bool straight = std::abs(x1 - x2) < 1; // else it stands on the side from which the arrow leaves
        text += plot_text(x1 + (x2 > x1 && !straight ? -7 : 7), straight ? (y1 + y2) / 2 + 4 : y1 + 12,
                          x2 > x1 && !straight ? "end" : "start", bytes_text(static_cast<double>(bytes)),
                          " class=\"bytes\"");
    }
    return text;
}

TESSERA_INLINE std::string network_drawing::shortened(const std::string& s, std::size_t most) {
    if (s.size() <= most) {
        return s;
    }
    const std::size_t point = s.rfind('.');
    const std::string end = point != std::string::npos && s.size() - point < most / 2 ? s.substr(point) : "";
    return s.substr(0, most - 1 - end.size()) + "\xe2\x80\xa6" + end;
}

TESSERA_INLINE std::string network_drawing::node(int op) const {
    const configuration& c = r_.how.ops[to_size(op)];
    const description d = r_.network.describe(op);
    std::vector<int> devices;
    for (int i = 0; i < c.shards(); ++i) {
        devices.push_back(shard_at(c, r_.how.pool.data(), d, i).device);
    }
    const std::string& name = r_.names[to_size(op)];
    const std::string kind = to_text(r_.network.ops[op].attributes.kind);
    std::string splits = tessera::detail::text_of_splits(d, c, r_.how.pool.data());
    splits = splits == "-" ? "whole" : splits;
    splits = r_.how.schedule.stages > 0 ? "stage " + std::to_string(c.stage) + ", " + splits : splits;
    splits += c.replicate > 1 ? " x" + std::to_string(c.replicate) : "";
    const std::string where = tessera::detail::text_of_devices(devices);
    const std::string more = c.recompute ? ", recomputed" : c.offload ? ", offloaded" : "";
    const double x = left(op);
    const double y = top(op);
    std::string out =
        "<g><title>" +
        quoted::svg(name + ": " + kind + ", output " + tessera::detail::text_of(r_.network.output_of(op).extents) +
                    ", " + splits + " on devices " + where + more) +
        "</title><rect class=\"op\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" width=\"" + pixels(wide) +
        "\" height=\"" + pixels(tall) + "\" rx=\"4\"/>\n";
    const bool told = name.compare(0, kind.size(), kind) == 0;
    if (small) {
        out += plot_text(x + 5, y + 12, "start", shortened(name, 11), " class=\"name\"");
    } else {
        out += plot_text(x + 7, y + 15, "start", shortened(name, 24), " class=\"name\"");
        out += told ? ""
                    : plot_text(x + wide - 7, y + 15, "end",
                                shortened(kind, 28 - std::min<std::size_t>(name.size(), 24)), " class=\"kind\"");
        out += plot_text(x + 7, y + 30, "start", shortened(splits, where.size() > 8 ? 18 : 22), " class=\"splits\"");
        out += plot_text(x + wide - 7, y + 30, "end", shortened(where, 12), " class=\"kind\"");
    }
    const std::size_t shown = std::min<std::size_t>(devices.size(), 64);
    const double step = (wide - 2) / static_cast<double>(shown);
    for (std::size_t i = 0; i < shown; ++i) {
        const int device = devices[i * devices.size() / shown];
        out += "<rect x=\"" + pixels(x + 1 + static_cast<double>(i) * step) + "\" y=\"" + pixels(y + tall - 8) +
               "\" width=\"" + pixels(std::max(step - (shown > 32 ? 0 : 1), 0.5)) + "\" height=\"7\" fill=\"" +
               device_colour(device, r_.plan.devices) + "\"/>";
    }
    return out + "</g>\n";
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
