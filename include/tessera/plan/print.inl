// SPDX-License-Identifier: Apache-2.0
// Bodies of print.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/print.hpp"

namespace tessera::detail {

TESSERA_INLINE std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> width;
    for (const auto& row : rows) {
        width.resize(width.size() > row.size() ? width.size() : row.size(), 0);
        for (std::size_t k = 0; k < row.size(); ++k) {
            width[k] = width[k] > row[k].size() ? width[k] : row[k].size();
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t k = 0; k < row.size(); ++k) {
            line += row[k];
            line.append(k + 1 < row.size() ? width[k] - row[k].size() + 2 : 0, ' ');
        }
        while (!line.empty() && line.back() == ' ') {
            line.pop_back();
        }
        text += line + "\n";
    }
    return text;
}

TESSERA_INLINE std::string text_of(const box& b) {
    std::string text = "[";
    for (int d = 0; d < b.rank; ++d) {
        text += (d > 0 ? "," : "") + text_of(b.dim[d]);
    }
    return text + "]";
}

TESSERA_INLINE std::string text_of_splits(const description& d, const configuration& c, const index_t* pool) {
    std::string splits;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (c.degree[l] > 1) {
            std::string one = std::string(to_text(d.loops[l].name)) + "/" + std::to_string(c.degree[l]);
            for (int i = 0; pool != nullptr && c.cuts[l] >= 0 && i + 1 < c.degree[l]; ++i) {
                one += (i == 0 ? "@" : ",") + std::to_string(pool[c.cuts[l] + i]);
            }
            append_word(splits, one);
        }
    }
    if (c.partial > 1) {
        append_word(splits, "partial/" + std::to_string(c.partial));
    }
    return splits.empty() ? "-" : splits;
}

TESSERA_INLINE std::string text_of_devices(const std::vector<int>& devices) {
    std::string text;
    for (std::size_t i = 0; i < devices.size();) {
        std::size_t last = i;
        while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) {
            ++last;
        }
        append_word(text, std::to_string(devices[i]) +
                              (last > i ? (last > i + 1 ? "-" : " ") + std::to_string(devices[last]) : ""));
        i = last + 1;
    }
    return text;
}

TESSERA_INLINE std::string text_of_tile(const graph_view& g, const plan& p, int which) {
    const tile& t = p.tiles[to_size(which)];
    std::string text = "t" + std::to_string(which) + " " + to_text(t.kind);
    switch (t.kind) {
    case tile_kind::input:
    case tile_kind::activation:
    case tile_kind::gradient: {
        const int producer = t.tensor >= 0 ? g.tensors[t.tensor].producer : -1;
        text += " " + (producer >= 0   ? path_of(g, producer)
                       : t.tensor >= 0 ? std::string(g.tensors[t.tensor].name)
                                       : "-");
        break;
    }
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient:
        text += " " + path_of(g, t.tensor / max_operands) + "/" + std::to_string(t.tensor % max_operands);
        text += t.replica > 0 ? " of replica " + std::to_string(t.replica) : "";
        break;
    case tile_kind::parameter:
    case tile_kind::parameter_gradient:
    case tile_kind::optimizer_state:
    case tile_kind::residual:
    case tile_kind::code:
        text += " " + parameter_path_of(g, t.tensor);
        break;
    case tile_kind::scalar:
    case tile_kind::scratch:
        break;
    }
    text += t.slices > 1 && t.kind != tile_kind::optimizer_state
                ? " slice " + std::to_string(t.slice) + "/" + std::to_string(t.slices) + " of"
                : "";
    text += " " + text_of(t.region) + (t.type == element::bf16 ? " bf16" : "");
    return text + (t.format != 0 ? " format " + std::to_string(t.format) : "");
}

TESSERA_INLINE std::string key_of_task(const graph_view& g, const task& t) {
    std::string text = path_of(g, t.op) + " " + to_text(t.what) + " " + std::to_string(t.shard_number) + "." +
                       std::to_string(t.micro_batch);
    text += t.step > 0 ? " of step " + std::to_string(t.step) : "";
    text +=
        t.params().parts.empty() ? "" : " and of " + std::to_string(t.params().parts.size() - 1) + " parameters more";
    if (t.kind() != task_kind::compute && !(t.kind() == task_kind::update && t.what == pass::update)) {
        text = std::string(to_text(t.kind())) + " for " + text;
    }
    return text;
}

TESSERA_INLINE std::string hexadecimal(std::uint64_t x) {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[(x >> static_cast<unsigned>(shift)) & 15U];
    }
    return text;
}

TESSERA_INLINE index_t bytes_across(const plan& p, const task& t, int which, bool write) {
    const tile& x = p.tiles[to_size(which)];
    if (x.device == t.device || x.device < 0) {
        return 0;
    }
    if (t.kind() == task_kind::copy) {
        index_t elements = 0;
        for (const copy_segment& s : t.copy().segments) {
            elements += s.source == which && !write ? s.region.volume() : 0;
        }
        return elements * bytes_of(x.type);
    }
    if (x.kind == tile_kind::scalar) {
        return x.elements * bytes_of(x.type);
    }
    return (x.slices > 1 ? x.elements : even_part(x.elements, t.params().slices, t.params().slice).size()) *
           bytes_of(x.type);
}

TESSERA_INLINE std::string task_line(const graph_view& g, const plan& p, const task& t) {
    std::string line = key_of_task(g, t) + ":";
    for (int w : t.writes) {
        line += " " + text_of_tile(g, p, w) + ";";
    }
    line.back() = ' ';
    line += t.reads.empty() ? "" : "<-";
    for (std::size_t i = 0; i < t.reads.size(); ++i) {
        line += " t" + std::to_string(t.reads[i]);
        line += t.kind() == task_kind::copy && i < t.copy().segments.size() ? text_of(t.copy().segments[i].region) : "";
    }
    line += t.params().parts.empty() ? "" : ", of " + std::to_string(t.params().parts.size()) + " parameters";
    if (t.params().slices > 1) {
        line += ", slice " + std::to_string(t.params().slice) + "/" + std::to_string(t.params().slices);
    }
    line += t.params().message >= 0 ? ", message " + std::to_string(t.params().message) : "";
    line += t.params().message >= 0 || t.params().method != exchange::sliced
                ? std::string(" ") + to_text(t.params().method)
                : "";
    line += t.compute().fused ? ", by the task that writes what it reads" : "";
    for (std::size_t i = 0; i < t.waits.size(); ++i) {
        line += i == 0 ? ", after" : ",";
        line += " " + text_of_list(p, t.waits[i].list) + " task " + std::to_string(t.waits[i].count - 1);
    }
    for (std::size_t i = 0; i < t.after.size(); ++i) {
        const task& other = p.tasks[to_size(t.after[i])];
        line += (t.waits.empty() && i == 0 ? ", after " : ", ") + text_of_list(p, p.list_of(other)) + " task " +
                std::to_string(other.position);
    }
    return line;
}

TESSERA_INLINE std::string text_of(const synchronization& s) {
    if (s.is_usual()) {
        return "every gradient by itself";
    }
    std::string text = std::to_string(s.messages.size()) + " messages, sums " + to_text(s.sum_at) + ", updates " +
                       to_text(s.update_at);
    text += s.urgent_first ? ", to servers and back the most urgent first" : "";
    text += s.shards_parameters ? ", parameters in slices" : "";
    if (s.compress != compression::none) {
        text += std::string(", gradients compressed to ") + to_text(s.compress);
        text += s.compress == compression::top_k ? ", one element in " + std::to_string(s.keep_one_in)
                                                 : " in blocks of " + std::to_string(s.compress_block);
    }
    text += s.staleness > 0 ? ", used up to " + std::to_string(s.staleness) + " steps late" : "";
    return text + (s.average_every > 0 ? ", averages every " + std::to_string(s.average_every) + " steps" : "");
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string to_text(const graph_view& g, const strategy_view& s) {
    std::vector<std::vector<std::string>> rows{{"layer", "kind", "output", "splits", "replicas", "devices"}};
    for (int op = 0; op < g.op_count && op < s.count; ++op) {
        const configuration& c = s.ops[op];
        const description d = g.describe(op);
        const std::string splits = detail::text_of_splits(d, c, s.pool);
        std::string devices;
        const int shards = c.shards();
        for (int i = 0; i < shards; ++i) {
            detail::append_word(devices, std::to_string(c.devices >= 0 ? static_cast<int>(s.pool[c.devices + i])
                                                                       : c.start + c.stride * i));
        }
        rows.push_back({path_of(g, op), to_text(g.ops[op].attributes.kind), detail::text_of(g.output_of(op).extents),
                        splits, std::to_string(c.replicate), devices});
    }
    std::string text = detail::aligned(rows);
    if (s.statistics != statistics_over::micro_batch) {
        text += std::string("statistics over: ") + to_text(s.statistics) + "\n";
    }
    if (s.sync != nullptr) {
        text += "synchronization: " + detail::text_of(*s.sync) + "\n";
    }
    return text;
}

TESSERA_INLINE std::string to_text(const graph_view& g, const plan& p) {
    std::string text = std::string("plan ") + detail::hexadecimal(p.hash) + ": " +
                       (p.kind == run_kind::training ? "training" : "evaluation") + ", " +
                       (p.steps_per_plan > 1 ? std::to_string(p.steps_per_plan) + " steps, " : "") +
                       std::to_string(p.devices) + " devices, " + std::to_string(p.tasks.size()) + " tasks, " +
                       std::to_string(p.moved_bytes) + " bytes move\n";
    for (std::size_t d = 0; d < p.order.size(); ++d) {
        text += text_of_list(p, static_cast<int>(d)) + ": " + std::to_string(p.order[d].size()) + " tasks";
        if (d < p.arena_bytes.size() && d < p.persistent_bytes.size()) {
            text += ", arena " + std::to_string(p.arena_bytes[d]) + " bytes, persistent " +
                    std::to_string(p.persistent_bytes[d]) + " bytes";
            text += p.host_bytes.empty() ? "" : ", host " + std::to_string(p.host_bytes[d]) + " bytes";
            text += p.host_persistent_bytes.empty()
                        ? ""
                        : ", state on the host " + std::to_string(p.host_persistent_bytes[d]) + " bytes";
        }
        text += "\n";
        for (std::size_t i = 0; i < p.order[d].size(); ++i) {
            text += "  " + std::to_string(i) + "  " + detail::task_line(g, p, p.tasks[to_size(p.order[d][i])]) + "\n";
        }
    }
    return text;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
