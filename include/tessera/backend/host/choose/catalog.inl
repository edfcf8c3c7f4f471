// SPDX-License-Identifier: Apache-2.0
// Bodies of catalog.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/catalog.hpp"

#include "tessera/base/shape_text.hpp"

namespace tessera::host::detail {

TESSERA_INLINE std::vector<candidate> candidates_of(const compute_call& c, format_table& table,
                                                    const operator_rows& rows) {
    std::vector<candidate> all;
    if (const operator_row* const row = rows.find(c.attributes)) {
        row->add_candidates(c, table, all);
    }
    if (all.empty()) {
        add_plain_candidates(c, all);
    }
    return all;
}

TESSERA_INLINE owned<job> make_job(const bound_call& b, const format_table& table, dnnl_stream_t stream,
                                   const operator_rows& rows) {
    if (b.how.engine == engine_kind::generic) {
        return make_plain_job(b, rows.plain(record_of(b.call.attributes)));
    }
    const operator_row* const row = rows.find(b.call.attributes);
    if (row == nullptr) {
        throw error("tessera: the host backend has no kernel for the operator " +
                    std::string(record_of(b.call.attributes).name) +
                    ", of which the plan names one; bind the plan again");
    }
    return row->make_job(b, table, stream);
}

TESSERA_INLINE std::string problem_name(const compute_call& c, const operator_rows& rows) {
    std::string name(record_of(c.attributes).name);
    name += std::string(" ") + to_text(is_forward(c.what) ? pass::forward : c.what) + " n" +
            std::to_string(c.first_nest) + "-" + std::to_string(c.last_nest) + " e" + std::to_string(c.emits) +
            (c.first_part ? " b" : " p");
    for (int o = 0; o < c.d->operands.size(); ++o) {
        name += " " + tessera::detail::text_of(region(*c.d, o, c.ranges).extents());
    }
    const operator_row* const row = rows.find(c.attributes);
    return name + (row != nullptr && row->problem != nullptr ? row->problem(c) : window_numbers());
}

TESSERA_INLINE std::string candidate_name(const candidate& k, const format_table& table, int operands) {
    std::string name = to_text(k.engine);
    for (int o = 0; o < operands; ++o) {
        name += " " + table.name(k.value[o]) + "/" + table.name(k.gradient[o]);
    }
    return name;
}

TESSERA_INLINE std::string reorder_name(const reorder_call& r, const format_table& table) {
    return "reorder " + table.name(r.from) + " " + table.name(r.to) + " " + tessera::detail::text_of(r.extents);
}

TESSERA_INLINE std::vector<double> times_interleaved(const std::vector<owned<job>>& jobs) {
    constexpr int most_turns = 40;
    constexpr int fewest_turns = 5;
    constexpr double enough = 0.04; // seconds a job
    const run_state run;
    std::vector<double> best(jobs.size(), 1e30);
    double least = 1e30;
    double spent = 0;
    for (int turn = 0; turn < most_turns && (turn < fewest_turns || spent < enough); ++turn) {
        double longest = 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (turn > 1 && best[i] > 1.5 * least) {
                continue;
            }
            const double begin = seconds_now();
            jobs[i]->run(run);
            const double seconds = seconds_now() - begin;
            if (turn > 0 || seconds < 0.1) { // the first run of a long one pays for memory that was never touched
                best[i] = seconds < best[i] ? seconds : best[i];
                least = seconds < least ? seconds : least;
            }
            longest = seconds > longest ? seconds : longest;
        }
        spent += longest;
    }
    return best;
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE const std::vector<candidate>& catalog::candidates(const compute_call& c) {
    const std::string name = detail::problem_name(c, rows_) + (c.what == pass::evaluate ? " evaluate" : "");
    for (const owned<list>& known : lists_) {
        if (known->problem == name) {
            return known->ways;
        }
    }
    lists_.emplace_back(new list{name, detail::candidates_of(c, table_, rows_)});
    std::vector<candidate>& ways = lists_.back()->ways;
    std::erase_if(ways, [&](const candidate& k) { return is_checked(c, k) && is_known_wrong(checked_name(c, k)); });
    if (ways.empty()) {
        add_plain_candidates(c, ways);
    }
    return ways;
}

TESSERA_INLINE bool catalog::is_right(const compute_call& c, const candidate& k) {
    if (passes_check(c, k)) {
        return true;
    }
    std::erase_if(lists_, [](const owned<list>&) { return true; }); // made again without it
    return false;
}

TESSERA_INLINE std::vector<double> catalog::seconds(const compute_call& c, const std::vector<candidate>& ways) {
    std::vector<std::string> names;
    std::vector<candidate> unknown;
    for (const candidate& k : ways) {
        names.push_back(detail::problem_name(c, rows_) + " | " +
                        detail::candidate_name(k, table_, c.d->operands.size()));
        if (!passes_check(c, k)) {
            names.back().clear();
        } else if (known_.find(names.back()) == nullptr) {
            unknown.push_back(k);
        }
    }
    const std::vector<double> measured = measure(c, unknown);
    std::vector<double> all;
    std::size_t next = 0;
    for (const std::string& name : names) {
        if (name.empty()) {
            all.push_back(never);
            continue;
        }
        if (known_.find(name) == nullptr) {
            known_.add(name, measured[next++]);
        }
        all.push_back(*known_.find(name));
    }
    return all;
}

TESSERA_INLINE bool catalog::is_right(const detail::reorder_call& r) {
    if (r.from < format::opaque && r.to < format::opaque) {
        return true;
    }
    const std::string name = "checked " + detail::reorder_name(r, table_);
    if (known_.find(name) == nullptr) {
        const bool right = detail::keeps_elements(table_, r, stream_.get());
        known_.add(name, right ? is_right_mark : is_wrong_mark);
        if (!right) {
            std::fprintf(stderr, "tessera: warning: a reorder of oneDNN's loses elements and is avoided: %s\n",
                         name.c_str());
        }
    }
    return !is_known_wrong(name);
}

TESSERA_INLINE double catalog::seconds(const detail::reorder_call& r) {
    const std::string name = detail::reorder_name(r, table_);
    if (known_.find(name) == nullptr) {
        const buffer from = filled(table_.bytes(r.from, r.extents, element::f32), element::f32);
        const buffer to(table_.bytes(r.to, r.extents, element::f32));
        const buffer scratch(detail::reorder_scratch(table_, r));
        std::vector<owned<job>> one;
        one.push_back(detail::make_reorder(table_, r, from.data(), to.data(), scratch.data(), stream_.get()));
        known_.add(name, detail::times_interleaved(one)[0]);
    }
    return *known_.find(name);
}

TESSERA_INLINE bool catalog::passes_check(const compute_call& c, const candidate& k) {
    if (!is_checked(c, k)) {
        return true;
    }
    const std::string name = checked_name(c, k);
    if (known_.find(name) == nullptr) {
        const std::string wrong = wrong_at_first_use(c, k);
        known_.add(name, wrong.empty() ? is_right_mark : is_wrong_mark);
        if (!wrong.empty()) {
            std::fprintf(
                stderr,
                "tessera: warning: a vendor's implementation is wrong on this machine and is not used: %s (%s)\n",
                name.c_str(), wrong.c_str());
        }
    }
    return !is_known_wrong(name);
}

TESSERA_INLINE std::string catalog::wrong_at_first_use(const compute_call& c, const candidate& k) const {
    const auto make = [&](const bound_call& b) { return detail::make_job(b, table_, stream_.get(), rows_); };
    if (rows_.find(c.attributes)->check == first_use::sum_of_products) {
        return detail::wrong_sample(c, k, table_, stream_.get(), sample_limits{}, make);
    }
    const auto& loops = rows_.plain(record_of(c.attributes));
    return detail::wrong_part(c, k, table_, stream_.get(), sample_limits{}, make,
                              [&](const compute_call& part) { reference::compute<float>(part, loops); });
}

TESSERA_INLINE bool catalog::is_checked(const compute_call& c, const candidate& k) const {
    const operator_row* const row = rows_.find(c.attributes);
    return row != nullptr && row->check != first_use::none &&
           (k.engine == engine_kind::onednn || k.engine == engine_kind::winograd);
}

TESSERA_INLINE std::string catalog::checked_name(const compute_call& c, const candidate& k) const {
    return "checked " + detail::problem_name(c, rows_) + " | " +
           detail::candidate_name(k, table_, c.d->operands.size());
}

TESSERA_INLINE bool catalog::is_known_wrong(const std::string& name) const {
    const double* const mark = known_.find(name);
    return mark != nullptr && *mark > is_right_mark;
}

TESSERA_INLINE std::vector<double> catalog::measure(const compute_call& c, const std::vector<candidate>& ways) {
    // One buffer an operand serves all ways, so that they meet the same state of the caches.
    std::vector<buffer> memory;
    std::vector<bound_call> calls;
    index_t scratch = 0;
    for (const candidate& k : ways) {
        calls.push_back({c, k, nullptr, nullptr});
        scratch = k.scratch > scratch ? k.scratch : scratch;
    }
    for (int o = 0; o < c.d->operands.size() && !ways.empty(); ++o) {
        const element type = c.d->operands[o].type;
        const box whole_region = region(*c.d, o, c.ranges);
        for (const bool gradient : {false, true}) {
            index_t bytes = 0;
            for (const candidate& k : ways) {
                const int f = gradient ? k.gradient[o] : k.value[o];
                const index_t needed = f >= 0 ? table_.bytes(f, whole_region.extents(), type) : 0;
                bytes = needed > bytes ? needed : bytes;
            }
            if (bytes == 0) {
                continue;
            }
            memory.push_back(filled(bytes, type));
            for (std::size_t i = 0; i < ways.size(); ++i) {
                if ((gradient ? ways[i].gradient[o] : ways[i].value[o]) >= 0) {
                    (gradient ? calls[i].call.gradient[o] : calls[i].call.value[o]) =
                        tile_view{memory.back().data(), whole_region};
                }
            }
        }
    }
    memory.emplace_back(scratch);
    std::byte* const shared = memory.back().data();
    std::vector<owned<job>> jobs;
    for (bound_call& b : calls) {
        memory.emplace_back(b.how.workspace);
        b.scratch = shared;
        b.workspace = memory.back().data();
        jobs.push_back(detail::make_job(b, table_, stream_.get(), rows_));
        jobs.back()->stand_alone();
    }
    return detail::times_interleaved(jobs);
}

TESSERA_INLINE buffer catalog::filled(index_t bytes, element type) {
    buffer made(bytes);
    if (type == element::f32) {
        auto* x = reinterpret_cast<float*>(made.data());
        for (index_t i = 0; i < bytes / 4; ++i) {
            x[i] = static_cast<float>((i * 37) % 101 - 50) * 0.01F;
        }
    }
    return made;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
