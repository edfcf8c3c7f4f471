// SPDX-License-Identifier: Apache-2.0
// The canonical texts of several hundred random plans as they leave planning, unbound and bound with the list of calls,
// by a number each: they stay what they are when the inside of planning changes. The numbers are in
// recorded_plans.golden.txt; TESSERA_UPDATE_GOLDENS writes the file. TESSERA_PLAN=n prints the whole text of plan n.
// TESSERA_HOST_PLANS=file writes the numbers of plans that the host backend binds, whose formats depend on the
// processor and on oneDNN, for comparing two trees on one machine.
#include "support/canonical_plan.hpp"
#include "support/cuda_lists.hpp"
#include "support/random_pairs.hpp"

#include "tessera/schedule/gpipe.hpp"
#ifdef TESSERA_TEST_HOST
#include "support/host_formats.hpp"
#endif

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

using namespace test_support;

/// How many plans of each kind.
constexpr int unbound = 360;
constexpr int bound = 160;
constexpr int of_statistics = 120; ///< taken over all micro-batches together, or by each shard of samples

/// One random plan: its network, what it is and how it is lowered.
struct recorded_case {
    random_case made;
    random_pair pair;
    ts::graph network;
    ts::lower_options how;

    explicit recorded_case(std::uint64_t number) : made(number, test_support::drawn_from::recorded) {
        coverage seen;
        pair = draw_pair(made.network.view(), made.how, number * 64, seen);
        for (ts::configuration& x : pair.how.ops) {
            x.offload = false; // came after the recorded plans
        }
        pair.how.state_on_host = false;
        if (const std::size_t at = pair.what.find(", state on the host"); at != std::string::npos) {
            pair.what.erase(at, std::string_view(", state on the host").size());
        }
        test_support::random pick{ts::op::mix(number ^ 0x9ec04dULL)};
        how.update = made.how;
        how.kind = pick(5) == 0 ? ts::run_kind::evaluation : ts::run_kind::training;
        how.allow_empty = pick(6) == 0;
        how.keep_gradients = how.kind == ts::run_kind::training && pick(2) == 0;
        if (number >= 950000 &&
            number < 960000) { // all forward first, so that statistics may be over all micro-batches
            const ts::index_t samples = made.network.tensors[0].extents[0];
            pair.how.follow(ts::schedule::gpipe(1, samples < 2 ? 1 : 2 + pick(samples > 2 ? 2 : 1)));
            for (ts::configuration& x : pair.how.ops) {
                x.stage = 0;
            }
            pair.how.statistics = pick(3) == 0 ? ts::statistics_over::replica : ts::statistics_over::mini_batch;
            pair.what += ", statistics over " + std::string(ts::to_text(pair.how.statistics));
        }
        network = how.allow_empty ? ts::with_batch(made.network.view(), made.short_batch) : made.network;
    }
    std::string name() const {
        return pair.what + (how.kind == ts::run_kind::evaluation ? ", evaluation" : "") +
               (how.allow_empty ? ", short batch" : "");
    }
};

/// The text of plan `i`, or the words of the refusal.
template <class Bind>
std::string text_of(const recorded_case& c, Bind bind) {
    try {
        ts::require(c.made.network.view(), c.pair.how.view(), c.pair.devices);
        ts::plan p = ts::lower(c.network.view(), c.pair.how.view(), c.pair.devices, c.how);
        return bind(p);
    } catch (const ts::error& e) {
        return e.what();
    }
}

std::string unbound_text(const recorded_case& c) {
    return text_of(c, [&](ts::plan& p) {
        ts::finish(c.network.view(), p, 0, &c.made.how);
        return canonical_plan(p).text();
    });
}

std::string cuda_text(const recorded_case& c, int number) {
    return text_of(c, [&](ts::plan& p) {
        const ts::graph_view g = c.network.view();
        ts::cuda::algorithm_table algorithms;
        const ts::cuda::list_options options{gpu_placement(c.pair.devices, number % 3), c.how.update, number % 4 != 0};
        ts::cuda::bind(p, g, options, algorithms);
        ts::finish(g, p, 0, &c.made.how);
        return canonical_plan(p).text() + ts::cuda::to_text(ts::cuda::make_call_list(p, g, options, algorithms), p, g);
    });
}

#ifdef TESSERA_TEST_HOST
std::string host_text(const recorded_case& c, int number) {
    return text_of(c, [&](ts::plan& p) {
        auto backend = host_in_formats_of(c.made.how, number);
        backend.bind(p, c.network.view(), nullptr);
        ts::finish(c.network.view(), p, 0, &c.made.how);
        return canonical_plan(p).text();
    });
}
#endif

std::string line_of(int i, const char* kind, const recorded_case& c, const std::string& text) {
    return std::to_string(i) + " " + digest_of(text) + " " + kind + ": " + c.name() + "\n";
}

} // namespace

TEST_CASE("plans of random networks, strategies, schedules and policies are the recorded ones, bound and unbound") {
    const char* asked = std::getenv("TESSERA_PLAN");
    const int only = asked != nullptr ? std::atoi(asked) : -1;
    std::filesystem::path golden(__FILE__);
    golden.replace_extension(".golden.txt");
    std::string lines;
    int joint = 0;
    int apart = 0;
    for (int i = 0; i < unbound + bound + of_statistics; ++i) {
        if (only >= 0 && i != only) {
            continue;
        }
        const bool listed = i >= unbound && i < unbound + bound;
        const recorded_case c((i < unbound + bound ? 900000U : 950000U) + static_cast<std::uint64_t>(i));
        const std::string text = listed ? cuda_text(c, i) : unbound_text(c);
        lines += line_of(i, listed ? "cuda" : "unbound", c, text);
        joint += text.find(" joint 1 ") != std::string::npos ? 1 : 0;
        apart += text.find(" replica 1 ") != std::string::npos ? 1 : 0;
        if (i == only) {
            std::cout << c.name() << "\n" << text;
            return;
        }
    }
    CHECK((joint > 5 && apart > 10));
    if (std::getenv("TESSERA_UPDATE_GOLDENS") != nullptr) {
        std::ofstream(golden) << lines;
        return;
    }
    std::ifstream file(golden);
    REQUIRE(file.good());
    std::istringstream made(lines);
    int differ = 0;
    for (std::string expected, line; std::getline(file, expected);) {
        REQUIRE(std::getline(made, line));
        if (line != expected && ++differ < 10) {
            FAIL_CHECK("recorded " << expected << "\nmade " << line);
        }
    }
    std::string more;
    CHECK(!std::getline(made, more));
    CHECK(differ == 0);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("plans that the host backend binds, written to a file where one is named") {
    const char* path = std::getenv("TESSERA_HOST_PLANS");
    std::ostringstream lines;
    for (int i = 0; i < (path != nullptr ? bound : 4); ++i) {
        const recorded_case c(1000000 + static_cast<std::uint64_t>(i));
        const std::string text = host_text(c, i);
        CHECK(text == host_text(c, i)); // nothing is drawn, or measured, anew
        lines << line_of(i, "host", c, text);
    }
    if (path != nullptr) {
        CHECK((std::ofstream(path) << lines.str()).good());
    }
}
#endif
