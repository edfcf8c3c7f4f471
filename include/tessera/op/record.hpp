// SPDX-License-Identifier: Apache-2.0
// What an operator is, as one record: its header in this folder defines it, and nothing else in the core knows it by
// name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/left_out.hpp"
#include "tessera/base/rules.hpp"
#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

#include <string_view>
#include <type_traits>

namespace tessera::expression {
struct formula; // op/expression/formula.hpp
}
namespace tessera::nests {
struct generator; // op/nest/program.hpp
}

namespace tessera {

/// The shape of an operator's output, or the rule that its inputs break.
struct inferred {
    problem refused; ///< `op` is left to the caller
    shape output;
};

/// What a backend has for an operator of one's own: a row of the backend's table, of the backend's own type.
struct own_row {
    const char* backend = nullptr; ///< such as "reference", "host", "cuda"
    const void* row = nullptr;
};

/// The rows of a loss in a batch, for those who ask what they weigh.
struct loss_rows {
    index_t count = 0;
    const std::int32_t* labels = nullptr; ///< null: they are no integers
    const float* weights =
        nullptr; ///< what comes third, one for each row; null: there is none, or a network computes it
    const float* parameter = nullptr; ///< the loss's first parameter; null: it has none
};

/// What stands in the place of an operator when positions of a sequence come piece by piece, and what earlier ones have
/// left is kept.
struct piecewise_use {
    problem refused; ///< `op` is left to the caller
    /// Of that operator; its inputs are those of the one whose place it takes, and one more.
    op_attributes attributes;
    /// The one more: number[N] (int32) of each sample's first new position, or what `look_up`, an operator of its own,
    /// makes of number[N,P] of all with the parameters.
    bool looks_up = false;
    op_attributes look_up;
    fixed_vector<shape, 3> kept; ///< its parameters, in which it keeps what it needs of earlier positions
};

/// What there is to know of an operator, whatever its attributes and the shapes of its inputs. No member is for one
/// operator's sake: where only one of the library's has it, others can have it as well, and tests/op/predicates.cpp
/// defines one that does.
struct op_record {
    const char* name = ""; ///< in files, profiles and messages: unique, and the same for ever
    inferred (*infer)(const op_attributes&, const shape* inputs, int count) = nullptr;
    /// The shapes must fit, which `infer` finds out.
    description (*describe)(const op_attributes&, const shape* inputs, int count) = nullptr;
    int inputs = 1; ///< 0: two or more; -1: one or more
    /// Of an operator that joins parts of one tensor: as how many inputs it reads it. Null: an input is one tensor.
    optional_function<int(const op_attributes&)> uses{};
    op_facts facts{};
    initial_values initial[3] = {}; ///< of each parameter
    /// Of an operator that reads a place of its input, such as a slice: the same use at the first place, where two uses
    /// differ in the place alone. Null: they do not.
    optional_function<op_attributes(op_attributes)> without_place{};
    /// Of an operator with a parameter that is as long as its sequences: the same use with the parameter that it has of
    /// these inputs, for shorter ones as well. Null: its parameters do not depend on the length, or it cannot have
    /// shorter sequences.
    optional_function<op_attributes(op_attributes, const shape* inputs)> for_longest{};
    /// Of an operator that is not the same at every position, of sequences of up to `room` positions: how it computes
    /// positions that come piece by piece. Null: it makes each position of its output of the same position of its
    /// inputs, and it does not matter which, or it cannot.
    optional_function<piecewise_use(const op_attributes&, const shape* inputs, index_t room)> piecewise{};
    /// Of running state: the weight of the newest statistics in it.
    optional_function<double(const op_attributes&)> momentum{};
    /// How many integers, from 0, input `slot` of the operator may hold, of inputs of these shapes; 0: it holds
    /// numbers. Null: they all do.
    optional_function<index_t(const op_attributes&, const shape* inputs, int slot)> index_bound{};
    /// Of a loss: the shape of what it compares a first input of this shape with, its labels. Null: they have the shape
    /// of that input, as targets of a regression do. Whether they are integers or numbers is in the description.
    optional_function<shape(const op_attributes&, const shape&)> labels{};
    /// Of a loss: what the sum of its output, of this shape, is divided by. Null: the number of its elements, so that
    /// the loss is their mean.
    optional_function<index_t(const op_attributes&, const shape&)> divisor{};
    /// Of a loss of classes: the label of rows that do not count, which need be no class. Null: all rows count.
    optional_function<index_t(const op_attributes&)> ignored{};
    /// Of a loss whose mean is over what its rows weigh, not over their number: what they weigh together. Means of
    /// several batches weigh so among each other. Null: as many as there are samples.
    optional_function<double(const op_attributes&, const loss_rows&)> row_weight{};
    /// Of an operator that is an expression, element by element: its values and gradients, for every backend. Null: it
    /// is none.
    optional_pointer<expression::formula> formula{};
    /// Of an operator that is written as loop nests: its passes, for every backend. Null: it is not.
    optional_pointer<nests::generator> generated{};
    own_row rows[4] = {}; ///< of an operator that is not the library's, whose backends have rows for it themselves
    const attribute_list* own =
        nullptr; ///< its own attributes by name, which files of networks need; null: it has none, or says none
    const char* only_planned =
        nullptr; ///< of an operator that no backend computes: why, as the end of a sentence about it
    bool makes_probabilities = false; ///< its output's rows are probabilities, as softmax's
    bool takes_logits = false; ///< of a loss: it makes probabilities of its first input itself, as a cross-entropy does

    constexpr bool brings_row_for(std::string_view backend) const {
        for (const own_row& r : rows) {
            if (r.backend != nullptr && backend == r.backend) {
                return true;
            }
        }
        return false;
    }
    /// Null where it brings none for a backend.
    constexpr const void* row_for(std::string_view backend) const {
        for (const own_row& r : rows) {
            if (r.backend != nullptr && backend == r.backend) {
                return r.row;
            }
        }
        return nullptr;
    }
};

namespace detail {

/// By hand, for compilers count the steps of what they compute, and most names differ in their first letter.
constexpr bool same_text(const char* a, const char* b) {
    while (*a != 0 && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

} // namespace detail

/// Whether two records are one: they have one name.
constexpr bool same_operator(const op_record& a, const op_record& b) { return detail::same_text(a.name, b.name); }

/// The name of an operator.
constexpr const char* to_text(op_kind kind) {
    return !std::is_constant_evaluated() && kind.record == nullptr ? "none" : kind.record->name;
}

constexpr bool operator==(op_kind a, op_kind b) {
    if (!std::is_constant_evaluated() && a.record == b.record) {
        return true;
    }
    return detail::same_text(to_text(a), to_text(b));
}

namespace detail {

constexpr inferred refuse(rule broken, index_t found_number, index_t needed_number, int dimension = -1) {
    return {problem{broken, -1, dimension, found_number, needed_number}, {}};
}

/// Ranks from `least` to `most`, and a minimum of 1 for what has to be positive.
constexpr inferred infer_rank(const shape& x, int least, int most, index_t positive = 1) {
    if (x.rank < least || x.rank > most) {
        return refuse(rule::input_has_wrong_rank, x.rank, x.rank < least ? least : most);
    }
    return positive < 1 ? refuse(rule::extent_is_zero, positive, 1) : inferred{{}, x};
}

constexpr int first_difference(const shape& a, const shape& b) {
    for (int d = 0; d < a.rank; ++d) {
        if (a[d] != b[d]) {
            return d;
        }
    }
    return -1;
}

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
