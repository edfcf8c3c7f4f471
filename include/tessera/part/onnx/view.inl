// SPDX-License-Identifier: Apache-2.0
// Bodies of view.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/view.hpp"

namespace tessera::onnx {

TESSERA_INLINE index_t extent_of(const atoms& dimension) {
    index_t n = 1;
    for (const atom& a : dimension) {
        n *= a.size;
    }
    return n;
}

TESSERA_INLINE atoms merged(const atoms& dimension) {
    atoms out;
    for (const atom& a : dimension) {
        if (a.size == 1) {
            continue;
        }
        if (!out.empty() && out.back().axis == a.axis && out.back().stride == a.stride * a.size) {
            out.back() = {a.axis, a.stride, out.back().size * a.size};
        } else {
            out.push_back(a);
        }
    }
    return out;
}

TESSERA_INLINE view view::of(int node, const shape& base) {
    view v{node, base, {}};
    for (int d = 0; d < base.rank; ++d) {
        v.dims.push_back(merged({{d, 1, base[d]}}));
    }
    return v;
}

TESSERA_INLINE std::vector<index_t> view::extents() const {
    std::vector<index_t> all;
    for (const atoms& d : dims) {
        all.push_back(extent_of(d));
    }
    return all;
}

TESSERA_INLINE int view::samples() const {
    for (int d = 0; d < rank(); ++d) {
        if (dim(d) == atoms{{0, 1, base[0]}}) {
            return d;
        }
    }
    return -1;
}

TESSERA_INLINE view view::permuted(const std::vector<int>& order) const {
    view v{node, base, {}};
    for (const int d : order) {
        v.dims.push_back(dim(d));
    }
    return v;
}

TESSERA_INLINE bool reshape_view(view& v, const std::vector<index_t>& extents) {
    atoms left;
    for (const atoms& d : v.dims) {
        left.insert(left.end(), d.begin(), d.end());
    }
    std::vector<atoms> dims;
    std::size_t next = 0;
    for (index_t extent : extents) {
        atoms dimension;
        while (extent > 1) {
            if (next == left.size()) {
                return false;
            }
            atom& a = left[next];
            if (extent % a.size == 0) {
                dimension.push_back(a);
                extent /= a.size;
                ++next;
            } else if (a.size % extent == 0) {
                const index_t inner = a.size / extent;
                dimension.push_back({a.axis, a.stride * inner, extent});
                a.size = inner;
                extent = 1;
            } else {
                return false;
            }
        }
        dims.push_back(merged(dimension));
    }
    if (next != left.size()) {
        return false;
    }
    v.dims = std::move(dims);
    return true;
}

} // namespace tessera::onnx

namespace tessera::onnx::detail {

TESSERA_INLINE bool parts_of(const view& v, const atoms& wanted, atoms& split) {
    for (int axis = 0; axis < v.base.rank; ++axis) {
        index_t stride = v.base[axis];
        while (stride > 1) { // the part of the axis that ends there
            const atom* found = nullptr;
            for (const atom& a : wanted) {
                found = a.axis == axis && a.stride * a.size == stride ? &a : found;
            }
            if (found == nullptr || found->size < 2) {
                return false;
            }
            split.push_back(*found);
            stride = found->stride;
        }
    }
    return split.size() == wanted.size();
}

TESSERA_INLINE view_steps::step together(const atoms& parts, const std::vector<int>& order) {
    std::vector<std::vector<int>> runs; // in the new order
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 1 && order[i] == order[i - 1] + 1) { // the samples stay alone
            runs.back().push_back(order[i]);
        } else {
            runs.push_back({order[i]});
        }
    }
    std::vector<int> first; // parts with which runs begin, in the old order
    view_steps::step s;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        for (const std::vector<int>& run : runs) {
            if (run[0] == static_cast<int>(p)) {
                index_t extent = 1;
                for (const int k : run) {
                    extent *= parts[to_size(k)].size;
                }
                first.push_back(run[0]);
                s.extents.push_back(extent);
            }
        }
    }
    for (const std::vector<int>& run : runs) {
        for (std::size_t k = 0; k < first.size(); ++k) {
            if (first[k] == run[0]) {
                s.order.push_back(static_cast<int>(k));
            }
        }
    }
    return s;
}

} // namespace tessera::onnx::detail

namespace tessera::onnx {

TESSERA_INLINE view_steps steps_to(const view& v) {
    view_steps steps;
    if (v.rank() == 0 || v.samples() != 0) {
        return steps;
    }
    atoms wanted;
    for (const atoms& d : v.dims) {
        wanted.insert(wanted.end(), d.begin(), d.end());
    }
    atoms now;
    if (!detail::parts_of(v, wanted, now)) {
        return steps;
    }
    steps.exist = true;
    std::vector<index_t> extents;
    for (int d = 0; d < v.base.rank; ++d) {
        extents.push_back(v.base[d]);
    }
    while (now != wanted) {
        std::vector<int> order;
        for (const atom& a : wanted) {
            for (std::size_t k = 0; k < now.size(); ++k) {
                if (now[k] == a) {
                    order.push_back(static_cast<int>(k));
                }
            }
        }
        view_steps::step s = detail::together(now, order);
        if (s.extents.size() >
            max_rank) { // the first part that is elsewhere goes to its place, which five dimensions say
            std::size_t at = 0;
            while (order[at] == static_cast<int>(at)) {
                ++at;
            }
            const auto from = to_size(order[at]);
            std::vector<int> one;
            for (std::size_t k = 0; k < now.size(); ++k) {
                one.push_back(static_cast<int>(k < at || k > from ? k : k == at ? from : k - 1));
            }
            s = detail::together(now, one);
            atoms moved;
            for (const int k : one) {
                moved.push_back(now[to_size(k)]);
            }
            now = moved;
        } else {
            now = wanted;
        }
        extents.clear();
        for (const int k : s.order) {
            extents.push_back(s.extents[to_size(k)]);
        }
        steps.moves.push_back(std::move(s));
    }
    if (v.extents() != extents) {
        steps.shape = v.extents();
    }
    return steps;
}

TESSERA_INLINE view apart(const view& v) {
    view out{v.node, v.base, {}};
    for (const atoms& d : v.dims) {
        for (const atom& a : d) {
            out.dims.push_back({a});
        }
    }
    return out;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
