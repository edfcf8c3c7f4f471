// SPDX-License-Identifier: Apache-2.0
// Bodies of search_threads.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/execute/local/search_threads.hpp"

namespace tessera {

TESSERA_INLINE search::thread_pool search_threads(int threads) {
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto start = [](const search::thread_pool& pool, std::size_t count, search::thread_pool::job one,
                          void* what) {
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t i = next++; i < count; i = next++) {
                one(what, i);
            }
        };
        std::vector<std::thread> others;
        for (std::size_t t = 1; t < to_size(pool.threads) && t < count; ++t) {
            others.emplace_back(work);
        }
        work();
        for (std::thread& t : others) {
            t.join();
        }
    };
    return {threads > 0 ? threads : cores, nullptr, start};
}

} // namespace tessera

#include "tessera/base/end_header.inl"
