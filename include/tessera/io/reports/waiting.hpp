// SPDX-License-Identifier: Apache-2.0
// A sign of life for work of unknown length: after a while a line on the terminal says what goes on, and for how long.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/progress.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::io {

/// "simulating, 5 s" on a terminal from `delay` on while it lives; removes its line at its end. Nothing where there is
/// no terminal.
class waiting {
public:
    explicit waiting(std::string what, std::chrono::milliseconds delay = std::chrono::milliseconds{1000},
                     int descriptor = STDERR_FILENO);
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting();

private:
    void run(std::chrono::milliseconds delay);
    void put(const std::string& text) const { (void)!::write(descriptor_, text.data(), text.size()); }

    using clock = std::chrono::steady_clock;
    std::string what_;
    int descriptor_;
    clock::time_point start_ = clock::now();
    std::mutex mutex_;
    std::condition_variable wake_;
    bool over_ = false;
    std::thread thread_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/waiting.inl"
#endif

#include "tessera/base/end_header.inl"
