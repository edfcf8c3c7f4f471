// SPDX-License-Identifier: Apache-2.0
// Training that stops in the middle of an epoch goes on from a checkpoint bit for bit, wherever it stops.
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/io/train.hpp"

#include "temporary_folder.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

namespace ts = tessera;

struct fc1 : ts::linear<6> {};
struct fc2 : ts::linear<3> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, ts::dropout<20>, fc2, ts::cross_entropy> {};
using plain_trainer = ts::trainer<network, ts::reference::backend>;

plain_trainer make_trainer() {
    return {
        ts::local_devices(1), ts::strategy(ts::describe<network>(8).view()), 8, ts::adam{.learning_rate = 0.02F}, {}};
}

ts::io::sample_set make_set(int samples) {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < samples; ++i) {
        labels.push_back(i % 3);
        for (int k = 0; k < 4; ++k) inputs.push_back(static_cast<float>((i * 7 + k * 5) % 11) / 5.0F - 1.0F);
    }
    return {inputs, labels};
}

struct stopped {};

} // namespace

TEST_CASE("training goes on in the middle of an epoch, bit for bit, after any step") {
    const ts::io::sample_set set = make_set(37);
    for (const bool drop : {false, true}) {
        ts::io::train_options options{.epochs = 3, .shuffle_seed = 5, .drop_last = drop};
        plain_trainer whole = make_trainer();
        std::vector<double> losses;
        for (const auto& r : ts::io::train(whole, set, options))
            losses.insert(losses.end(), r.losses.begin(), r.losses.end());
        REQUIRE(losses.size() == (drop ? 12 : 15));
        for (std::size_t stop = 1; stop <= losses.size(); ++stop) {
            const test::temporary_folder folder;
            plain_trainer first = make_trainer();
            options.after_step = [&](const ts::io::data_position& at) {
                if (first.steps() != stop) return;
                ts::io::save_checkpoint(first, folder / "run", at);
                throw stopped();
            };
            CHECK_THROWS_AS(ts::io::train(first, set, options), stopped);
            plain_trainer second = make_trainer();
            const ts::io::checkpoint_state state = ts::io::load_checkpoint(second, folder / "run");
            REQUIRE(state.data.has_value());
            ts::io::train_options rest{.epochs = 3, .drop_last = drop}; // the seed is the checkpoint's
            rest.resume_at = state.data;
            std::vector<double> later;
            for (const auto& r : ts::io::train(second, set, rest))
                later.insert(later.end(), r.losses.begin(), r.losses.end());
            CHECK(later == std::vector<double>(losses.begin() + static_cast<std::ptrdiff_t>(stop), losses.end()));
            CHECK(second.weights<fc1>() == whole.weights<fc1>());
            CHECK(second.weights<fc2>() == whole.weights<fc2>());
        }
    }
}

TEST_CASE("a place in data that are not shuffled is kept, and another set is refused") {
    const test::temporary_folder folder;
    plain_trainer trainer = make_trainer();
    const ts::io::data_position at{.epoch = 2, .next_sample = 16, .set_size = 37};
    ts::io::save_checkpoint(trainer, folder / "run", at);
    CHECK(ts::io::load_checkpoint(trainer, folder / "run").data == at);
    ts::io::train_options options{.epochs = 3};
    options.resume_at = at;
    CHECK_THROWS_AS(ts::io::train(trainer, make_set(36), options), ts::error);
    CHECK(trainer.steps() == 0);
}

TEST_CASE("a training does not go on in a set of other contents: its hash is in the checkpoint") {
    const test::temporary_folder folder;
    const ts::io::sample_set set = make_set(37);
    plain_trainer trainer = make_trainer();
    ts::io::train_options options{.epochs = 2, .shuffle_seed = 5};
    options.after_step = [&](const ts::io::data_position& at) {
        CHECK(at.set_hash == set.hash());
        if (trainer.steps() == 3) ts::io::save_checkpoint(trainer, folder / "run", at);
    };
    ts::io::train(trainer, set, options);
    plain_trainer other = make_trainer();
    ts::io::train_options rest{.epochs = 2};
    rest.resume_at = ts::io::load_checkpoint(other, folder / "run").data;
    REQUIRE(rest.resume_at->set_hash == set.hash());
    // As many samples, one number or one label of which is another.
    std::vector<float> inputs(set.inputs().begin(), set.inputs().end());
    std::vector<std::int32_t> labels(set.labels().begin(), set.labels().end());
    inputs[50] += 0.5F;
    const ts::io::sample_set changed{inputs, labels};
    inputs[50] = set.inputs()[50];
    labels[36] = 2 - labels[36];
    const ts::io::sample_set relabelled{inputs, labels};
    for (const ts::io::sample_set* wrong : {&changed, &relabelled}) {
        CHECK_THROWS_WITH_AS(ts::io::train(other, *wrong, rest), doctest::Contains("its contents are not those"),
                             ts::error);
        CHECK_THROWS_AS(ts::io::resume(*rest.resume_at, *wrong), ts::error);
    }
    CHECK(other.steps() == 3);
    ts::io::train(other, set, rest);
    CHECK(other.weights<fc2>() == trainer.weights<fc2>());
    // A position without a hash, as older checkpoints have it, is taken by the size alone; a loop keeps the hash that
    // it goes on with.
    ts::io::data_position old = *rest.resume_at;
    old.set_hash.reset();
    CHECK(ts::io::resume(old, changed).set_hash == changed.hash());
    CHECK(set.batches(8, ts::io::resume(*rest.resume_at, set)).next_position() == *rest.resume_at);
}
