// SPDX-License-Identifier: Apache-2.0
// Files of tensors in the safetensors format: 8 bytes that say how long the header is, little-endian; the header, a
// JSON object padded with spaces; then all tensors one after the other, row-major, without holes. Files written here
// are also a checkpoint, or a shard of one, for torch.distributed.checkpoint: they say where in the whole tensor each
// of theirs begins.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/bfloat16.hpp"
#include "tessera/base/file.hpp"
#include "tessera/base/function_ref.hpp"
#include "tessera/base/half.hpp"
#include "tessera/io/files/crc32.hpp"
#include "tessera/io/files/json.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

static_assert(std::endian::native == std::endian::little, "tessera: safetensors files are little-endian");

/// A tensor to be written, or a box of one: fp32, row-major. Does not own its numbers.
struct named_tensor {
    std::string name;
    std::vector<std::int64_t> extents; ///< none: a scalar
    std::span<const float> numbers;
    std::vector<std::int64_t> offsets{}; ///< where in the whole tensor the box begins; none: at 0

    std::int64_t elements() const;
};

/// A file as it was written: what a reader can check it by.
struct written_file {
    std::int64_t bytes = 0;
    std::uint32_t crc = 0; ///< zlib's crc32
};

namespace detail {

inline constexpr std::int64_t most_header_bytes = 100'000'000; // as all readers of the format have it

std::string_view bytes_of_numbers(std::span<const float> x);

/// The key by which torch.distributed.checkpoint finds where in the whole tensors those of a file begin.
inline constexpr const char* sharding_key = "DCP_SHARDING_INFO";

/// The header of fp32 tensors in the order given.
std::string safetensors_header(std::span<const named_tensor> tensors);

} // namespace detail

/// Writes tensors in the order given, replacing the file if it exists; a reader sees the old contents or the new ones.
/// The numbers of a tensor are asked for when their turn comes, and must be there until the next ones are asked for.
/// Throws tessera::error where that fails, and for a name that comes twice.
written_file write_safetensors(const std::string& path, std::span<const named_tensor> tensors,
                               function_ref<std::span<const float>(std::size_t)> numbers_of);
written_file write_safetensors(const std::string& path, std::span<const named_tensor> tensors);

/// A file of tensors, open for reading.
class safetensors_file {
public:
    struct place {
        std::string type; ///< as the format calls it; F64, F32, F16 and BF16 are read
        std::vector<std::int64_t> extents;
        std::int64_t begin = 0, end = 0; ///< bytes, from the end of the header
        std::vector<std::int64_t>
            offsets{}; ///< where in a whole tensor this box of it begins; zeros but in files of shards

        std::int64_t elements() const;
    };

    /// Throws tessera::error where the file cannot be read, and where it is not exactly what the format wants: a header
    /// of at most 100 MB, extents that fit their bytes, tensors that cover the rest of the file without holes and
    /// overlaps.
    explicit safetensors_file(const std::string& path);

    /// True for types that are read as fp32; others (indices, counters) may be there.
    static bool is_read(const place& p);

    const std::string& path() const { return path_; }
    const std::map<std::string, place>& tensors() const { return tensors_; }
    /// The numbers of a tensor, as fp32. Throws tessera::error where there is none of that name, and for types that are
    /// not read.
    std::vector<float> numbers(const std::string& name) const;
    /// Those of a place from element `first` on, row-major.
    void read(const place& p, std::int64_t first, std::span<float> to) const;

private:
    [[noreturn]] void refuse(const std::string& what) const;

    /// Bytes of an element; 0 for a type that is not known.
    static std::int64_t size_of(const std::string& type);

    template <class T>
    static T at(const char* bytes, std::size_t i) {
        T x;
        std::memcpy(&x, bytes + i * sizeof(T), sizeof(T));
        return x;
    }
    static float number(const std::string& type, const char* bytes, std::size_t i);

    void add(const std::string& name, const json_value& value);

    /// Other files' metadata are any texts; those of shards say where each tensor of theirs begins.
    void take_offsets(const json_value& metadata);

    void check_cover() const;

    std::string path_;
    files::open_file file_;
    std::int64_t data_ = 0; ///< where the tensors begin
    std::map<std::string, place> tensors_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/safetensors.inl"
#endif

#include "tessera/base/end_header.inl"
