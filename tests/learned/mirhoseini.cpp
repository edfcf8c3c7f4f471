// SPDX-License-Identifier: Apache-2.0
// The recurrent policy of Mirhoseini et al.: its two networks agree, it learns, the same every time, and goes on where
// it stopped.
#ifdef TESSERA_TEST_HOST

#include "tessera/learned/mirhoseini.hpp"
#include "io/temporary_folder.hpp"
#include "learned/two_kinds.hpp"
#include "support/refusal.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/checkpoint.hpp"

#include <doctest/doctest.h>

namespace {

using namespace learned_test;
using test_support::message_of;
namespace ts = tessera;
namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

constexpr tl::mirhoseini_shape shape{.groups = 12, .devices = 2, .width = 8, .hidden = 16};

} // namespace

TEST_CASE("the recurrent policy draws by the logits that it trains with, learns, and goes on from its checkpoint") {
    const sp::cost_graph graph = two_kinds(4);
    const ts::cluster on = two_devices();
    int better = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        tl::mirhoseini<shape> policy({.learning_rate = 5e-3, .entropy_updates = 80, .seed = seed});
        const int number = policy.add(graph, on);
        CHECK(policy.groups(number) <= 12);
        CHECK(policy.check_steps(number) < 1e-5);
        double first = 0;
        double last = 0;
        for (int i = 0; i < 80; ++i) {
            const double reward = policy.update(number);
            first += i < 10 ? reward / 10 : 0;
            last += i >= 70 ? reward / 10 : 0;
        }
        CHECK(policy.check_steps(number) < 1e-5); // with the weights that it has learned
        CHECK(policy.best(number).evaluations == 80 * 16);
        MESSAGE("mean reward " << first << " at first, " << last << " at last");
        better += last > first + 0.02 ? 1 : 0;
    }
    CHECK(better >= 4);

    const tl::mirhoseini_options o{.samples = 8, .seed = 4};
    tl::mirhoseini<shape> whole(o);
    tl::mirhoseini<shape> part(o);
    tl::mirhoseini<shape> resumed(o);
    for (tl::mirhoseini<shape>* p : {&whole, &part, &resumed}) {
        p->add(graph, on);
    }
    whole.train({0}, 6);
    part.train({0}, 3);
    const test::temporary_folder folder;
    ts::io::save_checkpoint(part.trained(), folder.path() + "/policy");
    ts::io::load_checkpoint(resumed.trained(), folder.path() + "/policy");
    resumed.resume(tl::progress_of(tl::to_text(part.progress())));
    resumed.train({0}, 3);
    CHECK(whole.progress() == resumed.progress());
    CHECK(whole.greedy(0).where == resumed.greedy(0).where);
    CHECK(whole.best_of(0, 20, 2).where == resumed.best_of(0, 20, 2).where);

    CHECK(message_of([&] { whole.update(1); }) == "tessera: there is no graph 1; 1 were added");
    CHECK(message_of([&] { whole.best_of(0, 0); }).find("the best of 0 placements") != std::string::npos);
    CHECK(message_of([] { tl::mirhoseini<shape>({.samples = 0}); }).find("an update on 0 placements") !=
          std::string::npos);
    CHECK(message_of([] { tl::mirhoseini<shape>({.kept = 1}); }).find("a moving average that keeps 1.0") !=
          std::string::npos);
}

#endif
