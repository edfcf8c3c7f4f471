// SPDX-License-Identifier: Apache-2.0
// A process that runs out of memory inside oneDNN ends with an error that says so, wherever that happens.
#include "support/networks.hpp"
#include "tessera/execute/measure/synthetic_batch.hpp"
#include "tessera/host.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace {

namespace ts = tessera;

constexpr const char* variable = "TESSERA_TEST_KILOBYTES_LEFT";

/// Leaves so much more address space to this process.
void leave(rlim_t bytes) {
    std::ifstream file("/proc/self/statm");
    rlim_t pages = 0;
    file >> pages;
    const rlimit limit{pages * 4096 + bytes, pages * 4096 + bytes};
    setrlimit(RLIMIT_AS, &limit);
}

/// Makes room for what the main thread will put on its stack.
[[gnu::noinline]] int touch_stack() {
    constexpr std::size_t bytes = 1U << 20U;
    volatile char room[bytes];
    for (std::size_t i = 0; i < bytes; i += 4096) {
        room[i] = 0;
    }
    return room[0];
}

/// How this program ends as a process of its own that runs the next test with so much memory left.
int status_with(int kilobytes) {
    std::string name = "--test-case=a step with little memory left";
    std::string whole = "/proc/self/exe";
    std::string skipped = "--no-skip";
    char* arguments[] = {whole.data(), name.data(), skipped.data(), nullptr};
    setenv(variable, std::to_string(kilobytes).c_str(), 1);
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0);
    unsetenv(variable);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

} // namespace

TEST_CASE("a step with little memory left" * doctest::skip()) {
    const char* kilobytes = std::getenv(variable);
    REQUIRE(kilobytes != nullptr);
    const ts::graph g = ts::describe<test_networks::residual_net::network>(32);
    int code = 0;
    try {
        const ts::host::devices devices(2);
        ts::host::backend backend = ts::make_backend<ts::host::backend>(ts::sgd{}, ts::session_options{});
        (void)
            touch_stack(); // which cannot grow any more where there is no address space left, and ends the process by a
                           // signal
        leave(static_cast<rlim_t>(std::atol(kilobytes)) << 10U);
        ts::session<ts::host::backend> session(g.view(), ts::search::data_parallel(g.view(), 2), 2, ts::sgd{}, {},
                                               backend, devices.threads());
        const ts::detail::synthetic_batch<ts::graph_view> data(g.view());
        session.step(data.inputs);
    } catch (const ts::error&) {
        code = 3;
    } catch (const std::bad_alloc&) {
        code = 4;
    }
    std::_Exit(code);
}

// Sanitizers end a process that has no memory by themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool ends_by_itself = true;
#else
constexpr bool ends_by_itself = false;
#endif

TEST_CASE("where memory ends inside oneDNN there is an error, and no signal" * doctest::skip(ends_by_itself)) {
    int finished = 0;
    int refused = 0;
    for (const int kilobytes : {2000, 4000, 6000, 8000, 12'000, 30'000, 70'000, 90'000, 400'000}) {
        const int status = status_with(kilobytes);
        CAPTURE(kilobytes);
        CHECK(WIFEXITED(status));
        finished += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 1 : 0;
    }
    CHECK(finished > 0);
    CHECK(refused > 0);
}
