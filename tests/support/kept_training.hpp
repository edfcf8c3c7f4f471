// SPDX-License-Identifier: Apache-2.0
// Trainings whose state is kept in files: a network with running statistics and dropout, batches that are a function of
// the step, a folder for a test.
#pragma once

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/io/files/checkpoint_folder.hpp"
#include "tessera/tessera.hpp"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace test_support {

namespace ts = tessera;

namespace kept_layers {
struct conv1 : ts::conv2d<20, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<4> {};
struct net : ts::sequential<ts::image<3, 6, 6>, conv1, norm, ts::relu, ts::flatten, fc1, ts::relu, ts::dropout<30>, fc2,
                            ts::cross_entropy> {};
constexpr int samples = 8;

} // namespace kept_layers
using kept_layers::net;
using kept_layers::samples;

/// A folder that is gone when the test ends.
struct test_folder {
    test_folder() {
        char name[] = "/tmp/tessera-checkpoint-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~test_folder() { std::filesystem::remove_all(path); }
    std::string operator/(const char* name) const { return path + "/" + name; }
    std::string path;
};

struct data {
    std::vector<float> images;
    std::vector<std::int32_t> labels;
};
inline data batch_of(std::uint64_t step) {
    data d;
    std::mt19937 random(static_cast<unsigned>(step));
    for (int i = 0; i < samples * 108; ++i) {
        d.images.push_back(static_cast<float>(random() % 1000) / 500 - 1);
    }
    for (int i = 0; i < samples; ++i) {
        d.labels.push_back(static_cast<std::int32_t>(random() % 4));
    }
    return d;
}

/// A session of `net` with what it needs.
template <class B>
struct training {
    training(const ts::strategy& s, const ts::optimizer& update)
        : graph(ts::describe<net>(samples)), devices(4), backend(ts::make_backend<B>(update, ts::session_options{})),
          session(graph.view(), s, 4, update, {.seed = 7}, backend, devices.threads()) {}
    double step() {
        const data d = batch_of(session.steps());
        const std::vector<ts::input_data> inputs{std::span<const float>(d.images),
                                                 std::span<const std::int32_t>(d.labels)};
        return session.step(inputs);
    }
    ts::graph graph;
    ts::local_devices devices;
    B backend;
    ts::session<B> session;
};

using reference_training = training<ts::reference::backend>;
using reference_saver = ts::io::checkpoint_saver<ts::session<ts::reference::backend>>;

inline ts::strategy one_device() { return ts::strategy(ts::describe<net>(samples).view()); }

/// Everything that a session keeps, bit for bit.
template <class S>
std::vector<std::vector<float>> everything(const S& s) {
    std::vector<std::vector<float>> all;
    for (int p = 0; p < s.graph_of().parameter_count; ++p) {
        for (int k = -1; k < s.update().state_count(); ++k) {
            all.push_back(s.state_of(p, k));
        }
    }
    return all;
}

} // namespace test_support
