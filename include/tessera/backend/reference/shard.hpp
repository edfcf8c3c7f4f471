// SPDX-License-Identifier: Apache-2.0
// A call with its operands at hand: what the kernels of the reference backend have in common.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/walk.hpp"
#include "tessera/base/error.hpp"
#include "tessera/task/compute.hpp"

#include <string>

namespace tessera::reference::detail {

template <class Real>
struct shard {
    const compute_call& call;
    const description& d;

    explicit shard(const compute_call& c) : call(c), d(*c.d) {}

    int input(int slot = 0) const { return d.find_operand(operand_kind::input, slot); }
    int parameter(int slot) const { return d.find_operand(operand_kind::parameter, slot); }
    int intermediate(int slot) const { return d.find_operand(operand_kind::intermediate, slot); }
    int output() const { return d.output(); }
    const shape& extents(int o) const { return d.operands[o].extents; }

    std::uint32_t all_loops() const { return bit(d.loops.size()) - 1; }
    /// The loops that the output's index depends on.
    std::uint32_t output_loops() const { return all_loops() & ~reduced_loops(d, d.nests.size() - 1); }

    template <class T = Real>
    T* value(int o) const {
        return data<T>(call.value[o], o, "value");
    }
    template <class T = Real>
    T* gradient(int o) const {
        return data<T>(call.gradient[o], o, "gradient");
    }
    cursor value_at(int o) const { return place(d.operands[o], call.value[o].region); }
    cursor gradient_at(int o) const { return place(d.operands[o], call.gradient[o].region); }
    /// The row-major index in the whole operand.
    cursor global_at(int o) const { return place(d.operands[o], whole(extents(o))); }
    /// The index in a dense array over what the shard touches of the operand.
    cursor local_at(int o) const { return place(d.operands[o], touched(o)); }
    box touched(int o) const { return region(d, o, call.ranges); }

    template <std::size_t Count, class Body>
    void walk(const cursor (&where)[Count], Body&& body) const {
        walk_over(all_loops(), 0, where, body);
    }
    /// Without the points at which the index of `inside` is outside its tensor.
    template <std::size_t Count, class Body>
    void walk_inside(int inside, const cursor (&where)[Count], Body&& body) const {
        walk_over(all_loops(), bit(inside), where, body);
    }
    template <std::size_t Count, class Body>
    void walk_over(std::uint32_t loops, std::uint32_t inside, const cursor (&where)[Count], Body&& body) const {
        detail::walk(d, loops, call.ranges, inside, where, body);
    }

    /// Sets what the shard writes of an operand.
    template <class T>
    void fill(int o, T with) const {
        T* const p = value<T>(o);
        std::uint32_t loops = 0;
        for (int l = 0; l < d.loops.size(); ++l) {
            loops |= depends(d.operands[o], l) ? bit(l) : 0;
        }
        index_t slices = 1; // of dimensions that no loop runs over
        index_t apart = 0;
        for (int k = 0; k < extents(o).rank; ++k) {
            if (d.operands[o].dim[k].all) {
                slices = extents(o)[k];
                apart = stride_in(call.value[o].region, k);
            }
        }
        walk_over(loops, bit(o), {value_at(o)}, [&](const auto& r) {
            for (index_t i = 0; i < r.count; ++i) {
                for (index_t s = 0; s < slices; ++s) {
                    p[r.at[0] + i * r.step[0] + s * apart] = with;
                }
            }
        });
    }

    /// Zero everywhere: the shard's contribution where it has none.
    template <class T = Real>
    void clear_gradient(int o) const {
        T* const p = gradient<T>(o);
        const index_t count = call.gradient[o].region.volume();
        for (index_t i = 0; i < count; ++i) {
            p[i] = T(0);
        }
    }

private:
    /// A plan that gives a shard less than it needs is a defect of the plan: say so instead of reading beyond.
    template <class T>
    T* data(const tile_view& tile, int o, const char* what) const {
        if (tile.data == nullptr || tile.region.rank != extents(o).rank || !tile.region.contains(touched(o))) {
            throw error(std::string("tessera: the ") + what + " of operand " + std::to_string(o) + " of a " +
                        to_text(call.attributes.kind) + (tile.data == nullptr ? " is missing" : " misses elements") +
                        " in its " + to_text(call.what) + " pass; the plan must place its whole region on the device");
        }
        return static_cast<T*>(tile.data);
    }
};

} // namespace tessera::reference::detail

namespace tessera::reference {

/// What an operator's loops are given: operators of one's own are written with it, too.
using detail::shard;
using detail::stride_in;

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
