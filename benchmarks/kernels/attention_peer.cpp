// SPDX-License-Identifier: Apache-2.0
// The kernels of attention for attention_torch.py, which compiles and starts this and has PyTorch do the same in turns.
//   attention_peer N T HEADS GROUPS WIDTH CAUSAL THREADS FILE
// reads queries, keys, values and output gradients, [N, T, heads x width] in fp32, one behind the other, from FILE; for
// each line "run" it runs forward and backward once, heads divided over the threads as a plan divides them over
// devices, and prints the milliseconds of each and those of the processor; at "write" it writes output and gradients to
// FILE.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "benchmarks/support/timing.hpp"
#include "tessera/backend/host/kernels/attention.hpp"
#include "tessera/execute/local/workers.hpp"

namespace {

namespace ts = tessera;
namespace k = ts::host::kernels;
using floats = std::vector<float>;

double processor_milliseconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct attention {
    std::ptrdiff_t samples, positions, heads, groups, width;
    bool causal;
    floats query, key, value, dy, y, maximum, sum, means, dq, dk, dv;

    std::size_t elements(std::ptrdiff_t h) const { return ts::to_size(samples * positions * h * width); }

    /// The groups [first, first + count).
    k::attention_shape shape(std::ptrdiff_t first, std::ptrdiff_t count) const {
        k::attention_shape s;
        s.samples = samples, s.groups = count, s.group_heads = s.group_step = static_cast<int>(heads / groups);
        s.queries = s.keys = s.all_queries = s.all_keys = positions;
        s.width = s.value_width = static_cast<int>(width);
        s.all_heads = heads, s.first_head = first * s.group_heads;
        s.scale = 1 / std::sqrt(static_cast<float>(width));
        s.causal = causal;
        return s;
    }
    template <class Float, class Floats>
    k::attention_rows<Float> rows(Floats& of, std::ptrdiff_t h, std::ptrdiff_t first) const {
        return {of.data() + first * h / groups * width, h * width, positions * h * width};
    }
    template <class Float, class Floats>
    k::attention_numbers<Float> numbers(Floats& of, std::ptrdiff_t first) const {
        return {of.data() + first * heads / groups * positions, positions, heads * positions};
    }
    void forward(std::ptrdiff_t first, std::ptrdiff_t count, void* scratch) {
        k::attention_forward(shape(first, count),
                             {.query = rows<const float>(query, heads, first),
                              .key = rows<const float>(key, groups, first),
                              .value = rows<const float>(value, groups, first),
                              .extras = {},
                              .output = rows<float>(y, heads, first),
                              .maximum = numbers<float>(maximum, first),
                              .sum = numbers<float>(sum, first)},
                             k::attention_step::all, scratch);
    }
    void backward(std::ptrdiff_t first, std::ptrdiff_t count, void* scratch) {
        k::attention_means(shape(first, count), rows<const float>(y, heads, first), rows<const float>(dy, heads, first),
                           numbers<float>(means, first), scratch);
        k::attention_backward(shape(first, count),
                              {.query = rows<const float>(query, heads, first),
                               .key = rows<const float>(key, groups, first),
                               .value = rows<const float>(value, groups, first),
                               .extras = {},
                               .output_gradient = rows<const float>(dy, heads, first),
                               .maximum = numbers<const float>(maximum, first),
                               .sum = numbers<const float>(sum, first),
                               .means = numbers<const float>(means, first),
                               .query_gradient = rows<float>(dq, heads, first),
                               .key_gradient = rows<float>(dk, groups, first),
                               .value_gradient = rows<float>(dv, groups, first),
                               .bias_gradient = nullptr},
                              scratch);
    }
};

bool transfer(const char* path, const char* mode, std::initializer_list<floats*> all) {
    std::FILE* const file = std::fopen(path, mode);
    bool good = file != nullptr;
    for (floats* const f : all)
        good = good && (mode[0] == 'r' ? std::fread(f->data(), sizeof(float), f->size(), file)
                                       : std::fwrite(f->data(), sizeof(float), f->size(), file)) == f->size();
    if (file != nullptr) std::fclose(file);
    return good;
}

} // namespace

int main(int count, char** text) {
    if (count != 9) {
        std::fprintf(stderr, "attention_peer N T HEADS GROUPS WIDTH CAUSAL THREADS FILE\n");
        return 2;
    }
    const int threads = std::atoi(text[7]);
    attention a{.samples = std::atoi(text[1]),
                .positions = std::atoi(text[2]),
                .heads = std::atoi(text[3]),
                .groups = std::atoi(text[4]),
                .width = std::atoi(text[5]),
                .causal = std::atoi(text[6]) != 0,
                .query = {},
                .key = {},
                .value = {},
                .dy = {},
                .y = {},
                .maximum = {},
                .sum = {},
                .means = {},
                .dq = {},
                .dk = {},
                .dv = {}};
    for (floats* const f : {&a.query, &a.dy, &a.y, &a.dq}) f->resize(a.elements(a.heads));
    for (floats* const f : {&a.key, &a.value, &a.dk, &a.dv}) f->resize(a.elements(a.groups));
    for (floats* const f : {&a.maximum, &a.sum, &a.means}) f->resize(ts::to_size(a.samples * a.heads * a.positions));
    if (!transfer(text[8], "rb", {&a.query, &a.key, &a.value, &a.dy})) {
        std::fprintf(stderr, "%s does not hold so many numbers\n", text[8]);
        return 1;
    }
    ts::workers team(threads);
    std::vector<std::vector<char>> scratch(ts::to_size(threads));
    for (auto& s : scratch)
        s.resize(std::max(k::attention_forward_scratch(a.shape(0, a.groups)),
                          k::attention_backward_scratch(a.shape(0, a.groups))));
    const auto part = [&](int device) { return a.groups * device / threads; };
    auto forward = [&](int device) {
        a.forward(part(device), part(device + 1) - part(device), scratch[ts::to_size(device)].data());
    };
    auto backward = [&](int device) {
        a.backward(part(device), part(device + 1) - part(device), scratch[ts::to_size(device)].data());
    };

    char line[16];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        if (std::strncmp(line, "write", 5) == 0) {
            if (!transfer(text[8], "wb", {&a.y, &a.dq, &a.dk, &a.dv})) return 1;
            std::printf("written\n");
        } else {
            const double begin = processor_milliseconds();
            const double there = benchmarks::milliseconds([&] { team.run(forward); });
            const double back = benchmarks::milliseconds([&] { team.run(backward); });
            std::printf("%.6f %.6f %.6f\n", there, back, processor_milliseconds() - begin);
        }
        std::fflush(stdout);
    }
}
