// SPDX-License-Identifier: Apache-2.0
// A checkpoint says what its training is; who goes on from it with something else is told what.
#include "tessera/io/files/checkpoint_identity.hpp"
#include "support/kept_training.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ts = tessera;
using namespace test_support;

const ts::optimizer usual(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F});

struct flatter : ts::sequential<ts::image<3, 6, 6>, kept_layers::conv1, kept_layers::norm, ts::relu, ts::flatten,
                                kept_layers::fc1, ts::relu, ts::dropout<31>, kept_layers::fc2, ts::cross_entropy> {};

} // namespace

TEST_CASE("checkpoint identity: a training with other settings is refused by the name of each, unless that is meant") {
    const test_folder here;
    {
        reference_training t(ts::strategy(ts::describe<net>(samples).view()), usual);
        t.step();
        ts::io::save_checkpoint(t.session, here / "one");
    }
    struct change {
        const char* expected;
        ts::optimizer how;
    };
    std::vector<change> all;
    const auto with = [&](const char* expected, auto&& edit) {
        all.push_back({expected, usual});
        edit(all.back().how);
    };
    with("optimizer.momentum is 0.5 on this training and 0.9 on the checkpoint",
         [](ts::optimizer& o) { o.momentum = 0.5F; });
    with("optimizer.weight_decay is 0 on", [](ts::optimizer& o) { o.weight_decay = 0; });
    with("optimizer.nesterov is true on", [](ts::optimizer& o) { o.nesterov = true; });
    with("optimizer.clip_norm is 1e-07 on", [](ts::optimizer& o) { o.clip_norm = 1e-7F; });
    with("optimizer.loss_scale is 2 on", [](ts::optimizer& o) { o.loss_scale = 2; });
    with("optimizer.groups[0].rate is 0.5 on", [](ts::optimizer& o) { o.groups.push_back({.rate = 0.5F}); });
    for (const change& c : all) {
        INFO(c.expected);
        reference_training other(ts::strategy(ts::describe<net>(samples).view()), c.how);
        const std::string said = message_of([&] { ts::io::load_checkpoint(other.session, here / "one"); });
        CHECK(contains(said, c.expected == all[5].expected ? "optimizer.groups[0]" : c.expected));
        CHECK(contains(said, ".any_optimizer = true"));
        CHECK(other.session.steps() == 0); // as it was
        CHECK(ts::io::load_checkpoint(other.session, here / "one", {.any_optimizer = true}).step == 1);
    }
    // The rate goes on from the checkpoint, under any strategy, seed and batch.
    ts::optimizer other_rate = usual;
    other_rate.learning_rate = 0.7F;
    reference_training same(ts::search::data_parallel(ts::describe<net>(samples).view(), 4), other_rate);
    CHECK(ts::io::load_checkpoint(same.session, here / "one").step == 1);
    CHECK(same.session.learning_rate() == doctest::Approx(0.1F));
    // What only predicts has no optimizer.
    const ts::graph g = ts::describe<net>(samples);
    ts::local_devices one(1);
    const ts::optimizer none(ts::sgd{.weight_decay = 0.5F});
    ts::reference::backend backend(none);
    ts::session<ts::reference::backend> predicts(g.view(), ts::strategy(g.view()), 1, none, {.for_training = false},
                                                 backend, one.threads());
    const std::string said = message_of([&] { ts::io::load_checkpoint(predicts, here / "one"); });
    CHECK(!contains(said, "optimizer.weight_decay"));
}

TEST_CASE("checkpoint identity: another network is refused by its attribute") {
    const test_folder here;
    reference_training t(ts::strategy(ts::describe<net>(samples).view()), usual);
    t.step();
    ts::io::save_checkpoint(t.session, here / "one");
    const ts::graph g = ts::describe<flatter>(samples);
    ts::local_devices one(1);
    ts::reference::backend backend(usual);
    ts::session<ts::reference::backend> other(g.view(), ts::strategy(g.view()), 1, usual, {}, backend, one.threads());
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(other, here / "one"); }),
                   "network.dropout.percent is 31 on this training and 30 on the checkpoint"));
    // All of it is there, and read as it was written.
    const ts::field_lines kept = ts::io::detail::kept_identity(t.session);
    CHECK(kept.all() == ts::io::load_checkpoint(t.session, here / "one").training.all());
    std::set<std::string> parts;
    for (const ts::field_line& l : kept.all()) {
        parts.insert(l.name.substr(0, l.name.find('.')));
    }
    CHECK(parts == std::set<std::string>{"backend", "library", "network", "optimizer", "options"});
}
