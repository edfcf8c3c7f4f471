// SPDX-License-Identifier: Apache-2.0
// What a trainer on the host leaves as it was for the thread that calls it: how many threads OpenMP gives it, and its
// cores. That <omp.h> may come after the library's headers is shown by its compiling.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/host.hpp"

#include <omp.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

namespace {

namespace ts = tessera;

std::ptrdiff_t threads_of_this_process() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

} // namespace

TEST_CASE("OpenMP's threads are the caller's: whatever a session does leaves their number, and starts none") {
    const ts::graph network = ts::describe<test_networks::lenet5::network>(8);
    const ts::graph_view g = network.view();
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F});
    ts::workers threads(2);
    const std::ptrdiff_t before = threads_of_this_process();
    int wanted = 5;
    omp_set_num_threads(wanted);
    ts::host::backend backend(how, ts::host::backend_options{ts::host::tuning::measure, 0, {}});
    ts::session<ts::host::backend> session(g, ts::strategy(g), 1, how, {}, backend, threads);
    CHECK(omp_get_max_threads() == wanted);
    const test_support::batch_data data(g, 1);
    for (wanted = 7; wanted > 1; wanted -= 3) {
        omp_set_num_threads(wanted);
        session.step(data.inputs);
        CHECK(omp_get_max_threads() == wanted);
        session.evaluate(data.inputs);
        CHECK(omp_get_max_threads() == wanted);
        for (int p = 0; p < g.parameter_count; ++p) {
            session.set_parameter(p, session.parameter(p));
        }
        CHECK(omp_get_max_threads() == wanted);
    }
    CHECK(threads_of_this_process() == before);
    omp_set_num_threads(1);
}
