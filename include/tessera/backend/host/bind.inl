// SPDX-License-Identifier: Apache-2.0
// Bodies of bind.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/bind.hpp"

#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE void binder::run(const decisions& d) {
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        tile& x = p_.tiles[i];
        for (const decisions::stored& s : d.parameters) {
            if (x.kind == tile_kind::parameter && x.slices == 1 && s.tensor == x.tensor && s.region == x.region) {
                x.format = s.format;
            }
        }
        if (x.kind == tile_kind::parameter) {
            set_size(static_cast<int>(i));
        }
    }
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) { // the host's copies lie as the device's, whose tiles come first
        if (p_.tiles[i].kind == tile_kind::parameter && p_.tiles[i].on_host) {
            p_.tiles[i].format = parameter_format(p_.tiles[i]);
            set_size(static_cast<int>(i));
        }
    }
    rewrite(d.tasks);
    for (result_piece& r : p_.results) {
        make_readable(r);
    }
}

TESSERA_INLINE void binder::set_size(int t) {
    tile& x = tile_at(t);
    x.bytes = table_.bytes(x.format, x.region.extents(), x.type);
    x.elements = x.bytes / bytes_of(x.type);
    if (x.slices > 1) {
        x.elements = even_part(x.elements, x.slices, x.slice).size();
        x.bytes = x.elements * bytes_of(x.type);
    }
}

TESSERA_INLINE void binder::rewrite(const std::vector<candidate>& chosen) {
    std::vector<task> old = std::move(p_.tasks);
    p_.tasks.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
        task t = std::move(old[i]);
        step_ = t.step;
        device_ = t.device;
        stream_ = t.stream == task_stream::queue ? task_stream::compute : t.stream;
        switch (t.kind()) {
        case task_kind::compute:
            rewrite_compute(t, chosen[i]);
            break;
        case task_kind::copy:
            rewrite_copy(t);
            break;
        case task_kind::reduce:
        case task_kind::update:
        case task_kind::norm:
            rewrite_update(t);
            break;
        case task_kind::sum:
            rewrite_sum(t);
            break;
        case task_kind::compress: // blocks and indices go by the order of plain elements, whatever the formats
            t.reads[0] = as(t.reads[0], format::plain);
            break;
        case task_kind::average:    // copies are alike
        case task_kind::gather:     // slices are plain
        case task_kind::decompress: // sums are plain
        case task_kind::reorder:
            break;
        }
        p_.tasks.push_back(std::move(t));
    }
}

TESSERA_INLINE int binder::add_tile(int t, int f) {
    tile x = tile_at(t);
    x.origin = x.origin >= 0 ? x.origin : t;
    x.step = x.kind == tile_kind::parameter ? step_ : x.step;
    x.alias = -1;
    x.keep = false;
    x.offset = -1;
    x.format = f;
    x.kind = x.kind == tile_kind::parameter ? tile_kind::activation : x.kind;
    p_.tiles.push_back(x);
    set_size(static_cast<int>(p_.tiles.size()) - 1);
    return static_cast<int>(p_.tiles.size()) - 1;
}

TESSERA_INLINE int binder::as(int t, int f) {
    const int alias = tile_at(t).alias;
    if (alias < 0 && tile_at(t).format == f) {
        return t;
    }
    for (const converted& c : converted_) {
        if (c.from == t && c.format == f && c.step == step_) { // a parameter changes from step to step
            return c.to;
        }
    }
    int made = -1;
    if (alias < 0) {
        made = reorder(t, f);
    } else {
        // Only these formats keep their order of elements when indices are renamed.
        const bool survives =
            tile_at(alias).region == tile_at(t).region || f == format::plain || f == format::samples16;
        made = alias_of(t, as(alias, survives ? f : format::plain));
        if (!survives) {
            made = reorder(made, f);
        }
    }
    converted_.push_back({t, f, made, step_});
    return made;
}

TESSERA_INLINE void binder::make_readable(result_piece& r) {
    const int alias = tile_at(r.tile).alias;
    const int root = p_.root(r.tile);
    const int f = tile_at(root).format;
    if (alias < 0 || tile_at(root).region == tile_at(r.tile).region || f == format::plain || f == format::samples16) {
        return;
    }
    step_ = r.step;
    device_ = tile_at(r.tile).device;
    stream_ = task_stream::compute;
    r.tile = as(r.tile, format::plain);
    tile_at(r.tile).keep = true;
    tile_at(p_.root(r.tile)).keep = true;
}

TESSERA_INLINE int binder::alias_of(int t, int base) {
    if (tile_at(t).alias != base) {
        const tile like = tile_at(t);
        p_.tiles.push_back(like);
        t = static_cast<int>(p_.tiles.size()) - 1;
        tile_at(t).alias = base;
        tile_at(t).keep = false;
    }
    tile_at(t).format = tile_at(base).format;
    tile_at(t).bytes = tile_at(base).bytes;
    tile_at(t).elements = tile_at(base).elements;
    return t;
}

TESSERA_INLINE int binder::reorder(int t, int f) {
    const int to = add_tile(t, f);
    task r;
    r.become(task_kind::reorder);
    r.device = tile_at(t).device;
    r.step = step_;
    r.stream = r.device == device_ ? stream_ : task_stream::compute;
    r.op = -1;
    r.reads = {t};
    r.writes = {to};
    const index_t bytes = reorder_scratch(table_, {tile_at(t).format, f, tile_at(t).region.extents()});
    r.scratch = bytes > 0 ? add_scratch(p_, r.device, bytes) : -1;
    p_.tasks.push_back(std::move(r));
    return to;
}

TESSERA_INLINE void binder::rewrite_compute(task& t, const candidate& k) {
    t.mutable_compute().implementation = static_cast<int>(k.engine);
    std::vector<int> reads;
    std::vector<int> writes;
    const auto is_written = [&](int which) {
        return std::find(t.writes.begin(), t.writes.end(), which) != t.writes.end();
    };
    const bool fixed = t.what == pass::update;
    for (int o = 0; o < max_operands; ++o) {
        for (const bool gradient : {false, true}) {
            int& x = gradient ? t.mutable_compute().gradient[o] : t.mutable_compute().value[o];
            if (x < 0) {
                continue;
            }
            const int f = fixed ? format::plain : gradient ? k.gradient[o] : k.value[o];
            if (!gradient && has(k.unused, o)) {
                x = -1;
            } else if (is_written(x)) {
                if (tile_at(x).kind != tile_kind::parameter) {
                    tile_at(x).format = f < 0 ? format::plain : f;
                    set_size(x);
                }
                writes.push_back(x);
                if (t.compute().turn > 0) { // it adds to what is there
                    reads.push_back(x);
                }
            } else {
                x = as(x, f < 0 ? format::plain : f);
                reads.push_back(x);
            }
        }
    }
    if (fixed) {
        reads.push_back(t.compute().running);
    }
    t.reads = std::move(reads);
    t.writes = std::move(writes);
    if (k.scratch > 0) {
        t.scratch = add_scratch(p_, t.device, k.scratch);
    }
    if (k.workspace > 0) {
        bind_workspace(t, k.workspace);
    }
}

TESSERA_INLINE void binder::bind_workspace(task& t, index_t bytes) {
    if (is_forward(t.what)) {
        t.mutable_compute().workspace = add_scratch(p_, t.device, bytes);
        t.writes.push_back(t.compute().workspace);
        workspaces_.push_back({t.op, t.shard_number, t.micro_batch, t.compute().workspace});
        return;
    }
    for (const left_behind& w : workspaces_) { // where forward was repeated, the second time's
        if (w.op == t.op && w.shard_number == t.shard_number && w.micro_batch == t.micro_batch) {
            t.mutable_compute().workspace = w.tile;
        }
    }
    t.reads.push_back(t.compute().workspace);
}

TESSERA_INLINE void binder::rewrite_copy(task& t) {
    tile& target = tile_at(t.writes[0]);
    bool alike = !t.copy().clear && !t.copy().segments.empty();
    for (const copy_segment& s : t.copy().segments) {
        alike =
            alike && s.region == target.region && tile_at(s.source).region == s.region && tile_at(s.source).device >= 0;
    }
    const int f = alike ? tile_at(p_.root(t.copy().segments[0].source)).format : format::plain;
    const bool shaped = alike && !(tile_at(p_.root(t.copy().segments[0].source)).region == target.region);
    target.format = shaped ? format::plain : f;
    const int wanted = target.format;
    set_size(t.writes[0]);
    for (copy_segment& s : t.mutable_copy().segments) {
        s.source = tile_at(s.source).device < 0 ? s.source : as(s.source, wanted);
    }
    t.reads.clear();
    for (const copy_segment& s : t.copy().segments) {
        t.reads.push_back(s.source);
    }
}

TESSERA_INLINE void binder::rewrite_sum(task& t) {
    const int to = t.writes[0];
    if (t.reads[0] != to) {
        tile_at(to).format =
            tile_at(to).kind == tile_kind::parameter_gradient ? parameter_format(tile_at(to)) : format::plain;
        set_size(to);
    }
    const int f = tile_at(to).format;
    for (int& r : t.reads) {
        r = r == to ? r : as(r, f);
    }
}

TESSERA_INLINE void binder::rewrite_update(task& t) {
    if (t.params().parts.empty()) {
        rewrite_update(t, 0, t.reads.size(), 0, t.writes.size(), t.params().state);
    }
    std::size_t read = 0;
    std::size_t write = 0;
    for (const task_parameter& x : t.params().parts) {
        rewrite_update(t, read, to_size(x.reads), write, to_size(x.writes), x.state);
        read = to_size(x.reads);
        write = to_size(x.writes);
    }
}

TESSERA_INLINE void binder::rewrite_update(task& t, std::size_t read, std::size_t read_end, std::size_t write,
                                           std::size_t write_end, int state) {
    const int first = t.kind() == task_kind::norm ? t.reads[read] : t.writes[write];
    for (std::size_t i = write; i < write_end; ++i) {
        const int w = t.writes[i];
        if (t.kind() == task_kind::reduce && tile_at(w).kind != tile_kind::scalar) {
            tile_at(w).format = t.params().counted_elsewhere.empty() ? parameter_format(tile_at(first)) : format::plain;
            set_size(w);
        }
    }
    const int f = tile_at(first).format;
    for (std::size_t i = read; i < read_end; ++i) {
        int& r = t.reads[i];
        if (tile_at(r).kind == tile_kind::parameter_gradient &&
            tile_at(r).slices == 1) { // slices have been made in that format
            r = as(r, f);
        }
    }
    if (state >= 0) {
        tile& s = tile_at(state);
        s.elements = slice_of(tile_at(first), t).size(); // a padded format has more, also for a slice of none
        s.bytes = s.elements * bytes_of(element::f32) * states_;
    }
}

TESSERA_INLINE int binder::parameter_format(const tile& sum) {
    for (const tile& x : p_.tiles) {
        if (x.kind == tile_kind::parameter && x.tensor == sum.tensor && x.region == sum.region &&
            x.device == sum.device) {
            return x.format;
        }
    }
    return format::plain;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
