// SPDX-License-Identifier: Apache-2.0
// What befalls checkpoints: full disks, folders that cannot be written, files that are damaged, missing, of other
// versions or of other checkpoints. Each is named with what to do, and the older checkpoint is what one goes on from.
#include "tessera/io/files/checkpoint_folder.hpp"

#include "support/kept_training.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/ranks_as_threads.hpp"
#include "support/refusal.hpp"
#include "support/small_disk.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

using saver = reference_saver;

const ts::optimizer how = ts::adam{.learning_rate = 0.01F};

/// A data-parallel training whose parameters and optimizer state lie in slices on four devices.
ts::strategy sliced() {
    const ts::graph g = ts::describe<net>(samples);
    ts::strategy s = data_parallel(g.view(), 4);
    s.sync = small_policy(g.view(), 4, "zero-3").second;
    return s;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

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

/// A folder's contents, bit for bit.
std::map<std::string, std::string> contents_of(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const std::string& name : names_in(folder)) {
        all[name] = text_of((folder + "/").append(name));
    }
    return all;
}

/// Writes state.json anew, changed, with the COMMIT that goes with it: as somebody else might have written it.
void edit_state(const std::string& folder, const std::string& from, const std::string& to) {
    std::string text = text_of(folder + "/state.json");
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    write(folder + "/state.json", text);
    write(folder + "/COMMIT", std::to_string(ts::io::detail::crc_of(text)) + "\n");
}

} // namespace

TEST_CASE("whatever is damaged at random is refused by its name, and the one before is named and loaded") {
    const test_folder here;
    reference_training t(sliced(), how);
    const std::string old = here / "run/step-000000000001";
    const std::string newest = here / "run/step-000000000002";
    fs::create_directory(here / "run");
    t.step();
    REQUIRE(save_as_ranks(t.session, 4, 1, old) == std::vector<std::string>(4));
    const auto kept = everything(t.session);
    t.step();
    REQUIRE(save_as_ranks(t.session, 4, 1, newest) == std::vector<std::string>(4));
    const auto whole = contents_of(newest);
    REQUIRE(whole.size() > 5); // four files of shards, state and COMMIT

    reference_training other(sliced(), how);
    other.step();
    const auto before = everything(other.session);
    std::mt19937 random(11);
    int kinds[6] = {};
    for (int i = 0; i < 240; ++i) {
        auto chosen = whole.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random() % whole.size()));
        const std::string path = (newest + "/").append(chosen->first);
        std::string damaged = chosen->second;
        const std::size_t at = random() % damaged.size();
        const int kind = static_cast<int>(random() % 6);
        ++kinds[kind];
        switch (kind) {
        case 0: // cut off
            damaged.resize(at);
            break;
        case 1: // a bit
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
            break;
        case 2: { // a block, as a bad sector leaves it
            const std::size_t count = std::min<std::size_t>(1 + random() % 512, damaged.size() - at);
            const std::string zeros(count, '\0');
            damaged.replace(at, count, damaged.compare(at, count, zeros) == 0 ? std::string(count, 'x') : zeros);
            break;
        }
        case 3: // something behind its end
            damaged += std::string(1 + random() % 64, '0');
            break;
        case 4: // what the checkpoint before has there
            damaged = text_of((old + "/").append(chosen->first));
            damaged += damaged == chosen->second ? "x" : "";
            break;
        default: // gone
            fs::remove(path);
        }
        if (kind < 5) {
            write(path, damaged);
        }
        const std::string said = message_of([&] { ts::io::load_checkpoint(other.session, newest); });
        CHECK_MESSAGE(contains(said, "'" + newest + "' is no whole checkpoint"), said);
        const bool is_commit = chosen->first == "COMMIT";
        CHECK_MESSAGE(contains(said, is_commit ? "COMMIT" : chosen->first), said);
        CHECK_MESSAGE(contains(said, "the one before it, '" + old + "', is whole: use that one"), said);
        CHECK(everything(other.session) == before);
        CHECK(other.session.steps() == 1);
        if (i % 4 == 0) {
            reference_training third(sliced(), how);
            const auto from = ts::io::resume_newest(third.session, here / "run");
            REQUIRE(from.has_value());
            CHECK(from->from == old);
            CHECK(from->left_out == std::vector<std::string>{said});
            CHECK(everything(third.session) == kept);
        }
        write(path, chosen->second);
    }
    CHECK(*std::min_element(std::begin(kinds), std::end(kinds)) > 20);
    ts::io::load_checkpoint(other.session, newest);
    CHECK(everything(other.session) == everything(t.session));
    // Without one before it, or with one that is damaged too, an older one is asked for.
    fs::remove(newest + "/COMMIT");
    fs::resize_file(old + "/state.json", 20);
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(other.session, newest); }), "COMMIT, so that it was not "
                                                                                        "written to its end; use an "
                                                                                        "older one"));
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(other.session, here / "run/none"); }), "no such folder"));
}

TEST_CASE("versions: the older one is read, a newer one is refused and left out") {
    const test_folder here;
    reference_training t(sliced(), how);
    {
        saver s(t.session, {.folder = here / "run", .keep = 3});
        for (int i = 0; i < 2; ++i) {
            t.step();
            s.save();
        }
    }
    const std::string first = here / "run/step-000000000001";
    const std::string second = here / "run/step-000000000002";
    // Version 1 said nothing of network and plan.
    reference_training other(sliced(), how);
    for (const char* line : {"network", "plan"}) {
        std::string text = text_of(second + "/state.json");
        const std::size_t at = text.find("  \"" + std::string(line) + "\"");
        REQUIRE(at != std::string::npos);
        edit_state(second, text.substr(at, text.find('\n', at) + 1 - at), "");
    }
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(other.session, second); }), "has no \"network\""));
    edit_state(second, "\"tessera_checkpoint\": 3", "\"tessera_checkpoint\": 1");
    const ts::io::checkpoint_state state = ts::io::load_checkpoint(other.session, second);
    CHECK(state.step == 2);
    CHECK(state.network == 0);
    CHECK(everything(other.session) == everything(t.session));
    edit_state(second, "\"tessera_checkpoint\": 1", "\"tessera_checkpoint\": 4");
    const std::string said = message_of([&] { ts::io::load_checkpoint(other.session, second); });
    CHECK(contains(said, "it is of version 4, and this Tessera reads versions 1 to 3"));
    CHECK(contains(said, first));
    const auto from = ts::io::resume_newest(other.session, here / "run");
    REQUIRE(from.has_value());
    CHECK(from->state.step == 1);
    CHECK(from->left_out == std::vector<std::string>{said});
}

TEST_CASE("another network with the same tensors is refused unless it is meant") {
    const test_folder here;
    reference_training t(sliced(), how);
    t.step();
    ts::io::save_checkpoint(t.session, here / "one");
    const std::uint64_t hash = ts::network_hash(t.graph.view());
    CHECK(hash == ts::network_hash(ts::describe<net>(samples / 2).view())); // the same for another number of samples
    CHECK(ts::io::load_checkpoint(t.session, here / "one").network == hash);
    CHECK(ts::io::load_checkpoint(t.session, here / "one").plan == t.session.training_plan().hash);
    edit_state(here / "one", std::to_string(hash), std::to_string(hash + 1));
    CHECK(contains(message_of([&] { ts::io::load_checkpoint(t.session, here / "one"); }), "is of another network"));
    CHECK(ts::io::load_checkpoint(t.session, here / "one", {.any_network = true}).step == 1);
    // What makes another one: each attribute, operator, order and type.
    struct fewer : ts::sequential<ts::image<3, 6, 6>, kept_layers::conv1, kept_layers::norm, ts::relu, ts::flatten,
                                  kept_layers::fc1, ts::relu, kept_layers::fc2, ts::cross_entropy> {};
    struct dropped : ts::sequential<ts::image<3, 6, 6>, kept_layers::conv1, kept_layers::norm, ts::relu, ts::flatten,
                                    kept_layers::fc1, ts::relu, ts::dropout<31>, kept_layers::fc2, ts::cross_entropy> {
    };
    struct smooth : ts::sequential<ts::image<3, 6, 6>, kept_layers::conv1, kept_layers::norm, ts::relu, ts::flatten,
                                   kept_layers::fc1, ts::gelu, ts::dropout<30>, kept_layers::fc2, ts::cross_entropy> {};
    CHECK(ts::network_hash(ts::describe<fewer>(samples).view()) != hash);
    CHECK(ts::network_hash(ts::describe<dropped>(samples).view()) != hash);
    CHECK(ts::network_hash(ts::describe<smooth>(samples).view()) != hash);
}

TEST_CASE("on a disk without room the save fails by name, leaves nothing, and older checkpoints stay") {
    const test_folder here;
    reference_training t(sliced(), how);
    // How much a checkpoint takes.
    ts::io::save_checkpoint(t.session, here / "size");
    std::uintmax_t bytes = 0;
    for (const auto& e : fs::directory_iterator(here / "size")) {
        bytes += (e.file_size() + 4095) / 4096 * 4096;
    }
    fs::create_directory(here / "disk");
    std::mt19937 random(5);
    int failed = 0;
    for (int i = 0; i < 12; ++i) {
        // Between one and two checkpoints, so that the second save ends anywhere.
        const auto kilobytes = static_cast<int>((bytes + 8192 + random() % bytes) / 1024);
        const small_disk disk(here / "disk", kilobytes);
        if (!disk.why_not().empty()) {
            MESSAGE("skipped: " << disk.why_not());
            return;
        }
        const std::string run = here / "disk/run";
        saver s(t.session, {.folder = run, .keep = 2});
        t.step();
        s.save();
        s.finish();
        const auto kept = everything(t.session);
        const std::string first = run + "/" + ts::io::detail::step_folder(t.session.steps());
        const auto before = contents_of(first);
        t.step();
        s.save();
        const std::string said = message_of([&] { s.finish(); });
        if (said == "accepted") {
            continue; // there was room
        }
        ++failed;
        CHECK_MESSAGE(contains(said, "cannot write '" + run), said);
        CHECK_MESSAGE(contains(said, "No space left on device"), said);
        CHECK_MESSAGE(contains(said, "has room"), said);
        CHECK(names_in(run) == std::vector<std::string>{fs::path(first).filename().string()});
        CHECK(contents_of(first) == before);
        reference_training other(sliced(), how);
        CHECK(ts::io::resume_newest(other.session, run)->from == first);
        CHECK(everything(other.session) == kept);
        // Of ranks, too: all are told.
        for (const std::string& words : save_as_ranks(t.session, 4, 1, run + "/step-000000000099")) {
            CHECK_MESSAGE(contains(words, "No space left on device"), words);
        }
        CHECK(names_in(run) == std::vector<std::string>{fs::path(first).filename().string()});
        // With room again the training goes on saving.
        fs::remove_all(first);
        s.save();
        s.finish();
    }
    CHECK(failed > 6);
}

TEST_CASE("a folder that cannot be written is named, and what is in it stays") {
    const test_folder here;
    reference_training t(sliced(), how);
    fs::create_directory(here / "disk");
    const small_disk disk(here / "disk", 4096);
    if (!disk.why_not().empty()) {
        MESSAGE("skipped: " << disk.why_not());
        return;
    }
    const std::string run = here / "disk/run";
    saver s(t.session, {.folder = run, .keep = 1});
    t.step();
    s.save();
    s.finish();
    const auto kept = everything(t.session);
    const auto before = contents_of(run + "/step-000000000001");
    REQUIRE(disk.make_read_only());
    t.step();
    s.save();
    const std::string said = message_of([&] { s.finish(); });
    CHECK_MESSAGE(contains(said, run), said);
    CHECK_MESSAGE(contains(said, "Read-only file system"), said);
    CHECK_MESSAGE(contains(said, "choose a folder"), said);
    CHECK(contents_of(run + "/step-000000000001") == before);
    CHECK(contains(message_of([&] { ts::io::save_checkpoint(t.session, run + "/step-000000000001"); }), "Read-only"));
    reference_training other(sliced(), how);
    CHECK(ts::io::resume_newest(other.session, run)->state.step == 1); // reading needs no writing
    CHECK(everything(other.session) == kept);
}
