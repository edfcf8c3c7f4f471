// SPDX-License-Identifier: Apache-2.0
// Bodies of run_report.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/run_report.hpp"

namespace tessera {

TESSERA_INLINE void run_report::lose(std::uint64_t step, int parameter) {
    lower(lost_, step * parameters + static_cast<std::uint64_t>(parameter));
}

TESSERA_INLINE void run_report::take(const findings& others) {
    lower(refused_, others.refused);
    lower(lost_, others.lost);
}

TESSERA_INLINE void run_report::lower(std::atomic<std::uint64_t>& least, std::uint64_t value) {
    std::uint64_t seen = least.load();
    while (value < seen && !least.compare_exchange_weak(seen, value)) {
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
