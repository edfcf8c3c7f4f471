// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints (io/files/checkpoint_folder.hpp): saved beside the training, the newest kept, the newest that
// is whole loaded.
#include "tessera/io/files/checkpoint_folder.hpp"
#include "support/kept_training.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

using saver = reference_saver;

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(folder)) {
        const std::string name = e.path().filename().string();
        if (name != ts::io::detail::saver_file) {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

const ts::optimizer how = ts::adam{.learning_rate = 0.01F};

} // namespace

TEST_CASE("what is saved beside the training is what it was when it was saved, and the newest are kept") {
    const test_folder here;
    reference_training t(one_device(), how);
    std::vector<std::vector<float>> at_five;
    {
        saver s(t.session, {.folder = here / "all", .keep = 2});
        for (int i = 0; i < 6; ++i) {
            t.step();
            s.save();
            if (t.session.steps() == 5) {
                at_five = everything(t.session);
            }
        }
        t.step(); // changes what the thread may still be writing
        s.finish();
    }
    CHECK(names_in(here / "all") == std::vector<std::string>{"step-000000000005", "step-000000000006"});
    fs::remove_all(here / "all/step-000000000006");
    reference_training other(one_device(), how);
    const auto from = ts::io::resume_newest(other.session, here / "all");
    REQUIRE(from.has_value());
    CHECK(from->state.step == 5);
    CHECK(from->left_out.empty());
    CHECK(everything(other.session) == at_five);
}

TEST_CASE("checkpoints that are not whole are left out and said, and never are the reason that a whole one goes") {
    const test_folder here;
    reference_training t(one_device(), how);
    {
        saver s(t.session, {.folder = here / "all", .keep = 3});
        for (int i = 0; i < 3; ++i) {
            t.step();
            s.save();
        }
    }
    const std::string third = here / "all/step-000000000003";
    std::fstream file(third + "/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
    file.close();
    fs::remove(here / "all/step-000000000002/COMMIT");
    fs::create_directory(here / "all/step-4");            // others' folders are left alone
    fs::create_directory(here / "all/step-000000000009"); // as a crash leaves it
    reference_training other(one_device(), how);
    const auto from = ts::io::resume_newest(other.session, here / "all");
    REQUIRE(from.has_value());
    CHECK(from->state.step == 1);
    REQUIRE(from->left_out.size() == 3);
    CHECK(contains(from->left_out[0], "step-000000000009"));
    CHECK(contains(from->left_out[1], "model.safetensors is not what was written"));
    CHECK(contains(from->left_out[2], "it has no COMMIT"));
    {
        saver s(other.session, {.folder = here / "all", .keep = 3});
        other.step();
        s.save(); // step 2 again
    }
    CHECK(names_in(here / "all") == std::vector<std::string>{"step-000000000001", "step-000000000002",
                                                             "step-000000000003", "step-000000000009", "step-4"});
}

TEST_CASE("a newer checkpoint that is damaged is no reason that a whole one goes, and no obstacle when its step comes "
          "again") {
    const test_folder here;
    const std::string second = here / "all/step-000000000002";
    const std::string third = here / "all/step-000000000003";
    {
        reference_training t(one_device(), how);
        saver s(t.session, {.folder = here / "all", .keep = 3});
        for (int i = 0; i < 3; ++i) {
            t.step();
            s.save();
        }
    }
    fs::resize_file(third + "/model.safetensors", 100); // it has its COMMIT
    fs::remove(second + "/COMMIT");
    reference_training t(one_device(), how);
    REQUIRE(ts::io::resume_newest(t.session, here / "all")->state.step == 1);
    saver s(t.session, {.folder = here / "all", .keep = 1});
    t.step();
    s.save();
    s.finish();
    CHECK(names_in(here / "all") == std::vector<std::string>{"step-000000000002", "step-000000000003"});
    reference_training other(one_device(), how);
    CHECK(ts::io::resume_newest(other.session, here / "all")->state.step == 2);
    CHECK(everything(other.session) == everything(t.session));
    t.step();
    s.save();
    s.finish();
    CHECK(names_in(here / "all") == std::vector<std::string>{"step-000000000003"});
    CHECK(ts::io::resume_newest(other.session, here / "all")->left_out.empty());
    CHECK(everything(other.session) == everything(t.session));
}

TEST_CASE("a folder without checkpoints is a start, one without a whole checkpoint an error") {
    const test_folder here;
    reference_training t(one_device(), how);
    CHECK(!ts::io::resume_newest(t.session, here / "none").has_value());
    fs::create_directories(here / "all/step-000000000003");
    CHECK(contains(message_of([&] { ts::io::resume_newest(t.session, here / "all"); }), "no checkpoint in"));
}

TEST_CASE("a checkpoint that cannot be written says so at the next save or finish, and the training goes on") {
    const test_folder here;
    reference_training t(one_device(), how);
    std::ofstream(here / "all") << "a file";
    saver s(t.session, {.folder = here / "all"});
    t.step();
    s.save();
    CHECK(contains(message_of([&] { s.save(); }), here / "all"));
    s.save();
    CHECK(!message_of([&] { s.finish(); }).empty());
    s.finish(); // said once
    fs::remove(here / "all");
    t.step();
    s.save();
    s.finish();
    CHECK(names_in(here / "all") == std::vector<std::string>{"step-000000000002"});
    CHECK(contains(message_of([&] { saver(t.session, {.folder = "x", .keep = 0}); }), "at least one"));
}
