// SPDX-License-Identifier: Apache-2.0
// Bodies of devices.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/devices.hpp"

namespace tessera {

TESSERA_INLINE local_devices::local_devices(int count) {
    if (count < 1) {
        throw error("tessera: " + std::to_string(count) + " devices were asked for; there must be at least one device");
    }
    if (count > max_local_devices) {
        throw error("tessera: " + std::to_string(count) + " devices were asked for and a process has at most " +
                    std::to_string(max_local_devices) + "; each is a thread, so make as many as there are cores");
    }
    shared_ = new shared(count, {});
}

TESSERA_INLINE local_devices::local_devices(owned<process_group> group) {
    const int each = group->devices_each();
    shared_ = new shared(each, std::move(group));
}

TESSERA_INLINE local_devices::local_devices(const local_devices& other) : shared_(other.shared_) {
    shared_->handles.fetch_add(1, std::memory_order_relaxed);
}

TESSERA_INLINE local_devices& local_devices::operator=(const local_devices& other) {
    local_devices copy(other);
    shared* mine = shared_;
    shared_ = copy.shared_;
    copy.shared_ = mine;
    return *this;
}

TESSERA_INLINE local_devices::~local_devices() {
    if (shared_->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete shared_;
    }
}

TESSERA_INLINE const local_devices& local_devices::of_one_process(const char* what) const {
    if (threads().group() != nullptr) {
        throw error(std::string("tessera: ") + what + " runs in one process, and these devices are those of " +
                    std::to_string(threads().group()->size()) + " ranks; make local_devices for it");
    }
    return *this;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
