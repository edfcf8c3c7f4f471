// SPDX-License-Identifier: Apache-2.0
// Bodies of fold_shapes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold_shapes.hpp"

namespace tessera::onnx::folding {

TESSERA_INLINE constant gather(const constant& from, const constant& index, int axis) {
    std::vector<index_t> out(from.extents.begin(), from.extents.begin() + axis);
    out.insert(out.end(), index.extents.begin(), index.extents.end());
    out.insert(out.end(), from.extents.begin() + axis + 1, from.extents.end());
    const auto at = to_size(axis);
    const index_t extent = from.extents[at];
    for (std::size_t i = 0; i < index.size(); ++i) {
        const index_t x = index.whole ? index.integers[i] : -1;
        if (!index.whole || x < -extent || x >= extent) {
            throw cannot_say{"an index is outside of its input"};
        }
    }
    const std::size_t more = index.extents.size();
    return gathered(from, out, [&](const index_walk& w) {
        index_t which = 0;
        for (std::size_t d = 0; d < more; ++d) {
            which = which * index.extents[d] + w.at(at + d);
        }
        const index_t x = index.integers[to_size(which)];
        index_t place = 0;
        for (std::size_t d = 0; d < from.extents.size(); ++d) {
            const index_t i = d < at ? w.at(d) : d == at ? (x < 0 ? x + extent : x) : w.at(d + more - 1);
            place = place * from.extents[d] + i;
        }
        return to_size(place);
    });
}

TESSERA_INLINE constant concat(const call& c, int axis) {
    constant out = c.fixed(0);
    out.name.clear();
    const auto at = to_size(axis);
    index_t outer = 1;
    for (std::size_t d = 0; d < at; ++d) {
        outer *= out.extents[d];
    }
    out.extents[at] = 0;
    out.numbers.clear();
    out.integers.clear();
    for (std::size_t k = 0; k < c.in.size(); ++k) {
        const constant& x = c.fixed(k);
        c.require(x.whole == out.whole && x.rank() == out.rank(), "its inputs are of several types or ranks");
        for (std::size_t d = 0; d < out.extents.size(); ++d) {
            c.require(d == at || x.extents[d] == out.extents[d], "its inputs are of several shapes");
        }
        out.extents[at] += x.extents[at];
    }
    for (index_t o = 0; o < outer; ++o) {
        for (std::size_t k = 0; k < c.in.size(); ++k) {
            const constant& x = c.fixed(k);
            const auto part = static_cast<std::ptrdiff_t>(x.size()) / std::max<std::ptrdiff_t>(outer, 1);
            const auto from = part * o;
            out.numbers.insert(out.numbers.end(), x.numbers.begin() + (x.whole ? 0 : from),
                               x.numbers.begin() + (x.whole ? 0 : from + part));
            out.integers.insert(out.integers.end(), x.integers.begin() + (x.whole ? from : 0),
                                x.integers.begin() + (x.whole ? from + part : 0));
        }
    }
    return out;
}

TESSERA_INLINE constant slice(const constant& from, const std::vector<span_of>& spans) {
    std::vector<index_t> out;
    for (const span_of& s : spans) {
        out.push_back(s.count);
    }
    return gathered(from, out, [&](const index_walk& w) {
        index_t place = 0;
        for (std::size_t d = 0; d < spans.size(); ++d) {
            place = place * from.extents[d] + spans[d].first + w.at(d) * spans[d].step;
        }
        return to_size(place);
    });
}

TESSERA_INLINE constant range(const call& c) {
    const constant& from = c.fixed(0);
    const constant& to = c.fixed(1);
    const constant& by = c.fixed(2);
    c.require(from.size() == 1 && to.size() == 1 && by.size() == 1 && by.at(0) != 0,
              "its limits are no numbers, or its step is 0");
    const double steps = std::ceil((to.at(0) - from.at(0)) / by.at(0));
    c.require(steps < 4e6 && std::abs(from.at(0)) < 9e15 && std::abs(by.at(0)) < 9e15, "it is too long");
    c.require(from.whole == by.whole, "its limits are of two types");
    constant out;
    out.whole = from.whole;
    for (index_t i = 0; i < static_cast<index_t>(steps); ++i) {
        if (out.whole) {
            out.integers.push_back(from.integers[0] + i * by.integers[0]);
        } else {
            out.numbers.push_back(static_cast<float>(from.at(0) + static_cast<double>(i) * by.at(0)));
        }
    }
    out.extents = {static_cast<index_t>(out.size())};
    return out;
}

TESSERA_INLINE std::vector<index_t> squeezed(const call& c, const std::vector<index_t>& have) {
    const std::vector<index_t> axes = c.attribute_or_input("axes", 1);
    std::vector<char> gone(have.size(), axes.empty() ? 1 : 0);
    for (const index_t a : axes) {
        const auto d = to_size(c.axis(a, static_cast<int>(have.size())));
        c.require(have[d] == 1, "it takes away a dimension whose extent is not 1");
        gone[d] = 1;
    }
    std::vector<index_t> out;
    for (std::size_t d = 0; d < have.size(); ++d) {
        if (gone[d] == 0 || have[d] != 1) {
            out.push_back(have[d]);
        }
    }
    return out;
}

TESSERA_INLINE std::vector<index_t> unsqueezed(const call& c, const std::vector<index_t>& have) {
    const std::vector<index_t> axes = c.attribute_or_input("axes", 1);
    const std::size_t rank = have.size() + axes.size();
    c.require(rank <= 64, "it has too many dimensions");
    std::vector<char> is_new(rank, 0);
    for (const index_t a : axes) {
        is_new[to_size(c.axis(a, static_cast<int>(rank)))] = 1;
    }
    std::vector<index_t> out;
    std::size_t next = 0;
    for (std::size_t d = 0; d < rank; ++d) {
        c.require(is_new[d] != 0 || next < have.size(), "it names a dimension twice");
        out.push_back(is_new[d] != 0 ? 1 : have[next++]);
    }
    return out;
}

TESSERA_INLINE std::vector<index_t> flattened(const call& c, const std::vector<index_t>& have) {
    const index_t given = c.integer("axis", 1);
    const int rank = static_cast<int>(have.size());
    const int at = given == rank ? rank : c.axis(given, rank);
    index_t before = 1;
    for (int d = 0; d < at; ++d) {
        before *= have[to_size(d)];
    }
    return {before, elements_of(have) / std::max<index_t>(before, 1)};
}

TESSERA_INLINE std::vector<int> order_of(const call& c, int rank) {
    std::vector<index_t> said = c.integers("perm");
    for (int d = rank; d-- > 0 && static_cast<int>(said.size()) < rank && c.find("perm") == nullptr;) {
        said.push_back(d);
    }
    std::vector<char> seen(said.size(), 0);
    std::vector<int> order;
    for (const index_t d : said) {
        c.require(static_cast<int>(said.size()) == rank && d >= 0 && d < rank && seen[to_size(d)] == 0,
                  "its perm is no order of its input's dimensions");
        seen[to_size(d)] = 1;
        order.push_back(static_cast<int>(d));
    }
    return order;
}

} // namespace tessera::onnx::folding

#include "tessera/base/end_header.inl"
