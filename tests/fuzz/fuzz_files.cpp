// SPDX-License-Identifier: Apache-2.0
// Damages files at random and reads them. Each must be read, or refused by a tessera::error, whatever it holds; what is read must come back the same and
// be usable; and reading must take no more time and memory than bounds.hpp says for its size. Run it under sanitizers.
//
//     fuzz_files list
//     fuzz_files TARGET SECONDS [SEED]        all: each target for so many seconds
//     fuzz_files SECONDS [SEED]               all targets together
//     fuzz_files TARGET replay FILE...        inputs that were saved
//
// One line for each target. It ends with 1 at the first failure, which it names, and keeps the input beside it. The same seed makes the same inputs, of which there are as many
// as there is time for. Inputs that failed once lie in tests/fuzz/saved/TARGET and come first.
#include "fuzz/bounds.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/target.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/file.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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
    char kept[200] = {}; ///< where it is written to when it fails
    double seconds = 0;  ///< that it has taken
    double memory = 0;   ///< bytes
    std::string failed{};

    double seconds_allowed() const {
        return most->milliseconds * 1e-3 + most->microseconds_per_byte * 1e-6 * static_cast<double>(input->size());
    }
    double bytes_allowed() const { return most->bytes + most->bytes_per_byte * static_cast<double>(input->size()); }
};
reading now;
std::vector<std::string> own_files;

double processor_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Of what may be called in a handler of signals alone.
void keep_input() {
    const int file = ::open(now.kept, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (std::size_t at = 0; file >= 0 && at < now.input->size();) {
        const auto written = ::write(file, now.input->data() + at, now.input->size() - at);
        if (written <= 0) {
            break;
        }
        at += static_cast<std::size_t>(written);
    }
}
void say(const char* text) { (void)!::write(STDOUT_FILENO, text, std::strlen(text)); }
void on_time(int) {
    keep_input();
    say("fuzz_files: ");
    say(now.most->target);
    say(": reading takes longer than its bound; the input is ");
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
    alarm_after(now.seconds_allowed() + 0.1);
    const double began = processor_seconds();
    const auto ended = [&] {
        const double took = processor_seconds() - began;
        alarm_after(0);
        heap.most = SIZE_MAX;
        now.seconds = std::max(now.seconds, took);
        now.memory = std::max(now.memory, static_cast<double>(heap.peak - before));
        if (took > now.seconds_allowed()) {
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

/// Reads one input; true if it was accepted. Ends the program where it should have been neither, or took too much.
bool attempt(const fuzz::target& t, const std::string& text) {
    now.input = &text;
    now.failed.clear();
    bool accepted = false;
    std::string what;
    try {
        accepted = t.read(text);
        what = accepted ? "" : "it is not read back the same";
    } catch (const tessera::error&) {
        what.clear(); // refused
    } catch (const std::exception& e) {
        what = std::string("it is neither read nor refused: ") + e.what();
    }
    what = now.failed.empty() ? what : now.failed;
    if (!what.empty()) {
        keep_input();
        std::printf("fuzz_files: %s: %s; the input is %s\n", t.name, what.c_str(), now.kept);
        remove_own_files();
        std::exit(EXIT_FAILURE);
    }
    return accepted;
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
    for (const std::string& large : t.large) {
        (void)attempt(t, large);
    }
    fuzz::mutator mutate(seed);
    long accepted = 0;
    const std::size_t allocated = heap.allocations;
    while (clock::now() < end || tried < saved + 100) {
        const std::string text = mutate(t.good[mutate.below(t.good.size())], t.good[mutate.below(t.good.size())]);
        accepted += attempt(t, text) ? 1 : 0;
        ++tried;
    }
    std::printf("fuzz_files: %s: %ld inputs, %ld of them saved ones and %zu large, %ld read and used, all others "
                "refused; at most %.3f s and "
                "%.1f MB, %.0f allocations each\n",
                t.name, tried, saved, t.large.size(), accepted, now.seconds, now.memory * 1e-6,
                static_cast<double>(heap.allocations - allocated) / static_cast<double>(tried));
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
                       fuzz::placement_targets, fuzz::data_targets, fuzz::profile_targets}) {
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
                            read ? "read" : "refused", now.seconds, now.memory * 1e-6);
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
