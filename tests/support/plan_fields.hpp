// SPDX-License-Identifier: Apache-2.0
// Every field of a plan and of what it holds, by name. A field that is added to one of the structs breaks its bindings
// here, so that what visits them all cannot forget it.
#pragma once

#include "tessera/plan/plan.hpp"

#include <string_view>

namespace test_support {

namespace ts = tessera;

/// Calls visit(name, field) for each of the fields, which are named in one list of words between commas.
template <class Visit, class... Fields>
void visit_named(std::string_view names, Visit&& visit, Fields&... fields) {
    const auto next = [&] {
        const std::size_t end = names.find(',');
        const std::string_view name = names.substr(0, end);
        names = end == std::string_view::npos ? std::string_view{} : names.substr(end + 2);
        return name;
    };
    (visit(next(), fields), ...);
}

#define TESSERA_EACH_FIELD(Struct, ...)                                                                                \
    template <class Visit>                                                                                             \
    void each_field(Struct& all_fields, Visit&& visit) {                                                               \
        auto& [__VA_ARGS__] = all_fields;                                                                              \
        visit_named(#__VA_ARGS__, visit, __VA_ARGS__);                                                                 \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" // fields are called as tests call other things
TESSERA_EACH_FIELD(ts::interval, begin, end)
TESSERA_EACH_FIELD(ts::box, rank, dim)
TESSERA_EACH_FIELD(ts::compression_setting, how, block, keep_one_in)
TESSERA_EACH_FIELD(ts::copy_segment, source, region, overwrite)
TESSERA_EACH_FIELD(ts::wait_for, list, count)
TESSERA_EACH_FIELD(ts::task_part, parameter, reads, writes, state)
TESSERA_EACH_FIELD(ts::result_piece, tensor, part, tile, step)
TESSERA_EACH_FIELD(ts::tile, kind, tensor, region, device, type, alias, keep, part, origin, micro_batch, replica, step,
                   elements, slice, slices, format, bytes, offset)
TESSERA_EACH_FIELD(ts::task, kind, op, what, shard_number, micro_batch, step, device, stream, reads, writes, first_nest,
                   last_nest, emits, first_part, ranges, value, gradient, samples, running, segments, clear, reduce,
                   parameter, parts, slice, slices, state, norms, layer_norms, counted_elsewhere, scale, how, message,
                   late, implementation, fused, activates, beside, flag, scratch, workspace, waits, after, priority,
                   position)
TESSERA_EACH_FIELD(ts::plan, kind, devices, streams, micro_batches, joint_statistics, replica_statistics, period,
                   loss_scale, states, clips, compress, staleness, average_every, output_gradient, alignment, tiles,
                   tasks, order, results, gradients, arena_bytes, persistent_bytes, moved_bytes, hash)
#pragma GCC diagnostic pop

#undef TESSERA_EACH_FIELD

/// How many fields a struct has.
template <class Struct>
int field_count() {
    int count = 0;
    Struct s;
    each_field(s, [&](std::string_view, auto&) { ++count; });
    return count;
}

} // namespace test_support
