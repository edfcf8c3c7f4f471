// SPDX-License-Identifier: Apache-2.0
// What a checkpoint says besides its tensors, and whether it is whole: state.json, COMMIT and the checksums of its
// files.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/folder.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/io/data/shuffle.hpp"
#include "tessera/io/files/safetensors.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <dirent.h>

namespace tessera::io {

/// What a checkpoint says besides its tensors.
struct checkpoint_state {
    std::uint64_t step = 0; ///< steps taken
    std::uint64_t seed = 0;
    double learning_rate = 0; ///< of the last step
    std::optional<data_position> data{};
    std::uint64_t network = 0; ///< network_hash(); with the next: 0 in folders of version 1, which do not say it
    std::uint64_t plan = 0;    ///< hash of the plan for training that was run
    field_lines training{};    ///< its identity but for the strategy; nothing in folders of versions 1 and 2
    std::vector<std::string> optimizer{}; ///< what it keeps for each element
};

namespace detail {

/// Version 1 has whole tensors alone and no hashes; 2 may have boxes of tensors; 3 says what the training is.
inline constexpr std::int64_t oldest_checkpoint_version = 1;
inline constexpr std::int64_t checkpoint_version = 3;

inline std::string text_of(std::uint32_t crc) { return std::to_string(crc); }

/// A number of 64 bits, which stands as a text because JSON's readers round numbers of more than 53.
std::uint64_t whole_number(const json_value& v);

/// The numbers of a double, exactly.
std::string text_of(double x);
double real_number(const json_value& v);

json json_of(const data_position& d);
data_position position_in(const json_value& data);

/// `optimizer`: what it keeps for each element, for people: the names of the tensors say it.
json json_of(const checkpoint_state& s, const std::vector<std::string>& optimizer);

std::string step_folder(std::uint64_t step);

/// The step of a folder of that name.
std::optional<std::uint64_t> step_of(const std::string& name);

/// The steps of a folder's checkpoints, whole or not, the newest first.
std::vector<std::uint64_t> saved_steps(const std::string& folder);

/// A checkpoint whose state has been read, but for its files.
class checkpoint_folder {
public:
    struct file {
        std::string name;
        std::int64_t bytes = 0;
        std::string crc;
    };

    /// Throws tessera::error where it was not written to its end, its state is damaged, or it is of another version.
    /// `offers`: an older one in its place, by name.
    explicit checkpoint_folder(const std::string& path, bool offers = true);

    const std::string& path() const { return path_; }
    const checkpoint_state& state() const { return state_; }
    /// All that it says, with the checksums of its files.
    const std::string& text() const { return text_; }
    const std::vector<file>& list() const { return files_; }
    std::vector<std::string> names() const;

    /// Holds a file against its checksum.
    void verify(const file& f) const;
    void verify() const;

private:
    static std::uint32_t crc_of_file(const files::open_file& file);

    /// What makes `work` fail, such as a disk that does not read, is a reason to take an older one, too.
    template <class Work>
    std::invoke_result_t<Work> guarded(Work&& work) const {
        try {
            return work();
        } catch (const error& e) {
            if (refused_) {
                throw;
            }
            refuse(e.what());
        }
    }

    /// Says what is wrong and what to take in its place: an older one beside it that is whole, where there is one.
    [[noreturn]] void refuse(const std::string& what) const;
    static bool is_whole(const std::string& path);

    void read(const json_document& document);

    std::string path_;
    bool offers_;
    mutable bool refused_ = false;
    checkpoint_state state_;
    std::string text_;
    std::vector<file> files_;
};

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_state.inl"
#endif

#include "tessera/base/end_header.inl"
