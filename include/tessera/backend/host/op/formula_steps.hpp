// SPDX-License-Identifier: Apache-2.0
// Formulas that are known when the program runs, such as those of fused operators: some hundred elements at a time,
// each node a vectorized loop over them, what is between in the first cache.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/kernels/steps.hpp"
#include "tessera/backend/host/op/elementwise_kernels.hpp"
#include "tessera/op/records.hpp"

#include <algorithm>
#include <vector>

namespace tessera::host {

/// The result of a formula, or the gradients of some of its inputs at once, so that what they share is computed once.
class formula_steps {
public:
    static constexpr std::ptrdiff_t most = 512; ///< elements at a time

    formula_steps() = default;
    /// `roots`: expression::the_result, or inputs. `of`: the use whose attributes the formula has, if it has any.
    formula_steps(const expression::formula& f, const fixed_vector<int, expression::most_inputs>& roots,
                  const op_attributes& of);
    formula_steps(formula_steps&&) = default;
    formula_steps& operator=(formula_steps&&) = default;
    formula_steps(const formula_steps&) = delete;
    formula_steps& operator=(const formula_steps&) = delete;

    /// `from`: the inputs, the result, its gradient (of a loss, one number); null where the formula does not read them.
    /// `to`: one for every root, which may be one of `from`.
    void run(const float* const* from, float* const* to, std::ptrdiff_t count);
    void run(const float* const* from, float* to, std::ptrdiff_t count) { run(from, &to, count); }

private:
    // Places of arrays: leaves, roots, then slots of our own.
    static constexpr int leaves = expression::most_inputs + 2;
    static constexpr int first_slot = leaves + expression::most_inputs;
    static constexpr int most_places = first_slot + expression::max_nodes + expression::most_inputs;

    static constexpr std::size_t stride = most + 32; ///< of slots: no two of them in the same lines of the cache's sets

    struct constant {
        int place = 0;
        float number = 0;
    };

    float* slot(int place);

    /// A formula while it becomes steps.
    struct draft;

    void compile(const expression::formula& f, const fixed_vector<int, expression::most_inputs>& roots,
                 const std::array<float, expression::most_attributes>& attributes);
    int own_slot() { return first_slot + slots_++; }
    void place_leaves(draft& d, const std::array<float, expression::most_attributes>& attributes);
    void place_steps(draft& d);
    void copy_roots(const draft& d);

    int roots_ = 0;
    int slots_ = 0;
    int loss_leaf_ = -1; ///< of a loss: the leaf that is one number, and the slot that is filled with it
    int loss_gradient_ = -1;
    int apart_[expression::most_inputs] = {}; ///< slots of roots that cannot be written while others are computed
    std::vector<kernels::node_step> steps_;
    std::vector<constant> constants_;
    std::vector<float> numbers_;
};

/// All of an operator's, by the number of an input or expression::the_result.
class steps_by_number {
public:
    explicit steps_by_number(const op_attributes& a);
    void operator()(int which, const float* const* from, float* to, std::ptrdiff_t count);

private:
    formula_steps of_[1 + expression::most_inputs];
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/formula_steps.inl"
#endif

#include "tessera/base/end_header.inl"
