// SPDX-License-Identifier: Apache-2.0
// Random lives of sessions are those of one device, whatever comes after what.
// benchmarks/same_numbers/random_lives lives 2,000.
#include "support/random_lives.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace test_support;

namespace {

struct lived {
    std::string folder =
        (std::filesystem::temp_directory_path() / ("tessera-lives-" + std::to_string(::getpid()))).string();
    life_findings found;
    ~lived() { std::filesystem::remove_all(folder); }

    void check() const {
        for (const std::string& w : found.wrong) {
            FAIL_CHECK(w);
        }
        CHECK(found.decided_by_rounding * 20 <= found.lives);
    }
};

} // namespace

TEST_CASE("lives in which a session once went wrong: its plan needed a parameter where the store had none, or slices "
          "came back as another's") {
    lived all;
    for (const std::uint64_t number : {256, 322, 387}) {
        CAPTURE(number);
        const int before = all.found.lives;
        try_life(number, all.folder, all.found);
        CHECK(all.found.lives == before + 1);
    }
    all.check();
}

TEST_CASE("random lives of a session give the numbers of one device") {
    lived all;
    for (std::uint64_t number = 40000; all.found.lives < 150; ++number) {
        try_life(number, all.folder, all.found);
    }
    all.check();
    for (int e = 0; e < life_events; ++e) {
        CAPTURE(std::string(to_text(static_cast<life_event>(e))));
        CHECK(all.found.events[e] > 20);
    }
}
