// SPDX-License-Identifier: Apache-2.0
// Checkpoints (io/files/checkpoint.hpp) of sessions on two backends: training that is interrupted goes on bit for bit;
// other strategies start from the same numbers; damage is refused.
#include "tessera/io/files/checkpoint.hpp"
#include "support/kept_training.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/host.hpp"
#include "tessera/schedule/quantized_gradients.hpp"
#include "tessera/schedule/top_k_gradients.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include <sys/wait.h>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

/// One device; random splits; data parallelism under every policy, whose slices, servers and buckets lie in different
/// places.
std::vector<ts::strategy> strategies() {
    const ts::graph g = ts::describe<net>(samples);
    std::vector<ts::strategy> all{ts::strategy(g.view())};
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        all.push_back(test_support::random_strategy(g.view(), 4, seed, seen));
    }
    for (const auto& [name, sync] : test_support::small_policies(g.view(), 4)) {
        all.push_back(test_support::data_parallel(g.view(), 4));
        all.back().sync = sync;
    }
    return all;
}

/// What devices leave out goes on, too: replicas, and an operator of a few channels split as well, so that regions are
/// parts of parameters.
std::vector<ts::strategy> compressed_strategies() {
    const ts::graph g = ts::describe<net>(samples);
    const auto all = ts::schedule::gradients_of(g.view());
    std::vector<ts::strategy> made;
    for (const ts::synchronization& sync :
         {ts::schedule::eight_bit_gradients(all, 64), ts::schedule::one_bit_gradients(all, 32),
          ts::schedule::top_k_gradients(all, 5)}) {
        made.push_back(data_parallel(g.view(), 4));
        made.back().sync = sync;
        made.push_back(made.back());
        for (int op = 0; op < g.view().op_count; ++op) {
            if (ts::path_of(g.view(), op) == "fc1") {
                ts::configuration& c = made.back().ops[ts::to_size(op)];
                c = {};
                c.degree[0] = 2;
                c.degree[1] = 2;
            }
        }
    }
    return made;
}

/// Of each parameter what all devices have left out, together.
template <class S>
std::vector<std::vector<double>> left_out(const S& s) {
    std::vector<std::vector<double>> all;
    for (int p = 0; p < s.graph_of().parameter_count; ++p) {
        const ts::box whole = ts::whole(s.graph_of().parameters[p].extents);
        std::vector<double> sum(ts::to_size(whole.volume()), 0);
        for (const ts::residual_key& r : s.residuals()) {
            if (r.parameter != p) {
                continue;
            }
            std::vector<float> numbers(ts::to_size(r.region.volume()));
            s.copy_residual(r, numbers.data());
            std::vector<float> spread(sum.size(), 0.0F);
            ts::box_copy(r.region, r.region, whole).apply(numbers.data(), spread.data(), true, ts::reducer::sum);
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += static_cast<double>(spread[i]);
            }
        }
        all.push_back(sum);
    }
    return all;
}

const ts::optimizer momentum = ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F};
const ts::optimizer moments = ts::adam{.learning_rate = 0.01F};
const ts::optimizer layerwise = ts::lamb{.learning_rate = 0.01F};

/// Three steps, a checkpoint, three more; the same from the checkpoint, under `later`.
template <class B>
void hold_resumed(const ts::strategy& s, const ts::strategy& later, const ts::optimizer& update, bool same) {
    const test_folder here;
    training<B> first(s, update);
    for (int i = 0; i < 3; ++i) {
        first.step();
    }
    ts::io::save_checkpoint(first.session, here / "three");
    training<B> second(later, update);
    second.step(); // has numbers of its own, which go
    const ts::io::checkpoint_state state = ts::io::load_checkpoint(second.session, here / "three");
    CHECK(state.step == 3);
    CHECK(state.seed == 7);
    CHECK(everything(second.session) == everything(first.session));
    for (int i = 0; i < 3; ++i) {
        const double expected = first.step();
        const double found = second.step();
        if (same) {
            CHECK(found == expected);
        } else {
            CHECK(found == doctest::Approx(expected).epsilon(1e-4));
        }
    }
    if (same) {
        CHECK(everything(second.session) == everything(first.session));
    }
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

} // namespace

TEST_CASE_TEMPLATE("training goes on bit for bit, under every policy and split", B, ts::reference::backend,
                   ts::host::backend) {
    for (const ts::strategy& s : strategies()) {
        hold_resumed<B>(s, s, momentum, true);
        hold_resumed<B>(s, s, moments, true);
        hold_resumed<B>(s, s, layerwise, true);
    }
    for (const ts::strategy& s : compressed_strategies()) {
        hold_resumed<B>(s, s, momentum, true);
    }
}

TEST_CASE("under another strategy that compresses, too, what all devices have left out is there, once") {
    const std::vector<ts::strategy> all = compressed_strategies();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const test_folder here;
        reference_training first(all[i], momentum);
        first.step();
        first.step();
        const auto before = left_out(first.session);
        ts::io::save_checkpoint(first.session, here / "two");
        reference_training second(all[(i + 1) % all.size()], momentum);
        second.step();
        ts::io::load_checkpoint(second.session, here / "two");
        const auto after = left_out(second.session);
        double largest = 0;
        double wrong = 0;
        for (std::size_t p = 0; p < before.size(); ++p) {
            for (std::size_t k = 0; k < before[p].size(); ++k) {
                largest = std::max(largest, std::abs(before[p][k]));
                wrong = std::max(wrong, std::abs(before[p][k] - after[p][k]));
            }
        }
        CHECK(largest > 1e-4);
        CHECK(wrong < 1e-6 * std::max(1.0, largest));
        // One that does not compress has nowhere to put it, and goes on.
        reference_training third(one_device(), momentum);
        ts::io::load_checkpoint(third.session, here / "two");
        CHECK(third.session.residuals().empty());
        CHECK(std::isfinite(third.step()));
    }
}

TEST_CASE_TEMPLATE("another strategy starts from the same parameters, statistics and state", B, ts::reference::backend,
                   ts::host::backend) {
    const std::vector<ts::strategy> all = strategies();
    std::mt19937 random(3);
    for (std::size_t i = 0; i < all.size(); ++i) {
        hold_resumed<B>(all[i], all[random() % all.size()], i % 2 == 0 ? momentum : moments, false);
    }
}

TEST_CASE("a checkpoint of one backend is read by another") {
    const test_folder here;
    training<ts::host::backend> first(strategies()[2], moments);
    first.step();
    ts::io::save_checkpoint(first.session, here / "one");
    training<ts::reference::backend> second(strategies()[0], moments);
    ts::io::load_checkpoint(second.session, here / "one");
    CHECK(everything(second.session) == everything(first.session));
}

TEST_CASE("the place in the data, and a file of weights") {
    const test_folder here;
    training<ts::reference::backend> first(strategies()[0], momentum);
    first.step();
    const ts::io::data_position at{~std::uint64_t{0}, 5, 128, 60000};
    ts::io::save_checkpoint(first.session, here / "one", at);
    training<ts::reference::backend> second(strategies()[1], momentum);
    CHECK(ts::io::load_checkpoint(second.session, here / "one").data == at);

    training<ts::reference::backend> third(strategies()[1], ts::sgd{});
    const ts::io::loaded_weights found = ts::io::load_weights(third.session, here / "one/model.safetensors");
    CHECK(found.matched.size() == ts::to_size(third.session.graph_of().parameter_count));
    CHECK(found.missing.empty());
    REQUIRE(found.unexpected.size() > 0);
    CHECK(found.unexpected[0].substr(0, 19) == "optimizer/velocity/");
    CHECK(third.session.parameter(0) == first.session.parameter(0));
}

TEST_CASE("one layer's weights from a file, under its own name or another") {
    const test_folder here;
    training<ts::reference::backend> first(strategies()[0], momentum);
    first.step();
    ts::io::save_checkpoint(first.session, here / "one");
    const std::string file = here / "one/model.safetensors";
    const ts::graph_view g = first.session.graph_of();
    const ts::network_paths paths = ts::paths_of(g);
    const std::string path = paths.parameter(0); // layer/weight
    const std::string layer = path.substr(0, path.find('/'));
    for (const bool whole : {true, false}) {
        training<ts::reference::backend> other(strategies()[1], momentum);
        other.step(); // so that every number is another than that of the file
        other.step();
        std::vector<std::vector<float>> before;
        for (int p = 0; p < g.parameter_count; ++p) {
            before.push_back(other.session.parameter(p));
        }
        const auto found = ts::io::load_weights(other.session, file, {.layer = whole ? layer : path});
        std::size_t set = 0;
        for (int p = 0; p < g.parameter_count; ++p) {
            const bool own = whole ? paths.parameter(p).starts_with(layer + "/") : p == 0;
            set += own ? 1 : 0;
            CHECK(other.session.parameter(p) == (own ? first.session.parameter(p) : before[ts::to_size(p)]));
            CHECK((p != 0 || before[0] != first.session.parameter(0)));
        }
        CHECK(found.matched.size() == set);
        CHECK(found.unexpected.empty());
        CHECK(set == (whole ? 2 : 1));
    }
    training<ts::reference::backend> other(strategies()[1], momentum);
    const auto before = everything(other.session);
    const auto refused = [&](const ts::io::weights_of& which) {
        return message_of([&] { ts::io::load_weights(other.session, file, which); });
    };
    CHECK(contains(refused({.layer = "fc9"}), "no parameter of the layer 'fc9'"));
    CHECK(contains(refused({.layer = layer, .called = "fc9"}), "no tensor 'fc9/weight'"));
    CHECK(everything(other.session) == before);
    ts::io::load_weights(other.session, file, {.layer = path, .called = "optimizer/velocity/" + path});
    CHECK(other.session.parameter(0) == first.session.state_of(0, 0));
}

TEST_CASE("any byte that changes, and any end that comes too early, is refused; the session stays as it was") {
    const test_folder here;
    training<ts::reference::backend> t(strategies()[0], momentum);
    t.step();
    ts::io::save_checkpoint(t.session, here / "one");
    t.step();
    const auto before = everything(t.session);
    std::mt19937 random(1);
    for (const char* name : {"one/model.safetensors", "one/state.json", "one/COMMIT"}) {
        const std::string path = here / name;
        const std::string whole = text_of(path);
        for (int i = 0; i < 60; ++i) {
            std::string damaged = whole;
            const std::size_t at = random() % damaged.size();
            if (i % 3 == 0) {
                damaged.resize(at);
            } else {
                damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
            }
            write(path, damaged);
            CHECK_THROWS_AS(ts::io::load_checkpoint(t.session, here / "one"), ts::error);
        }
        write(path, whole);
    }
    CHECK(everything(t.session) == before);
    CHECK(t.session.steps() == 2);
    CHECK(ts::io::load_checkpoint(t.session, here / "one").step == 1);
}

TEST_CASE("what does not fit is refused by name") {
    const test_folder here;
    training<ts::reference::backend> t(strategies()[0], momentum);
    ts::io::save_checkpoint(t.session, here / "one");
    training<ts::reference::backend> other(strategies()[0], moments);
    const std::string text = message_of([&] { ts::io::load_checkpoint(other.session, here / "one"); });
    CHECK_MESSAGE(contains(text, "the optimizers differ"), text);
    CHECK_MESSAGE(contains(text, "has what SGD and LARS keep with momentum (velocity)"), text);
    CHECK_MESSAGE(contains(text, "this trainer's keeps what Adam, AdamW and LAMB keep (first_moment, second_moment)"),
                  text);
    const std::string none = message_of([&] { ts::io::load_checkpoint(t.session, here / "none"); });
    CHECK_MESSAGE(contains(none, "there is no checkpoint '" + (here / "none")), none);
    CHECK_MESSAGE(!contains(none, "an older"), none);
    fs::create_directory(here / "mine");
    write(here / "mine/letter.txt", "dear");
    CHECK(contains(message_of([&] { ts::io::save_checkpoint(t.session, here / "mine"); }), "holds something else"));
    CHECK(text_of(here / "mine/letter.txt") == "dear");
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(t.session, here / "mine"); }), "it has no COMMIT"));
    CHECK_THROWS_AS(ts::io::save_checkpoint(t.session, here / "no/such/folder"), ts::error);
}

TEST_CASE("who is killed while saving leaves a whole checkpoint, the old one or the new one, and no rest for long") {
    const test_folder here;
    training<ts::reference::backend> t(strategies()[0], momentum);
    ts::io::save_checkpoint(t.session, here / "one");
    std::mt19937 random(5);
    for (int i = 0; i < 40; ++i) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (;;) {
                ts::io::save_checkpoint(t.session, here / "one");
            }
        }
        ::usleep(static_cast<useconds_t>(1000 + random() % 20000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        CHECK(ts::io::load_checkpoint(t.session, here / "one").step == 0);
    }
    ts::io::save_checkpoint(t.session, here / "one");
    std::size_t there = 0;
    for ([[maybe_unused]] const auto& e : fs::directory_iterator(here.path)) {
        ++there;
    }
    CHECK(there == 1);
}
