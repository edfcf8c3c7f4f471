// SPDX-License-Identifier: Apache-2.0
// Memory formats of tiles on the host.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/onednn.hpp"
#include "tessera/base/mutex.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera::host {

/// Number of a memory format. From `opaque` on, formats are oneDNN's own for weights, numbered as they are met.
namespace format {

inline constexpr int plain = 0;         ///< last dimension fastest
inline constexpr int channels_last = 1; ///< [N][H][W][C], of volumes [N][D][H][W][C]
inline constexpr int samples16 = 2;     ///< [N/16][rest][16]: samples innermost, the last block filled up
/// [N][C/16][H][W][16], of volumes [N][C/16][D][H][W][16]: oneDNN's nChw16c and nCdhw16c, the last block filled up with
/// zeros.
inline constexpr int channels16 = 3;
inline constexpr int opaque = 16;

} // namespace format

/// Formats and their sizes; the opaque ones are kept here.
class format_table {
public:
    /// The number of a oneDNN memory format, an equal one getting an equal number. Plain ones are recognized.
    int number(const tensor_desc& md);

    tensor_desc desc(int f, const shape& s) const;

    index_t bytes(int f, const shape& s, element type) const;

    /// A name that is the same in every process: of an opaque format, a hash of how it lays out memory.
    std::string name(int f) const;

private:
    static tensor_desc plain_desc(const shape& s);

    mutable mutex mutex_;
    std::vector<tensor_desc> known_;
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/format.inl"
#endif

#include "tessera/base/end_header.inl"
