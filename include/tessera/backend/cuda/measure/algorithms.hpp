// SPDX-License-Identifier: Apache-2.0
// Which algorithm a convolution or a matrix product uses and how much workspace it gets: fixed when a plan is bound, so
// that the plan's memory holds it and a run chooses nothing.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"
#include "tessera/base/mutex.hpp"

#include <utility>

namespace tessera::cuda {

struct algorithm_choice {
    int algorithm = 0;
    index_t workspace = 0;                    ///< bytes
    double milliseconds = -1;                 ///< measured; negative: not measured
    math_type multipliers = math_type::plain; ///< those of the measurement
};

/// So many of cublasLt's proposals for a product are measured.
inline constexpr int most_proposals = 8;

/// Choices by what is computed. Without a measurement it takes the algorithms of which NVIDIA says that they are
/// deterministic on every GPU (cuDNN's developer guide, "Reproducibility"): implicit precomputed GEMM forward,
/// algorithm 1 backward.
class algorithm_table {
public:
    /// A way to measure: fills a choice for a call, called at most once for each.
    using measure_convolution = algorithm_choice (*)(void* context, const convolution& c);
    using measure_matrix_product = algorithm_choice (*)(void* context, const matrix_product& m);

    algorithm_table() = default;
    algorithm_table(measure_convolution how, void* context) : measure_(how), context_(context) {}
    /// Products are measured too, from now on.
    void measure_products(measure_matrix_product how, void* context);

    /// `c` without algorithm, multipliers and workspace; returns it with all three.
    convolution choose(convolution c);
    /// A product with its workspace and, of what cublasLt proposes for that, what was measured to be fastest, or the
    /// first.
    matrix_product choose(matrix_product m);
    /// Workspace of a matrix product, instead of product_workspace: for those who run call lists without a GPU, as the
    /// tests do, and clear on a processor what a GPU would have.
    void set_product_workspace(index_t bytes) { product_bytes_ = bytes; }

    /// Adds what was measured before.
    void add(const convolution& c, const algorithm_choice& choice) { convolutions_.push_back({c, choice}); }
    void add(const matrix_product& m, const algorithm_choice& choice) { products_.push_back({m, choice}); }

    void forget();

    const std::vector<std::pair<convolution, algorithm_choice>>& known() const { return convolutions_; }
    const std::vector<std::pair<matrix_product, algorithm_choice>>& known_products() const { return products_; }
    std::size_t size() const { return convolutions_.size() + products_.size(); }

    static constexpr index_t unmeasured = index_t{8} << 20; ///< workspace of a convolution that was not measured
    static constexpr index_t product_workspace = index_t{32} << 20; ///< NVIDIA recommends 32 MiB on Hopper

private:
    static convolution with(convolution c, const algorithm_choice& choice);

    /// The factor of a product does not decide how fast it is.
    static matrix_product without_scale(matrix_product m);

    measure_convolution measure_ = nullptr;
    void* context_ = nullptr;
    measure_matrix_product measure_product_ = nullptr;
    void* product_context_ = nullptr;
    index_t product_bytes_ = product_workspace;
    mutex mutex_;
    std::vector<std::pair<convolution, algorithm_choice>> convolutions_;
    std::vector<std::pair<matrix_product, algorithm_choice>> products_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/measure/algorithms.inl"
#endif

#include "tessera/base/end_header.inl"
