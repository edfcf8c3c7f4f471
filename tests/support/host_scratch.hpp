// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/host.hpp"

namespace test_support {

/// True if a task's scratch memory is what oneDNN asks for. It need not be written to its end: brgemm convolutions of
/// 3.2 ask for 8192 bytes and write 288 of them, from the first page boundary in them on, wherever that is.
inline bool is_onednn_scratch(const tessera::task& t) {
    using tessera::host::engine_kind;
    const auto engine = static_cast<engine_kind>(t.compute().implementation);
    return t.kind() == tessera::task_kind::reorder ||
           (t.kind() == tessera::task_kind::compute &&
            (engine == engine_kind::onednn || engine == engine_kind::winograd));
}

} // namespace test_support
