// SPDX-License-Identifier: Apache-2.0
// Threads of the host for the searches of search/, which make none of their own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tessera {

/// So many threads, the caller's among them, that live while a search runs its jobs; 0: one for each core.
search::thread_pool search_threads(int threads = 0);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/search_threads.inl"
#endif

#include "tessera/base/end_header.inl"
