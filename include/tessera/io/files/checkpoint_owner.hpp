// SPDX-License-Identifier: Apache-2.0
// Whose checkpoints a folder holds: what a saver may remove, and that it is the only one.
//
//   .tessera-saver   32 hexadecimal digits, drawn when the folder got its first saver, which every checkpoint of its
//                    savers has in state.json ("saver") and every
//                    unfinished one in a note; then who saves there now. The saver holds a lock on it (flock).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/folder.hpp"
#include "tessera/io/files/checkpoint_state.hpp"

#include <cstdio>
#include <ctime>

#include <sys/random.h>

namespace tessera::io::detail {

inline constexpr const char* saver_file = ".tessera-saver";

/// "model.safetensors", "model-00001-of-00004.safetensors", "state.json".
bool is_checkpoint_file(std::string_view name);

/// Checkpoints: of the saver of this identifier, or of none.
files::folder_kind checkpoint_kind(const std::string& saver = {});

/// Why a saver of this identifier leaves a checkpoint's folder alone; empty where it has made it, and nobody has put
/// anything into it.
std::string why_not_own(const std::string& path, const std::string& saver);

/// The one writer of a folder of checkpoints: a lock, and the identifier of what its savers make.
class saver_lock {
public:
    saver_lock() = default;
    saver_lock(const saver_lock&) = delete;
    saver_lock& operator=(const saver_lock&) = delete;
    ~saver_lock() { give(); }

    /// Takes the lock of a folder that is there, unless it is held. Throws tessera::error where somebody else has it,
    /// by name, and where the file is something else.
    void take(const std::string& folder);
    void give();
    const std::string& identifier() const { return id_; }

private:
    static constexpr std::size_t most_text = 1024;

    static bool is_identifier(const std::string& x);
    static std::string new_identifier();
    /// "process 4711 on node3, since 2026-01-31 12:00:00 UTC"
    static std::string this_process();
    std::string text() const;
    /// Ends the file behind what it writes. (In the file that is locked, whatever has its name now.)
    void write(off_t at, const std::string& text);

    std::string path_;
    files::detail::descriptor file_;
    std::string id_;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_owner.inl"
#endif

#include "tessera/base/end_header.inl"
