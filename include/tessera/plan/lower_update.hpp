// SPDX-License-Identifier: Apache-2.0
// Lowering of parameter updates: who sums which gradients, and who updates which copies; with clipping, after the norm is known.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// How many steps of the stages there are until all losses are known. No parameter changes before: a step whose loss is not finite changes nothing.
template <class Options>
std::size_t lowering<Options>::steps_until_losses() const {
    std::size_t until = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        for (const int op : stages_[at(steps_[i].stage)]) {
            until = steps_[i].what == step_kind::forward && g_.is_loss(op) ? i + 1 : until;
        }
    }
    return until;
}

/// What has gone backward before the last loss was known, in that order.
template <class Options>
void lowering<Options>::finish_held() {
    holds_ = false;
    for (const auto& [op, micro_batch] : held_) {
        select(micro_batch);
        finish_parameters(op);
    }
    held_.clear();
}

/// After the last operator that uses a parameter has gone backward, the parameter is updated.
template <class Options>
void lowering<Options>::finish_parameters(int op) {
    if (holds_) {
        held_.emplace_back(op, micro_batch_);
        return;
    }
    for (int p : g_.ops[op].parameters) {
        const bool ready = --uses_left_[at(p)] == 0 && g_.parameters[p].trained;
        if (ready && has_messages()) {
            sums_late() ? void() : send_messages();
        } else if (ready && o_.update.clip_norm <= 0) {
            for (const std::vector<piece>& copies : groups(p)) {
                averages() ? update_copies(p, copies) : update_group(p, copies);
            }
        }
    }
}

/// The contributions to a region of a parameter, those of one device added up there first if the sum crosses devices; empty where contributions
/// have other regions.
template <class Options>
std::vector<int> lowering<Options>::summed_by_device(int parameter, const std::vector<piece>& copies) {
    std::vector<int> all = equal_parts(parameter_gradients_[at(parameter)], copies[0].region);
    std::vector<std::vector<int>> by_device;
    std::vector<int> place(at(p_.devices), -1); // of a device's list
    for (const int t : all) {
        int& own = place[at(tile_at(t).device)];
        if (own < 0) {
            own = static_cast<int>(by_device.size());
            by_device.emplace_back();
        }
        by_device[at(own)].push_back(t);
    }
    bool crosses = by_device.size() > 1;
    for (const piece& c : copies) {
        crosses = crosses || place[at(c.device)] < 0;
    }
    if (!crosses) {
        return all;
    }
    std::vector<int> result;
    for (const std::vector<int>& list : by_device) {
        int sum = list.size() > 1 ? -1 : list[0];
        for (const auto& [of, known] : local_sums_) {
            sum = of == list ? known : sum;
        }
        if (sum < 0) {
            const int device = tile_at(list[0]).device;
            sum = add_tile(tile_kind::parameter_gradient, parameter, copies[0].region, device, element::f32);
            add_sum(user_of(parameter), pass::update, 0, device, list, sum);
            if (has_messages()) { // other slices of it follow
                local_sums_.emplace_back(list, sum);
            }
        }
        result.push_back(sum);
    }
    return result;
}

/// Copies of equal regions of a parameter, group by group.
template <class Options>
std::vector<std::vector<piece>> lowering<Options>::groups(int parameter) const {
    std::vector<std::vector<piece>> result;
    for (const piece& p : parameters_[at(parameter)].pieces) {
        bool placed = false;
        for (std::vector<piece>& group : result) {
            if (group[0].region == p.region) {
                group.push_back(p);
                placed = true;
                break;
            }
        }
        if (!placed) {
            result.push_back({p});
        }
    }
    return result;
}

template <class Options>
void lowering<Options>::count_moved(const std::vector<int>& tiles, int device, index_t elements) {
    for (int t : tiles) {
        if (p_.tiles[at(t)].device != device) {
            p_.moved_bytes += elements * 4;
        }
    }
}

template <class Options>
int lowering<Options>::state_tile(int parameter, const box& region, int device, int slice, int slices) {
    if (o_.update.state_count() == 0) {
        return -1;
    }
    for (std::size_t i = 0; i < states_.size() && step_ > 0; ++i) {
        const tile& x = tile_at(states_[i]);
        if (x.tensor == parameter && x.device == device && x.slice == slice && x.slices == slices &&
            x.region == region) {
            return states_[i];
        }
    }
    const int t = add_tile(tile_kind::optimizer_state, parameter, region, device, element::f32);
    tile_at(t).elements = even_part(region.volume(), slices, slice).size();
    tile_at(t).bytes = tile_at(t).elements * bytes_of(element::f32) * o_.update.state_count();
    tile_at(t).slice = slice; // several of them may lie on one device
    tile_at(t).slices = slices;
    p_.period > 1 ? states_.push_back(t) : void();
    return t;
}

/// One update for every copy of a region. Where all contributions have the region itself, every copy sums and updates a slice and
/// writes it to all copies: reduce-scatter, update and all-gather in one. Otherwise every copy gathers the whole sum.
template <class Options>
void lowering<Options>::update_group(int parameter, const std::vector<piece>& copies) {
    const box& region = copies[0].region;
    const std::vector<int> sources = summed_by_device(parameter, copies);
    if (parameter_gradients_[at(parameter)].pieces.empty()) {
        return;
    }
    const int members = static_cast<int>(copies.size());
    reduced_slice r{parameter, 0, sources.empty() ? 1 : members, copies, 0, -1, exchange::sliced, sources};
    for (int i = 0; i < members; ++i) {
        r.device = copies[at(i)].device;
        if (sources.empty()) {
            r.copies = {copies[at(i)]};
            r.from = {gathered_parameter_gradient(parameter, region, r.device, user_of(parameter))};
        } else {
            r.slice = i;
        }
        update_from({r}, i);
    }
}

template <class Options>
int lowering<Options>::gathered_parameter_gradient(int parameter, const box& region, int device, int op) {
    std::vector<gathered_tile> none;
    return need(parameter_gradients_[at(parameter)], none, region, device, -1, tile_kind::parameter_gradient, parameter,
                element::f32, op, pass::update);
}

// With clipping, every gradient is summed first, then the norm over all of them is known, then all parameters are updated.

template <class Options>
void lowering<Options>::reduce_parameter(int parameter) {
    if (!g_.parameters[parameter].trained || parameter_gradients_[at(parameter)].pieces.empty()) {
        return;
    }
    const int op = user_of(parameter);
    std::vector<box> counted;
    for (const std::vector<piece>& copies : groups(parameter)) {
        const box region = copies[0].region;
        const std::vector<int> sources = summed_by_device(parameter, copies);
        std::vector<box> overlapping; // squares that another group counts; then every copy sums the whole region
        for (const box& b : counted) {
            if (!intersect(b, region).empty()) {
                overlapping.push_back(b);
            }
        }
        const int slices = sources.empty() || !overlapping.empty() ? 1 : static_cast<int>(copies.size());
        for (int i = 0; i < static_cast<int>(copies.size()); ++i) {
            const int device = copies[at(i)].device;
            std::vector<int> from = sources;
            if (sources.empty()) {
                from = {gathered_parameter_gradient(parameter, region, device, op)};
            }
            const int slice = slices > 1 ? i : 0;
            const int sum = add_tile(tile_kind::parameter_gradient, parameter, region, device, element::f32);
            const int norm = add_tile(tile_kind::scalar, parameter, box{}, device, element::f64);
            task& t = add_task(task_kind::reduce, op, pass::update, i, device);
            t.parameter = parameter;
            t.slice = slice;
            t.slices = slices;
            t.reads = from;
            t.writes = {sum, norm};
            t.norms = {norm};
            t.counted_elsewhere = overlapping;
            if (slices == 1 && i > 0) {
                t.counted_elsewhere.push_back(region);
            }
            count_moved(from, device, even_part(region.volume(), slices, slice).size());
            norms_.push_back(norm);
            reduced_.push_back({{parameter, slice, slices, copies, device, -1, exchange::sliced, {sum}}});
            if (slices == 1) {
                reduced_.back()[0].copies = {copies[at(i)]};
            }
        }
        counted.push_back(region);
    }
}

template <class Options>
void lowering<Options>::update_clipped(int parameter) {
    int number = 0;
    for (const std::vector<reduced_slice>& r : reduced_) {
        r[0].parameter == parameter ? update_from(r, number++) : void();
    }
}

} // namespace tessera::detail
