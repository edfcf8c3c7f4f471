// SPDX-License-Identifier: Apache-2.0
// The memory that the certified search says would do, given to it: every network of the zoo, several batches. Networks
// of many operators are left to TESSERA_WHOLE_ZOO=1, which takes minutes: here they stand for themselves with few
// layers.
#include "tessera/search/certified/optimum.hpp"

#include "examples/zoo/zoo.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/run.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

ts::cluster with_memory(index_t bytes) {
    ts::device_graph machine = ts::machines::p100_nodes(1, 4);
    for (ts::device_class& c : machine.classes) {
        c.memory_bytes = bytes;
    }
    return ts::cluster(machine);
}

search::search_options momentum() {
    search::search_options o;
    o.lowering.update = ts::sgd{.momentum = 0.9F};
    return o;
}

/// The number in "... would do"; 0: the search found something, and says nothing.
index_t told(const ts::graph_view& g, index_t bytes) {
    try {
        (void)search::run(search::optimum_record, g, with_memory(bytes), momentum());
    } catch (const ts::error& e) {
        const std::string text = e.what();
        const std::size_t end = text.rfind(" would do");
        REQUIRE_MESSAGE(end != std::string::npos, text);
        const std::size_t begin = text.rfind(' ', end - 1) + 1;
        return std::stoll(text.substr(begin, end - begin));
    }
    return 0;
}

void check(const networks::zoo_entry& network, index_t batch) {
    const ts::graph described = network.describe(batch);
    const ts::graph_view g = described.view();
    CAPTURE(std::string(network.name));
    CAPTURE(batch);
    const index_t would_do = told(g, 1);
    CHECK(would_do > 0);
    for (const index_t given : {would_do, would_do + would_do / 20, would_do + would_do / 3}) {
        CAPTURE(given);
        const ts::cluster on = with_memory(given);
        ts::strategy found;
        CHECK_NOTHROW(found = search::run(search::optimum_record, g, on, momentum()).best);
        CHECK((!found.ops.empty() && search::fits(g, on, found, momentum().lowering)));
    }
}

} // namespace

TEST_CASE("the memory that the optimum says would do is enough, for every network of the zoo at several batches") {
    const bool whole = std::getenv("TESSERA_WHOLE_ZOO") != nullptr;
    int checked = 0;
    const auto check_all = [&](std::span<const networks::zoo_entry> all, std::size_t most) {
        for (const networks::zoo_entry& n : all) {
            if (whole || n.describe(4).ops.size() <= most) {
                for (const index_t batch : {4, 16}) {
                    check(n, batch);
                }
                ++checked;
            }
        }
    };
    check_all(networks::zoo_shallow(), 60);
    check_all(networks::zoo(), 30);
    CHECK(checked > 12);
}
