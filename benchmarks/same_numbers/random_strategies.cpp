// SPDX-License-Identifier: Apache-2.0
// 300 random legal strategies for each network on 1 to 8 host devices and 100 random pipelines on 1 to 4 (or as many as
// the arguments say), three training steps each, against one device in double: the largest relative differences.
// Formats and implementations are estimated in even runs and random in odd ones; every plan is run twice and must give
// the same bits.
#include "support/host_formats.hpp"
#include "support/pipeline_sweep.hpp"

#include <cstdio>

namespace {

using namespace test_support;

/// The runs of a network in one table.
class row {
public:
    explicit row(const sweep_case& c) : of_(c), allowed_(allowed_rounding_of(c, allowed_rounding_with_adam)) {}

    void add(const sweep_result& r, int devices, const std::string& what) {
        ++runs_;
        worst_[0] = std::max(worst_[0], r.seen.loss);
        worst_[1] = std::max(worst_[1], r.seen.gradient);
        worst_[2] = std::max(worst_[2], r.seen.change);
        if (!r.failure.empty() || !r.repeats || !r.seen.copies_equal || r.seen.loss > allowed_ ||
            r.seen.gradient > allowed_ || r.seen.change > allowed_) {
            ++failed_;
            std::fprintf(stderr, "%s, %s on %d devices: %s loss %g gradient %g change %g (%s)%s\n", of_.name.c_str(),
                         what.c_str(), devices, r.failure.c_str(), r.seen.loss, r.seen.gradient, r.seen.change,
                         r.seen.worst.c_str(), r.repeats ? "" : " does not repeat");
        }
    }
    /// Returns how many failed.
    int print(const char* what) const {
        std::printf("%-28s %-10s %6d %12.2e %12.2e %12.2e %8d\n", of_.name.c_str(), what, runs_, worst_[0], worst_[1],
                    worst_[2], failed_);
        std::fflush(stdout);
        return failed_;
    }

private:
    const sweep_case& of_;
    double allowed_;
    double worst_[3] = {};
    int runs_ = 0;
    int failed_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    const int strategies = argc > 1 ? std::atoi(argv[1]) : 300;
    const int pipelines = argc > 2 ? std::atoi(argv[2]) : 100;
    if (strategies < 1 || pipelines < 1) {
        std::fprintf(stderr, "usage: random_strategies [strategies for each network [pipelines for each]]\n");
        return 2;
    }
    coverage seen;
    coverage seen_in_pipelines;
    int failures = 0;
    int run = 0;
    const auto make = [&](const ts::optimizer& update) { return host_in_formats_of(update, run++ / 2); };
    std::printf("%-28s %-10s %6s %12s %12s %12s %8s\n", "network", "under", "runs", "loss", "gradients", "weights",
                "failed");
    for (const sweep_case& c : sweep_cases()) {
        row by_strategies(c);
        sweep(c, strategies, seen, make, [&](const sweep_case&, int number, int devices, const sweep_result& r) {
            by_strategies.add(r, devices, "strategy " + std::to_string(number));
        });
        failures += by_strategies.print("strategies");
        row by_pipelines(c);
        sweep_pipelines(c, pipelines, seen_in_pipelines, make,
                        [&](const sweep_case&, const pipeline_case& p, int devices, const sweep_result& r) {
                            by_pipelines.add(r, devices, p.schedule + " of " + std::to_string(p.stages) + " stages");
                        });
        failures += by_pipelines.print("pipelines");
    }
    std::printf("operators split by sample %d, attribute %d, parameter %d, reduction %d, coupled %d; uneven %d, cut at "
                "points %d, "
                "replicated %d, several splits %d, partial passed on %d\n",
                seen.roles[0], seen.roles[1], seen.roles[2], seen.roles[3], seen.roles[4], seen.uneven, seen.cuts,
                seen.replicas, seen.several, seen.partial);
    return failures == 0 ? 0 : 1;
}
