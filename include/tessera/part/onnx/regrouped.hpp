// SPDX-License-Identifier: Apache-2.0
// Shapes in which operators of the network read views, and the way back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/translation.hpp"

namespace tessera::onnx {

/// A view with some of its parts put together: [samples, group, group, ...], whole, and the way back.
class regrouped {
public:
    view read;

    /// `groups`: dimensions of the view, each in one group, without that of the samples; parts of the dimension of the
    /// samples beside them go into the first group, in front.
    regrouped(call& c, const view& v, const std::vector<std::vector<int>>& groups);

    /// The dimensions of the view in a result of groups of the same extents, but for groups of one dimension, whose
    /// extents may be others.
    view back(const view& result) const;

private:
    view from_;
    std::vector<std::vector<int>> groups_;
};

/// The view as [samples, all other dimensions, the last one], or [samples, the last one].
regrouped rows_of(call& c, const view& v);

/// The order of a view's dimensions with that of the samples first.
std::vector<int> samples_first(const call& c, const view& v);
std::vector<int> inverse_of(const std::vector<int>& order);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/regrouped.inl"
#endif

#include "tessera/base/end_header.inl"
