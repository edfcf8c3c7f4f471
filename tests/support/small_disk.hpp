// SPDX-License-Identifier: Apache-2.0
// A disk of a few kilobytes at a folder, seen by this thread alone; or why there is none.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace test_support {

class small_disk {
public:
    small_disk(const std::string& folder, int kilobytes) : folder_(folder) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + std::to_string(kilobytes) + "k").c_str()) != 0) {
            why_not_ = std::string("a disk cannot be mounted: ") + std::strerror(errno);
        }
    }
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    ~small_disk() {
        if (why_not_.empty()) {
            ::umount2(folder_.c_str(), MNT_DETACH);
        }
    }

    /// Empty: it is there.
    const std::string& why_not() const { return why_not_; }
    /// From now on nothing can be written; false where that cannot be had.
    bool make_read_only() const {
        return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    }

private:
    std::string folder_;
    std::string why_not_;
};

} // namespace test_support
