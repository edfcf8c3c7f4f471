// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of the identity of its training (execute/training_identity.hpp), and whether another training may go on from it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/field_lines.hpp"
#include "tessera/execute/hash_of_bytes.hpp"
#include "tessera/execute/processes.hpp"
#include "tessera/io/checkpoint_state.hpp"

#include <string>

namespace tessera::io::detail {

/// All but the strategy, under any of which a training goes on; nothing of a session that does not say it.
template <class Session>
field_lines kept_identity(const Session& s) {
    field_lines kept;
    if constexpr (requires { s.identity_lines(); }) {
        const field_lines all = s.identity_lines();
        for (const field_line& l : all.all()) {
            l.name.starts_with("strategy.") ? void() : kept.add(l.name, l.value);
        }
    }
    return kept;
}

/// Lines of one part ("network."), without what may differ.
inline field_lines part_of_identity(const field_lines& of, const std::string& part) {
    field_lines lines;
    for (const field_line& l : of.all()) {
        const bool may_differ = l.name == "network.samples" || l.name.ends_with(".initial") ||
                                l.name == "optimizer.learning_rate"; // that of the last step goes on
        l.name.starts_with(part) && !may_differ ? lines.add(l.name, l.value) : void();
    }
    return lines;
}

/// In which fields of a part a checkpoint and a session differ; empty where they do not, or the checkpoint does not say.
inline std::string difference_of_part(const field_lines& session, const field_lines& checkpoint,
                                      const std::string& part) {
    const field_lines here = part_of_identity(session, part);
    const field_lines there = part_of_identity(checkpoint, part);
    return there.all().empty() ? "" : difference_of({"this training", here}, {"the checkpoint", there});
}

/// Throws tessera::error for a checkpoint of a training whose optimizer has other numbers (what it keeps is compared before), by the fields that differ.
inline void require_same_settings(const field_lines& session, const checkpoint_state& state, const std::string& path) {
    const std::string words = difference_of_part(session, state.training, "optimizer.");
    if (!words.empty()) {
        throw error("tessera: the checkpoint '" + path + "' is of a training with another optimizer: " + words +
                    "; make the same, or load it with {.any_optimizer = true} where that is meant");
    }
}

/// Processes that load one checkpoint load the same one: throws group_error where they do not. `text`: what it says, checksums of its files among it.
inline void require_same_checkpoint(process_group* group, const std::string& path, std::string_view text) {
    if (group == nullptr) {
        return;
    }
    const std::uint64_t hash = tessera::detail::hash_of_bytes(text.data(), text.size());
    group->compare(meeting::load_checkpoint, hash, [&] {
        field_lines all;
        all.add("checkpoint.folder", path);
        all.add("checkpoint.hash", hash);
        return all.text();
    });
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
