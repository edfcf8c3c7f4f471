// SPDX-License-Identifier: Apache-2.0
// Bodies of text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/text.hpp"

namespace tessera::io {

TESSERA_INLINE std::string read_text(const std::string& path) {
    std::string text = detail::read_whole(path, "name a text file");
    if (text.empty()) throw error("'" + path + "' is empty; name a text file");
    return text;
}

TESSERA_INLINE text_set::text_set(std::vector<std::int32_t> tokens, std::int64_t length, std::int64_t stride)
    : tokens_{std::make_shared<const std::vector<std::int32_t>>(std::move(tokens))}, length_{length}, stride_{stride} {
    const auto count = static_cast<std::int64_t>(tokens_->size());
    if (length < 1 || stride < 1)
        throw error("windows of " + std::to_string(length) + " tokens, " + std::to_string(stride) +
                    " apart; both are at least 1");
    if (count - 1 < length)
        throw error("a text of " + std::to_string(count) + " tokens has no window of " + std::to_string(length) +
                    " with the token that comes next; take a longer text or shorter windows");
    size_ = (count - 1 - length) / stride + 1;
}

TESSERA_INLINE std::uint64_t text_set::hash() const {
    return op::mix(op::mix(hash_of_elements<std::int32_t>(*tokens_) ^ static_cast<std::uint64_t>(length_)) ^
                   static_cast<std::uint64_t>(stride_));
}

TESSERA_INLINE token_range text_set::batches(std::int64_t batch_size, const batch_options& options) const& {
    const std::span<const std::int32_t> all(*tokens_);
    return token_range::windows(all.first(all.size() - 1), all.subspan(1), size_, to_size(length_), to_size(stride_),
                                batch_size, options);
}

TESSERA_INLINE std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>
cut(const std::vector<std::int32_t>& tokens, double share) {
    if (!(share > 0 && share < 1))
        throw error("a text is cut at the share " + fixed_text(share) + " of it; give one between 0 and 1");
    const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(tokens.size()) * share);
    return {{tokens.begin(), at}, {at, tokens.end()}};
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
