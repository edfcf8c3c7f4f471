// SPDX-License-Identifier: Apache-2.0
// What a plan must make, as the verifier asks for it: copies of a parameter that are updated each by itself are
// averaged.
#include "support/damaged_plan.hpp"
#include "support/planned.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<6> {};
struct two_layers : ts::sequential<ts::features<8>, fc1, ts::relu, fc2, ts::cross_entropy> {};

/// Without the averages of one parameter in one step; memory and waits are as the plan then needs them.
ts::plan without_averages(const ts::plan& of, int parameter, int step) {
    ts::plan p = of;
    for (int i = static_cast<int>(p.tasks.size()); i-- > 0;) {
        const ts::task& t = p.tasks[ts::to_size(i)];
        if (t.kind() == ts::task_kind::average && t.params().parameter == parameter && t.step == step) {
            test_support::lose_task(p, i);
        }
    }
    ts::plan_memory(p);
    ts::set_waits(p);
    return p;
}

} // namespace

TEST_CASE(
    "copies that are updated each by itself must be averaged, each parameter in every step in which they are due") {
    const ts::graph network = ts::describe<two_layers>(12);
    const ts::graph_view g = network.view();
    ts::lower_options o;
    o.update = ts::sgd{};
    for (const int devices : {2, 3}) {
        for (const auto& averaged : {std::pair{1, 1}, {1, 2}, {2, 2}, {2, 4}}) {
            const int every = averaged.first; // clang 14 captures no structured bindings
            const int steps_per_plan = averaged.second;
            ts::strategy s = test_support::data_parallel(g, devices, ts::schedule::parameter_average(every));
            s.steps_per_plan = steps_per_plan;
            const ts::plan good = test_support::planned(g, s, devices, o); // verified
            CAPTURE(devices);
            CAPTURE(every);
            CAPTURE(steps_per_plan);
            int refused = 0;
            for (int parameter = 0; parameter < g.parameter_count; ++parameter) {
                for (int step = every - 1; step < steps_per_plan; step += every) {
                    const ts::plan p = without_averages(good, parameter, step);
                    REQUIRE(p.tasks.size() == good.tasks.size() - ts::to_size(devices));
                    const std::string text = ts::verify(g, p).text;
                    CAPTURE(text);
                    CHECK(text.find("a copy of the parameter " + ts::parameter_path_of(g, parameter) +
                                    " on device 0 is updated by itself and never averaged with the others") !=
                          std::string::npos);
                    ++refused;
                }
            }
            CHECK(refused == g.parameter_count * steps_per_plan / every);
        }
    }
}
