// SPDX-License-Identifier: Apache-2.0
// Files: what several processes add is all there, what a killed one leaves is removed, and nothing but regular files is
// touched.
#include "tessera/base/file.hpp"

#include "io/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include <sys/wait.h>

namespace {

namespace files = tessera::files;

/// Runs each in a process of its own; returns how many ended well.
int run_in_processes(const std::vector<std::function<void()>>& bodies) {
    std::vector<pid_t> children;
    for (const auto& body : bodies) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(60);
            try {
                body();
            } catch (...) {
                _exit(1);
            }
            _exit(0);
        }
        children.push_back(child);
    }
    int well = 0;
    for (const pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        well += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    return well;
}

unsigned rights_of(const std::string& path) {
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    return found.st_mode & 0777U;
}

} // namespace

TEST_CASE("what processes add to one file at the same time is all there, each once") {
    const test::temporary_folder folder;
    const std::string path = folder / "shared";
    std::vector<std::function<void()>> bodies;
    for (char mark = 'a'; mark < 'e'; ++mark) {
        bodies.emplace_back([&, mark] {
            for (int i = 0; i < 40; ++i) {
                files::update(path, files::most_bytes, [&](const std::string& old) { return old + mark; });
            }
        });
    }
    CHECK(run_in_processes(bodies) == 4);
    const std::string all = files::read(path);
    CHECK(all.size() == 160);
    for (char mark = 'a'; mark < 'e'; ++mark) {
        CHECK(std::count(all.begin(), all.end(), mark) == 40);
    }
    CHECK(folder.files() == 1);
}

TEST_CASE("a killed writer leaves the old file, and nothing that outlives the next one") {
    const test::temporary_folder folder;
    const std::string path = folder / "file";
    files::write(path, "old");
    const auto die = [&] {
        files::detail::temporary_file next(path);
        next.write("a part of the new");
        raise(SIGKILL);
    };
    CHECK(run_in_processes({die, die}) == 0);
    CHECK(files::read(path) == "old");
    // As where files cannot be without a name, or death came between naming and renaming.
    test::write_bytes(folder / "file.tmp.12345.0", {1, 2});
    test::write_bytes(folder / "file.tmp.12345.17", {1, 2});
    // These are not theirs: another's name, and one whose writer lives.
    test::write_bytes(folder / "file.tmp.notes", {3});
    test::write_bytes(folder / "other.tmp.12345.0", {3});
    test::write_bytes(folder / "file.tmp.1.0", {3});
    const files::detail::descriptor alive(::open((folder / "file.tmp.1.0").c_str(), O_RDONLY));
    REQUIRE(::flock(alive.get(), LOCK_EX) == 0);
    files::write(path, "new");
    CHECK(files::read(path) == "new");
    CHECK(folder.files() == 4);
    CHECK(test::read_text(folder / "file.tmp.1.0").size() == 1);
}

TEST_CASE("pipes, folders and devices are neither read nor replaced, also through links, and no wait is for ever") {
    const test::temporary_folder folder;
    const std::string pipe = folder / "pipe";
    const std::string link = folder / "link";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    REQUIRE(::symlink("/dev/full", link.c_str()) == 0);
    const auto edit = [](const std::string& old) { return old; };
    for (const std::string& path : {pipe, link, folder.path(), std::string("/dev/null")}) {
        CHECK_THROWS_WITH_AS(
            files::read(path),
            ("cannot read '" + path + "': it is no regular file; name a file that exists and may be read").c_str(),
            tessera::error);
        const std::string refusal = "cannot write '" + path + "': it is a folder or a device; name a regular file";
        CHECK_THROWS_WITH_AS(files::write(path, "x"), refusal.c_str(), tessera::error);
        CHECK_THROWS_WITH_AS(files::update(path, 100, edit), refusal.c_str(), tessera::error);
        CHECK_THROWS_WITH_AS(files::require_writable(path), refusal.c_str(), tessera::error);
    }
    CHECK_THROWS_AS(files::require_writable(folder / "none/file"), tessera::error);
    CHECK_NOTHROW(files::require_writable(folder / "new"));
    CHECK(folder.files() == 2);
    CHECK(files::read_if_there(folder / "none").empty());
    CHECK_THROWS_AS(files::read_if_there(pipe), tessera::error);
    const std::string path = folder / "held";
    files::write(path, "held");
    const files::detail::descriptor other(::open(path.c_str(), O_RDONLY));
    REQUIRE(::flock(other.get(), LOCK_EX) == 0);
    const auto add = [](const std::string& old) { return old + "x"; };
    CHECK_THROWS_AS(files::update(path, 100, add, 0), tessera::error);
    CHECK(files::read(path) == "held");
}

TEST_CASE("sizes are bounded, an update that fails changes nothing, and rights and links stay") {
    const test::temporary_folder folder;
    const std::string path = folder / "file";
    const auto fails = [](const std::string&) -> std::string { throw tessera::error("no"); };
    CHECK_THROWS_AS(files::update(path, 100, fails), tessera::error);
    CHECK(folder.files() == 0);
    files::write(path, std::string(101, 'x'));
    CHECK_THROWS_AS(files::read(path, 100), tessera::error);
    CHECK_THROWS_AS(files::update(path, 100, [](const std::string&) { return std::string("y"); }), tessera::error);
    CHECK_THROWS_AS(files::update(path, 101, fails), tessera::error);
    CHECK(files::read(path, 101).size() == 101);
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    REQUIRE(::symlink(path.c_str(), (folder / "link").c_str()) == 0);
    files::write(folder / "link", "through");
    CHECK(files::read(path) == "through");
    CHECK(rights_of(path) == 0640);
    files::update(folder / "link", 100, [](const std::string& old) { return old + " again"; });
    CHECK(files::read(path) == "through again");
    CHECK(rights_of(path) == 0640);
    struct stat found {};
    REQUIRE(::lstat((folder / "link").c_str(), &found) == 0);
    CHECK(S_ISLNK(found.st_mode));
    CHECK(folder.files() == 2);
}
