// SPDX-License-Identifier: Apache-2.0
// Trainings that are killed by SIGKILL at random moments while they save, again and again in the same folder: the
// newest complete checkpoint always loads, is at least the last that was said to be on the disk, and holds bit for bit
// the numbers of its step. TESSERA_KILLS says how often; .ci/long asks for 1,000.
#include "tessera/io/files/checkpoint_folder.hpp"

#include "support/kept_training.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

using saver = reference_saver;

const ts::optimizer how = ts::adam{.learning_rate = 0.001F};

/// Goes on from what is in the folder and saves after every step, for ever; tells of each checkpoint that is on the
/// disk.
[[noreturn]] void train_and_save(const std::string& folder, bool beside, int tell) {
    reference_training t(one_device(), how);
    const auto say = [&](std::uint64_t step) { (void)!::write(tell, &step, sizeof step); };
    if (beside) {
        (void)ts::io::resume_newest(t.session, folder);
        saver s(t.session, {.folder = folder, .keep = 2});
        say(t.session.steps());
        for (;;) {
            t.step();
            const std::uint64_t before = t.session.steps() - 1;
            s.save(); // the one before is on the disk then
            say(before);
        }
    }
    if (fs::exists(folder + "/last")) {
        (void)ts::io::load_checkpoint(t.session, folder + "/last");
    }
    say(t.session.steps());
    for (;;) {
        t.step();
        ts::io::save_checkpoint(t.session, folder + "/last"); // replaces it
        say(t.session.steps());
    }
}

bool something_is_left(const std::string& folder) {
    for (const auto& e : fs::directory_iterator(folder)) {
        if (contains(e.path().filename().string(), ".tmp.")) {
            return true;
        }
    }
    return false;
}

/// Kills such trainings `kills` times, and more often where few of them were saving: how much of a step is a save is
/// the machine's.
void hold_killed(int kills, bool beside, unsigned seed) {
    const test_folder here;
    const std::string folder = here / "run";
    fs::create_directory(folder);
    reference_training whole(one_device(), how); // was never killed
    reference_training loaded(one_device(), how);
    std::mt19937 random(seed);
    std::uint64_t said = 0;
    int in_a_save = 0;
    int killed = 0;
    for (; killed < kills || (in_a_save <= kills / 10 && killed < 20 * kills); ++killed) {
        int tell[2];
        REQUIRE(::pipe2(tell, O_CLOEXEC) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            try {
                train_and_save(folder, beside, tell[1]);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
            ::_exit(1);
        }
        ::close(tell[1]);
        std::uint64_t step = 0;
        REQUIRE(::read(tell[0], &step, sizeof step) == sizeof step); // it begins to save
        ::usleep(static_cast<useconds_t>(random() % 80'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status)); // else it has failed
        said = step;
        while (::read(tell[0], &step, sizeof step) == sizeof step) {
            said = step;
        }
        ::close(tell[0]);
        for (const auto& e : fs::directory_iterator(folder)) {
            in_a_save += contains(e.path().filename().string(), ".tmp.") ? 1 : 0;
        }
        std::uint64_t found = 0;
        if (beside) {
            const auto from = ts::io::resume_newest(loaded.session, folder);
            found = from ? from->state.step : 0;
            CHECK((!from || from->left_out.empty()));
        } else if (fs::exists(folder + "/last")) {
            found = ts::io::load_checkpoint(loaded.session, folder + "/last").step;
        }
        REQUIRE(found >= said);
        if (found == 0) {
            continue;
        }
        REQUIRE(found >= whole.session.steps()); // nothing that was there is lost
        while (whole.session.steps() < found) {
            whole.step();
        }
        REQUIRE(everything(loaded.session) == everything(whole.session));
    }
    MESSAGE(killed << " kills, " << in_a_save << " left a part of a checkpoint behind; step " << whole.session.steps()
                   << " is reached, bit for bit");
    CHECK(in_a_save > kills / 10);
    // The next save removes what they have left.
    if (beside) {
        saver s(whole.session, {.folder = folder, .keep = 2});
        whole.step();
        s.save();
        s.finish();
    } else {
        ts::io::save_checkpoint(whole.session, folder + "/last");
    }
    CHECK(!something_is_left(folder));
}

/// Saves in a process that is killed before its system call number `calls` begins or after it; false where it has ended
/// before.
bool save_until(reference_training& t, const std::string& target, int calls) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
            ::_exit(2);
        }
        (void)::raise(SIGSTOP);
        try {
            ts::io::save_checkpoint(t.session, target);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    for (int i = 0; i < 2 * calls && WIFSTOPPED(status); ++i) { // it stops twice in a call
        REQUIRE(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
        ::waitpid(child, &status, 0);
    }
    if (!WIFSTOPPED(status)) {
        REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0)); // ptrace is refused, or the save
        return false;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return true;
}

int kills_wanted() {
    const char* const wanted = std::getenv("TESSERA_KILLS");
    return wanted != nullptr ? std::atoi(wanted) : 60;
}

} // namespace

TEST_CASE("killed while it saves beside the training, a folder of checkpoints loses none that was complete") {
    hold_killed(kills_wanted() / 2, true, 1);
}

TEST_CASE("killed while it replaces a checkpoint, the folder holds the old one or the new one") {
    hold_killed(kills_wanted() - kills_wanted() / 2, false, 2);
}

TEST_CASE("killed at any of its system calls, a save leaves the old checkpoint or the new one, and nothing that the "
          "next does not remove") {
    const test_folder here;
    reference_training t(one_device(), how);
    reference_training loaded(one_device(), how);
    int left = 0;
    for (const bool is_first : {true, false}) {
        int calls = 1;
        for (bool is_killed = true; is_killed; ++calls) {
            const std::string name = (is_first ? "first" : "second") + std::to_string(calls);
            const std::string folder = here / name.c_str();
            const std::string target = folder + "/last";
            fs::create_directory(folder);
            if (!is_first) {
                ts::io::save_checkpoint(t.session, target);
            }
            const auto before = t.session.steps();
            t.step();
            is_killed = save_until(t, target, calls);
            left += something_is_left(folder) ? 1 : 0;
            if (fs::exists(target)) {
                const auto found = ts::io::load_checkpoint(loaded.session, target).step;
                CHECK((found == t.session.steps() || (!is_first && is_killed && found == before)));
            } else {
                CHECK((is_first && is_killed));
            }
            ts::io::save_checkpoint(t.session, target);
            REQUIRE_MESSAGE(!something_is_left(folder), "after ", calls, " calls");
            REQUIRE(ts::io::load_checkpoint(loaded.session, target).step == t.session.steps());
        }
        CHECK(calls > 50);
    }
    MESSAGE(left << " kills left a part of a checkpoint behind");
    CHECK(left > 50);
}
