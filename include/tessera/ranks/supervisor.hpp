// SPDX-License-Identifier: Apache-2.0
// A process beside the ranks of a node, out of their launcher's reach: launchers kill the survivors of a failure within
// a fifth of a second, before they can say what happened.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/ranks/detached.hpp"
#include "tessera/ranks/leftovers.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace tessera::ranks {

/// Where every rank of a group stands: a line for each.
std::string standing(const group_page& page, int size, int lists);

/// Says, on standard error and in a file, what has ended a group before its end.
class supervisor {
public:
    /// `here`: the ranks of the node, which it watches, of `size`.
    supervisor(group_page& page, std::vector<int> here, int size, int lists, std::string file);

    /// Starts it; `page` must stay mapped in it, and every rank have its slot. Where the system gives no process there
    /// is none.
    void start();

private:
    [[noreturn]] void watch();

    bool is_terminated(int r) const { return page_.slots[r].terminated.load() != 0; }

    /// These ranks have ended, and the group has not: the launcher may have ended all but one. Who has been sent
    /// SIGTERM was not the first.
    [[noreturn]] void tell(std::vector<int> ended);

    /// When the launcher has ended all, what they have left is nobody's.
    void clear_up();

    void say(const std::string& text, bool quiet);

    group_page& page_;
    std::vector<int> here_;
    int size_;
    int lists_;
    std::string file_;
    std::vector<int> fds_; ///< by which poll() tells that a rank has ended, of each
    timespec since_{};     ///< when it has begun
};

} // namespace tessera::ranks

#ifndef TESSERA_COMPILED
#include "tessera/ranks/supervisor.inl"
#endif

#include "tessera/base/end_header.inl"
