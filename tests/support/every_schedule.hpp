// SPDX-License-Identifier: Apache-2.0
// The same numbers under every schedule: LeNet-5, the residual net, the U-Net and the Transformer under every schedule
// on 1 to 4 devices, against one device in double that runs the same micro-batches.
#pragma once

#include "sweep.hpp"

#include "tessera/schedule/schedules.hpp"
#include "tessera/search/pipeline.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace test_support {

/// A schedule as the table has it; interleaved ones take as many micro-batches as workers.
struct named_schedule {
    std::string name;
    ts::schedule::settings how;
    bool joint = false; ///< batch norms take their statistics over the mini-batch
};

inline std::vector<named_schedule> every_schedule() {
    namespace schedule = ts::schedule;
    using ts::schedule::rematerialize;
    const auto of = [](const schedule::schedule_record& r, int micro_batches,
                       rematerialize again = rematerialize::none) {
        return schedule::settings{&r, 1, micro_batches, {}, again};
    };
    schedule::settings two_parts = of(schedule::gems_record, 4);
    two_parts.options.set(schedule::parts_option.name, 2);
    std::vector<named_schedule> all = {
        {"model parallel", of(schedule::fill_drain_record, 1)},
        {"fill-drain", of(schedule::fill_drain_record, 4)},
        {"GPipe", of(schedule::gpipe_record, 4)},
        {"GPipe, all recomputed", of(schedule::gpipe_record, 4, rematerialize::all)},
        {"GPipe, except last", of(schedule::gpipe_record, 4, rematerialize::except_last)},
        {"GPipe, mini-batch norms", of(schedule::gpipe_record, 4), true},
        {"GPipe, the same, again", of(schedule::gpipe_record, 3, rematerialize::all), true},
        {"1F1B", of(schedule::one_forward_one_backward_record, 4)},
        {"1F1B, all recomputed", of(schedule::one_forward_one_backward_record, 3, rematerialize::all)},
        {"interleaved 1F1B", of(schedule::interleaved_record, 0)},
        {"ZB-H1", of(schedule::zero_bubble_h1_record, 4)},
        {"ZB-V", of(schedule::zero_bubble_v_record, 3)},
        {"Chimera", of(schedule::chimera_record, 4)},
        {"GEMS MAST", of(schedule::gems_record, 2)},
        {"GEMS MASTER", of(schedule::gems_record, 4)},
        {"GEMS MASTER, 2 parts", two_parts},
    };
    for (const schedule::schedule_record* r : schedule::library_schedules) { // that nobody has thought of above
        if (std::none_of(all.begin(), all.end(), [r](const named_schedule& x) { return x.how.which == r; })) {
            all.push_back({std::string(r->title), of(*r, 4)});
        }
    }
    return all;
}

/// The table's entry on some devices: stages of equally many operators, two workers on one device where there is no
/// other, and with four devices now and then two for each worker, by samples or channels.
inline ts::strategy on_devices(const ts::graph_view& g, const named_schedule& s, int devices, int number) {
    ts::schedule::settings x = s.how;
    const bool pairs = devices == 4 && number % 3 != 0;
    x.workers = devices == 1 || pairs || (devices == 3 && x.which == &ts::schedule::chimera_record) ? 2 : devices;
    x.micro_batches = x.which == &ts::schedule::interleaved_record ? x.workers : x.micro_batches;
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(op * x.stages() / g.op_count);
    }
    ts::search::pipeline_options how;
    how.width = pairs ? 2 : 1;
    how.again = x.again;
    how.inside.assign(ts::to_size(x.stages()),
                      number % 3 == 1 ? ts::search::baseline::data_parallel : ts::search::baseline::model_parallel);
    ts::strategy result = ts::search::pipeline(g, stage, ts::schedule::make(x), how);
    result.statistics = s.joint ? ts::statistics_over::mini_batch : ts::statistics_over::micro_batch;
    for (ts::configuration& c : result.ops) { // to the machine's ends, so that mirrored workers meet
        c.start = pairs ? c.start : c.start * (devices - 1) / (x.workers - 1);
    }
    return result;
}

/// Calls `report(network, schedule, devices, result)` for every `stride`-th combination, from `first` on, in all or of
/// one network.
template <class Make, class Report>
void sweep_schedules(int first, int stride, Make make, Report report) {
    int number = 0;
    for (const sweep_case& c : sweep_cases()) {
        if (c.name != "LeNet-5" && c.name != "residual net" && c.name != "U-Net" && c.name != "Transformer block") {
            continue;
        }
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        for (const named_schedule& s : every_schedule()) {
            for (int devices = 1; devices <= 4; ++devices, ++number) {
                if (number % stride != first) {
                    continue;
                }
                report(c, s, devices, expected.run(on_devices(g, s, devices, number), devices, make));
            }
        }
    }
}

} // namespace test_support
