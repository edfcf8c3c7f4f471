// SPDX-License-Identifier: Apache-2.0
// bf16 in the reference backend: a shard computes in floats, on copies of what is stored as bf16, and what it makes is
// rounded when it is stored.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/table.hpp"
#include "tessera/base/bfloat16.hpp"
#include "tessera/execute/local/copy_box.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/task/compute.hpp"

#include <vector>

namespace tessera::reference {

/// Whether an operator takes its parameters rounded to bf16.
bool rounds_parameters(const op_attributes& a);

/// The operands of one call that are stored as bf16, or taken as such.
class rounded_operands {
public:
    /// Operand `o` of a call, its value or its gradient: `view` is given memory of floats in place of what it has.
    void add(tile_view& view, bool is_stored, bool writes);
    /// Before the call.
    void load();
    /// After it.
    void store();

private:
    struct one {
        void* memory;
        std::vector<float> numbers; ///< its memory stays where it is when this is moved
        bool is_stored;
        bool writes;
    };
    std::vector<one> operands_;
};

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/rounded.inl"
#endif

#include "tessera/base/end_header.inl"
