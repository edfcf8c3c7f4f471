// SPDX-License-Identifier: Apache-2.0
// JSON as text that people read: what fits stands on one line.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/json.hpp"

namespace tessera::io {

namespace detail {

/// Adds the value as one line, with blanks after commas and colons, to `out`, which may have at most so many bytes
/// then: false where it would have more, and it is left within them but for a number or the text of one that is quoted.
/// So trying what does not fit takes a line's time, however much is in it.
bool add_line(std::string& out, const json& j, std::size_t most);

void write_json(std::string& out, const json& j, std::size_t indent);

} // namespace detail

/// The text of a value, with a line's end; json_document gives it back.
std::string to_text(const json& j);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/json_text.inl"
#endif

#include "tessera/base/end_header.inl"
