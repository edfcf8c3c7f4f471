// SPDX-License-Identifier: Apache-2.0
// Profiles in files: processes that measure at the same time lose nothing, and what is no profile is left alone.
#include "tessera/backend/host/measure/profile.hpp"

#include "io/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>

namespace {

using tessera::host::profile;

void add_entries(const std::string& path, int first, int last) {
    profile mine(path);
    for (int i = first; i < last; ++i) {
        mine.add("task " + std::to_string(i), 1e-6 * (i + 1));
        if (i % 50 == 49) {
            mine.save();
        }
    }
}

} // namespace

TEST_CASE("two processes that add 500 entries each to one profile leave 1,000, and a third one's stay its own") {
    const test::temporary_folder folder;
    const std::string path = folder / "host.profile";
    for (int half = 0; half < 2; ++half) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(60);
            add_entries(path, 500 * half, 500 * (half + 1));
            _exit(0);
        }
    }
    for (int half = 0; half < 2; ++half) {
        int status = -1;
        wait(&status);
        CHECK(status == 0);
    }
    const profile all(path);
    CHECK(all.size() == 1000);
    for (int i = 0; i < 1000; ++i) {
        const double* seconds = all.find("task " + std::to_string(i));
        REQUIRE(seconds != nullptr);
        CHECK(*seconds == doctest::Approx(1e-6 * (i + 1)));
    }
    CHECK(folder.files() == 1);
}

TEST_CASE("what is no profile, no file or too large is refused before anything is measured, and stays as it is") {
    const test::temporary_folder folder;
    REQUIRE(::symlink("/dev/full", (folder / "full").c_str()) == 0);
    REQUIRE(::symlink("/dev/null", (folder / "null").c_str()) == 0);
    tessera::files::write(folder / "text", "my notes\n");
    for (const char* name : {"full", "null", "text"}) {
        CHECK_THROWS_AS(profile(folder / name), tessera::error);
    }
    CHECK(test::read_text(folder / "text") == "my notes\n");
    {
        profile late(folder / "late"); // which something else becomes while it measures
        late.add("task", 1);
        tessera::files::write(folder / "late", "my notes\n");
    }
    CHECK(test::read_text(folder / "late") == "my notes\n");
    CHECK(folder.files() == 4);
    CHECK_NOTHROW(profile(folder / "no folder/profile").add("task", 1)); // which costs time, nothing else
    REQUIRE(::truncate((folder / "text").c_str(), static_cast<off_t>(tessera::host::most_profile_bytes) + 1) == 0);
    CHECK_THROWS_AS(profile(folder / "text"), tessera::error);
}
