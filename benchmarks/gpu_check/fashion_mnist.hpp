// SPDX-License-Identifier: Apache-2.0
// The demo on GPUs: the network of the README on Fashion-MNIST, over two devices, with data read from unpacked files
// (no library needed).
#pragma once

#include "benchmarks/gpu_check/options.hpp"
#include "examples/networks.hpp"

#include <memory>

namespace gpu_check {

/// A file of the IDX format without compression: big-endian sizes, then bytes. Throws tessera::error.
inline std::vector<unsigned char> read_idx(const std::string& path, int dimensions, std::size_t items) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> f(std::fopen(path.c_str(), "rb"), std::fclose);
    if (f == nullptr) {
        throw ts::error("there is no " + path + "; unpack Fashion-MNIST's four files into one folder");
    }
    unsigned char head[16];
    const std::size_t size = 4 + 4 * ts::to_size(dimensions);
    if (std::fread(head, 1, size, f.get()) != size || head[2] != 8 || head[3] != dimensions) {
        throw ts::error(path + " is not an unpacked IDX file of bytes");
    }
    std::vector<unsigned char> data(items);
    if (std::fread(data.data(), 1, items, f.get()) != items) {
        throw ts::error(path + " is too short");
    }
    return data;
}

struct labelled_images {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;

    labelled_images(const std::string& folder, const std::string& name, std::size_t count) {
        for (const unsigned char p : read_idx(folder + "/" + name + "-images-idx3-ubyte", 3, count * 784)) {
            pixels.push_back(static_cast<float>(p) / 127.5F - 1);
        }
        for (const unsigned char l : read_idx(folder + "/" + name + "-labels-idx1-ubyte", 1, count)) {
            labels.push_back(l);
        }
    }
    std::vector<ts::input_data> batch(std::size_t first, std::size_t count) const {
        return {std::span<const float>(pixels.data() + first * 784, count * 784),
                std::span<const std::int32_t>(labels.data() + first, count)};
    }
};

/// Two epochs; 85 % of the test images must come out right (one device on a host: 88 to 89 %).
inline int check_fashion_mnist(const options& o) {
    constexpr std::size_t size = 64;
    const std::size_t images = o.tiny ? 320 : 60000;
    const std::size_t tests = o.tiny ? 64 : 10000;
    const labelled_images train(o.data, "train", images);
    const labelled_images unseen(o.data, "t10k", tests);
    ts::graph network = ts::describe<networks::small_convnet>(size);
    set_precision(network, o);
    ts::strategy s(network.view());
    for (ts::configuration& c : s.ops) {
        c.degree[0] = 2;
    }
    const ts::optimizer how(ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
    ts::cuda::backend backend(how, {.gpus = {0, 0}, .profile_path = o.profile});
    ts::workers threads(2);
    ts::session<ts::cuda::backend> session(network.view(), s, 2, how, {}, backend, threads);
    double loss = 0;
    int steps = 0;
    const double wall = milliseconds([&] {
        for (int epoch = 0; epoch < (o.tiny ? 1 : 2); ++epoch) {
            for (std::size_t i = 0; i < images; i += size) {
                loss = session.step(train.batch(i, images - i < size ? images - i : size));
                ++steps;
            }
        }
    });
    ts::index_t correct = 0;
    for (std::size_t i = 0; i < tests; i += size) {
        correct += session.evaluate(unseen.batch(i, tests - i < size ? tests - i : size)).correct;
    }
    const double accuracy = static_cast<double>(correct) / static_cast<double>(tests);
    std::printf("Fashion-MNIST on two virtual shards: %d steps, last loss %.4f, test accuracy %.2f %%, %.0f images/s\n",
                steps, loss, 100 * accuracy, static_cast<double>(size) * steps / wall * 1000);
    std::fflush(stdout);
    return o.tiny || accuracy > 0.85 ? 0 : 1;
}

} // namespace gpu_check
