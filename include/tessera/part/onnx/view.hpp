// SPDX-License-Identifier: Apache-2.0
// Tensors as a foreign graph sees them: a tensor of the network and a view of it, whose dimensions are split, merged and moved. Only what an operator
// reads becomes operators of the network, with the samples first.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::onnx {

/// A part of one dimension of a tensor: `size` steps of `stride` indices each.
struct atom {
    int axis = 0;
    index_t stride = 1;
    index_t size = 1;

    friend bool operator==(const atom&, const atom&) = default;
};

/// Atoms, the outermost first; none: an extent of 1.
using atoms = std::vector<atom>;

inline index_t extent_of(const atoms& dimension) {
    index_t n = 1;
    for (const atom& a : dimension) {
        n *= a.size;
    }
    return n;
}

/// Neighbours that lie behind each other are one.
inline atoms merged(const atoms& dimension) {
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

/// Of the tensor that node `node` makes, of the extents `base`, whose first is that of the samples.
struct view {
    int node = -1;
    shape base{};
    std::vector<atoms> dims{};

    view() = default;
    view(int n, const shape& extents, std::vector<atoms> all) : node(n), base(extents), dims(std::move(all)) {}

    static view of(int node, const shape& base) {
        view v{node, base, {}};
        for (int d = 0; d < base.rank; ++d) {
            v.dims.push_back(merged({{d, 1, base[d]}}));
        }
        return v;
    }

    int rank() const { return static_cast<int>(dims.size()); }
    const atoms& dim(int d) const { return dims[static_cast<std::size_t>(d)]; }
    index_t extent(int d) const { return extent_of(dim(d)); }
    std::vector<index_t> extents() const {
        std::vector<index_t> all;
        for (const atoms& d : dims) {
            all.push_back(extent_of(d));
        }
        return all;
    }
    bool is_whole() const { return rank() == base.rank && dims == of(node, base).dims; }
    /// The logical dimension that is all of the samples and nothing else; -1: none is.
    int samples() const {
        for (int d = 0; d < rank(); ++d) {
            if (dim(d) == atoms{{0, 1, base[0]}}) {
                return d;
            }
        }
        return -1;
    }
    /// The same places of another tensor of this shape.
    view at(int other) const { return {other, base, dims}; }
    view permuted(const std::vector<int>& order) const {
        view v{node, base, {}};
        for (const int d : order) {
            v.dims.push_back(dim(d));
        }
        return v;
    }
};

/// The view with other extents of the same product; false where a new dimension ends inside of a factor that does not divide.
inline bool reshape_view(view& v, const std::vector<index_t>& extents) {
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

/// How a tensor becomes one that is a view: reshapes and permutations in turn, and at last its extents.
struct view_steps {
    struct step {
        std::vector<index_t> extents; ///< to reshape to
        std::vector<int> order;       ///< to permute then
    };
    bool exist = false; ///< false: the samples are not first, or parts of a dimension are missing
    std::vector<step> moves;
    std::vector<index_t> shape; ///< to reshape to at the end
};

namespace detail {

/// The parts in their order in the tensor, from the outermost; false where some are missing.
inline bool parts_of(const view& v, const atoms& wanted, atoms& split) {
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

/// A permutation of parts, by their numbers, as one of runs that stay together.
inline view_steps::step together(const atoms& parts, const std::vector<int>& order) {
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
                    extent *= parts[static_cast<std::size_t>(k)].size;
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

} // namespace detail

inline view_steps steps_to(const view& v) {
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
            const auto from = static_cast<std::size_t>(order[at]);
            std::vector<int> one;
            for (std::size_t k = 0; k < now.size(); ++k) {
                one.push_back(static_cast<int>(k < at || k > from ? k : k == at ? from : k - 1));
            }
            s = detail::together(now, one);
            atoms moved;
            for (const int k : one) {
                moved.push_back(now[static_cast<std::size_t>(k)]);
            }
            now = moved;
        } else {
            now = wanted;
        }
        extents.clear();
        for (const int k : s.order) {
            extents.push_back(s.extents[static_cast<std::size_t>(k)]);
        }
        steps.moves.push_back(std::move(s));
    }
    if (v.extents() != extents) {
        steps.shape = v.extents();
    }
    return steps;
}

/// Each part of each dimension as a dimension of its own.
inline view apart(const view& v) {
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
