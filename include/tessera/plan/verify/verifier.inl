// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

namespace tessera::detail {

TESSERA_INLINE std::uint64_t number_of(const box& region, std::uint64_t whose) {
    std::uint64_t h = op::mix(whose ^ (static_cast<std::uint64_t>(region.rank) << 56U));
    for (int d = 0; d < region.rank; ++d) {
        h = op::mix(h ^ static_cast<std::uint64_t>(region.dim[d].begin));
        h = op::mix(h ^ static_cast<std::uint64_t>(region.dim[d].end));
    }
    return h;
}

TESSERA_INLINE verifier::verifier(const graph_view& g, const plan& p) : g_(g), p_(p) {
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
    }
}

TESSERA_INLINE verdict verifier::run(index_t device_memory, const optimizer* made_for) {
    bool sound = fields() && (made_for == nullptr || is_made_for(*made_for)) && structure();
    if (sound) {
        prepare();
    }
    sound = sound && replicas() && shards() && note_activations() && operands() && parts() && moves() && exchanges() &&
            gradients() && sums() && deadlock() && races() && arena() && updates() && results() && collectives() &&
            fits(device_memory);
    return {sound ? std::string() : text_};
}

TESSERA_INLINE bool verifier::refuse(const task* t, const std::string& what) {
    text_ = "tessera: the plan is refused: " + what;
    if (t != nullptr) {
        text_ += " [operator ";
        text_ += path_of(g_, t->op);
        text_ += ", " + std::string(to_text(t->kind())) + " " + to_text(t->what) + ", shard " +
                 std::to_string(t->shard_number) + ", device " + std::to_string(t->device) + "]";
    }
    return false;
}

TESSERA_INLINE index_t verifier::tensor_key(const tile& x) const {
    const bool own = x.kind == tile_kind::intermediate || x.kind == tile_kind::intermediate_gradient;
    const index_t whose = own ? x.micro_batch + index_t{p_.micro_batches} * x.replica : 0;
    const index_t which = static_cast<index_t>(x.kind) ^ (whose << 4) ^ (index_t{x.step} << 20);
    return which * (index_t{1} << 32) + x.tensor;
}

TESSERA_INLINE const tile& verifier::origin_of(int t) const {
    const int origin = p_.tiles[to_size(t)].origin;
    return p_.tiles[to_size(origin >= 0 ? origin : t)];
}

TESSERA_INLINE bool verifier::is_backward(pass what) {
    return what == pass::backward || what == pass::backward_input || what == pass::backward_weight;
}

TESSERA_INLINE bool verifier::is_count(const tile& x) {
    return x.kind == tile_kind::scalar && x.tensor == -1 && x.region.rank == 1 && x.region.dim[0] == interval{0, 1};
}

TESSERA_INLINE bool verifier::is_layer_norm(const tile& x) const {
    return x.kind == tile_kind::scalar && x.tensor >= 0 && x.tensor < g_.parameter_count &&
           x.region == layer_norm_region;
}

TESSERA_INLINE interval verifier::samples_of(int micro_batch) const {
    return even_part(g_.tensors[0].extents[0], p_.micro_batches, micro_batch);
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
