// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/files/file.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <sys/resource.h>

using tessera::io::write_file_atomically;

TEST_CASE("a file is written and replaced, and nothing else is left") {
    const test::temporary_folder folder;
    const std::string large(3'000'000, 'x');
    for (const std::string& text : {std::string{"one"}, large, std::string{}}) {
        write_file_atomically(folder / "file", text);
        CHECK(test::read_text(folder / "file") == text);
        CHECK(folder.files() == 1);
    }
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
    const test::temporary_folder folder;
    write_file_atomically(folder / "file", "old");
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 1000; // the disk, as it were, is full in the middle of the write
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    bool refused = false;
    try {
        write_file_atomically(folder / "file", std::string(5000, 'n'));
    } catch (const tessera::error&) {
        refused = true;
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK(refused);
    CHECK(test::read_text(folder / "file") == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a path that cannot be written is refused") {
    const test::temporary_folder folder;
    CHECK_THROWS_AS(write_file_atomically(folder / "none/file", "text"), tessera::error);
    CHECK_THROWS_WITH_AS(
        write_file_atomically(folder.path(), "text"),
        ("cannot write '" + folder.path() + "': it is a folder or a device; name a regular file").c_str(),
        tessera::error);
    CHECK(folder.files() == 0);
}
