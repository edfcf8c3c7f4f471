// SPDX-License-Identifier: Apache-2.0
// Bodies of backend.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/backend.hpp"

namespace tessera::reference {

TESSERA_INLINE void backend::bind(plan&, const graph_view& g, const parameter_store*) {
    for (int op = 0; op < g.op_count; ++op) {
        const op_attributes& a = g.ops[op].attributes;
        if (only_planned(a.math)) {
            throw error("tessera: " + path_of(g, op) + " computes in " + to_text(a.math) +
                        ", which is planned for and which no backend has; run the network in fp32, tf32 or bf16");
        }
        (void)row_for<float>(record_of(a), rows_); // which says where there is none
    }
}

TESSERA_INLINE void backend::from_plain(const tile& t, const float* from, std::byte* to) const {
    store_numbers(t.type, from, t.elements, to);
}

TESSERA_INLINE runnable backend::prepare(const plan& p, int index, const graph_view& g, const addresses& where) {
    const task& t = p.tasks[to_size(index)];
    switch (t.kind()) {
    case task_kind::compute:
        return prepare_compute(p, t, g, where);
    case task_kind::copy:
        return prepare_copy(p, t, where);
    case task_kind::reduce:
    case task_kind::update:
    case task_kind::norm:
        return prepare_update(p, t, g, where);
    case task_kind::sum: {
        tile_sum& j = keep(&prepared::sums, where);
        j = tile_sum(p, t, where);
        return {[](void* job, const run_state&) { static_cast<tile_sum*>(job)->run(); }, &j};
    }
    case task_kind::average: {
        copy_average& j = keep(&prepared::averages, where);
        j = copy_average(p, t, where);
        return {[](void* job, const run_state&) { static_cast<copy_average*>(job)->run(); }, &j};
    }
    case task_kind::gather: {
        slice_join& j = keep(&prepared::joins, where);
        j = slice_join(p, t, where);
        return {[](void* job, const run_state&) { static_cast<slice_join*>(job)->run(); }, &j};
    }
    case task_kind::compress: {
        gradient_compression& j = keep(&prepared::compressions, where);
        j = gradient_compression(p, t, where);
        return {[](void* job, const run_state&) { static_cast<gradient_compression*>(job)->run(); }, &j};
    }
    case task_kind::decompress: {
        gradient_decompression& j = keep(&prepared::decompressions, where);
        j = gradient_decompression(p, t, where);
        return {[](void* job, const run_state&) { static_cast<gradient_decompression*>(job)->run(); }, &j};
    }
    case task_kind::reorder:
        break;
    }
    throw error("tessera: the reference backend knows no memory formats");
}

TESSERA_INLINE runnable backend::prepare_compute(const plan& p, const task& t, const graph_view& g,
                                                 const addresses& where) {
    compute_job& j = keep(&prepared::computes, where);
    j.d = g.describe(t.op);
    j.call = call_of(p, t, g, j.d);
    j.row = &row_for<float>(record_of(j.call.attributes), rows_);
    for (int o = 0; o < max_operands; ++o) {
        if (t.compute().value[o] >= 0) {
            j.call.value[o].data = where[t.compute().value[o]];
        }
        if (t.compute().gradient[o] >= 0) {
            j.call.gradient[o].data = where[t.compute().gradient[o]];
        }
    }
    add_rounded(j, p, t);
    if (t.what == pass::update) {
        const shape& x = g.tensors[g.ops[t.op].inputs[0]].extents;
        j.per_channel = x.volume() / x[0] / x[1] * j.call.samples;
        return {[](void* job, const run_state&) {
                    auto& u = *static_cast<compute_job*>(job);
                    const int statistics = u.d.find_operand(operand_kind::intermediate, 0);
                    const int running = u.d.find_operand(operand_kind::state, 2);
                    update_running<float>(u.call.value[statistics], u.call.value[running], u.per_channel,
                                          momentum_of(u.call.attributes));
                },
                &j};
    }
    return {[](void* job, const run_state& run) {
                auto& u = *static_cast<compute_job*>(job);
                u.call.run = &run;
                u.rounded.load();
                compute<float>(u.call, *u.row);
                u.rounded.store();
            },
            &j};
}

TESSERA_INLINE void backend::add_rounded(compute_job& j, const plan& p, const task& t) {
    const auto writes = [&](int which) {
        for (int w : t.writes) {
            if (w == which) {
                return true;
            }
        }
        return false;
    };
    for (int o = 0; o < j.d.operands.size(); ++o) {
        const int value = t.compute().value[o];
        const int gradient = t.compute().gradient[o];
        if (value >= 0 && p.tiles[to_size(value)].type == element::bf16) {
            j.rounded.add(j.call.value[o], true, writes(value));
        } else if (value >= 0 && j.d.operands[o].kind == operand_kind::parameter && j.row->rounds_parameters &&
                   j.call.attributes.math == precision::bf16) {
            j.rounded.add(j.call.value[o], false, false);
        }
        if (gradient >= 0 && p.tiles[to_size(gradient)].type == element::bf16) {
            j.rounded.add(j.call.gradient[o], true, writes(gradient));
        }
    }
}

TESSERA_INLINE runnable backend::prepare_copy(const plan& p, const task& t, const addresses& where) {
    copy_job& j = keep(&prepared::copies, where);
    const tile& target = p.tiles[to_size(t.writes[0])];
    j.to = where[t.writes[0]];
    j.bytes = target.elements * bytes_of(target.type);
    j.type = target.type;
    j.clear = t.copy().clear;
    j.how = t.copy().reduce;
    for (const copy_segment& s : t.copy().segments) {
        const tile& source = p.tiles[to_size(s.source)];
        j.boxes.emplace_back(s.region, source.region, target.region);
        j.from.push_back(where[s.source]);
        j.input.push_back(source.device < 0 ? source.tensor : -1);
        j.overwrite.push_back(s.overwrite ? 1 : 0);
    }
    return {[](void* job, const run_state& run) {
                const auto& u = *static_cast<copy_job*>(job);
                if (u.clear) {
                    std::memset(u.to, 0, to_size(u.bytes));
                }
                for (std::size_t i = 0; i < u.boxes.size(); ++i) {
                    if (u.input[i] >= 0) {
                        u.boxes[i].apply_input(run.inputs[u.input[i]], u.to, u.type);
                    } else {
                        u.boxes[i].apply(u.from[i], u.to, u.type, u.overwrite[i] != 0, u.how);
                    }
                }
            },
            &j};
}

TESSERA_INLINE runnable backend::prepare_update(const plan& p, const task& t, const graph_view& g,
                                                const addresses& where) {
    std::deque<update_job>& jobs = keep(&prepared::updates, where);
    for_each_part(t, [&](const task& one) {
        fill(jobs.emplace_back(), p, one, where);
        jobs.back().how = rule_for(optimizer_, g, one.params().parameter);
    });
    return {[](void* all, const run_state& run) {
                for (update_job& u : *static_cast<std::deque<update_job>*>(all)) {
                    step(u, run);
                }
            },
            &jobs};
}

TESSERA_INLINE void backend::fill(update_job& j, const plan& p, const task& t, const addresses& where) const {
    const bool norm = t.kind() == task_kind::norm;
    const int weights = norm ? t.reads[0] : t.writes[0];
    const tile& target = p.tiles[to_size(weights)];
    j.region = target.region;
    j.first = target.slices > 1 ? even_part(target.region.volume(), t.params().slices, t.params().slice).begin
                                : slice_of(target, t).begin;
    j.sum.resize(to_size(slice_of(target, t).size()));
    j.scale = t.params().scale;
    j.reduce_only = t.kind() == task_kind::reduce;
    j.counted = t.params().counted_elsewhere;
    for (int r : t.reads) {
        if (p.tiles[to_size(r)].kind == tile_kind::parameter_gradient) {
            j.gradients.push_back(reinterpret_cast<const float*>(where[r]) + slice_of(p.tiles[to_size(r)], t).begin);
        }
    }
    for (int n : t.params().norms) {
        j.norms.push_back(reinterpret_cast<double*>(where[n]));
        j.normed.push_back(p.tiles[to_size(n)].tensor);
    }
    for (int n : t.params().layer_norms) {
        j.layer_norms.push_back(reinterpret_cast<double*>(where[n]));
    }
    if (norm) {
        j.measures = reinterpret_cast<const float*>(where[weights]) + slice_of(target, t).begin;
    }
    j.parameter = t.params().parameter;
    for (int w : t.writes) {
        if (p.tiles[to_size(w)].kind != tile_kind::scalar) {
            j.weights.push_back(reinterpret_cast<float*>(where[w]) + slice_of(p.tiles[to_size(w)], t).begin);
        }
    }
    j.state = t.params().state >= 0 ? reinterpret_cast<float*>(where[t.params().state]) : nullptr;
}

TESSERA_INLINE bool backend::is_counted(const update_job& u, index_t flat) {
    index_t at[max_rank]{};
    for (int d = u.region.rank - 1; d >= 0; --d) {
        at[d] = u.region.dim[d].begin + flat % u.region.dim[d].size();
        flat /= u.region.dim[d].size();
    }
    for (const box& b : u.counted) {
        bool inside = true;
        for (int d = 0; d < b.rank; ++d) {
            inside = inside && at[d] >= b.dim[d].begin && at[d] < b.dim[d].end;
        }
        if (inside) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE void backend::step(update_job& u, const run_state& run) {
    for (std::size_t i = 0; i < u.sum.size(); ++i) {
        float total = u.gradients[0][i];
        for (std::size_t k = 1; k < u.gradients.size(); ++k) {
            total += u.gradients[k][i];
        }
        u.sum[i] = total;
    }
    if (u.reduce_only) {
        double squares = 0;
        for (std::size_t i = 0; i < u.sum.size(); ++i) {
            for (float* to : u.weights) {
                to[i] = u.sum[i];
            }
            squares += is_counted(u, u.first + static_cast<index_t>(i))
                           ? 0
                           : static_cast<double>(u.sum[i]) * static_cast<double>(u.sum[i]);
        }
        for (double* norm : u.norms) {
            *norm = squares;
        }
        return;
    }
    double squares = 0;
    for (std::size_t k = 0; k < u.norms.size(); ++k) {
        squares += *u.norms[k];
        if (!is_finite(*u.norms[k]) &&
            u.measures == nullptr) { // every update of the step sees it, so that none changes anything
            lose(run, u.normed[k]);
        }
    }
    if (!is_finite(squares)) {
        return;
    }
    const double factor = u.scale * clip_factor(u.how, std::sqrt(squares));
    const std::size_t n = u.sum.size();
    if (u.measures != nullptr) {
        const std::size_t kept = u.state != nullptr ? 2 * n : 0; // LAMB's moments
        const layer_squares sum =
            squares_of<float>(u.how, run, factor, std::span(u.measures, n), std::span<const float>(u.sum),
                              std::span<const float>(u.state, kept),
                              [&](std::size_t i) { return !is_counted(u, u.first + static_cast<index_t>(i)); });
        u.layer_norms[0][0] = sum.weights;
        u.layer_norms[0][1] = sum.measured;
        return;
    }
    double trust = 1;
    if (!u.layer_norms.empty()) {
        layer_squares all;
        for (const double* part : u.layer_norms) {
            all.weights += part[0];
            all.measured += part[1];
        }
        if (!is_finite(all.weights) || !is_finite(all.measured)) { // every update of the parameter sees it
            return lose(run, u.parameter);
        }
        trust = trust_of(u.how, all);
    }
    const std::span<float> weights(u.weights[0], n);
    const std::span<float> states(u.state, to_size(u.how.state_count()) * n);
    if (!update<float>(u.how, run, factor, weights, std::span<const float>(u.sum), states, trust)) {
        lose(run, u.parameter);
    }
    for (std::size_t k = 1; k < u.weights.size(); ++k) {
        std::memcpy(u.weights[k], weights.data(), n * sizeof(float));
    }
}

TESSERA_INLINE void backend::lose(const run_state& run, int parameter) {
    if (run.report != nullptr) {
        run.report->lose(run.step, parameter);
    }
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
