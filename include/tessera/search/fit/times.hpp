// SPDX-License-Identifier: Apache-2.0
// What operators take and keep of a micro-batch on one of several devices, by the roofline: what fit() guesses with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/search/fit/space.hpp"

namespace tessera::search {

/// What an operator takes of one micro-batch on one of some devices.
struct operator_estimate {
    index_t forward = 0; ///< ns
    index_t input = 0;
    index_t weight = 0;
    index_t made = 0; ///< bytes of its output, or of its shard's
    index_t kept = 0; ///< the same, if backward reads it
    int parts = 1;    ///< into which its parameters are split
};

class fit_times {
public:
    fit_times(const graph_view& g, const cluster& on, const cost::roofline_efficiency& reached);

    /// Of every operator, on one of `width` devices.
    const std::vector<operator_estimate>& operator()(int micro_batches, int width, baseline inside);

    /// Bytes of the parameters of which an operator is the first user.
    index_t parameters(int op) const { return parameters_[to_size(op)]; }

private:
    struct known_times {
        int micro_batches = 0, width = 0;
        baseline inside = baseline::data_parallel;
        std::vector<operator_estimate> times;
    };

    /// Which of an operator's tensors are read backward; flattening only renames.
    void find_kept(int op);

    operator_estimate time_of(int op, int micro_batches, int width, baseline inside) const;

    const cluster& on_;
    graph_view g_;
    cost::roofline_efficiency reached_;
    std::vector<description> descriptions_;
    std::vector<index_t> parameters_; ///< bytes
    std::vector<char> kept_;          ///< tensors that backward reads
    std::vector<known_times> known_;
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/times.inl"
#endif

#include "tessera/base/end_header.inl"
