// SPDX-License-Identifier: Apache-2.0
// bf16 in the reference backend: a shard computes in floats, on copies of what is stored as bf16, and what it makes is rounded when
// it is stored.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/table.hpp"
#include "tessera/base/bfloat16.hpp"
#include "tessera/execute/copy_box.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/task/compute.hpp"

#include <vector>

namespace tessera::reference {

/// Whether an operator takes its parameters rounded to bf16.
inline bool rounds_parameters(const op_attributes& a) {
    return a.math == precision::bf16 && rounds_parameters(record_of(a));
}

/// The operands of one call that are stored as bf16, or taken as such.
class rounded_operands {
public:
    /// Operand `o` of a call, its value or its gradient: `view` is given memory of floats in place of what it has.
    void add(tile_view& view, bool is_stored, bool writes) {
        operands_.push_back(
            {view.data, std::vector<float>(static_cast<std::size_t>(view.region.volume())), is_stored, writes});
        view.data = operands_.back().numbers.data();
    }
    /// Before the call.
    void load() {
        for (one& x : operands_) {
            const auto count = static_cast<index_t>(x.numbers.size());
            if (x.is_stored && !x.writes) {
                numbers_of(element::bf16, static_cast<const std::byte*>(x.memory), count, x.numbers.data());
            } else if (!x.writes) {
                for (std::size_t i = 0; i < x.numbers.size(); ++i) {
                    x.numbers[i] = round_to_bf16(static_cast<const float*>(x.memory)[i]);
                }
            }
        }
    }
    /// After it.
    void store() {
        for (one& x : operands_) {
            if (x.writes) {
                store_numbers(element::bf16, x.numbers.data(), static_cast<index_t>(x.numbers.size()),
                              static_cast<std::byte*>(x.memory));
            }
        }
    }

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

#include "tessera/base/end_header.inl"
