// SPDX-License-Identifier: Apache-2.0
// Random convolutions against their descriptions: every pass, in every way that the host offers and in those that it
// leaves out. A way that is offered and wrong, or that ends the process, ends it with 1. Usage: fuzz_windows FIRST
// COUNT [MULTIPLY-ADDS [SECONDS]]: convolutions FIRST to FIRST + COUNT - 1 of the sweep; with --all every way is a
// line.
#include "support/window_sweep.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace test_support::window_sweep;

/// What a child says of a convolution, a line each way: offered, implementation, pass, what is wrong.
void try_and_tell(const convolution& c, int to) {
    std::vector<finding> found;
    const tessera::host::sample_limits most{1024, 1 << 21, 4};
    try_convolution(c, most, true, found);
    std::string text;
    for (const finding& f : found) {
        text += std::string(f.is_offered ? "offered" : "left out") + "\t" + f.implementation + "\t" + f.pass + "\t" +
                f.way + "\t" + f.wrong + "\n";
    }
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = write(to, text.data() + done, text.size() - done);
        if (n <= 0) {
            break;
        }
        done += tessera::to_size(n);
    }
}

struct counts {
    long tried = 0, wrong = 0, offered = 0, offered_wrong = 0;
};

} // namespace

int main(int argc, char** argv) {
    bool all = false;
    if (argc > 1 && std::strcmp(argv[1], "--all") == 0) {
        all = true;
        --argc;
        ++argv;
    }
    if (argc < 3) {
        std::fprintf(stderr, "usage: fuzz_windows [--all] FIRST COUNT [MULTIPLY-ADDS [SECONDS]]\n");
        return 2;
    }
    const auto first = std::strtoull(argv[1], nullptr, 10);
    const auto count = std::strtoull(argv[2], nullptr, 10);
    const double most = argc > 3 ? std::atof(argv[3]) : 3e8;
    const double seconds = argc > 4 ? std::atof(argv[4]) : 1e9;
    const auto begin = std::chrono::steady_clock::now();
    std::map<std::string, counts> by_implementation;
    counts sum;
    std::uint64_t number = first;
    long ended = 0;
    for (; number < first + count; ++number) {
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) {
            break;
        }
        const convolution c = draw(number, most);
        int pipes[2];
        if (pipe(pipes) != 0) {
            return 2;
        }
        std::fflush(stdout);
        const pid_t child = fork(); // so that what ends the process ends no more than this convolution
        if (child == 0) {
            close(pipes[0]);
            alarm(300);
            try_and_tell(c, pipes[1]);
            _exit(0);
        }
        close(pipes[1]);
        std::string text;
        char part[4096];
        for (ssize_t n = 0; (n = read(pipes[0], part, sizeof part)) > 0;) {
            text.append(part, tessera::to_size(n));
        }
        close(pipes[0]);
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) {
            std::printf("%llu: %s: ended with status %d\n", static_cast<unsigned long long>(number), c.text().c_str(),
                        status);
            ++ended;
        }
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            const std::string line = text.substr(at, end - at);
            at = end + 1;
            const bool offered = line.rfind("offered", 0) == 0;
            const bool wrong = line.back() != '\t';
            const std::size_t a = line.find('\t');
            const std::size_t b = line.find('\t', line.find('\t', a + 1) + 1);
            counts& k = by_implementation[line.substr(a + 1, b - a - 1)];
            for (counts* x : {&k, &sum}) {
                ++x->tried;
                x->wrong += wrong ? 1 : 0;
                x->offered += offered ? 1 : 0;
                x->offered_wrong += offered && wrong ? 1 : 0;
            }
            if (wrong || all) {
                std::printf("%llu: %s: %s\n", static_cast<unsigned long long>(number), c.text().c_str(), line.c_str());
            }
        }
    }
    for (const auto& [name, k] : by_implementation) {
        std::printf("  %-45s %7ld ways, %6ld wrong; offered %7ld, %ld wrong\n", name.c_str(), k.tried, k.wrong,
                    k.offered, k.offered_wrong);
    }
    std::printf("fuzz_windows, oneDNN %d.%d: convolutions %llu to %llu, %ld ways, %ld wrong; offered %ld, %ld wrong; "
                "%ld ended the process\n",
                dnnl_version()->major, dnnl_version()->minor, first, static_cast<unsigned long long>(number) - 1,
                sum.tried, sum.wrong, sum.offered, sum.offered_wrong, ended);
    return sum.offered_wrong == 0 && ended == 0 ? 0 : 1;
}
