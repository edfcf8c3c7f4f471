// SPDX-License-Identifier: Apache-2.0
// Lowering of the gradients of what goes round a ring, see ring.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/ring.hpp"

namespace tessera::lowering {

/// Adds up parts of a gradient on a device. `all`: they are all that there is of the region.
int add_up(plan_writer& out, const std::vector<int>& parts, int device, bool all, int op, pass what);

/// True where nothing but one operand of one operator contributes to the gradient of a tensor.
bool has_one_reader(const lowering_input& in, int tensor);

/// Makes the gradients of inputs, from nest `nest`. What a device adds to those of a piece goes on behind the piece, and
/// comes to the device of the piece's own queries in the end, which adds its part. Those of queries add up where they
/// are. So the order of every sum is that of the ring.
class gradients_round {
public:
    gradients_round(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                    int nest, std::uint32_t emits, pass what)
        : in_(in), net_(net), m_(m), out_(out), op_(op), nest_(nest), emits_(emits), what_(what),
          travelling_(keys_and_values(in.desc(op))) {}

    void run(key_ring& r);

private:
    /// Gradients of one region that add up on their way.
    struct running_gradient {
        int tile = -1;
        int own = -1; ///< what is added in the end
    };

    void take_turn(key_ring& r, const travelling_piece& keys, int s, int piece);
    /// The tile for a shard's gradient of an operand.
    int part_of(int o, const shard& x);
    void add_to_queries(key_ring& r, int o, int s, int part);
    /// The gradients of a piece, when a device has added its part. At home that waits for the others'.
    void pass_on(key_ring& r, int piece, int s, bool at_home);
    int tensor_of(int o) const { return in_.g.ops[op_].inputs[in_.desc(op_).operands[o].slot]; }
    bool is_all(int o) const { return has_one_reader(in_, tensor_of(o)); }
    void contribute_all(int o, int t);

    const lowering_input& in_;
    network_places& net_;
    micro_batch_places& m_;
    plan_writer& out_;
    int op_;
    int nest_;
    std::uint32_t emits_;
    pass what_;
    std::uint32_t travelling_;
    std::vector<running_gradient> own_;   ///< of queries, by shard and operand
    std::vector<running_gradient> round_; ///< of keys and values, by piece and operand
    std::vector<std::vector<int>> made_;  ///< by operand: of a piece on the device where it is
};

/// The gradients of an operator's inputs that are in `emits`, all from nest `k`.
void backward_round(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                    int k, std::uint32_t emits, pass what);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/ring_gradients.inl"
#endif

#include "tessera/base/end_header.inl"
