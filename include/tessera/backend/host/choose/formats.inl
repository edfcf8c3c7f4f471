// SPDX-License-Identifier: Apache-2.0
// Bodies of chooser.hpp: what passes between tasks in which memory format on the host, what its reorders cost, and the
// formats in which parameters are stored.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/chooser.hpp"

namespace tessera::host::detail {

TESSERA_INLINE void chooser::link() {
    std::vector<int> of_tile(p_.tiles.size(), -1);
    const auto at_root = [&](int root) -> passed& {
        if (of_tile[to_size(root)] < 0) {
            of_tile[to_size(root)] = static_cast<int>(passed_.size());
            passed_.push_back({});
            passed_.back().extents = tile_at(root).region.extents();
        }
        return passed_[to_size(of_tile[to_size(root)])];
    };
    const auto each = [&](auto&& what) {
        for (int i = 0; i < static_cast<int>(groups_.size()); ++i) {
            for (int l = 0; l < static_cast<int>(groups_[to_size(i)].legs.size()); ++l) {
                const task& x = p_.tasks[to_size(groups_[to_size(i)].legs[to_size(l)].tasks[0])];
                for (int o = 0; o < max_operands; ++o) {
                    for (const bool gradient : {false, true}) {
                        const int t = gradient ? x.compute().gradient[o] : x.compute().value[o];
                        if (t >= 0) {
                            what(place{i, l, o, gradient}, t,
                                 std::find(x.writes.begin(), x.writes.end(), t) != x.writes.end());
                        }
                    }
                }
            }
        }
    };
    each([&](const place& where, int t, bool written) {
        const tile& x = tile_at(t);
        if (x.kind == tile_kind::parameter || x.kind == tile_kind::parameter_gradient) {
            passed& w = parameter(x.tensor, x.region);
            written ? w.contributions.push_back(where) : w.readers.push_back({where, x.region.extents(), false});
        } else if (written) {
            at_root(p_.root(t)).writer = where;
        } else {
            const int root = p_.root(t);
            at_root(root).readers.push_back({where, x.region.extents(), !(x.region == tile_at(root).region)});
        }
    });
    touched_.resize(groups_.size());
    for (int i = 0; i < static_cast<int>(passed_.size()); ++i) {
        const auto touch = [&](const place& x) {
            if (x.group >= 0 && (touched_[to_size(x.group)].empty() || touched_[to_size(x.group)].back() != i)) {
                touched_[to_size(x.group)].push_back(i);
            }
        };
        touch(passed_[to_size(i)].writer);
        for (const reader& r : passed_[to_size(i)].readers) {
            touch(r.where);
        }
        for (const place& w : passed_[to_size(i)].contributions) {
            touch(w);
        }
    }
}

TESSERA_INLINE passed& chooser::parameter(int tensor, const box& part) {
    for (passed& x : passed_) {
        if (x.tensor == tensor && x.region == part) {
            return x;
        }
    }
    passed made;
    made.tensor = tensor;
    made.region = part;
    made.extents = part.extents();
    made.fixed = stored_format(tensor, part);
    passed_.push_back(made);
    return passed_.back();
}

/// The format that a parameter's region must have, or -1. Where norms of whole parameters are taken, regions that
/// overlap others stay plain: which elements others count is said in indices.
TESSERA_INLINE int chooser::stored_format(int tensor, const box& part) const {
    for (std::size_t i = 0; takes_norms_ && i < p_.tiles.size(); ++i) {
        const tile& x = p_.tiles[i];
        if (x.kind == tile_kind::parameter && x.tensor == tensor && !(x.region == part) &&
            !intersect(x.region, part).empty()) {
            return format::plain;
        }
    }
    for (std::size_t i = 0; store_ != nullptr && i < store_->entries().size(); ++i) {
        const tile& x = store_->entries()[i].what;
        if (x.kind == tile_kind::parameter && x.tensor == tensor && x.region == part) {
            return x.format;
        }
    }
    return -1;
}

/// Seconds of a reorder.
TESSERA_INLINE double chooser::reorder(int from, int to, const shape& extents) {
    if (from == to || from < 0 || to < 0) {
        return 0;
    }
    for (const known_reorder& k : reorders_) {
        if (k.call.from == from && k.call.to == to && k.call.extents == extents) {
            return k.seconds;
        }
    }
    constexpr double bytes_per_second = 6e9; // read and written, out of cache: reorders measure 5 to 20 GB/s
    constexpr double never = 1e15;           // of one that loses elements
    const double seconds = !catalog_.is_right(reorder_call{from, to, extents}) ? never
                           : how_ == tuning::measure
                               ? catalog_.seconds(reorder_call{from, to, extents})
                               : 2e-6 + static_cast<double>(extents.volume()) * 4 / bytes_per_second;
    reorders_.push_back({{from, to, extents}, seconds});
    return seconds;
}

TESSERA_INLINE double chooser::cost(const passed& x) {
    if (x.tensor >= 0) {
        return cost_of_parameter(x).second;
    }
    const int have = x.writer.group < 0 ? format::plain : format_in(x.writer);
    std::vector<int> wanted; // every format is made once
    double total = 0;
    for (const reader& r : x.readers) {
        const int want = format_in(r.where);
        if (want < 0 || std::find(wanted.begin(), wanted.end(), want) != wanted.end()) {
            continue;
        }
        wanted.push_back(want);
        // Only these formats keep their order of elements when indices are renamed.
        const bool survives = !r.renamed || want == format::plain || want == format::samples16;
        total += reorder(have, survives ? want : format::plain, x.extents);
        total += survives ? 0 : reorder(format::plain, want, r.extents);
    }
    return total;
}

/// The best format to keep a parameter in, and the seconds that its reorders take then.
TESSERA_INLINE std::pair<int, double> chooser::cost_of_parameter(const passed& x) {
    std::vector<int> reads;
    std::vector<int> writes;
    const auto add = [](std::vector<int>& list, int f) {
        if (f >= 0 && std::find(list.begin(), list.end(), f) == list.end()) {
            list.push_back(f);
        }
    };
    for (const reader& r : x.readers) {
        add(reads, format_in(r.where));
    }
    for (const place& w : x.contributions) {
        add(writes, format_in(w));
    }
    return best_storage(reads, writes, x.extents, x.fixed);
}

TESSERA_INLINE std::pair<int, double>
chooser::best_storage(const std::vector<int>& reads, const std::vector<int>& writes, const shape& extents, int fixed) {
    std::vector<int> possible;
    possible.reserve(1 + reads.size() + writes.size());
    possible.push_back(fixed >= 0 ? fixed : format::plain);
    for (std::size_t i = 0; fixed < 0 && i < reads.size() + writes.size(); ++i) {
        possible.push_back(i < reads.size() ? reads[i] : writes[i - reads.size()]);
    }
    std::pair<int, double> best{format::plain, -1};
    for (const int f : possible) {
        double total = 0;
        for (const int r : reads) {
            total += reorder(f, r, extents);
        }
        for (const int w : writes) {
            total += reorder(w, f, extents);
        }
        if (best.second < 0 || total < best.second) {
            best = {f, total};
        }
    }
    return best;
}

TESSERA_INLINE void chooser::store_parameters(decisions& d) {
    struct wishes {
        std::vector<int> reads, writes;
    };
    std::vector<wishes> all;
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
        const tile& x = p_.tiles[i];
        const auto same = [&](const decisions::stored& s) { return s.tensor == x.tensor && s.region == x.region; };
        if (x.kind == tile_kind::parameter &&
            std::find_if(d.parameters.begin(), d.parameters.end(), same) == d.parameters.end()) {
            d.parameters.push_back({x.tensor, x.region, format::plain});
        }
    }
    all.resize(d.parameters.size());
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        const task& t = p_.tasks[i];
        for (int o = 0; o < max_operands && t.kind() == task_kind::compute && t.what != pass::update; ++o) {
            for (const bool gradient : {false, true}) {
                const int which = gradient ? t.compute().gradient[o] : t.compute().value[o];
                const int f = gradient ? d.tasks[i].gradient[o] : d.tasks[i].value[o];
                const tile_kind kind = gradient ? tile_kind::parameter_gradient : tile_kind::parameter;
                for (std::size_t k = 0; which >= 0 && f >= 0 && k < all.size(); ++k) {
                    if (tile_at(which).kind == kind && tile_at(which).tensor == d.parameters[k].tensor &&
                        tile_at(which).region == d.parameters[k].region) {
                        std::vector<int>& list = gradient ? all[k].writes : all[k].reads;
                        if (std::find(list.begin(), list.end(), f) == list.end()) {
                            list.push_back(f);
                        }
                    }
                }
            }
        }
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
        decisions::stored& s = d.parameters[k];
        s.format =
            best_storage(all[k].reads, all[k].writes, s.region.extents(), stored_format(s.tensor, s.region)).first;
    }
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
