// SPDX-License-Identifier: Apache-2.0
// A case as a plan of one operator, on a backend and on the reference.
#pragma once

#include "op_test/task.hpp"
#include "support/one_operator.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>

namespace op_test {

/// What results may differ by, relative to their norm.
constexpr double allowed_in(ts::precision math) {
    return math == ts::precision::fp32 ? 1e-4 : math == ts::precision::tf32 ? 2e-3 : 2e-2;
}

/// Of whose rows that see one key the gradients of scores are differences of equal sums.
inline bool is_attention(const task& t) { return t.what->kind == "attention" || t.what->kind == "padded_attention"; }

/// Which part of a case a result belongs to.
inline part part_of_result(const ts::graph_view& g, int result) {
    if (result >= test_support::first_update) {
        return part::update;
    }
    return result == g.ops[g.op_count - 1].output ? part::forward : part::backward;
}

inline std::string name_of_result(const ts::graph_view& g, int result) {
    const int parameter =
        result - (result >= test_support::first_update ? test_support::first_update : test_support::first_gradient);
    if (parameter < 0) {
        return result == g.ops[g.op_count - 1].output ? "the output"
                                                      : "the gradient of input " + std::to_string(result);
    }
    const std::string which = "parameter " + std::to_string(parameter);
    return result >= test_support::first_update ? which + " after the update" : "the gradient of " + which;
}

/// Writes down how one result differs.
inline void compare(const task& t, const ts::graph_view& g, int result, const std::vector<double>& got,
                    const std::vector<double>& expected, outcome& found) {
    const part p = part_of_result(g, result);
    if (!t.wants(p) || (t.what->is_of_optimizer && p != part::update)) {
        return;
    }
    finding& f = found.of(p);
    const double difference = test_support::relative(got, expected, 1e-6);
    // Attention's scores and weights are rounded to bf16 on their way between products, and once more backward.
    const bool is_rounded_between = t.math == ts::precision::bf16 && is_attention(t);
    const double allowed = t.allowed > 0 ? t.allowed : is_rounded_between ? 6e-2 : allowed_in(t.math);
    ++f.checks;
    f.error = std::max(f.error, difference);
    if (!(difference < allowed)) {
        char numbers[80];
        std::snprintf(numbers, sizeof numbers, ": relative difference %.2e, allowed is %.0e", difference, allowed);
        add_wrong(f, name_of_result(g, result) + numbers);
    }
}

/// The case in random shards; `make(optimizer, devices)` makes a backend.
template <class Make>
void run_as_plan(const task& t, outcome& found, Make&& make) {
    const bool updates = t.what->is_of_optimizer || !(t.wants(part::forward) || t.wants(part::backward));
    finding& first = found.of(updates ? part::update : t.wants(part::forward) ? part::forward : part::backward);
    try {
        ts::graph network = test_support::graph_of(t.what->of);
        ts::set_precision(network, t.math);
        const ts::graph_view g = network.view();
        const test_support::batch_data data = test_support::data_of(t.what->of, g, t.seed);
        const int devices = std::max(t.devices, 1);
        test_support::coverage seen;
        const ts::strategy s =
            t.devices == 0 ? ts::strategy(g) : test_support::random_strategy(g, devices, t.seed + 90, seen);
        const test_support::update_of update{t.what->how, static_cast<double>(t.what->how.learning_rate)};
        ts::reference::backend plain(t.what->how);
        auto other = make(t.what->how, devices);
        test_support::each_result_beside(
            plain, other, g, s, devices, data,
            [&](int result, const std::vector<double>& got, const std::vector<double>& expected) {
                compare(t, g, result, got, expected, found);
            },
            update);
    } catch (const std::exception& e) {
        add_wrong(first, e.what());
    }
}

} // namespace op_test
