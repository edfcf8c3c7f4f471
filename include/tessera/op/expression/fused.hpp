// SPDX-License-Identifier: Apache-2.0
// Records of operators that are made of several while the program runs. They live as long as the program: plans,
// sessions and backends refer to them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/mutex.hpp"
#include "tessera/base/owned.hpp"
#include "tessera/op/expression/record.hpp"

#include <string>
#include <vector>

namespace tessera {

namespace detail {

struct fused_operator {
    std::string name;
    expression::formula formula;
    op_record record;

    fused_operator(std::string its_name, const expression::formula& f);
    fused_operator(const fused_operator&) = delete;
    fused_operator& operator=(const fused_operator&) = delete;
};

bool same_formula(const expression::formula& a, const expression::formula& b);

} // namespace detail

namespace op {

/// The record of a formula, one for each name. A name says what the formula is composed of; where operators of
/// different programs' parts have one name, the formulas differ, and what comes later has an apostrophe behind its
/// name.
const op_record& fused_record(std::string name, const expression::formula& f);

} // namespace op

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/op/expression/fused.inl"
#endif

#include "tessera/base/end_header.inl"
