// SPDX-License-Identifier: Apache-2.0
// Texts to train language models on: windows of tokens, and for each of their positions the token that comes next.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/io/batches.hpp"
#include "tessera/io/byte_source.hpp"
#include "tessera/io/vocabulary.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// A text file whole, plain or compressed by gzip, of at most 1 GiB. Throws tessera::error where there is none, or it is empty.
inline std::string read_text(const std::string& path) {
    std::string text = detail::read_whole(path, "name a text file");
    if (text.empty()) throw error("'" + path + "' is empty; name a text file");
    return text;
}

/// Samples of `length` tokens, `stride` apart, with the next tokens as labels: sample i is tokens i*stride .. i*stride+length-1 and its labels are one further.
/// What is left at the end and too short for a window is left out. Holds the tokens once, and copies share them.
class text_set {
public:
    /// Throws tessera::error for fewer than length+1 tokens, or a length or stride below 1.
    text_set(std::vector<std::int32_t> tokens, std::int64_t length, std::int64_t stride)
        : tokens_{std::make_shared<const std::vector<std::int32_t>>(std::move(tokens))}, length_{length}, stride_{
                                                                                                              stride} {
        const auto count = static_cast<std::int64_t>(tokens_->size());
        if (length < 1 || stride < 1)
            throw error("windows of " + std::to_string(length) + " tokens, " + std::to_string(stride) +
                        " apart; both are at least 1");
        if (count - 1 < length)
            throw error("a text of " + std::to_string(count) + " tokens has no window of " + std::to_string(length) +
                        " with the token that comes next; take a longer text or shorter windows");
        size_ = (count - 1 - length) / stride + 1;
    }
    /// Windows that do not overlap.
    text_set(std::vector<std::int32_t> tokens, std::int64_t length) : text_set(std::move(tokens), length, length) {}

    [[nodiscard]] std::int64_t size() const { return size_; } ///< the number of windows
    [[nodiscard]] std::int64_t length() const { return length_; }
    /// Of the contents and the windows: another set has another, as good as always.
    [[nodiscard]] std::uint64_t hash() const {
        return op::mix(op::mix(hash_of_elements<std::int32_t>(*tokens_) ^ static_cast<std::uint64_t>(length_)) ^
                       static_cast<std::uint64_t>(stride_));
    }
    [[nodiscard]] const std::vector<std::int32_t>& tokens() const { return *tokens_; }

    /// The windows in batches; the set must outlive them.
    [[nodiscard]] token_range batches(std::int64_t batch_size, const batch_options& options = {}) const& {
        const std::span<const std::int32_t> all(*tokens_);
        return token_range::windows(all.first(all.size() - 1), all.subspan(1), size_, static_cast<std::size_t>(length_),
                                    static_cast<std::size_t>(stride_), batch_size, options);
    }
    token_range batches(std::int64_t batch_size, const batch_options& options = {}) && = delete;

private:
    std::shared_ptr<const std::vector<std::int32_t>> tokens_;
    std::int64_t length_;
    std::int64_t stride_;
    std::int64_t size_ = 0;
};

/// The first part of tokens to train with and the rest to test with: cut(tokens, 0.9). Throws tessera::error unless 0 < share < 1.
inline std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> cut(const std::vector<std::int32_t>& tokens,
                                                                           double share) {
    if (!(share > 0 && share < 1))
        throw error("a text is cut at the share " + fixed_text(share) + " of it; give one between 0 and 1");
    const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(tokens.size()) * share);
    return {{tokens.begin(), at}, {at, tokens.end()}};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
