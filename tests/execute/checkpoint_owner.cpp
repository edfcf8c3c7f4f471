// SPDX-License-Identifier: Apache-2.0
// What savers and saves of checkpoints remove (io/files/checkpoint_owner.hpp): what they made, nothing else and through
// no link; that a folder has one saver; and file systems that cannot exchange two names.
#include "support/kept_training.hpp"
#include "support/no_exchange.hpp"
#include "support/refusal.hpp"
#include "tessera/io/files/checkpoint_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include <sys/wait.h>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

using saver = reference_saver;

const ts::optimizer how = ts::sgd{.learning_rate = 0.01F};

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// Steps, and a checkpoint of each.
void save_steps(reference_training& t, saver& s, int steps) {
    for (int i = 0; i < steps; ++i) {
        t.step();
        s.save();
    }
    s.finish();
}

/// Everything below a folder: files with their contents, links with where they lead; no checkpoints of a saver.
std::map<std::string, std::string> all_in(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::recursive_directory_iterator(folder)) {
        all[e.path().string()] = e.is_symlink()        ? "-> " + fs::read_symlink(e.path()).string()
                                 : e.is_regular_file() ? text_of(e.path().string())
                                                       : "folder";
    }
    return all;
}

bool is_as_it_was(const std::map<std::string, std::string>& now, const std::string& path, const std::string& contents) {
    return now.count(path) == 1 && now.at(path) == contents;
}

} // namespace

TEST_CASE("folders of others, files in the saver's own and what links lead to stay, whatever they are called") {
    const test_folder here;
    reference_training t(one_device(), how);
    const std::string run = here / "run";
    fs::create_directories(run + "/step-000000000001");
    write(run + "/step-000000000001/notes.txt", "mine"); // without COMMIT
    fs::create_directories(here / "elsewhere");
    write(here / "elsewhere/model.safetensors", "somebody's");
    write(here / "elsewhere/COMMIT", "1");
    fs::create_directory_symlink(here / "elsewhere", run + "/step-000000000002");
    fs::create_directories(run + "/step-000000000003"); // a checkpoint by its looks, of another saver
    write(run + "/step-000000000003/COMMIT", "1");
    write(run + "/step-000000000003/state.json", R"({"saver": "0123456789abcdef0123456789abcdef"})");
    fs::create_directories(run + "/step-000000000004.tmp.1.2");
    write(run + "/step-000000000004.tmp.1.2/thesis.tex", "mine"); // as if a dead process had left it
    const auto before_link = all_in(here / "elsewhere");
    const auto theirs = all_in(run);
    for (int i = 0; i < 4; ++i) {
        t.step();
    }
    saver s(t.session, {.folder = run, .keep = 2});
    save_steps(t, s, 3);
    write(run + "/step-000000000006/remarks.txt", "the best so far"); // into a checkpoint of the saver's own
    save_steps(t, s, 3);
    CHECK(all_in(here / "elsewhere") == before_link);
    const auto now = all_in(run);
    for (const auto& entry : theirs) {
        CHECK_MESSAGE(is_as_it_was(now, entry.first, entry.second), entry.first);
    }
    CHECK(text_of(run + "/step-000000000006/remarks.txt") == "the best so far");
    CHECK(fs::exists(run + "/step-000000000006/COMMIT"));
    CHECK(!fs::exists(run + "/step-000000000007"));
    CHECK(!fs::exists(run + "/step-000000000008"));
    CHECK(fs::exists(run + "/step-000000000009"));
    CHECK(fs::exists(run + "/step-000000000010"));
    const std::vector<std::string> said = s.left_alone();
    REQUIRE(said.size() == 4);
    CHECK(contains(said[0], "step-000000000006' has 'remarks.txt'"));
    CHECK(contains(said[1], "step-000000000003' was not made by a saver of this folder"));
    CHECK(contains(said[2], "step-000000000002' is a link"));
    CHECK(contains(said[3], "step-000000000001' has 'notes.txt'"));
}

TEST_CASE("a step whose folder is somebody else's is refused by name, and stays") {
    for (const char* const what : {"file", "link", "other", "foreign"}) {
        const test_folder here;
        reference_training t(one_device(), how);
        const std::string run = here / "run";
        const std::string first = run + "/step-000000000001";
        fs::create_directories(here / "elsewhere");
        write(here / "elsewhere/model.safetensors", "somebody's");
        fs::create_directories(run);
        if (what == std::string("file")) {
            write(first, "a file");
        } else if (what == std::string("link")) {
            fs::create_directory_symlink(here / "elsewhere", first);
        } else if (what == std::string("other")) {
            ts::io::save_checkpoint(t.session, first); // a whole checkpoint, of no saver
        } else {
            fs::create_directories(first + "/model.safetensors");
        }
        const auto before = all_in(here.path);
        saver s(t.session, {.folder = run, .keep = 1});
        t.step();
        s.save();
        const std::string said = message_of([&] { s.finish(); });
        CHECK_MESSAGE(contains(said, "cannot write '" + first + "': it is there and"), said);
        for (const auto& entry : before) {
            const auto now = all_in(here.path);
            CHECK_MESSAGE(is_as_it_was(now, entry.first, entry.second), entry.first);
        }
        t.step();
        s.save();
        s.finish(); // the next step is free
    }
}

TEST_CASE("a save that replaces a checkpoint refuses one with files of somebody's in it") {
    const test_folder here;
    reference_training t(one_device(), how);
    ts::io::save_checkpoint(t.session, here / "last");
    write(here / "last/config.json", "{}");
    const auto before = all_in(here.path);
    const std::string said = message_of([&] { ts::io::save_checkpoint(t.session, here / "last"); });
    CHECK_MESSAGE(contains(said, "it has 'config.json'"), said);
    CHECK(all_in(here.path) == before);
    fs::remove(here / "last/config.json");
    fs::create_directories(here / "elsewhere");
    fs::rename(here / "last", here / "elsewhere/last");
    fs::create_directory_symlink(here / "elsewhere/last", here / "last");
    CHECK(contains(message_of([&] { ts::io::save_checkpoint(t.session, here / "last"); }), "it is a link"));
    CHECK(fs::exists(here / "elsewhere/last/COMMIT"));
}

TEST_CASE("the second saver of a folder is refused and told who holds it, in this process and in another") {
    const test_folder here;
    reference_training t(one_device(), how);
    const std::string run = here / "run";
    {
        saver first(t.session, {.folder = run});
        const std::string said = message_of([&] { saver(t.session, {.folder = run}); });
        CHECK_MESSAGE(contains(said, "has a saver: process " + std::to_string(::getpid()) + " on "), said);
        CHECK_MESSAGE(contains(said, "since 2"), said);
        save_steps(t, first, 1); // which is not disturbed
    }
    saver(t.session, {.folder = run}); // it is free again
    int told[2];
    int go_on[2];
    REQUIRE(::pipe(told) == 0);
    REQUIRE(::pipe(go_on) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            reference_training own(one_device(), how);
            saver s(own.session, {.folder = run});
            char c = 'x';
            (void)!::write(told[1], &c, 1);
            (void)!::read(go_on[0], &c, 1); // killed here: locks go with the process
        } catch (...) {
        }
        ::_exit(0);
    }
    char c = 0;
    REQUIRE(::read(told[0], &c, 1) == 1);
    const std::string said = message_of([&] { saver(t.session, {.folder = run}); });
    CHECK_MESSAGE(contains(said, "has a saver: process " + std::to_string(child) + " on "), said);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    saver s(t.session, {.folder = run, .keep = 1});
    save_steps(t, s, 1); // and the checkpoints of the first are its own
    CHECK(!fs::exists(run + "/step-000000000001"));
    CHECK(fs::exists(run + "/step-000000000002"));
    for (const int f : {told[0], told[1], go_on[0], go_on[1]}) {
        ::close(f);
    }
}

TEST_CASE("a file in the place of the lock is refused") {
    const test_folder here;
    reference_training t(one_device(), how);
    write(here / ".tessera-saver", "something of mine\n");
    CHECK(contains(message_of([&] { saver(t.session, {.folder = here.path}); }), "is no file of Tessera's"));
    fs::remove(here / ".tessera-saver");
    write(here / "mine", "1");
    fs::create_symlink(here / "mine", here / ".tessera-saver");
    CHECK(contains(message_of([&] { saver(t.session, {.folder = here.path}); }), "opening '.tessera-saver'"));
    CHECK(text_of(here / "mine") == "1");
}

TEST_CASE("where two names cannot be exchanged, checkpoints are replaced and lost no more than elsewhere") {
    const test_folder here;
    const std::string last = here / "last";
    const std::string run = here / "run";
    const ended how_it_ended = without_exchange([&] {
        reference_training t(one_device(), how);
        for (int i = 0; i < 3; ++i) {
            t.step();
            ts::io::save_checkpoint(t.session, last);
        }
        saver s(t.session, {.folder = run, .keep = 2});
        save_steps(t, s, 3);
        s.save(); // the same step again
        s.finish();
    });
    if (how_it_ended == ended::not_possible) {
        MESSAGE("skipped: the system has no filters of calls");
        return;
    }
    REQUIRE(how_it_ended == ended::well);
    reference_training t(one_device(), how);
    CHECK(ts::io::load_checkpoint(t.session, last).step == 3);
    CHECK(ts::io::resume_newest(t.session, run)->state.step == 6);
    for (const auto& e : fs::recursive_directory_iterator(here.path)) {
        CHECK(!contains(e.path().filename().string(), ".replaced"));
        CHECK(!contains(e.path().filename().string(), ".tmp."));
        CHECK(!contains(e.path().filename().string(), "unfinished"));
    }
}

TEST_CASE(
    "a crash between two renames: the old checkpoint is read and comes back, or goes where the new one has come") {
    const test_folder here;
    reference_training t(one_device(), how);
    const std::string last = here / "last";
    t.step();
    ts::io::save_checkpoint(t.session, last);
    fs::rename(last, last + ".replaced"); // the new one has not come
    reference_training other(one_device(), how);
    CHECK(ts::io::load_checkpoint(other.session, last).step == 1);
    t.step();
    ts::io::save_checkpoint(t.session, last);
    CHECK(!fs::exists(last + ".replaced"));
    CHECK(ts::io::load_checkpoint(other.session, last).step == 2);
    fs::copy(last, last + ".replaced"); // the new one has come
    t.step();
    ts::io::save_checkpoint(t.session, last);
    CHECK(!fs::exists(last + ".replaced"));
    CHECK(ts::io::load_checkpoint(other.session, last).step == 3);
    // It was being removed, which had begun.
    for (const bool empty : {false, true}) {
        fs::create_directories(last + ".replaced");
        if (!empty) {
            fs::copy(last + "/state.json", last + ".replaced/state.json");
        }
        const ended how_it_ended = without_exchange([&] { ts::io::save_checkpoint(t.session, last); });
        CHECK(how_it_ended != ended::badly);
        CHECK((how_it_ended == ended::not_possible || !fs::exists(last + ".replaced")));
        fs::remove_all(last + ".replaced");
    }
    // Of a saver's folder.
    const std::string run = here / "run";
    saver s(t.session, {.folder = run, .keep = 3});
    save_steps(t, s, 2);
    fs::rename(run + "/step-000000000005", run + "/step-000000000005.replaced");
    CHECK(ts::io::resume_newest(other.session, run)->state.step == 5);
    // A crash while the old one was being removed, under the new one's former name: without COMMIT, with state.json.
    fs::create_directories(last + ".tmp.1.0");
    fs::copy(last + "/state.json", last + ".tmp.1.0/state.json");
    fs::create_directories(last + ".tmp.1.1"); // and an empty one
    ts::io::save_checkpoint(t.session, last);
    CHECK(!fs::exists(last + ".tmp.1.0"));
    CHECK(!fs::exists(last + ".tmp.1.1"));
    // Somebody's folder of that name stays.
    fs::create_directories(last + ".replaced");
    write(last + ".replaced/mine", "1");
    ts::io::save_checkpoint(t.session, last);
    CHECK(text_of(last + ".replaced/mine") == "1");
}

TEST_CASE("killed at random where names cannot be exchanged: a whole checkpoint is always there") {
    const test_folder here;
    const std::string last = here / "last";
    std::mt19937 random(7);
    std::uint64_t newest = 0;
    for (int i = 0; i < 25; ++i) {
        int tell[2];
        REQUIRE(::pipe(tell) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            if (!forbid_exchange()) {
                ::_exit(2);
            }
            try {
                reference_training t(one_device(), how);
                if (fs::exists(last) || fs::exists(last + ".replaced")) {
                    ts::io::load_checkpoint(t.session, last);
                }
                for (;;) {
                    t.step();
                    ts::io::save_checkpoint(t.session, last);
                    const std::uint64_t step = t.session.steps();
                    (void)!::write(tell[1], &step, sizeof step);
                }
            } catch (const std::exception& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
            ::_exit(1);
        }
        ::close(tell[1]);
        std::uint64_t said = 0;
        if (::read(tell[0], &said, sizeof said) != sizeof said) {
            int status = 0;
            ::waitpid(child, &status, 0);
            REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 2));
            MESSAGE("skipped: the system has no filters of calls");
            return;
        }
        ::usleep(static_cast<useconds_t>(random() % 30'000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        std::uint64_t step = 0;
        while (::read(tell[0], &step, sizeof step) == sizeof step) {
            said = step;
        }
        ::close(tell[0]);
        reference_training t(one_device(), how);
        const std::uint64_t found = ts::io::load_checkpoint(t.session, last).step;
        CHECK(found >= said);
        CHECK(found >= newest);
        newest = found;
    }
}
