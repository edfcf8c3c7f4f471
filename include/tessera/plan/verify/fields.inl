// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that every number of a plan is one that it can be: kinds, indices, regions, sizes. All
// other checks stand on these.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

namespace tessera::detail {

/// What the plan says of itself, of its tiles and of its tasks can be.
TESSERA_INLINE bool verifier::fields() {
    const bool counts = p_.devices > 0 && p_.micro_batches > 0 && p_.steps_per_plan > 0 && p_.states >= 0 &&
                        p_.states <= most_optimizer_states && p_.alignment >= arena_alignment &&
                        p_.arena_bytes.size() == to_size(p_.devices) &&
                        p_.persistent_bytes.size() == to_size(p_.devices) &&
                        (p_.host_bytes.empty() || p_.host_bytes.size() == to_size(p_.devices)) &&
                        (p_.host_persistent_bytes.empty() ||
                         (!p_.host_bytes.empty() && p_.host_persistent_bytes.size() == to_size(p_.devices))) &&
                        p_.loss_scale > 0 && p_.average_every >= 0 && p_.compress.how <= compression::top_k &&
                        p_.staleness >= 0 && p_.staleness < p_.steps_per_plan && p_.compress.block > 0 &&
                        p_.compress.keep_one_in > 0 && !(p_.joint_statistics && p_.replica_statistics);
    const bool known = p_.kind == run_kind::training || p_.kind == run_kind::evaluation;
    const bool outside =
        p_.output_gradient < g_.tensor_count && (p_.output_gradient < 0 || g_.tensors[p_.output_gradient].producer < 0);
    if (!counts || !known || !outside) {
        return refuse(nullptr, "its numbers of devices, micro-batches, steps or states, or its kind, cannot be");
    }
    for (int i = 0; i < static_cast<int>(p_.tiles.size()); ++i) {
        const char* why = problem_of_tile(i);
        if (why != nullptr) {
            return refuse(nullptr, "tile " + std::to_string(i) + " " + why);
        }
    }
    for (const task& t : p_.tasks) {
        const char* why = problem_of_task(t);
        if (why != nullptr) {
            text_ = "tessera: the plan is refused: a task of device " + std::to_string(t.device) + " " + why;
            return false;
        }
        if (t.kind() == task_kind::copy && !p_.host_bytes.empty() && moves_to_host(t)) {
            waited_.resize(p_.tiles.size(), -1);
            waited_[to_size(t.writes[0])] = t.copy().segments[0].source;
        }
    }
    return true;
}

/// The optimizer finds the state, the norms and the scale of gradients that it works with.
TESSERA_INLINE bool verifier::is_made_for(const optimizer& update) {
    const bool for_training = p_.kind == run_kind::training;
    std::vector<trust_by> by(to_size(g_.parameter_count), trust_by::none);
    for (int p = 0; p < g_.parameter_count && for_training && update.is_layerwise(); ++p) {
        by[to_size(p)] = rule_for(update, g_, p).trust;
    }
    for (const task& whole : p_.tasks) {
        const bool norm = whole.kind() == task_kind::norm;
        bool right = true;
        const auto look = [&](const task& t) {
            const trust_by wanted = by[to_size(t.params().parameter)];
            right = right && (norm ? wanted != trust_by::none && (t.params().state >= 0) == (wanted == trust_by::update)
                                   : t.params().layer_norms.empty() == (wanted == trust_by::none));
        };
        if (norm ||
            (whole.kind() == task_kind::update && (update.is_layerwise() || !whole.params().layer_norms.empty()))) {
            for_each_part(whole, look);
        }
        if (!right) {
            return refuse(&whole,
                          "it is made for an optimizer that scales the steps of other parameters, or by other norms");
        }
    }
    return (p_.loss_scale == static_cast<double>(update.loss_scale) &&
            p_.states == (for_training ? update.state_count() : 0) &&
            p_.clips == (for_training && update.clip_norm > 0)) ||
           refuse(nullptr, "it is made for an optimizer with another state, clipping or loss scale");
}

/// The extents of the tensor, parameter or intermediate that a tile is of; null where it is of none, or that does not
/// exist.
TESSERA_INLINE const shape* verifier::extents_of(const tile& x) const {
    const bool converted = x.origin >= 0 && p_.tiles[to_size(x.origin)].kind == tile_kind::parameter;
    switch (converted ? tile_kind::parameter : x.kind) {
    case tile_kind::input:
    case tile_kind::activation:
    case tile_kind::gradient:
        return x.tensor >= 0 && x.tensor < g_.tensor_count ? &g_.tensors[x.tensor].extents : nullptr;
    case tile_kind::parameter:
    case tile_kind::parameter_gradient:
    case tile_kind::optimizer_state:
    case tile_kind::residual:
    case tile_kind::code:
        return x.tensor >= 0 && x.tensor < g_.parameter_count ? &g_.parameters[x.tensor].extents : nullptr;
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient: {
        const int op = x.tensor / max_operands;
        const bool exists = x.tensor >= 0 && op < g_.op_count && x.tensor % max_operands < desc(op).operands.size();
        return exists ? &desc(op).operands[x.tensor % max_operands].extents : nullptr;
    }
    case tile_kind::scalar:
    case tile_kind::scratch:
        break;
    }
    return nullptr;
}

/// Why a tile cannot be, or null.
TESSERA_INLINE const char* verifier::problem_of_tile(int i) const {
    const tile& x = p_.tiles[to_size(i)];
    const int count = static_cast<int>(p_.tiles.size());
    if (x.kind > tile_kind::code || x.type > element::bf16) {
        return "is of no kind, or has elements of no type";
    }
    if ((x.kind == tile_kind::input) != (x.device == -1) || x.device < -1 || x.device >= p_.devices) {
        return "is on a device that does not exist";
    }
    const bool lasts = x.kind == tile_kind::parameter || x.kind == tile_kind::optimizer_state;
    const bool waits = x.kind == tile_kind::activation || x.kind == tile_kind::parameter_gradient || lasts;
    if (x.on_host && (!waits || x.alias >= 0 || p_.host_bytes.empty())) {
        return "waits in the host's memory and is no activation of its own, nor of an update that is made there";
    }
    if (x.on_host && lasts && p_.host_persistent_bytes.empty()) {
        return "lasts in the host's memory, of which the plan has none";
    }
    if (x.alias < -1 || x.alias >= count || x.origin < -1 || x.origin >= count ||
        (x.origin >= 0 && p_.tiles[to_size(x.origin)].origin >= 0)) {
        return "has the memory or the elements of a tile that does not exist";
    }
    int root = x.alias;
    for (int steps = 0; root >= 0; ++steps, root = p_.tiles[to_size(root)].alias) {
        if (steps > count || root >= count) {
            return "has no memory: it is another name for itself";
        }
    }
    if (x.step < 0 || x.step >= p_.steps_per_plan || x.micro_batch < -1 || x.micro_batch >= p_.micro_batches ||
        x.replica < 0 || x.summand < -1) {
        return "is of a step, a micro-batch, a replica or a part that does not exist";
    }
    const bool flat = x.kind == tile_kind::parameter || x.kind == tile_kind::parameter_gradient ||
                      x.kind == tile_kind::optimizer_state;
    if (x.slices < 1 || x.slice < 0 || x.slice >= x.slices || (x.slices > 1 && !flat)) {
        return "is a slice that does not exist";
    }
    if (x.kind == tile_kind::scratch) {
        const bool right = x.bytes >= 0 && (x.elements == x.bytes / 4 || x.elements == (x.bytes + 3) / 4);
        return right ? nullptr : "has less memory than elements";
    }
    if (x.kind == tile_kind::scalar) {
        const bool norm = x.tensor >= 0 && x.tensor < g_.parameter_count && x.region.rank == 0 && x.elements == 1;
        return norm || (is_count(x) && x.elements == 1) || (is_layer_norm(x) && x.elements == 2)
                   ? nullptr
                   : "is no number of a parameter that exists";
    }
    const shape* whole_one = extents_of(x);
    if (whole_one == nullptr || x.region.rank != whole_one->rank) {
        return "is of a tensor that does not exist, or has another number of dimensions";
    }
    for (int d = 0; d < x.region.rank; ++d) {
        const interval& r = x.region.dim[d];
        if (!interval{0, (*whole_one)[d]}.contains(r)) {
            return "has a region outside its tensor";
        }
    }
    if (x.kind == tile_kind::code) {
        const bool right = p_.compress.is_on() && x.elements == p_.compress.words(x.region.volume()) && x.format == 0 &&
                           x.alias < 0 && x.type == element::f32 && x.bytes >= x.elements * bytes_of(x.type);
        return right ? nullptr : "has another number of words than a compressed gradient of its region";
    }
    const index_t own = x.slices > 1 ? even_part(x.region.volume(), x.slices, x.slice).size() : x.region.volume();
    const bool padded =
        x.format != 0 || p_.tiles[to_size(p_.root(i))].format != 0 || x.kind == tile_kind::optimizer_state;
    if (padded ? x.elements < (x.slices == 1 ? own : 0) : x.elements != own) {
        return "has another number of elements than its region";
    }
    const int states = x.kind == tile_kind::optimizer_state ? p_.states : 1;
    if (x.device >= 0 && x.alias < 0 && x.bytes < x.elements * bytes_of(x.type) * states) {
        return "has less memory than elements";
    }
    if (x.kind == tile_kind::parameter && x.slices > 1 && !x.on_host) { // which are put together by their bytes
        if (x.format != 0) {
            return "is a slice of a parameter in another format than plain";
        }
        if (x.bytes != x.elements * bytes_of(x.type) * states) {
            return "has more memory than elements";
        }
    }
    return nullptr;
}

/// Why a task cannot be, or null.
TESSERA_INLINE const char* verifier::problem_of_task(const task& t) const {
    const int count = static_cast<int>(p_.tiles.size());
    if (t.kind() > task_kind::decompress || t.what > pass::evaluate || t.stream > task_stream::queue ||
        t.copy().reduce > reducer::max || t.params().method > exchange::server) {
        return "is of no kind, pass, stream or exchange";
    }
    if (t.device < 0 || t.device >= p_.devices || t.step < 0 || t.step >= p_.steps_per_plan || t.micro_batch < 0 ||
        t.micro_batch >= p_.micro_batches) {
        return "is of a device, a step or a micro-batch that does not exist";
    }
    if (t.op < (t.kind() == task_kind::reorder ? -1 : 0) || t.op >= g_.op_count) {
        return "is of an operator that does not exist";
    }
    bool exist = true;
    for_each_tile(t, [&](int k, const plan_field& facts) { exist = exist && k < count && k >= (facts.none ? -1 : 0); });
    const parameter_fields& own = t.params();
    for (const task_parameter& x : own.parts) {
        exist = exist && x.parameter >= 0 && x.parameter < g_.parameter_count;
    }
    if (!exist) {
        return "touches a tile that does not exist";
    }
    if (t.has_params() && (own.parameter < 0 || own.parameter >= g_.parameter_count)) {
        return "is of a parameter that does not exist";
    }
    if (own.slices < 1 || own.slice < 0 || own.slice >= own.slices) {
        return "is of a slice that does not exist";
    }
    if (!parts_fit(p_.tiles, t)) { // all checks after this one look at parts
        return "does not share out what it reads and writes to its parameters";
    }
    bool waits = false; // in the host's memory
    if (!p_.host_bytes.empty()) {
        for_each_tile(
            t, [&](int k, const plan_field&) { waits = waits || (k >= 0 && p_.tiles[to_size(p_.root(k))].on_host); });
    }
    if (waits && !moves_to_host(t)) {
        const bool steps = t.kind() == task_kind::reduce || t.kind() == task_kind::norm ||
                           t.kind() == task_kind::update || t.kind() == task_kind::average;
        if (!steps) {
            return "works on a tile in the host's memory, which only a copy of its device brings in or out";
        }
        if (!steps_on_host(t)) {
            return "steps with a state in the host's memory, to which not all that it works with is brought down, or "
                   "from which it is not brought up by itself";
        }
    }
    if (!says_its_own(t)) {
        return "says something that a task of its kind has no use for";
    }
    return scratch_is_one(t) ? nullptr : "works in memory that is another device's, or no scratch memory";
}

/// A copy of one tile of its device to the host's memory beside it, or back.
TESSERA_INLINE bool verifier::moves_to_host(const task& t) const {
    if (t.kind() != task_kind::copy || t.writes.size() != 1 || t.copy().segments.size() != 1 || t.copy().clear) {
        return false;
    }
    const copy_segment& s = t.copy().segments[0];
    const tile& from = p_.tiles[to_size(s.source)];
    const tile& to = p_.tiles[to_size(t.writes[0])];
    return s.overwrite && from.device == t.device && to.device == t.device && from.region == to.region &&
           s.region == to.region && from.summand == to.summand &&
           p_.tiles[to_size(p_.root(s.source))].on_host != to.on_host;
}

/// Of an update on the host: it brings gradients of its device down there, takes norms or steps with what is there alone
/// (and with norms, which are a number or two), or brings the new parameter up.
TESSERA_INLINE bool verifier::steps_on_host(const task& t) const {
    const auto all = [&](const std::vector<int>& tiles, bool on_host) {
        return std::all_of(tiles.begin(), tiles.end(), [&](int k) {
            const tile& x = p_.tiles[to_size(k)];
            return x.kind == tile_kind::scalar
                       ? !x.on_host
                       : p_.tiles[to_size(p_.root(k))].on_host == on_host && (!on_host || x.device == t.device);
        });
    };
    const auto is_of = [&](tile_kind kind) {
        return std::all_of(t.writes.begin(), t.writes.end(), [&](int k) { return p_.tiles[to_size(k)].kind == kind; });
    };
    if (t.kind() == task_kind::reduce) { // what several devices have has been summed on one
        const bool near =
            std::all_of(t.reads.begin(), t.reads.end(), [&](int k) { return p_.tiles[to_size(k)].device == t.device; });
        return near && all(t.reads, false) && all(t.writes, true) && is_of(tile_kind::parameter_gradient);
    }
    if (t.kind() == task_kind::average) {
        return brings_up(t) && all(t.reads, true) && all(t.writes, false);
    }
    bool states = true;
    const auto look = [&](int state) { states = states && (state < 0 || p_.tiles[to_size(state)].on_host); };
    look(t.params().state);
    for (const task_parameter& x : t.params().parts) {
        look(x.state);
    }
    return states && all(t.reads, true) &&
           (t.kind() == task_kind::norm ? is_of(tile_kind::scalar) : all(t.writes, true));
}

/// A task that writes a slice of the host's copy of a parameter to the copies of the devices.
TESSERA_INLINE bool verifier::brings_up(const task& t) const {
    return t.kind() == task_kind::average && t.reads.size() == 1 && p_.tiles[to_size(t.reads[0])].on_host;
}

/// A field that only others of the kinds that share its list have is as it is by itself: a backend or a check that
/// looks at it all the same is not led astray.
TESSERA_INLINE bool verifier::says_its_own(const task& t) {
    bool own = true;
    t.with_own_fields([&](const auto& fields) {
        static const std::remove_cvref_t<decltype(fields)> usual;
        for_each_unusual(fields, usual, [&](const char*, const auto&, const plan_field& facts) {
            own = own && (facts.kinds & bit_of(t.kind())) != 0;
        });
    });
    return own;
}

/// Scratch memory, and what forward leaves behind, are such memory, on the task's device.
TESSERA_INLINE bool verifier::scratch_is_one(const task& t) const {
    for (const int k : {t.scratch, t.compute().workspace}) {
        if (k >= 0 && (p_.tiles[to_size(k)].kind != tile_kind::scratch || p_.tiles[to_size(k)].device != t.device)) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
