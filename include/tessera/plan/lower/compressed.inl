// SPDX-License-Identifier: Apache-2.0
// Bodies of compressed.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/compressed.hpp"

namespace tessera::lowering {

TESSERA_INLINE int residual_tile(synchronization_places& sync, plan_writer& out, int source) {
    const tile like = out[source];
    for (const int known : sync.residuals) {
        const tile& x = out[known];
        if (x.tensor == like.tensor && x.device == like.device && x.region == like.region) {
            return known;
        }
    }
    const int made = add_tile(out, tile_kind::residual, like.tensor, like.region, like.device, element::f32);
    sync.residuals.push_back(made);
    return made;
}

TESSERA_INLINE int add_compression(const lowering_input& in, synchronization_places& sync, plan_writer& out, int number,
                                   int source) {
    const int parameter = out[source].tensor;
    const int device = out[source].device;
    const index_t volume = out[source].region.volume();
    if (out.p.compress.how == compression::top_k && volume > most_indexed_elements) {
        throw error("tessera: a shard of the parameter " + parameter_path_of(in.g, parameter) + " has " +
                    std::to_string(volume) +
                    " elements, and top_k says their indices in 32 bits; split it, or use "
                    "eight_bits");
    }
    const int residual = residual_tile(sync, out, source);
    const int code = add_tile(out, tile_kind::code, parameter, out[source].region, device, element::f32);
    out[code].elements = out.p.compress.words(volume);
    task& t = add_task(out, task_kind::compress, in.first_user[to_size(parameter)], pass::update, number, device);
    t.mutable_params().parameter = parameter;
    t.mutable_params().method = exchange::all_reduce;
    t.reads = {source};
    t.writes = {code};
    t.mutable_params().state = residual;
    t.late = in.sums_late();
    const index_t room = out.p.compress.scratch_bytes(volume);
    t.scratch = room > 0 ? add_scratch(out.p, device, room) : -1;
    return code;
}

TESSERA_INLINE void send_compressed(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                    const sent_message& sent) {
    std::vector<std::vector<int>> sent_codes; // by slice
    for (const sent_slice& x : sent.slices) {
        sent_codes.emplace_back();
        for (const int source : x.sources) {
            sent_codes.back().push_back(
                add_compression(in, sync, out, static_cast<int>(sent_codes.back().size()), source));
        }
    }
    std::vector<reduced_slices> arrived;
    for (int i = 0; i < sent.members(); ++i) {
        const int parameter = sent.slices[0].what.parameter;
        const int device = sent.slices[0].copies[to_size(i)].device;
        std::vector<int> sums;
        for (const sent_slice& x : sent.slices) {
            sums.push_back(sum_tile(sync, out, x.what.parameter, x.copies[to_size(i)]));
        }
        task& t = add_task(out, task_kind::decompress, in.first_user[to_size(parameter)], pass::update, i, device);
        t.mutable_params().parameter = parameter;
        t.mutable_params().method = exchange::all_reduce;
        t.mutable_params().message = sent.message;
        t.late = in.sums_late();
        arrived.emplace_back();
        for (std::size_t k = 0; k < sent.slices.size(); ++k) {
            const sent_slice& x = sent.slices[k];
            t.reads.insert(t.reads.end(), sent_codes[k].begin(), sent_codes[k].end());
            t.writes.push_back(sums[k]);
            if (sent.slices.size() > 1) {
                t.mutable_params().parts.push_back(
                    {x.what.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size())});
            }
            for (const int code : sent_codes[k]) {
                count_moved(out, {code}, device, out[code].elements);
            }
            const piece& c = x.copies[to_size(i)];
            arrived.back().push_back({x.what.parameter, 0, 1, {c}, c.device, -1, exchange::sliced, {sums[k]}});
        }
    }
    for (const reduced_slices& r : arrived) { // after all sums, which make one collective
        in.updates_wait() ? put_off(in, sync, out, r) : update_from(in, sync, out, r, 0);
    }
    bring_up(in, sync, out);
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
