// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_identity.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_identity.hpp"

namespace tessera::io::detail {

TESSERA_INLINE field_lines part_of_identity(const field_lines& of, const std::string& part) {
    field_lines lines;
    for (const field_line& l : of.all()) {
        const bool may_differ = l.name == "network.samples" || l.name.ends_with(".initial") ||
                                l.name == "optimizer.learning_rate"; // that of the last step goes on
        if (l.name.starts_with(part) && !may_differ) {
            lines.add(l.name, l.value);
        }
    }
    return lines;
}

TESSERA_INLINE std::string difference_of_part(const field_lines& session, const field_lines& checkpoint,
                                              const std::string& part) {
    const field_lines here = part_of_identity(session, part);
    const field_lines there = part_of_identity(checkpoint, part);
    return there.all().empty() ? "" : difference_of({"this training", here}, {"the checkpoint", there});
}

TESSERA_INLINE void require_same_settings(const field_lines& session, const checkpoint_state& state,
                                          const std::string& path) {
    const std::string words = difference_of_part(session, state.training, "optimizer.");
    if (!words.empty()) {
        throw error("tessera: the checkpoint '" + path + "' is of a training with another optimizer: " + words +
                    "; make the same, or load it with {.any_optimizer = true} where that is meant");
    }
}

TESSERA_INLINE void require_same_checkpoint(process_group* group, const std::string& path, std::string_view text) {
    if (group == nullptr) {
        return;
    }
    const std::uint64_t hash = tessera::detail::hash_of_bytes(text.data(), text.size());
    group->compare(barrier_point::load_checkpoint, hash, [&] {
        field_lines all;
        all.add("checkpoint.folder", path);
        all.add("checkpoint.hash", hash);
        return all.text();
    });
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
