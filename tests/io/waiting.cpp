// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/waiting.hpp"
#include "tessera/base/box.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string>

namespace ts = tessera;

namespace {

/// What a terminal has been sent, until nothing more comes for a while or `until` is in it.
std::string sent(int terminal, const std::string& until) {
    std::string text;
    for (int tries = 0; tries < 100 && text.find(until) == std::string::npos; ++tries) {
        pollfd p{terminal, POLLIN, 0};
        if (::poll(&p, 1, 100) == 1) {
            char part[256];
            const auto got = ::read(terminal, part, sizeof part);
            text.append(part, got > 0 ? ts::to_size(got) : 0);
        }
    }
    return text;
}

} // namespace

TEST_CASE("waiting: a line on a terminal after a while, which goes again; nothing before, and nothing in a pipe") {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    const int program = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
    REQUIRE(program >= 0);
    {
        const ts::io::waiting soon("simulating", std::chrono::milliseconds{1}, program);
        CHECK(sent(terminal, "0:00") == "\rsimulating, 0:00");
    }
    CHECK(sent(terminal, "\r                \r").find("\r                \r") != std::string::npos);
    { const ts::io::waiting late("simulating", std::chrono::hours{1}, program); } // ends at once all the same
    pollfd p{terminal, POLLIN, 0};
    CHECK(::poll(&p, 1, 50) == 0);
    ::close(program);
    ::close(terminal);

    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    {
        const ts::io::waiting never("simulating", std::chrono::milliseconds{1}, ends[1]);
        p = {ends[0], POLLIN, 0};
        CHECK(::poll(&p, 1, 50) == 0);
    }
    ::close(ends[0]);
    ::close(ends[1]);
}
