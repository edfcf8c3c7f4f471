// SPDX-License-Identifier: Apache-2.0
// What was measured of a GPU, for fuzz_files: algorithms of convolutions and products, and times of calls, each in a
// file.
#include "fuzz/target.hpp"
#include "tessera/backend/cuda/measure/call_times.hpp"

namespace {

namespace cuda = tessera::cuda;

const std::string machine = "a GPU, cuDNN 9";

std::string numbers(const cuda::matrix_product& m, int algorithm) {
    cuda::algorithm_table one;
    one.add(m, {algorithm, m.workspace, 0.5});
    const std::string text = cuda::text_of(one, machine);
    return text.substr(machine.size() + 1);
}
std::string numbers(const cuda::convolution& c, int algorithm) {
    cuda::algorithm_table one;
    one.add(c, {algorithm, 64, 0.25});
    const std::string text = cuda::text_of(one, machine);
    return text.substr(machine.size() + 1);
}

std::string algorithms(int count) {
    cuda::convolution c;
    c.set_dimensions(2);
    std::string text = machine + "\n";
    for (int i = 0; i < count; ++i) {
        cuda::matrix_product m;
        m.m = m.n = 64;
        m.k = i;
        c.x[0] = c.y[0] = i;
        text += numbers(m, 1) + numbers(c, 1);
    }
    return text;
}
std::string times(int count) {
    std::string text = machine + "\n";
    for (int i = 0; i < count; ++i) {
        text += std::to_string(1 + i) + " cudnnConvolutionForward " + std::to_string(i) + " <64 >32\n";
    }
    return text;
}

/// What is read as both comes back the same; nothing that another machine measured is.
bool read_measured(const std::string& text) {
    static const std::string path = fuzz::path_for("gpu");
    fuzz::put(path, text);
    cuda::algorithm_table table;
    cuda::call_times calls;
    fuzz::counted([&] {
        cuda::read_algorithms(table, path, machine);
        calls.read(path, machine);
        return true;
    });
    if (text.compare(0, machine.size() + 1, machine + "\n") != 0) {
        if (calls.size() != 0 || cuda::text_of(table, machine) != machine + "\n") {
            return false;
        }
        throw tessera::error("it is of another machine");
    }
    const std::string again = cuda::text_of(table, machine);
    fuzz::put(path, again);
    cuda::algorithm_table back;
    cuda::read_algorithms(back, path, machine);
    fuzz::put(path, "");
    calls.write(path, machine);
    cuda::call_times same;
    same.read(path, machine);
    return cuda::text_of(back, machine) == again && same.size() == calls.size();
}

} // namespace

std::vector<fuzz::target> fuzz::gpu_targets() {
    return {{"gpu", {algorithms(2), times(3)}, {{3000, algorithms}, {20'000, times}}, read_measured}};
}
