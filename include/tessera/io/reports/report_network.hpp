// SPDX-License-Identifier: Apache-2.0
// A network with its splits as a drawing: a box for every operator with a strip in the colours of the devices that its
// shards run on, an arrow for every tensor, red and thick where bytes move.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/shown_run.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/plan/movements.hpp"

#include <climits>
#include <cstdlib>
#include <map>
#include <set>

namespace tessera::io {

namespace detail {

/// Colours of devices: hues evenly around the circle, with every second one darker.
std::string device_colour(int device, int devices);

/// 12,345,678 bytes as 12.3 MB.
std::string bytes_text(double bytes);

/// Where every operator stands. An operator stands in the row before the first that reads it; in its row it takes the
/// free column nearest to that of its innermost input.
struct network_places {
    std::vector<int> row;
    std::vector<int> column; ///< from 0
    int rows = 0;
    int columns = 0;
    std::set<std::pair<int, int>> taken; ///< (row, column)
    int fold = 1; ///< rows below each other: what comes after stands to the right, so that deep networks fit a page
};

network_places places_of(const graph_view& g, int page = 6);

class network_drawing {
public:
    explicit network_drawing(const shown_run& r);

    std::string svg();

private:
    int fold_of(int op) const { return places_.row[to_size(op)] / places_.fold; }
    double left(int op) const;
    double top(int op) const { return 20 + (places_.row[to_size(op)] % places_.fold) * down; }

    /// Bytes that move because two neighbours are split differently: what the reader fetches, and the gradients of it;
    /// a tensor of several readers has its gradient's bytes on the first.
    index_t bytes_on(int producer, int reader) const;

    std::string edge(int from, int to) const;

    /// At most so many letters; a number at the end stays.
    static std::string shortened(const std::string& s, std::size_t most);

    std::string node(int op) const;

    const shown_run& r_;
    const bool small; ///< boxes of many operators have room for a name alone
    const double wide = small ? 84 : 188;
    const double tall = small ? 25 : 44;
    const double across = small ? 112 : 232;
    const double down = small ? 42 : 68;
    network_places places_;
    std::map<int, std::map<int, index_t>> moved_; ///< from producer, by whose task
};

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/report_network.inl"
#endif

#include "tessera/base/end_header.inl"
