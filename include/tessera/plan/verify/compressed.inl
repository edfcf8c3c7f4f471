// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks that compressed gradients are of one parameter: who compresses keeps what it leaves
// out to itself, and who adds codes up reads those of all.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// A compression takes one gradient of its parameter on its device, and that device's residual of it.
TESSERA_INLINE bool verifier::compression_is_sound(const task& t) {
    const bool one = p_.compress.is_on() && p_.kind == run_kind::training &&
                     g_.parameters[t.params().parameter].trained && t.params().parts.empty() &&
                     t.params().slices == 1 && t.reads.size() == 1 && t.writes.size() == 1 && t.params().state >= 0;
    if (!one) {
        return refuse(&t, "a task compresses no gradient, several, or a slice of one");
    }
    const tile& from = p_.tiles[to_size(t.reads[0])];
    const tile& to = p_.tiles[to_size(t.writes[0])];
    const tile& left = p_.tiles[to_size(t.params().state)];
    const bool source = from.kind == tile_kind::parameter_gradient && from.tensor == t.params().parameter &&
                        from.device == t.device && from.step == t.step && from.slices == 1 && from.format == 0 &&
                        from.type == element::f32;
    const bool code = to.kind == tile_kind::code && to.tensor == t.params().parameter && to.device == t.device &&
                      to.step == t.step && to.region == from.region;
    const index_t room = p_.compress.scratch_bytes(from.region.volume());
    if ((t.scratch >= 0) != (room > 0) || (room > 0 && p_.tiles[to_size(t.scratch)].bytes < room)) {
        return refuse(&t, "a compression has no working memory, or too little");
    }
    if (!source || !code) {
        return refuse(&t, "a task compresses another gradient than its device's of its parameter, or into another's "
                          "code");
    }
    return (left.kind == tile_kind::residual && left.tensor == t.params().parameter && left.device == t.device &&
            left.region == from.region && left.alias < 0 && left.slices == 1 && left.type == element::f32 &&
            left.elements == from.region.volume()) ||
           refuse(&t, "a compression leaves out of a gradient what another one is to send later");
}

/// What a decompression does for one parameter: `whole` with its part `t`. Which codes it reads gradients() follows.
TESSERA_INLINE bool verifier::decompression_is_sound(const task& whole, const task& t) {
    bool right = p_.compress.is_on() && p_.kind == run_kind::training && g_.parameters[t.params().parameter].trained &&
                 t.params().slices == 1 && !t.reads.empty() && t.writes.size() == 1 && t.params().state < 0;
    const tile* const to = right ? &p_.tiles[to_size(t.writes[0])] : nullptr;
    right = right && to->kind == tile_kind::parameter_gradient && to->tensor == t.params().parameter &&
            to->device == t.device && to->step == t.step && to->summand < 0 && to->origin < 0 && to->slices == 1 &&
            to->format == 0 && to->type == element::f32;
    for (std::size_t i = 0; right && i < t.reads.size(); ++i) {
        const tile& x = p_.tiles[to_size(t.reads[i])];
        right =
            x.kind == tile_kind::code && x.tensor == t.params().parameter && x.step == t.step && x.region == to->region;
    }
    return right || refuse(&whole, "a task adds up other codes than those of its parameter's gradient");
}

/// In a step one compression at most changes what a device has left out, and of one region of a parameter a device has
/// one residual.
TESSERA_INLINE bool verifier::residuals_are_one() {
    std::vector<std::uint64_t> numbers;
    for (const tile& x : p_.tiles) {
        if (x.kind == tile_kind::residual) {
            numbers.push_back(number_of(x.region, static_cast<std::uint64_t>(x.tensor)) ^
                              op::mix(static_cast<std::uint64_t>(x.device)));
        }
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::pair<int, int>> changed; // residual, step
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::compress) {
            changed.emplace_back(t.params().state, t.step);
        }
    }
    std::sort(changed.begin(), changed.end());
    return (std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end() &&
            std::adjacent_find(changed.begin(), changed.end()) == changed.end()) ||
           refuse(nullptr, "a device compresses one gradient twice in a step, or keeps two residuals of it");
}

/// Where a parameter's gradient is compressed, its updates take what the codes add up to: the gradient itself is
/// another number, even where it is the only one.
TESSERA_INLINE bool verifier::updates_take_codes() {
    std::vector<char> of_codes(p_.tiles.size(), 0);
    std::vector<std::pair<std::pair<int, int>, box>> sent; // parameter and step, region
    const auto takes = [&](const task& t) {
        bool all = true;
        for (const int r : t.reads) {
            const bool gradient = p_.tiles[to_size(r)].kind == tile_kind::parameter_gradient;
            all = all && (!gradient || of_codes[to_size(p_.root(r))] != 0);
        }
        return all;
    };
    for (const task& t : p_.tasks) {
        bool sound = true;
        for_each_part(t, [&](const task& one) {
            const bool changes = t.kind() == task_kind::update || t.kind() == task_kind::norm;
            const bool adds =
                t.kind() == task_kind::reduce || t.kind() == task_kind::sum || t.kind() == task_kind::reorder;
            if (t.kind() == task_kind::decompress || adds) {
                const bool coded = t.kind() == task_kind::decompress || takes(one);
                for (const int w : one.writes) {
                    of_codes[to_size(p_.root(w))] = coded ? 1 : 0;
                }
            }
            if (t.kind() == task_kind::decompress) {
                sent.push_back({{one.params().parameter, t.step}, p_.tiles[to_size(one.writes[0])].region});
            } else if (changes && !takes(one)) {
                const box& region =
                    p_.tiles[to_size(t.kind() == task_kind::norm ? one.reads[0] : one.writes[0])].region;
                for (const auto& [whose, known] : sent) {
                    sound = sound && !(whose == std::pair{one.params().parameter, t.step} && known == region);
                }
            }
        });
        if (!sound) {
            return refuse(&t, "an update takes a gradient that others send compressed as it was before");
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
