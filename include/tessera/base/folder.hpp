// SPDX-License-Identifier: Apache-2.0
// Folders written whole: a reader sees the old folder or the new one. What is removed is what was made here: folders of
// files of known names, no links followed.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"

#include <cstdio>
#include <vector>

#include <linux/fs.h>
#include <sys/syscall.h>

namespace tessera::files {

/// A kind of folder, such as checkpoints: by what it is known, and what may be in it.
struct folder_kind {
    const char* mark = nullptr;                   ///< the file that a folder of this kind has when it is whole
    bool (*may_hold)(std::string_view) = nullptr; ///< names of files of this kind
    std::string owner{};        ///< whose folders these are; stands in the note of one that is not finished
    const char* last = nullptr; ///< the file of a whole one that goes last, when all is removed
    std::string says{};         ///< what stands in that file of this owner's
};

/// In a folder that is being written: who writes it. Gone when it is whole.
inline constexpr const char* unfinished_note = ".tessera-unfinished";

namespace detail {

/// A folder that is there, and no link; -1 where it is not.
int opened_folder(const std::string& path);

bool is_known(const folder_kind& kind, std::string_view name);

/// Names in an open folder, and the first of them that is no regular file of its kind.
struct listed {
    std::vector<std::string> names;
    std::string foreign;
};
listed list(int folder, const folder_kind& kind);

/// The contents of a small file of an open folder, no link followed; empty where there is none.
std::string text_in(int folder, const char* name, std::size_t most = std::size_t{1} << 20U);

} // namespace detail

/// What is in a folder besides regular files of its kind: the first such name; empty where there is none. A link, and
/// what is no folder, is "itself".
std::string foreign_in(const std::string& path, const folder_kind& kind);

/// Removes a folder that holds nothing but regular files of its kind, the mark first and `last` last, so that what a
/// crash leaves is not taken for a whole one and still says whose it is. Anything else stays as it is: returns false.
bool remove_folder(const std::string& path, const folder_kind& kind);

/// Whether an open folder says that it is this owner's, finished or not.
bool is_of_owner(int folder, const folder_kind& kind);

/// Whether all that an open folder holds is this owner's note, or a part of it, which has not got its name.
bool is_barely_begun(int folder, const std::vector<std::string>& names, const folder_kind& kind);

/// A folder's other name while the new one takes its place, on file systems that cannot exchange two names.
inline std::string replaced_name(const std::string& target) { return target + ".replaced"; }

/// Ends what a crash has interrupted there: the old folder comes back where the new one has not come, and goes where it
/// has.
void finish_replacing(const std::string& target, const folder_kind& kind);

/// Removes what processes that live no longer have left of `target`, or with `stem` of all folders whose names begin
/// so, in the folder `parent`: unfinished folders with this owner's note, and folders that were being replaced.
void remove_left_overs(const std::string& parent, const std::string& stem, const folder_kind& kind);

/// A new folder that takes the place of its target when commit() is called, or is gone again. Until then it stands
/// beside it under a name that carries the process, with a note of whose it is and a lock by which the next writer sees
/// whether that process still lives.
class new_folder {
public:
    /// Throws tessera::error where something is there that is no whole folder of the kind, or holds anything else (it
    /// is not replaced), and where the folder cannot be made.
    new_folder(const std::string& target, const folder_kind& kind);
    new_folder(const new_folder&) = delete;
    new_folder& operator=(const new_folder&) = delete;
    ~new_folder();

    const std::string& path() const { return path_; }

    /// Puts the folder in the place of its target, after its contents are on the disk; removes what was there. File
    /// systems that cannot exchange two names have the old one under replaced_name() for a moment; a crash then is
    /// mended by the next writer, and readers know that name.
    void commit();

private:
    static constexpr int most_names = 1000;

    static std::string without_slash(std::string path);
    std::string parent() const;
    void rename(const std::string& from, const std::string& to) const;

    void require_replaceable() const;

    std::string target_, stem_;
    folder_kind kind_;
    std::string path_; ///< empty: it stands where it should
    detail::descriptor lock_;
};

} // namespace tessera::files

#ifndef TESSERA_COMPILED
#include "tessera/base/folder.inl"
#endif

#include "tessera/base/end_header.inl"
