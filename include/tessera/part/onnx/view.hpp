// SPDX-License-Identifier: Apache-2.0
// Tensors as a foreign graph sees them: a tensor of the network and a view of it, whose dimensions are split, merged
// and moved. Only what an operator reads becomes operators of the network, with the samples first.
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

index_t extent_of(const atoms& dimension);

/// Neighbours that lie behind each other are one.
atoms merged(const atoms& dimension);

/// Of the tensor that node `node` makes, of the extents `base`, whose first is that of the samples.
struct view {
    int node = -1;
    shape base{};
    std::vector<atoms> dims{};

    view() = default;
    view(int n, const shape& extents, std::vector<atoms> all) : node(n), base(extents), dims(std::move(all)) {}

    static view of(int node, const shape& base);

    int rank() const { return static_cast<int>(dims.size()); }
    const atoms& dim(int d) const { return dims[to_size(d)]; }
    index_t extent(int d) const { return extent_of(dim(d)); }
    std::vector<index_t> extents() const;
    bool is_whole() const { return rank() == base.rank && dims == of(node, base).dims; }
    /// The logical dimension that is all of the samples and nothing else; -1: none is.
    int samples() const;
    /// The same places of another tensor of this shape.
    view at(int other) const { return {other, base, dims}; }
    view permuted(const std::vector<int>& order) const;
};

/// The view with other extents of the same product; false where a new dimension ends inside of a factor that does not
/// divide.
bool reshape_view(view& v, const std::vector<index_t>& extents);

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
bool parts_of(const view& v, const atoms& wanted, atoms& split);

/// A permutation of parts, by their numbers, as one of runs that stay together.
view_steps::step together(const atoms& parts, const std::vector<int>& order);

} // namespace detail

view_steps steps_to(const view& v);

/// Each part of each dimension as a dimension of its own.
view apart(const view& v);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/view.inl"
#endif

#include "tessera/base/end_header.inl"
