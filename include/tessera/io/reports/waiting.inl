// SPDX-License-Identifier: Apache-2.0
// Bodies of waiting.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/waiting.hpp"

namespace tessera::io {

TESSERA_INLINE waiting::waiting(std::string what, std::chrono::milliseconds delay, int descriptor)
    : what_{std::move(what)}, descriptor_{descriptor} {
    if (::isatty(descriptor) == 1) {
        thread_ = std::thread([this, delay] { run(delay); });
    }
}

TESSERA_INLINE waiting::~waiting() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

TESSERA_INLINE void waiting::run(std::chrono::milliseconds delay) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return over_; };
    if (wake_.wait_for(lock, delay, is_over)) {
        return;
    }
    std::size_t length = 0;
    do {
        const double seconds = std::chrono::duration<double>(clock::now() - start_).count();
        const std::string line = what_ + ", " + detail::clock_time(seconds);
        length = std::max(length, line.size());
        put('\r' + line);
    } while (!wake_.wait_for(lock, std::chrono::seconds{1}, is_over));
    put('\r' + std::string(length, ' ') + '\r');
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
