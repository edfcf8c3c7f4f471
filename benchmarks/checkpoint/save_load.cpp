// SPDX-License-Identifier: Apache-2.0
// How fast checkpoints are saved and loaded, beside what the disk and the memory do, in one run and in turns:
//
//     save_load FOLDER [large|small] [ROUNDS] [PARTS]
//
// Save: a checkpoint with its checksums, to the disk, beside `dd conv=fsync` of as many bytes in the same folder. Load:
// of a checkpoint of two devices that hold rows, by a training under the same strategy (a plain load) and under others:
// columns on two devices, slices (ZeRO 3) on two, one device; files in the page cache, and not. Beside the training:
// what save() of a checkpoint_saver takes, beside a copy of as many bytes. Each after one round that does not count;
// the disk is quiet when a measurement begins. Large: 2.06 GiB of parameters and optimizer state, for which 9 GB of
// memory and 5 GB of disk are needed; small: 0.19 GiB. The numbers loaded are compared, bit for bit. PARTS: letters of
// what is measured, of s(ave), b(eside) and l(oad).
#include "benchmarks/support/timing.hpp"

#include <tessera/host.hpp>
#include <tessera/io/files/checkpoint_folder.hpp>
#include <tessera/schedule/policies.hpp>
#include <tessera/search/by_hand/baselines.hpp>
#include <tessera/tessera.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using benchmarks::median;
using benchmarks::milliseconds;

constexpr ts::index_t batch = 4;
struct fc1 : ts::linear<4096> {};
struct fc2 : ts::linear<4096> {};
struct fc3 : ts::linear<4096> {};
struct fc4 : ts::linear<4096> {};
struct fc5 : ts::linear<4096> {};
struct fc6 : ts::linear<4096> {};
struct fc7 : ts::linear<4096> {};
struct fc8 : ts::linear<4096> {};
struct fc9 : ts::linear<4096> {};
struct fc10 : ts::linear<4096> {};
struct fc11 : ts::linear<4096> {};
struct small : ts::sequential<ts::features<4096>, fc1, ts::cross_entropy> {};
struct large
    : ts::sequential<ts::features<4096>, fc1, fc2, fc3, fc4, fc5, fc6, fc7, fc8, fc9, fc10, fc11, ts::cross_entropy> {};

const ts::optimizer how = ts::adam{};

/// Weights split along what they sum over.
ts::strategy columns(const ts::graph_view& g) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        for (int l = 0; l < d.loops.size() && !g.ops[op].parameters.empty(); ++l) {
            if (ts::role(d, l) == ts::loop_role::reduction && ts::splittable(d, l)) {
                s.ops[ts::to_size(op)].degree[l] = 2;
            }
        }
    }
    return s;
}

struct named_strategy {
    const char* name;
    ts::strategy value;
};

template <class Trainer>
std::uint64_t hash_of(Trainer& t) {
    std::uint64_t h = 1;
    auto& s = t.values();
    for (int p = 0; p < s.graph_of().parameter_count; ++p) {
        for (int k = -1; k < s.update().state_count(); ++k) {
            const std::vector<float> x = s.state_of(p, k);
            h = ts::io::hash_of_elements<float>(x, h);
        }
    }
    return h;
}

/// Bytes of the files of a folder.
std::int64_t bytes_of(const std::string& folder) {
    std::int64_t bytes = 0;
    for (const auto& e : fs::directory_iterator(folder)) {
        bytes += static_cast<std::int64_t>(e.file_size());
    }
    return bytes;
}

/// The files are not in the page cache any more.
void forget(const std::string& folder) {
    for (const auto& e : fs::directory_iterator(folder)) {
        const int file = ::open(e.path().c_str(), O_RDONLY);
        (void)::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        ::close(file);
    }
}

std::string shown(const std::vector<double>& x) {
    char text[96];
    std::snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", median(x), *std::min_element(x.begin(), x.end()),
                  *std::max_element(x.begin(), x.end()));
    return text;
}

/// A measurement and what it is held against, in turns.
struct pair_of_times {
    std::vector<double> ours, theirs, ratios;
    void add(double own, double other) {
        ours.push_back(own);
        theirs.push_back(other);
        ratios.push_back(own / other);
    }
};

template <class Net>
int run(const std::string& folder, int rounds, const std::string& parts) {
    const ts::graph g = ts::describe<Net>(batch);
    const ts::graph_view v = g.view();
    ts::strategy zero = ts::search::data_parallel(v, 2);
    zero.sync =
        ts::schedule::make(ts::schedule::policy_named("zero-3"), {ts::schedule::gradients_of(v, {}), 2, {}, {}});
    const named_strategy all[] = {{"rows", ts::search::model_parallel(v, 2)},
                                  {"columns", columns(v)},
                                  {"slices", zero},
                                  {"one device", ts::search::single_device(v)}};
    const auto make = [&](const named_strategy& s, std::uint64_t seed) {
        return std::make_unique<ts::trainer<Net>>(ts::host::devices(2), s.value, batch, how,
                                                  ts::trainer_options{.seed = seed});
    };
    auto rows = make(all[0], 1);
    const std::string saved = folder + "/saved";
    ts::io::save_checkpoint(*rows, saved);
    const std::int64_t bytes = bytes_of(saved);
    const double gigabytes = static_cast<double>(bytes) / 1e9;
    std::printf("%.2f GiB of checkpoint, %d rounds; medians [least, most]\n", static_cast<double>(bytes) / (1 << 30),
                rounds);

    // Save, and dd.
    pair_of_times save;
    const std::string dd = "dd if=/dev/zero of='" + folder +
                           "/dd' bs=1M conv=fsync iflag=count_bytes status=none count=" + std::to_string(bytes);
    const auto asked = [&](char part) { return parts.find(part) != std::string::npos; };
    for (int i = 0; i <= rounds && asked('s'); ++i) {
        fs::remove_all(folder + "/new");
        ::sync();
        const double own = milliseconds([&] { ts::io::save_checkpoint(*rows, folder + "/new"); });
        fs::remove_all(folder + "/new");
        ::sync();
        const double other = milliseconds([&] {
            if (std::system(dd.c_str()) != 0) {
                std::exit(1);
            }
        });
        fs::remove(folder + "/dd");
        if (i > 0) {
            save.add(gigabytes / own * 1e3, gigabytes / other * 1e3);
        }
    }
    if (asked('s')) {
        std::printf("save      GB/s %s, dd conv=fsync GB/s %s, save over dd %s\n", shown(save.ours).c_str(),
                    shown(save.theirs).c_str(), shown(save.ratios).c_str());
    }

    // Beside the training.
    if (asked('b')) {
        ts::io::checkpoint_saver saver(rows->values(), {.folder = folder + "/run", .keep = 1});
        const auto elements = ts::to_size(bytes) / sizeof(float);
        const std::vector<float> from(elements, 1.0F);
        std::vector<float> to(elements, 0.0F);
        pair_of_times beside;
        for (int i = 0; i <= rounds; ++i) {
            const double own = milliseconds([&] { saver.save(); });
            saver.finish();
            const double other = milliseconds([&] { std::memcpy(to.data(), from.data(), elements * sizeof(float)); });
            if (i > 0) {
                beside.add(own, other);
            }
        }
        std::printf("beside    save() ms %s, a copy ms %s, save() over the copy %s\n", shown(beside.ours).c_str(),
                    shown(beside.theirs).c_str(), shown(beside.ratios).c_str());
        fs::remove_all(folder + "/run");
    }

    // Load.
    const std::uint64_t wanted = hash_of(*rows);
    bool same = true;
    for (const named_strategy& s : all) {
        if (!asked('l')) {
            break;
        }
        auto other = make(s, 2);
        for (const bool cold : {false, true}) {
            pair_of_times load;
            for (int i = 0; i <= rounds; ++i) {
                const auto timed = [&](ts::trainer<Net>& t) {
                    if (cold) {
                        forget(saved);
                    }
                    return milliseconds([&] { ts::io::load_checkpoint(t, saved); });
                };
                const double own = timed(*other);
                const double plain = timed(*rows);
                if (i > 0) {
                    load.add(own, plain);
                }
            }
            std::printf("load      %-10s %s ms %s, plain ms %s, over the plain one %s\n", s.name,
                        cold ? "disk " : "cache", shown(load.ours).c_str(), shown(load.theirs).c_str(),
                        shown(load.ratios).c_str());
        }
        same = same && hash_of(*other) == wanted;
    }
    if (asked('l')) {
        std::printf("%s\n", same ? "all loaded bit for bit" : "WRONG numbers were loaded");
    }
    fs::remove_all(saved);
    return same ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: save_load FOLDER [large|small] [ROUNDS] [PARTS]\n");
        return 2;
    }
    const std::string folder = argv[1];
    fs::create_directories(folder);
    const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
    const std::string parts = argc > 4 ? argv[4] : "sbl";
    return argc > 2 && std::strcmp(argv[2], "small") == 0 ? run<small>(folder, rounds, parts)
                                                          : run<large>(folder, rounds, parts);
}
