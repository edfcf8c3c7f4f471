// SPDX-License-Identifier: Apache-2.0
// What a program returns that prints: a full disk behind its standard output is a failure too.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace output {

/// The exit code at the end of main(): `code`, or, where standard output has not taken everything, EXIT_FAILURE after
/// saying so.
inline int finish(const char* program, int code = EXIT_SUCCESS) {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
        return code;
    }
    std::fprintf(stderr, "%s: standard output did not take everything%s%s; what it shows is not whole\n", program,
                 errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
    return EXIT_FAILURE;
}

} // namespace output
