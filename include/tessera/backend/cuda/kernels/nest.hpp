// SPDX-License-Identifier: Apache-2.0
// The text of kernels that are made of loop nests: a pass computes each element of what it writes by itself, so that
// the order of every sum is the same in each run. By a thread each, or, where many points make one element, by a block.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/expression.hpp"
#include "tessera/base/error.hpp"
#include "tessera/op/nest/program.hpp"

#include <vector>

namespace tessera::cuda {

/// How the kernels of a pass take its numbers. All of it follows from the program, but for what is in the arguments.
class nest_text {
public:
    nest_text(const nests::program& p, const nests::nest_pass& pass);

    struct pointer {
        int operand = -1;
        bool gradient = false;
    };
    /// In the order of the arguments; the last is what is written.
    const std::vector<pointer>& pointers() const { return pointers_; }
    /// Scalars that are arguments.
    const std::vector<int>& reals() const { return reals_; }
    /// Whether several points make one element.
    bool reduces() const { return !inner_.empty(); }
    /// Loops that are gone through for one element.
    const std::vector<int>& inner() const { return inner_; }

    /// Where an integer is among the arguments.
    static constexpr int count_at = 0; ///< elements that are written
    static constexpr int adds_at = 1;  ///< 1: the result is added to what is there
    int begin_at(int loop) const { return 2 + 2 * loop; }
    int size_at(int loop) const { return 3 + 2 * loop; }
    int dimension_at(int k) const { return 2 + 2 * p_.d.loops.size() + 2 * k; } ///< of what is written: size, begin
    int pointer_at(int number) const;
    int windows_at() const { return pointer_at(static_cast<int>(pointers_.size())); }
    /// What checks indices of windows: operands and dimensions, in order; each takes an offset, an extent and a
    /// coefficient for each term.
    std::vector<std::pair<int, int>> windows() const;
    static constexpr int window_size = 5;
    int integers() const { return windows_at() + window_size * static_cast<int>(windows().size()); }

    std::string kernels(const std::string& name) const;

private:
    template <class... Part>
    static void put(std::string& to, const Part&... part) {
        ((to += part), ...);
    }
    static std::string n(int i) { return "a.n[" + std::to_string(i) + "]"; }
    static std::string l(int loop) { return "l" + std::to_string(loop); }
    const char* type_of(const pointer& x) const;
    bool in_double() const { return p_.d.operands[pass_.target].type == element::f64; }
    bool is_max() const { return pass_.reduce == reducer::max; }

    std::string one(const std::string& name, bool by_block) const;
    /// The loops of one element; inside of all of them `continue` goes on to the next point.
    std::string loops(bool by_block) const;
    /// Where a window's numbers are.
    int window_at(int o, int k) const;
    std::string point() const;
    std::string value(const expression::node& x) const;

    const nests::program& p_;
    const nests::nest_pass& pass_;
    std::vector<pointer> pointers_;
    std::vector<int> inner_;
    std::vector<int> reals_;
    int solved_[max_rank] = {-1, -1, -1, -1, -1};
    std::uint32_t given_ = 0; ///< loops that an element's place gives
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/kernels/nest.inl"
#endif

#include "tessera/base/end_header.inl"
