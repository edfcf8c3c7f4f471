// SPDX-License-Identifier: Apache-2.0
// What GDP learns, that it learns the same every time, and that it goes on where it stopped.
#ifdef TESSERA_TEST_HOST

#include "io/temporary_folder.hpp"
#include "learned/two_kinds.hpp"
#include "support/refusal.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/learned/gdp.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <doctest/doctest.h>

namespace {

using namespace learned_test;
using test_support::message_of;
namespace ts = tessera;
namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

constexpr tl::gdp_shape shape{.nodes = 64,
                              .edges = 128,
                              .devices = 2,
                              .width = 16,
                              .rounds = 2,
                              .layers = 1,
                              .heads = 1,
                              .inner = 32,
                              .segment = 16,
                              .samples = 16};
constexpr int updates = 60;

} // namespace

TEST_CASE(
    "a trained policy beats what it was, random search with as many prices, and itself where edges are shuffled") {
    const sp::cost_graph graph = two_kinds(10);
    const ts::cluster on = two_devices();
    sp::evaluator e(graph, on);
    int beats_untrained = 0;
    int beats_random = 0;
    int beats_shuffled = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        tl::gdp<shape> policy({.learning_rate = 3e-3, .entropy_updates = updates, .seed = seed});
        const int number = policy.add(graph, on);
        const ts::index_t before = policy.best_of(number, 16).step;
        for (int i = 0; i < updates; ++i) {
            policy.update(number);
        }
        const sp::found after = policy.best_of(number, 16);
        CHECK(policy.best(number).evaluations == updates * shape.samples);
        CHECK(policy.best(number).step <= e.priced(policy.best(number).where).step);
        const sp::cost_graph shuffled = with_edges_shuffled(graph, seed);
        const sp::found blind = policy.greedy(policy.add(shuffled, on));
        const ts::index_t greedy = policy.greedy(number).step;
        beats_untrained += after.step < before ? 1 : 0;
        beats_random +=
            std::min(greedy, policy.best(number).step) < sp::at_random(e, updates * shape.samples, seed).step ? 1 : 0;
        beats_shuffled += greedy < e.priced(blind.where).step ? 1 : 0;
        MESSAGE("untrained " << before << " trained " << after.step << " greedy " << greedy << " best "
                             << policy.best(number).step << " random "
                             << sp::at_random(e, updates * shape.samples, seed).step << " shuffled "
                             << e.priced(blind.where).step);
    }
    CHECK(beats_untrained >= 4);
    CHECK(beats_random >= 3);
    CHECK(beats_shuffled >= 3);
}

TEST_CASE("where nothing fits one reward for all teaches nothing, and a penalty for the memory that is missing does") {
    const sp::cost_graph graph = two_kinds(10);
    const ts::cluster on = two_devices(2000);
    for (const double penalty : {0.0, 2.0}) {
        tl::gdp<shape> policy({.entropy = 0, .memory_penalty = penalty});
        const int number = policy.add(graph, on);
        const auto before = policy.logits(number);
        const double reward = policy.update(number);
        CAPTURE(penalty);
        CHECK(!policy.best(number).feasible());
        CHECK((reward == -10) == (penalty == 0));
        CHECK((policy.logits(number) == before) == (penalty == 0));
    }
}

TEST_CASE("the same options learn the same, bit for bit, and a training goes on from its checkpoint") {
    const sp::cost_graph graph = two_kinds(6);
    const sp::cost_graph other = two_kinds(4);
    const ts::cluster on = two_devices();
    const tl::ppo_options o{.graphs = 2, .epochs = 2, .seed = 5};
    const std::vector<int> both{0, 1};
    tl::gdp<shape> whole(o);
    tl::gdp<shape> again(o);
    tl::gdp<shape> resumed(o);
    for (tl::gdp<shape>* p : {&whole, &again, &resumed}) {
        p->add(graph, on);
        p->add(other, on);
    }
    whole.train(both, 6);
    again.train(both, 3);
    const test::temporary_folder folder;
    ts::io::save_checkpoint(again.trained(), folder.path() + "/policy");
    const std::string text = tl::to_text(again.progress());
    ts::io::load_checkpoint(resumed.trained(), folder.path() + "/policy");
    resumed.resume(tl::progress_of(text));
    CHECK(resumed.progress() == again.progress());
    again.train(both, 3);
    resumed.train(both, 3);
    CHECK(whole.logits(0) == again.logits(0));
    CHECK(whole.logits(1) == resumed.logits(1));
    CHECK(whole.progress() == resumed.progress());
    CHECK(whole.best(0).where == resumed.best(0).where);
    tl::gdp<shape> another({.graphs = 2, .epochs = 2, .seed = 6});
    another.add(graph, on);
    CHECK(another.logits(0) != whole.logits(0));
    another.take_weights(whole);
    CHECK(another.logits(0) == whole.logits(0));
    CHECK(another.best_of(0, 5, 3).where == whole.best_of(0, 5, 3).where);
}

TEST_CASE("what does not fit a policy is refused in words") {
    const ts::cluster on = two_devices();
    const sp::cost_graph graph = two_kinds(2);
    const sp::cost_graph large = two_kinds(13);
    tl::gdp<shape> policy;
    CHECK(message_of([&] { policy.update(0); }) == "tessera: GDP: there is no graph 0; 0 were added");
    CHECK(message_of([&] { policy.add(large, on); }) ==
          "tessera: GDP: the graph 'two kinds' has 66 nodes and the policy takes 64; make gdp_shape::nodes larger");
    policy.add(graph, on);
    const std::vector<int> twice{0, 0};
    CHECK(message_of([&] { policy.update(twice); }).find("a batch of 2 graphs and the policy takes 1") !=
          std::string::npos);
    CHECK(message_of([&] { policy.best_of(0, 0); }).find("the best of 0 placements") != std::string::npos);
    CHECK(message_of([&] { policy.resume({}); }).find("the progress of 0 graphs, and 1 were added") !=
          std::string::npos);
    CHECK(message_of([] { tl::progress_of("tessera-learning 2 0 0 0"); }).find("its first line is another") !=
          std::string::npos);
    CHECK(message_of([] { tl::progress_of("tessera-learning 1 0 0 1\n0x0p+0 0 0 0 3 1 1"); }).find("ends early") !=
          std::string::npos);
}

#endif
