// SPDX-License-Identifier: Apache-2.0
// The numbers of one device. Every row of the operator table under random splits against the reference backend; every
// network under random strategies on 1 to 8 virtual shards of one card, and under random pipelines, against one device
// in double; training on Fashion-MNIST.
#pragma once

#include "benchmarks/gpu_check/fashion_mnist.hpp"
#include "benchmarks/gpu_check/options.hpp"
#include "op_test/on_plan.hpp"
#include "support/cuda_lists.hpp"
#include "support/pipeline_sweep.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <limits>

namespace gpu_check {

using namespace test_support;

/// What a network's runs may differ by: losses, gradients (each parameter's, or all of them as one vector), changes of
/// weights.
struct differences {
    double most[3] = {1e-4, 1e-4, 1e-4};
    bool joint = false;
};

/// Adam divides by the gradient's own size. In low precision a gradient that is nothing in theory is noise, and a pool
/// may find another maximum among numbers that rounding made equal: there all gradients count together, and weights are
/// only shown. (In bf16 the reference backend is up to
/// 0.31 away from double, in a residual net of volumes.)
inline differences allowed_of(const options& o, const ts::optimizer& update) {
    differences d;
    if (o.precision == "fp32") {
        d.most[2] = update.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4;
    } else {
        d.joint = true;
        d.most[0] = allowed_difference(o);
        d.most[1] = o.precision == "tf32" ? 2e-2 : 0.35;
        d.most[2] = std::numeric_limits<double>::infinity();
    }
    return d;
}

/// The largest differences of a row, and how many of its runs failed.
struct row_result {
    double worst[3] = {}; ///< of losses, gradients, changes of weights
    int runs = 0;
    int failed = 0;

    void add(const sweep_result& r, const differences& allowed, const std::string& name) {
        double gradient = allowed.joint ? 0 : r.seen.gradient;
        for (const double x : r.seen.joint) {
            gradient = allowed.joint && x > gradient ? x : gradient;
        }
        const double seen[] = {r.seen.loss, gradient, r.seen.change};
        bool good = r.failure.empty() && r.repeats && r.seen.copies_equal;
        for (int i = 0; i < 3; ++i) {
            worst[i] = seen[i] > worst[i] ? seen[i] : worst[i];
            good = good && seen[i] <= allowed.most[i];
        }
        ++runs;
        failed += good ? 0 : 1;
        if (!good) {
            std::printf("%s, run %d: %s loss %g gradient %g change %g (%s)%s%s\n", name.c_str(), runs - 1,
                        r.failure.c_str(), seen[0], seen[1], seen[2], r.seen.worst.c_str(),
                        r.repeats ? "" : " does not repeat", r.seen.copies_equal ? "" : " copies differ");
        }
    }
    void print(const std::string& name, const char* what) const {
        std::printf("%-28s %-10s %6d %12.2e %12.2e %12.2e %8d\n", name.c_str(), what, runs, worst[0], worst[1],
                    worst[2], failed);
        std::fflush(stdout);
    }
};

inline int check_networks(const options& o, row_filter& filter) {
    coverage seen;
    int failures = 0;
    std::printf("%-28s %-10s %6s %12s %12s %12s %8s\n", "network", "under", "runs", "loss", "gradients", "weights",
                "failed");
    for (sweep_case& c : sweep_cases()) {
        if (!filter.takes(c.name)) {
            continue;
        }
        set_precision(c.network, o);
        const differences allowed = allowed_of(o, c.how);
        int run = 0;
        const auto make = [&](const ts::optimizer& update) { // every other run is replayed from a graph
            return ts::cuda::backend(update,
                                     {.gpus = gpu_placement(8, 0), .measure = false, .graph = run++ / 2 % 2 == 1});
        };
        row_result shards;
        sweep(c, o.strategies, seen, make,
              [&](const sweep_case& of, int, int, const sweep_result& r) { shards.add(r, allowed, of.name); });
        shards.print(c.name, "strategies");
        row_result pipelines;
        sweep_pipelines(c, o.strategies, seen, make,
                        [&](const sweep_case& of, const pipeline_case& p, int, const sweep_result& r) {
                            pipelines.add(r, allowed, of.name + ", " + p.schedule);
                        });
        pipelines.print(c.name, "pipelines");
        failures += shards.failed + pipelines.failed;
    }
    return failures;
}

inline int check_operators(const options& o, row_filter& filter) {
    int failures = 0;
    int rows = 0;
    double worst = 0;
    for (const tests::op_case& c : tests::op_table()) {
        if (!filter.takes(c.name)) {
            continue;
        }
        ++rows;
        const op_test::row row{.name = c.name, .of = c};
        for (std::uint64_t seed = 0; seed < (o.tiny ? 1 : 6); ++seed) {
            op_test::outcome found;
            const int on = 1 + static_cast<int>(seed % 4) * 2;
            op_test::task task{&row, precision_of(o), seed, on};
            task.allowed = allowed_difference(o);
            op_test::run_as_plan(task, found, [&](const ts::optimizer& update, int devices) {
                return ts::cuda::backend(update, {.gpus = gpu_placement(devices, 0), .measure = seed == 0});
            });
            for (const op_test::part p : {op_test::part::forward, op_test::part::backward, op_test::part::update}) {
                const op_test::finding& f = found.of(p);
                worst = std::max(worst, f.error);
                for (const std::string& sentence : f.wrong) {
                    std::printf("%s, split %d: %s\n", c.name.c_str(), static_cast<int>(seed), sentence.c_str());
                }
            }
            failures += found.is_right() ? 0 : 1;
        }
    }
    std::printf("operator table: %d rows, largest relative difference %.2e, %d failed\n", rows, worst, failures);
    std::fflush(stdout);
    return failures;
}

inline int correctness(const options& o) {
    row_filter filter(o);
    int failures = check_operators(o, filter);
    failures += check_networks(o, filter);
    failures += o.data.empty() ? 0 : check_fashion_mnist(o);
    const bool whole = filter.finish();
    std::printf(failures == 0 ? "%s: nothing failed, all within %g (losses and operators)\n"
                              : "%s: some failed; allowed are %g\n",
                o.precision.c_str(), allowed_difference(o));
    return failures == 0 && whole ? 0 : 1;
}

} // namespace gpu_check
