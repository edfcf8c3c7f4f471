// SPDX-License-Identifier: Apache-2.0
// Texts to train language models on: windows of tokens, and for each of their positions the token that comes next.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/io/data/batches.hpp"
#include "tessera/io/data/vocabulary.hpp"
#include "tessera/io/files/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// A text file whole, plain or compressed by gzip, of at most 1 GiB. Throws tessera::error where there is none, or it
/// is empty.
std::string read_text(const std::string& path);

/// Samples of `length` tokens, `stride` apart, with the next tokens as labels: sample i is tokens i*stride ..
/// i*stride+length-1 and its labels are one further. What is left at the end and too short for a window is left out.
/// Holds the tokens once, and copies share them.
class text_set {
public:
    /// Throws tessera::error for fewer than length+1 tokens, or a length or stride below 1.
    text_set(std::vector<std::int32_t> tokens, std::int64_t length, std::int64_t stride);
    /// Windows that do not overlap.
    text_set(std::vector<std::int32_t> tokens, std::int64_t length) : text_set(std::move(tokens), length, length) {}

    [[nodiscard]] std::int64_t size() const { return size_; } ///< the number of windows
    [[nodiscard]] std::int64_t length() const { return length_; }
    /// Of the contents and the windows: another set has another, as good as always.
    [[nodiscard]] std::uint64_t hash() const;
    [[nodiscard]] const std::vector<std::int32_t>& tokens() const { return *tokens_; }

    /// The windows in batches; the set must outlive them.
    [[nodiscard]] token_range batches(std::int64_t batch_size, const batch_options& options = {}) const&;
    token_range batches(std::int64_t batch_size, const batch_options& options = {}) && = delete;

private:
    std::shared_ptr<const std::vector<std::int32_t>> tokens_;
    std::int64_t length_;
    std::int64_t stride_;
    std::int64_t size_ = 0;
};

/// The first part of tokens to train with and the rest to test with: cut(tokens, 0.9). Throws tessera::error unless 0 <
/// share < 1.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> cut(const std::vector<std::int32_t>& tokens,
                                                                    double share);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/text.inl"
#endif

#include "tessera/base/end_header.inl"
