// SPDX-License-Identifier: Apache-2.0
// Bodies of search_numbers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/search_numbers.hpp"

#include <utility>

namespace tessera::io::detail {

TESSERA_INLINE std::string_view search_reader::word() {
    const std::size_t end = std::min(text_.find_first_of(" \n", at_), text_.size());
    const std::string_view w = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return w;
}

TESSERA_INLINE std::string_view search_reader::rest_of_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view w = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return w;
}

TESSERA_INLINE std::string search_reader::text(std::size_t bytes) {
    if (bytes > text_.size() - at_) {
        refuse("it ends too early; the file is incomplete");
    }
    at_ += bytes;
    return std::string(text_.substr(at_ - bytes, bytes));
}

TESSERA_INLINE strategy search_reader::read_strategy(strategy_reader& of, int devices) {
    const json_document document(rest_of_line(), "search file");
    strategy_file file = of.read(document);
    if (file.devices != devices) {
        refuse("it has a strategy for " + std::to_string(file.devices) + " devices, and the machine has " +
               std::to_string(devices));
    }
    return std::move(file.value);
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
