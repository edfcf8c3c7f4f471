// SPDX-License-Identifier: Apache-2.0
// Bodies of torch_check.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/torch_check.hpp"

#include <utility>

namespace tessera::io::detail {

TESSERA_INLINE std::uint32_t crc_of(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const char c : bytes) {
        crc ^= static_cast<std::uint8_t>(c);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
        }
    }
    return ~crc;
}

TESSERA_INLINE double iterations_of(const graph_view& g) {
    double sum = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        double product = 3;
        for (int l = 0; l < d.loops.count; ++l) {
            product *= static_cast<double>(d.loops[l].extent);
        }
        sum += product;
    }
    return sum;
}

TESSERA_INLINE void record_first_steps(torch::program& p, const graph_view& g, const strategy_view& s, int devices,
                                       const optimizer& update, std::uint64_t seed, int steps, double most,
                                       function_ref<std::vector<float>(int)> values_of) {
    const double iterations = steps * iterations_of(g);
    if (steps < 1) {
        p.unchecked = "no steps were asked for";
        return;
    }
    if (!(iterations <= most)) {
        p.unchecked = "the first steps would take " + std::to_string(static_cast<long long>(iterations / 1e6)) +
                      " million iterations of loops, and " + std::to_string(static_cast<long long>(most / 1e6)) +
                      " are allowed";
        return;
    }
    strategy how(s); // how gradients travel changes no numbers, and backends differ in what they can
    how.sync = {};
    how.overlap = false;
    const network_paths paths = paths_of(g);
    std::vector<torch::recorded_step> all;
    try {
        reference::backend backend(update);
        workers threads(devices);
        session<reference::backend> run(g, how, devices, update, {.seed = seed, .keep_gradients = true}, backend,
                                        threads);
        for (int i = 0; i < g.parameter_count; ++i) {
            run.set_parameter(i, values_of(i));
        }
        const tessera::detail::synthetic_batch<graph_view> data(g);
        for (int step = 0; step < steps; ++step) {
            torch::recorded_step x;
            x.loss = run.step(data.inputs);
            bool finite = is_finite(x.loss);
            for (int i = 0; i < g.parameter_count; ++i) {
                if (!g.parameters[i].trained || g.parameters[i].state) {
                    continue;
                }
                double squares = 0;
                for (const float v : run.gradient(i)) {
                    squares += static_cast<double>(v) * static_cast<double>(v);
                }
                x.norms.emplace_back(paths.parameter(i), std::sqrt(squares));
                finite = finite && is_finite(squares);
            }
            if (!finite) {
                p.unchecked = "step " + std::to_string(step) + " on made-up samples is not finite";
                return;
            }
            all.push_back(std::move(x));
        }
    } catch (const error& e) {
        p.unchecked = e.what();
        return;
    }
    bool rounds = false;
    for (int op = 0; op < g.op_count; ++op) {
        rounds = rounds || g.ops[op].attributes.math == precision::bf16;
    }
    p.within = rounds ? 2e-2 : 1e-4;
    p.check = std::move(all);
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
