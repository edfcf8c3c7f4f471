// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/progress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

using tessera::io::progress_bar;
using tessera::io::progress_line;

/// What was written to one end, read from the other: as far as a mark that this function adds.
std::string written(int reading_end, int writing_end) {
    constexpr char mark = '#';
    REQUIRE(::write(writing_end, &mark, 1) == 1);
    std::string text;
    pollfd ready{reading_end, POLLIN, 0};
    for (char c = 0; ::poll(&ready, 1, 10'000) == 1 && ::read(reading_end, &c, 1) == 1 && c != mark;) text += c;
    return text;
}

/// What a terminal of one line shows after this text.
std::string shown(const std::string& text) {
    std::string line;
    std::size_t at = 0;
    for (const char c : text) {
        if (c == '\r') {
            at = 0;
            continue;
        }
        if (at == line.size()) line += ' ';
        line[at++] = c;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

struct terminal {
    int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    int slave = -1;
    terminal() {
        if (master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0)
            slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
        const winsize size{24, 200, 0, 0};
        static_cast<void>(::ioctl(master, TIOCSWINSZ, &size));
    }
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;
    ~terminal() {
        if (slave >= 0) ::close(slave);
        if (master >= 0) ::close(master);
    }
};

} // namespace

TEST_CASE("the line says how much, how fast and how long") {
    CHECK(progress_line("epoch 1", "images", 0, 60000, 0, 200) ==
          "epoch 1 [" + std::string(24, ' ') + "] 0% 0/60000 images");
    CHECK(progress_line("epoch 1", "images", 15000, 60000, 10, 200, "loss 0.51") ==
          "epoch 1 [======" + std::string(18, ' ') + "] 25% 15000/60000 images, 1500 images/s, 0:30 left, loss 0.51");
    CHECK(progress_line("e", "images", 60, 60, 8, 200) ==
          "e [" + std::string(24, '=') + "] 100% 60/60 images, 7.5 images/s");
    CHECK(progress_line("e", "steps", 60, 0, 2, 200) == "e 60 steps, 30.0 steps/s");
    CHECK(progress_line("epoch", "images", 5, 10, 1, 8) == "epoch [=");
    CHECK(progress_line("e", "images", 1, 100, 3600, 200).find("99:00:00 left") != std::string::npos);
    CHECK(progress_line("e", "images", 20, 10, 1, 200).find("100% 20/10") != std::string::npos);
}

TEST_CASE("a pipe stays silent") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    {
        progress_bar bar{"epoch", 100, {.interval = std::chrono::milliseconds{0}, .descriptor = ends[1]}};
        for (int i = 0; i < 100; ++i) bar.advance(1, "loss");
        bar.clear();
        CHECK(bar.done() == 100);
    }
    CHECK(written(ends[0], ends[1]) == "");
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a terminal shows the line, seldom, and loses it at the end") {
    const terminal screen;
    if (screen.slave < 0) {
        MESSAGE("no pseudo-terminal here: not tested");
        return;
    }
    std::string text;
    {
        progress_bar bar{"epoch", 100, {.interval = std::chrono::milliseconds{0}, .descriptor = screen.slave}};
        bar.advance(40, "a long note");
        bar.advance(10, "short");
        text = written(screen.master, screen.slave);
        CHECK(shown(text).rfind("epoch [============            ] 50% 50/100 images", 0) == 0);
        CHECK(shown(text).substr(shown(text).size() - 5) == "short");
        bar.clear();
        text += written(screen.master, screen.slave);
        CHECK(shown(text) == "");
        bar.advance(1);
        text += written(screen.master, screen.slave);
        CHECK(shown(text) != "");
    }
    text += written(screen.master, screen.slave);
    CHECK(shown(text) == "");
    CHECK(text.find('\n') == std::string::npos);

    progress_bar seldom{"epoch", 100, {.interval = std::chrono::hours{1}, .descriptor = screen.slave}};
    CHECK(shown(written(screen.master, screen.slave)).find(" 0%") != std::string::npos);
    for (int i = 0; i < 100; ++i) seldom.advance(1);
    CHECK(written(screen.master, screen.slave) == "");
}

TEST_CASE("a negative total is refused") { CHECK_THROWS_AS((progress_bar{"epoch", -1}), tessera::error); }
