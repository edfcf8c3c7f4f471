// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: a pass is an expression of tensors that have a dimension for each of its
// loops, in the order of the loops.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/formulas.hpp"
#include "tessera/op/nest/program.hpp"

#include <string>
#include <vector>

namespace tessera::torch::detail {

/// The passes of a shard as Python.
class nest_text {
public:
    explicit nest_text(const shard_text& s);

    /// Why it cannot be said; empty: it can.
    std::string refusal() const;

    /// All that the output needs, pass by pass.
    std::string lines();

    /// What one pass makes; the others' results are in the shard's values.
    std::string one(int k);

    /// The largest of what several shards have gets no gradient from an exchange.
    bool can_be_taken_apart() const;

private:
    /// "(a, b)" and "(a,)".
    static std::string tuple(const std::vector<std::string>& of);

    static int position_of(std::uint32_t loops, int loop);
    bool counts_samples(int loop) const { return s_.d->loops[loop].name == loop_name::sample; }

    /// Passes that only the gradients of maxima need are autograd's.
    bool is_needed(int k) const;

    /// An affine index as Python has it: what it starts from, and (place of the loop, step) of every loop in it. The
    /// loops' indices count from the shard's first.
    std::string index_text(const affine& a, const nests::nest_pass& pass) const;
    std::string indices_text(int o, const nests::nest_pass& pass) const;

    /// The loops that a mask has, by `each`.
    template <class Each>
    std::string of_loops(std::uint32_t loops, Each each) const {
        std::vector<std::string> all;
        for (int l = 0; l < s_.d->loops.size(); ++l) {
            if (has(loops, l)) {
                all.push_back(each(l));
            }
        }
        return tuple(all);
    }
    std::string sizes(const nests::nest_pass& pass) const;

    /// An operand with a dimension for every loop of the pass.
    std::string operand_text(int o, const nests::nest_pass& pass) const;

    std::string scalar_text(int i, const nests::nest_pass& pass) const;
    std::string device() const { return s_.input() + ".device"; }

    /// Loops that what a pass computes has a dimension of more than one for.
    std::uint32_t covered(const nests::nest_pass& pass) const;

    std::string pass(int k, const std::string& stem, std::string& before);

    /// Points at which a window lies outside are left out.
    std::string with_windows(std::string text, const nests::nest_pass& pass) const;

    std::string reduced(const std::string& text, const nests::nest_pass& pass) const;

    /// With the dimensions of the target in its order, and in its type.
    std::string laid_out(std::string text, const nests::nest_pass& pass) const;
    bool is_double(const nests::nest_pass& pass) const;

    shard_text s_;
    const nests::program& p_;
    double scalars_[nests::max_scalars] = {};
};

std::string nest_line(const shard_text& s, std::string& why);
std::string nest_pass_line(const shard_text& s, int nest, std::string& why);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/nests.inl"
#endif

#include "tessera/base/end_header.inl"
