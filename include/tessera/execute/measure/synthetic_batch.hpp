// SPDX-License-Identifier: Apache-2.0
// Something to step on where only the time counts.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/session.hpp"

namespace tessera::detail {

// A template so that it is compiled where it is used.

/// A batch of pseudo-random inputs and labels.
template <class Graph>
class synthetic_batch {
public:
    explicit synthetic_batch(const Graph& g) {
        numbers_.resize(to_size(g.tensor_count));
        labels_.resize(to_size(g.tensor_count));
        for (int t = 0; t < g.tensor_count; ++t) {
            if (g.tensors[t].producer >= 0) {
                continue;
            }
            const auto n = to_size(g.tensors[t].extents.volume());
            auto& floats = numbers_[to_size(t)];
            auto& integers = labels_[to_size(t)];
            if (g.tensors[t].type == element::i32) {
                const index_t count = g.integers_in(t);
                const auto classes = static_cast<std::uint64_t>(count > 0 ? count : 1);
                for (std::size_t i = 0; i < n; ++i) {
                    integers.push_back(static_cast<std::int32_t>(op::mix(i) % classes));
                }
                inputs.emplace_back(std::span<const std::int32_t>(integers));
            } else {
                for (std::size_t i = 0; i < n; ++i) {
                    floats.push_back(static_cast<float>(op::mix(i) % 2001) / 1000.0F - 1.0F);
                }
                inputs.emplace_back(std::span<const float>(floats));
            }
        }
    }

    std::vector<input_data> inputs;

private:
    std::vector<std::vector<float>> numbers_;
    std::vector<std::vector<std::int32_t>> labels_;
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
