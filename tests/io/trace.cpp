// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/trace.hpp"

#include "run_fixture.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace run_of_lenet;

TEST_CASE("trace: every stretch of the simulation is an event of its row, and rows do not overlap") {
    for (const bool piped : {false, true}) {
        run_fixture f(ts::machines::p100_nodes(1), piped);
        f.run.measured = f.run.simulated; // a measured run has the same form
        const io::json trace = io::json_document(io::to_trace(f.run), "trace").value();
        std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> rows;
        std::set<std::pair<int, int>> named;
        std::size_t counters = 0;
        for (const io::json& e : trace["traceEvents"]) {
            const std::string phase = e["ph"].get<std::string>();
            const std::pair<int, int> row{e["pid"].get<int>(), e.contains("tid") ? e["tid"].get<int>() : -1};
            if (phase == "X") {
                rows[row].emplace_back(e["ts"].get<double>(), e["ts"].get<double>() + e["dur"].get<double>());
            } else if (phase == "M" && e["name"] == "thread_name") {
                named.insert(row);
            }
            counters += phase == "C" ? 1 : 0;
        }
        std::set<int> threads{0, 1, 2, 3}; // Perfetto takes these for the processes' own
        for (const std::pair<int, int>& row : named) {
            CHECK(threads.insert(row.second).second);
        }
        std::size_t measured = 0;
        std::size_t simulated = 0;
        double end = 0;
        for (auto& [row, spans] : rows) {
            CHECK(named.count(row) == 1);
            (row.first == 3 ? measured : simulated) += spans.size();
            std::sort(spans.begin(), spans.end());
            for (std::size_t i = 0; i < spans.size(); ++i) {
                end = std::max(end, spans[i].second);
                // The measured run here is the simulated one, whose collectives last for all of their tasks at once.
                CHECK((row.first == 3 || i == 0 || spans[i].first >= spans[i - 1].second - 1e-6));
            }
        }
        CHECK(simulated == f.run.activities.spans.size());
        CHECK(measured == f.run.plan.tasks.size());
        CHECK(end <= static_cast<double>(f.run.simulated.makespan) / 1000 + 1e-6);
        CHECK(counters > 8);
    }
}
