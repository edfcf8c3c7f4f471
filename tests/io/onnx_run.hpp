// SPDX-License-Identifier: Apache-2.0
// What a model makes of inputs, on the reference backend.
#pragma once

#include "support/onnx_encoder.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/io/exchange/onnx_network.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace onnx_test {

namespace ts = tessera;
namespace io = tessera::io;
using test_support::onnx_extents;
using test_support::onnx_model;
using numbers = std::vector<float>;

/// Numbers that are not alike, from -1 to 1.
inline numbers some(std::int64_t count, std::uint32_t seed = 1) {
    numbers all;
    std::uint32_t x = seed * 2654435761U + 12345U;
    for (std::int64_t i = 0; i < count; ++i) {
        x = x * 1664525U + 1013904223U;
        all.push_back(static_cast<float>(x >> 8U) / 8388608.0F - 1.0F);
    }
    return all;
}

/// A session that holds a model's network and weights, on one device.
struct session_of {
    ts::optimizer update = ts::sgd{.learning_rate = 0.1F};
    ts::reference::backend backend{update};
    ts::workers threads{1};
    io::onnx_network net;
    ts::session<ts::reference::backend> session;

    explicit session_of(io::onnx_network n)
        : net(std::move(n)), session(net.file.network.view(), ts::search::single_device(net.file.network.view()), 1,
                                     update, {}, backend, threads) {
        io::set_weights(session, net);
    }
    ts::prediction predict(const std::vector<ts::input_data>& inputs) {
        const ts::graph_view g = net.file.network.view();
        const ts::network_paths paths = ts::paths_of(g);
        for (int op = 0; op < g.op_count; ++op) {
            if (paths.op(op) == net.result) {
                return session.predict(inputs, {g.ops[op].output}).at(0);
            }
        }
        return {};
    }
};

/// What the model in `bytes` makes of one input.
inline ts::prediction predicted(const std::string& bytes, const numbers& x,
                                const ts::onnx::options& how = {.loss = "mse_loss"}) {
    session_of s(io::onnx_from_bytes(bytes, how));
    return s.predict({ts::input_data(x)});
}

inline double worst(const numbers& a, const std::vector<double>& b) {
    double most = a.size() == b.size() ? 0 : 1e30;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    }
    return most;
}

} // namespace onnx_test
