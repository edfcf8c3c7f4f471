// SPDX-License-Identifier: Apache-2.0
// Bodies of updates.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/updates.hpp"

namespace tessera::detail {

TESSERA_INLINE bool verifier::exchanges() {
    std::vector<int> norms(p_.tiles.size(), -1); // the step whose reductions write them
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::reduce) {
            for (const int n : t.params().norms) {
                if (norms[to_size(n)] >= 0) {
                    return refuse(&t, "a norm of gradients is written twice");
                }
                norms[to_size(n)] = t.step;
            }
        }
    }
    std::vector<std::vector<int>> taken(to_size(g_.parameter_count * p_.steps_per_plan)); // norms by parameter and step
    for (const task& t : p_.tasks) {
        for (const int n : t.kind() == task_kind::norm ? t.params().layer_norms : std::vector<int>{}) {
            if (!is_layer_norm(p_.tiles[to_size(n)])) {
                return refuse(&t, "a task takes no norm of a parameter that is trained");
            }
            taken[to_size(p_.tiles[to_size(n)].tensor * p_.steps_per_plan + t.step)].push_back(n);
        }
    }
    for (std::vector<int>& all : taken) {
        std::sort(all.begin(), all.end());
        if (std::adjacent_find(all.begin(), all.end()) != all.end()) {
            return refuse(nullptr, "a norm of a parameter is written twice");
        }
    }
    std::vector<char> states(p_.tiles.size(), 0);
    for (const task& t : p_.tasks) {
        bool sound = true;
        if (t.kind() == task_kind::norm) {
            for_each_part(t, [&](const task& one) { sound = sound && norm_is_sound(t, one); });
            sound = sound &&
                    (names_norms(t) || refuse(&t, "a task has other norms of gradients than it reads or writes")) &&
                    reads_all_norms(t, norms);
        } else if (t.kind() == task_kind::update || t.kind() == task_kind::reduce) {
            for_each_part(t, [&](const task& one) { sound = sound && exchange_is_sound(t, one, states); });
            if (sound && !names_norms(t)) { // a part has those alone that it reads or writes
                return refuse(&t, "a task has other norms of gradients than it reads or writes");
            }
            sound = sound && (t.kind() == task_kind::reduce || reads_all_norms(t, norms));
            for_each_part(t, [&](const task& one) { sound = sound && reads_layer_norms(t, one, taken); });
        } else if (t.kind() == task_kind::average || t.kind() == task_kind::gather) {
            sound = copies_are_one_parameters(t);
        } else if (t.kind() == task_kind::compress) {
            sound = compression_is_sound(t);
        } else if (t.kind() == task_kind::decompress) {
            for_each_part(t, [&](const task& one) { sound = sound && decompression_is_sound(t, one); });
        }
        if (!sound) {
            return false;
        }
    }
    return states_are_one(states) && residuals_are_one() && (!p_.compress.is_on() || updates_take_codes()) &&
           squares_are_counted(task_kind::reduce) && squares_are_counted(task_kind::norm) && flags_are_sound();
}

/// What a task does for one parameter: `whole` with its part `t`.
TESSERA_INLINE bool verifier::exchange_is_sound(const task& whole, const task& t, std::vector<char>& states) {
    const bool updates = t.kind() == task_kind::update;
    const bool clips = p_.clips && updates;
    if (t.reads.empty() || t.writes.empty() || !g_.parameters[t.params().parameter].trained ||
        p_.kind != run_kind::training) {
        return refuse(&whole, "a task sums or updates no parameter that is trained");
    }
    const tile& first = p_.tiles[to_size(t.writes[0])];
    int numbers = 0; // that are written
    for (const int w : t.writes) {
        const tile& x = p_.tiles[to_size(w)];
        const bool is_norm = !updates && x.kind == tile_kind::scalar;
        const bool right = is_norm ? x.device == t.device && x.tensor == t.params().parameter
                                   : x.kind == (updates ? tile_kind::parameter : tile_kind::parameter_gradient) &&
                                         x.tensor == t.params().parameter && x.region == first.region &&
                                         (updates || (x.step == t.step && x.summand < 0 && x.origin < 0));
        numbers += is_norm ? 1 : 0;
        if (!right) {
            return refuse(&whole, "a task sums or updates something else than its parameter, or another region of it");
        }
    }
    int read_norms = 0;
    std::size_t read_layer_norms = 0;
    for (const int r : t.reads) {
        const tile& x = p_.tiles[to_size(r)];
        const bool of_layer = updates && is_layer_norm(x);
        const bool is_norm = clips && x.kind == tile_kind::scalar && !of_layer;
        read_layer_norms += of_layer ? 1 : 0;
        const bool right = is_norm || of_layer ||
                           (x.kind == tile_kind::parameter_gradient && x.tensor == t.params().parameter &&
                            x.step == t.step && x.region == first.region);
        read_norms += is_norm ? 1 : 0;
        if (!right || std::count(t.reads.begin(), t.reads.end(), r) != 1) {
            return refuse(&whole, "a task reads another gradient than its parameter's, or one twice");
        }
    }
    const auto same = to_size(updates ? read_norms : numbers) == t.params().norms.size() &&
                      (updates || t.params().norms.size() < 2) && (p_.clips || t.params().norms.empty()) &&
                      to_size(read_norms) + read_layer_norms < t.reads.size() &&
                      read_layer_norms == t.params().layer_norms.size() && to_size(numbers) < t.writes.size();
    if (!same || !names_norms(t)) {
        return refuse(&whole, "a task has other norms of gradients than it reads or writes");
    }
    if ((t.params().state >= 0) != (updates && p_.states > 0)) {
        return refuse(&whole, "an update lacks its optimizer's state, or a task has one that needs none");
    }
    if (t.params().scale != 1 && (!updates || p_.average_every == 0 || t.params().scale != copies_of(first))) {
        return refuse(&whole, "a gradient is scaled by another number than that of its parameter's copies");
    }
    if (t.params().state < 0) {
        return true;
    }
    const tile& s = p_.tiles[to_size(t.params().state)];
    states[to_size(t.params().state)] = 1;
    return (s.on_host == first.on_host && s.kind == tile_kind::optimizer_state && s.tensor == t.params().parameter &&
            s.device == t.device && s.region == first.region && s.slice == t.params().slice &&
            s.slices == t.params().slices && s.alias < 0 && s.elements == slice_of(first, t).size() &&
            s.bytes == s.elements * bytes_of(element::f32) * p_.states) ||
           refuse(&whole, "an update has the optimizer's state of another parameter, or of another slice");
}

/// What a task takes of one parameter's squares: of a slice of one copy, of the gradient summed for it, and where it is
/// asked for of the state.
TESSERA_INLINE bool verifier::norm_is_sound(const task& whole, const task& t) {
    if (t.reads.size() < 2 || t.writes.size() != 1 || t.params().layer_norms != t.writes ||
        !is_layer_norm(p_.tiles[to_size(t.writes[0])]) || !g_.parameters[t.params().parameter].trained ||
        p_.kind != run_kind::training) {
        return refuse(&whole, "a task takes no norm of a parameter that is trained");
    }
    const tile& to = p_.tiles[to_size(t.writes[0])];
    const tile& weights = p_.tiles[to_size(t.reads[0])];
    bool right = to.tensor == t.params().parameter && to.device == t.device && to.step == t.step && to.origin < 0 &&
                 weights.kind == tile_kind::parameter &&
                 (t.params().state < 0 || weights.on_host == p_.tiles[to_size(t.params().state)].on_host) &&
                 weights.tensor == t.params().parameter && weights.device == t.device && t.params().message < 0;
    std::size_t gradients = 0;
    for (std::size_t i = 1; i < t.reads.size(); ++i) {
        const tile& x = p_.tiles[to_size(t.reads[i])];
        const bool gradient = x.kind == tile_kind::parameter_gradient && x.tensor == t.params().parameter &&
                              x.step == t.step && x.device == t.device && x.region == weights.region;
        gradients += gradient ? 1 : 0;
        right = right && (gradient || (p_.clips && x.kind == tile_kind::scalar && !is_layer_norm(x))) &&
                std::count(t.reads.begin(), t.reads.end(), t.reads[i]) == 1;
    }
    if (!right || gradients == 0 || gradients + t.params().norms.size() + 1 != t.reads.size()) {
        return refuse(&whole, "a task takes the norm of something else than its parameter and that one's gradient");
    }
    if (t.params().state < 0) {
        return true;
    }
    const tile& s = p_.tiles[to_size(t.params().state)];
    return (s.kind == tile_kind::optimizer_state && s.tensor == t.params().parameter && s.device == t.device &&
            s.region == weights.region && s.slice == t.params().slice && s.slices == t.params().slices && s.alias < 0 &&
            s.elements == slice_of(weights, t).size()) ||
           refuse(&whole, "a norm has the optimizer's state of another parameter, or of another slice");
}

/// An update whose steps are scaled knows all norms that are taken of its parameter in its step, or copies of them.
TESSERA_INLINE bool verifier::reads_layer_norms(const task& whole, const task& t,
                                                const std::vector<std::vector<int>>& taken) {
    std::vector<int> known;
    bool reads = true; // so that it waits for them
    for (const int n : t.params().layer_norms) {
        const int origin = p_.tiles[to_size(n)].origin;
        known.push_back(origin >= 0 ? origin : n);
        reads = reads && std::find(t.reads.begin(), t.reads.end(), n) != t.reads.end();
    }
    std::sort(known.begin(), known.end());
    const bool right = t.kind() == task_kind::update
                           ? reads && known == taken[to_size(t.params().parameter * p_.steps_per_plan + t.step)]
                           : known.empty();
    return right ||
           refuse(&whole, "an update scales its step by another norm than that of all of its parameter in its step");
}

/// Where a backend counts losses that are not finite, every loss adds to its device's count, and what changes
/// parameters reads the sum of all.
TESSERA_INLINE bool verifier::flags_are_sound() {
    std::vector<int> counts; // of losses
    bool any = false;
    for (const task& t : p_.tasks) {
        any = any || t.nonfinite_count >= 0;
        const bool counting = t.kind() == task_kind::compute && t.what == pass::forward && t.nonfinite_count >= 0;
        if (counting && std::find(counts.begin(), counts.end(), t.nonfinite_count) == counts.end()) {
            counts.push_back(t.nonfinite_count);
        }
    }
    for (const task& t : p_.tasks) {
        const bool changes =
            t.kind() == task_kind::update || (t.kind() == task_kind::compute && t.what == pass::update);
        const bool loses = t.kind() == task_kind::compute && t.what == pass::forward && loss_rows_of(p_, g_, t) >= 0;
        const tile* x = t.nonfinite_count >= 0 ? &p_.tiles[to_size(t.nonfinite_count)] : nullptr;
        const bool one = x != nullptr && is_count(*x) && x->device == t.device && x->alias < 0;
        const bool all = one && (x->summand < 0 || (counts.size() == 1 && counts[0] == t.nonfinite_count));
        if (any && (changes ? !all : loses ? !one || x->summand < 0 : x != nullptr)) {
            return refuse(&t,
                          "a task does not count its loss if that is not finite, or does not read the count of all");
        }
    }
    return true;
}

/// How many copies there are of a parameter's region.
TESSERA_INLINE int verifier::copies_of(const tile& of) const {
    int count = 0;
    for (const tile& x : p_.tiles) {
        count += x.kind == tile_kind::parameter && x.tensor == of.tensor && x.region == of.region ? 1 : 0;
    }
    return count;
}

TESSERA_INLINE bool verifier::names_norms(const task& t) const {
    const std::vector<int>& list = t.kind() == task_kind::reduce ? t.writes : t.reads;
    for (const int n : t.params().norms) {
        if (p_.tiles[to_size(n)].kind != tile_kind::scalar ||
            std::count(t.params().norms.begin(), t.params().norms.end(), n) != 1 ||
            std::find(list.begin(), list.end(), n) == list.end()) {
            return false;
        }
    }
    return true;
}

/// Where gradients are clipped, an update knows the squares of all gradients of its step, or copies of them.
TESSERA_INLINE bool verifier::reads_all_norms(const task& t, const std::vector<int>& step_of) {
    std::vector<int> known;
    for (const int n : t.params().norms) {
        const int origin = p_.tiles[to_size(n)].origin;
        known.push_back(origin >= 0 ? origin : n);
    }
    std::sort(known.begin(), known.end());
    std::vector<int> all;
    for (std::size_t i = 0; i < step_of.size() && p_.clips; ++i) {
        if (step_of[i] == t.step) {
            all.push_back(static_cast<int>(i));
        }
    }
    return known == all || refuse(&t, "an update clips by another norm than that of all gradients of its step");
}

/// One slice's state is one tile, in all steps.
TESSERA_INLINE bool verifier::states_are_one(const std::vector<char>& used) {
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < used.size(); ++i) {
        const tile& x = p_.tiles[i];
        const auto where = (static_cast<std::uint64_t>(x.device) << 40U) +
                           (static_cast<std::uint64_t>(x.slice) << 20U) + static_cast<std::uint64_t>(x.slices);
        if (used[i] != 0) {
            numbers.push_back(number_of(x.region, static_cast<std::uint64_t>(x.tensor)) ^ op::mix(where));
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end() ||
           refuse(nullptr, "the optimizer has two states of one slice of a parameter");
}

/// The square of every gradient's element is in one norm: of overlapping shards, and of copies that each sum all, in
/// that of the first. So is, of parameters with norms of their own (`kind` norm), that of every element.
TESSERA_INLINE bool verifier::squares_are_counted(task_kind kind) {
    struct group {
        int step = 0;
        box region;
        bool sliced = false;
        std::vector<std::pair<int, int>> slices; ///< slice, of how many
    };
    std::vector<std::vector<group>> known(to_size(g_.parameter_count)); // in the plan's order
    for (const task& whole : p_.tasks) {
        bool sound = true;
        const auto count = [&](const task& t) {
            const box& region = p_.tiles[to_size(kind == task_kind::norm ? t.reads[0] : t.writes[0])].region;
            std::vector<box> earlier;
            bool mine = false;
            for (group& x : known[to_size(t.params().parameter)]) {
                if (x.step != t.step || intersect(x.region, region).empty()) {
                    continue;
                }
                if (x.region == region && x.sliced && t.params().slices > 1) {
                    x.slices.emplace_back(t.params().slice, t.params().slices);
                    mine = true;
                } else {
                    earlier.push_back(x.region);
                }
            }
            if (!mine) {
                known[to_size(t.params().parameter)].push_back(
                    {t.step, region, t.params().slices > 1, {{t.params().slice, t.params().slices}}});
            }
            bool left_out = true;
            for (const box& b : t.params().counted_elsewhere) {
                left_out = left_out && std::find(earlier.begin(), earlier.end(), b) != earlier.end();
            }
            for (const box& b : earlier) {
                const auto& list = t.params().counted_elsewhere;
                left_out = left_out && std::find(list.begin(), list.end(), b) != list.end();
            }
            sound = sound && (left_out || refuse(&whole, "the squares of a gradient are counted twice, or not at all"));
        };
        if (whole.kind() == kind &&
            !(kind == task_kind::norm ? whole.params().layer_norms : whole.params().norms).empty()) {
            for_each_part(whole, [&](const task& t) {
                if (!((kind == task_kind::norm ? t.params().layer_norms : t.params().norms).empty())) {
                    count(t);
                }
            });
        } else if (whole.kind() == task_kind::norm) {
            continue; // looked at by itself
        } else if (kind == task_kind::reduce && !whole.params().counted_elsewhere.empty()) {
            sound = refuse(&whole, "a task leaves out squares that it does not count");
        }
        if (!sound) {
            return false;
        }
    }
    return groups_cover(known, kind);
}

/// An average or a gathering touches copies, or slices, of its parameter alone.
TESSERA_INLINE bool verifier::copies_are_one_parameters(const task& t) {
    for (const int r : t.reads) {
        const tile& x = p_.tiles[to_size(r)];
        if (x.kind != tile_kind::parameter || x.tensor != t.params().parameter || x.alias >= 0) {
            return refuse(&t, "a task puts together what is not of its parameter");
        }
    }
    if (t.kind() == task_kind::average) {
        return brings_up(t) || (p_.average_every > 0 && (t.step + 1) % p_.average_every == 0) ||
               refuse(&t, "copies of a parameter are averaged in a step that is not for it");
    }
    const tile& to = p_.tiles[to_size(t.writes[0])];
    return (to.kind == tile_kind::intermediate && parameter_in(to) == t.params().parameter && to.step == t.step &&
            to.micro_batch == (is_joint(to.tensor / max_operands) ? -1 : t.micro_batch) && to.slices == 1 &&
            to.device == t.device) ||
           refuse(&t, "a gathering fills something else than a copy of its parameter");
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
