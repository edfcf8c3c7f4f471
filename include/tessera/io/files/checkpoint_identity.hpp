// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of the identity of its training (execute/ranks/training_identity.hpp), and whether another
// training may go on from it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/execute/ranks/hash_of_bytes.hpp"
#include "tessera/execute/ranks/processes.hpp"
#include "tessera/io/files/checkpoint_state.hpp"

#include <string>

namespace tessera::io::detail {

/// All but the strategy, under any of which a training goes on; nothing of a session that does not say it.
template <class Session>
field_lines kept_identity(const Session& s) {
    field_lines kept;
    if constexpr (requires { s.identity_lines(); }) {
        const field_lines all = s.identity_lines();
        for (const field_line& l : all.all()) {
            if (!l.name.starts_with("strategy.")) {
                kept.add(l.name, l.value);
            }
        }
    }
    return kept;
}

/// Lines of one part ("network."), without what may differ.
field_lines part_of_identity(const field_lines& of, const std::string& part);

/// In which fields of a part a checkpoint and a session differ; empty where they do not, or the checkpoint does not
/// say.
std::string difference_of_part(const field_lines& session, const field_lines& checkpoint, const std::string& part);

/// Throws tessera::error for a checkpoint of a training whose optimizer has other numbers (what it keeps is compared
/// before), by the fields that differ.
void require_same_settings(const field_lines& session, const checkpoint_state& state, const std::string& path);

/// Processes that load one checkpoint load the same one: throws group_error where they do not. `text`: what it says,
/// checksums of its files among it.
void require_same_checkpoint(process_group* group, const std::string& path, std::string_view text);

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_identity.inl"
#endif

#include "tessera/base/end_header.inl"
