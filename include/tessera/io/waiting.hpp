// SPDX-License-Identifier: Apache-2.0
// A sign of life for work of unknown length: after a while a line on the terminal says what goes on, and for how long.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/progress.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::io {

/// "simulating, 5 s" on a terminal from `delay` on while it lives; removes its line at its end. Nothing where there is no terminal.
class waiting {
public:
    explicit waiting(std::string what, std::chrono::milliseconds delay = std::chrono::milliseconds{1000},
                     int descriptor = STDERR_FILENO)
        : what_{std::move(what)}, descriptor_{descriptor} {
        if (::isatty(descriptor) == 1) {
            thread_ = std::thread([this, delay] { run(delay); });
        }
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() {
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

private:
    void run(std::chrono::milliseconds delay) {
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

#include "tessera/base/end_header.inl"
