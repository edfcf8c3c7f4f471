// SPDX-License-Identifier: Apache-2.0
// A child process to which the system refuses to exchange two names (renameat2 with flags), as file systems do that
// cannot: what it does there.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test_support {

/// From now on this process, and for good, gets EINVAL for renameat2 with any flag. False where the system has no
/// filters.
inline bool forbid_exchange() {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[4])), // the lower half
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 22),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(sizeof rules / sizeof rules[0]), rules};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum class ended { well, badly, not_possible };

/// body() in such a child; it ends badly where that throws.
template <class Body>
ended without_exchange(Body&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!forbid_exchange()) {
            ::_exit(2);
        }
        try {
            body();
            ::_exit(0);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
            ::_exit(1);
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return !WIFEXITED(status)         ? ended::badly
           : WEXITSTATUS(status) == 2 ? ended::not_possible
           : WEXITSTATUS(status) == 0 ? ended::well
                                      : ended::badly;
}

} // namespace test_support
