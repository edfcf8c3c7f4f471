// SPDX-License-Identifier: Apache-2.0
// Damages files at random and reads them. Each must be read, or refused by a tessera::error, whatever it holds; what is
// read must come back the same and be usable; and reading must take no more time and memory than bounds.hpp says for
// its size. Large inputs are read in two sizes, of which the larger may take no more for each byte than the smaller,
// but for what noise and logarithms make. Run it under sanitizers.
//
// Times are those of the process's own computing, and bounds grow with what a fixed piece of work takes at that moment:
// on a machine that others use, too, readers fail no sooner.
//
//     fuzz_files list
//     fuzz_files TARGET SECONDS [SEED]        all: each target for so many seconds
//     fuzz_files SECONDS [SEED]               all targets together
//     fuzz_files TARGET replay FILE...        inputs that were saved
//
// One line for each target. It ends with 1 at the first failure, which it names, and keeps the input beside it. The
// same seed makes the same inputs, of which there are as many as there is time for. Inputs that failed once lie in
// tests/fuzz/saved/TARGET and come first.
#include "fuzz/bounds.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/target.hpp"
#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/file.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>

#include <fcntl.h>
#include <malloc.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

struct count {
    std::size_t live = 0, peak = 0, most = SIZE_MAX, allocations = 0; // bytes; more than `most` are not given
};
count heap; // readers have one thread

} // namespace

void* operator new(std::size_t size) {
    void* const got = heap.live + size <= heap.most ? std::malloc(size) : nullptr;
    if (got == nullptr) {
        heap.peak = std::max(heap.peak, heap.live + size);
        throw std::bad_alloc();
    }
    heap.live += ::malloc_usable_size(got);
    heap.peak = std::max(heap.peak, heap.live);
    ++heap.allocations;
    return got;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void* operator new[](std::size_t size, const std::nothrow_t& no) noexcept { return operator new(size, no); }
void operator delete(void* what) noexcept {
    heap.live -= what == nullptr ? 0 : ::malloc_usable_size(what);
    std::free(what);
}
void operator delete[](void* what) noexcept { operator delete(what); }
void operator delete(void* what, std::size_t) noexcept { operator delete(what); }
void operator delete[](void* what, std::size_t) noexcept { operator delete(what); }
void operator delete(void* what, const std::nothrow_t&) noexcept { operator delete(what); }
void operator delete[](void* what, const std::nothrow_t&) noexcept { operator delete(what); }

namespace {

/// What is being read, for messages and for what comes when it takes too long.
struct reading {
    const fuzz::bound* most = nullptr;
    const std::string* input = nullptr;
    char kept[200] = {};     ///< where it is written to when it fails
    double last_seconds = 0; ///< that the input has taken
    double last_memory = 0;  ///< bytes
    double seconds = 0;      ///< the most of any
    double memory = 0;
    double share = 0; ///< of the seconds that it may take, the most of any
    bool is_slow = false;
    std::string failed{};
    std::string refusal{};

    double slowness = 1; ///< of the machine, as others use it now
    double seconds_allowed() const {
        return slowness *
               (most->milliseconds * 1e-3 + most->microseconds_per_byte * 1e-6 * static_cast<double>(input->size()));
    }
    double bytes_allowed() const { return most->bytes + most->bytes_per_byte * static_cast<double>(input->size()); }
};
reading now;
std::vector<std::string> own_files;

double processor_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

constexpr double most_slowness = 8;
constexpr double most_use = 60; ///< seconds of what is done with what was read, before or after

/// How many times as long as alone on a machine a fixed piece of work takes now, from 1 to most_slowness: what readers
/// do, too, in a build without optimization under the address and undefined-behaviour sanitizers; in any other build it
/// takes less.
double slowness_now() {
    constexpr double alone = 0.014; // seconds, where bounds.hpp was measured
    const double began = processor_seconds();
    std::map<std::string, std::string> all;
    for (int i = 0; i < 5000; ++i) {
        all[std::to_string(i * 7919 % 5000)] += "a text that is longer than a string holds by itself";
    }
    const double took = processor_seconds() - began;
    return std::clamp(took / alone, 1.0, most_slowness);
}

/// Of what may be called in a handler of signals alone.
void keep_input() {
    const int file = ::open(now.kept, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (std::size_t at = 0; file >= 0 && at < now.input->size();) {
        const auto written = ::write(file, now.input->data() + at, now.input->size() - at);
        if (written <= 0) {
            break;
        }
        at += tessera::to_size(written);
    }
}
void say(const char* text) { (void)!::write(STDOUT_FILENO, text, std::strlen(text)); }
void on_time(int) {
    keep_input();
    say("fuzz_files: ");
    say(now.most->target);
    say(": reading takes eight times as long as its bound, or using what was read a minute; the input is ");
    say(now.kept);
    say("\n");
    ::_exit(EXIT_FAILURE);
}

/// A signal when the program has computed for so long; 0: none.
void alarm_after(double seconds) {
    itimerval when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(when.it_value.tv_sec)) * 1e6);
    ::setitimer(ITIMER_PROF, &when, nullptr);
}

void remove_own_files() {
    for (const std::string& path : own_files) {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
}

} // namespace

namespace fuzz {

void counted_work(tessera::function_ref<void()> work) {
    const std::size_t before = heap.live;
    heap.peak = before;
    heap.most = before + static_cast<std::size_t>(now.bytes_allowed());
    alarm_after(most_slowness * now.seconds_allowed() / now.slowness + 1);
    const double began = processor_seconds();
    const auto ended = [&] {
        const double took = processor_seconds() - began;
        alarm_after(most_use);
        heap.most = SIZE_MAX;
        now.last_seconds = took;
        now.last_memory = static_cast<double>(heap.peak - before);
        now.is_slow = took > now.seconds_allowed();
        now.seconds = std::max(now.seconds, took);
        now.memory = std::max(now.memory, now.last_memory);
        now.share = std::max(now.share, took / now.seconds_allowed());
        if (now.is_slow) {
            now.failed = "reading takes " + std::to_string(took) + " s, and may take " +
                         std::to_string(now.seconds_allowed()) + " s of " + std::to_string(now.input->size()) +
                         " bytes";
        }
        if (static_cast<double>(heap.peak - before) > now.bytes_allowed()) {
            now.failed = "reading takes " + std::to_string(heap.peak - before) + " bytes of memory, and may take " +
                         std::to_string(static_cast<std::size_t>(now.bytes_allowed())) + " of " +
                         std::to_string(now.input->size()) + " bytes";
        }
    };
    try {
        work();
    } catch (...) {
        ended();
        throw;
    }
    ended();
}

std::string path_for(const std::string& name) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("tessera_fuzz." + name + "." + std::to_string(::getpid()))).string();
    own_files.push_back(path);
    return path;
}
void put(const std::string& path, const std::string& text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool is_written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!is_written) {
        std::perror(path.c_str());
        std::exit(EXIT_FAILURE);
    }
    ::close(file);
}

} // namespace fuzz

namespace {

[[noreturn]] void fail(const fuzz::target& t, const std::string& what) {
    keep_input();
    std::printf("fuzz_files: %s: %s; the input is %s\n", t.name, what.c_str(), now.kept);
    remove_own_files();
    std::exit(EXIT_FAILURE);
}

/// Reads one input; true if it was accepted. Ends the program where it should have been neither, or took too much: too
/// long is what takes too long three times, by what the machine does then.
bool attempt(const fuzz::target& t, const std::string& text) {
    now.input = &text;
    for (int again = 0;; ++again) {
        now.failed.clear();
        now.refusal.clear();
        now.is_slow = false;
        now.slowness = again == 0 ? 1 : slowness_now();
        bool accepted = false;
        std::string what;
        alarm_after(most_use);
        try {
            accepted = t.read(text);
            what = accepted ? "" : "it is not read back the same";
        } catch (const tessera::error& e) {
            what.clear();
            now.refusal = e.what();
        } catch (const std::exception& e) {
            what = std::string("it is neither read nor refused: ") + e.what();
        }
        alarm_after(0);
        what = now.failed.empty() ? what : now.failed;
        if (what.empty()) {
            return accepted;
        }
        if (!now.is_slow || again == 2) {
            fail(t, what);
        }
    }
}

/// Reads an input and a quarter of it, the larger of which may take seven times what the smaller takes: in time, of
/// several times the least, and in memory. What is linear takes four times as much, what is quadratic sixteen times.
/// True where it is read.
bool read_both(const fuzz::target& t, const fuzz::large_input& large) {
    constexpr double most = 7;
    constexpr double seconds_of_noise = 0.02;
    constexpr double bytes_of_noise = 1 << 16;
    const std::string small = large.of(large.count / 4);
    const std::string whole = large.of(large.count);
    double least[2] = {HUGE_VAL, HUGE_VAL};
    double memory[2] = {};
    bool is_read = false;
    const auto read = [&](const std::string& text, int which) {
        now.last_seconds = now.last_memory = 0;
        is_read = attempt(t, text);
        least[which] = std::min(least[which], now.last_seconds / now.slowness);
        memory[which] = now.last_memory;
    };
    for (int again = 0; again == 0 || (again < 6 && least[1] > most * least[0] + seconds_of_noise); ++again) {
        read(small, 0);
        read(whole, 1);
    }
    char text[200];
    const bool is_slow = least[1] > most * least[0] + seconds_of_noise;
    if (is_slow || memory[1] > most * memory[0] + bytes_of_noise) {
        std::snprintf(
            text, sizeof text,
            "reading %zu bytes takes %.3f s and %.1f MB, and %zu bytes like them %.3f s and %.1f MB: more than "
            "in proportion",
            whole.size(), least[1], memory[1] * 1e-6, small.size(), least[0], memory[0] * 1e-6);
        fail(t, text);
    }
    return is_read;
}

std::vector<std::string> saved_inputs(const char* target) {
    std::vector<std::string> all;
#ifdef TESSERA_FUZZ_SAVED
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(std::string(TESSERA_FUZZ_SAVED) + "/" + target, none)) {
        all.push_back(file.path().string());
    }
    std::sort(all.begin(), all.end());
#endif
    (void)target;
    return all;
}

/// False where a good input was refused, which all that is made of it would be too, or where nothing was refused.
bool fuzzed(const fuzz::target& t, double seconds, std::uint64_t seed) {
    now = {};
    now.most = fuzz::bound_of(t.name);
    std::snprintf(now.kept, sizeof now.kept, "fuzz_files.%s.%llu.input", t.name, static_cast<unsigned long long>(seed));
    bool all_read = now.most != nullptr;
    if (!all_read) {
        std::printf("fuzz_files: %s has no bound\n", t.name);
        return false;
    }
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::duration<double>(seconds);
    long tried = 0;
    for (const std::string& path : saved_inputs(t.name)) {
        (void)attempt(t, tessera::files::read(path));
        ++tried;
    }
    const long saved = tried;
    for (const std::string& good : t.good) {
        const bool read = attempt(t, good);
        all_read = all_read && read;
    }
    const double began = processor_seconds();
    int large_read = 0;
    for (const fuzz::large_input& large : t.large) {
        large_read += read_both(t, large) ? 1 : 0;
    }
    const double of_large = processor_seconds() - began;
    fuzz::mutator mutate(seed);
    long accepted = 0;
    const std::size_t allocated = heap.allocations;
    while (clock::now() < end || tried < saved + 100) {
        const std::string text = mutate(t.good[mutate.below(t.good.size())], t.good[mutate.below(t.good.size())]);
        accepted += attempt(t, text) ? 1 : 0;
        ++tried;
    }
    std::printf("fuzz_files: %s: %ld inputs, %ld of them saved ones, %ld read and used, all others refused, and %d of "
                "%zu large ones read in "
                "%.1f s; at most %.3f s, %.0f %% of what is allowed, and %.1f MB, %.0f allocations each\n",
                t.name, tried, saved, accepted, large_read, t.large.size(), of_large, now.seconds, 100 * now.share,
                now.memory * 1e-6, static_cast<double>(heap.allocations - allocated) / static_cast<double>(tried));
    std::fflush(stdout);
    if (!all_read || tried <= accepted) {
        std::printf("fuzz_files: %s: a good input was refused, or no damaged one was\n", t.name);
        return false;
    }
    return true;
}

std::vector<fuzz::target> all_targets() {
    std::vector<fuzz::target> all;
    for (auto* some : {fuzz::json_targets, fuzz::network_targets, fuzz::strategy_targets, fuzz::onnx_targets,
                       fuzz::placement_targets, fuzz::data_targets, fuzz::profile_targets, fuzz::gpu_targets}) {
        for (fuzz::target& t : some()) {
            all.push_back(std::move(t));
        }
    }
    return all;
}

} // namespace

int main(int count, char** arguments) {
    std::signal(SIGPROF, on_time);
    const std::vector<fuzz::target> targets = all_targets();
    const std::string first = count > 1 ? arguments[1] : "";
    if (first == "list") {
        for (const fuzz::target& t : targets) {
            std::printf("%s\n", t.name);
        }
        return EXIT_SUCCESS;
    }
    const bool shared = count > 1 && std::atof(arguments[1]) > 0; // all targets together
    const int at = shared ? 1 : 2;
    const bool replays = count > 3 && !shared && std::strcmp(arguments[2], "replay") == 0;
    const double seconds = count > at ? std::atof(arguments[at]) : 0;
    const std::uint64_t seed = count > at + 1 ? std::strtoull(arguments[at + 1], nullptr, 10) : 1;
    bool known = false;
    bool good = true;
    for (const fuzz::target& t : targets) {
        if (!shared && first != "all" && first != t.name) {
            continue;
        }
        known = true;
        if (replays) {
            now = {};
            now.most = fuzz::bound_of(t.name);
            std::snprintf(now.kept, sizeof now.kept, "fuzz_files.%s.replayed.input", t.name);
            for (int k = 3; k < count; ++k) {
                const bool read = attempt(t, tessera::files::read(arguments[k]));
                std::printf("fuzz_files: %s: %s is %s; at most %.3f s and %.1f MB\n", t.name, arguments[k],
                            read ? "read" : ("refused: " + now.refusal).c_str(), now.seconds, now.memory * 1e-6);
            }
        } else if (seconds > 0) {
            good = fuzzed(t, shared ? seconds / static_cast<double>(targets.size()) : seconds, seed) && good;
        }
    }
    remove_own_files();
    if (!known || (!replays && !(seconds > 0))) {
        std::fprintf(stderr, "usage: fuzz_files list | [TARGET|all] SECONDS [SEED] | TARGET replay FILE...\n");
        return 2;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
