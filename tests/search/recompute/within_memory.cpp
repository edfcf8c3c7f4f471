// SPDX-License-Identifier: Apache-2.0
// What recomputes so that a strategy fits: never slower than a rule that fits too, and honest where nothing does.
#include "tessera/search/recompute/within_memory.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/run.hpp"

#include "examples/zoo/transformers.hpp"
#include "examples/zoo/unet.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

struct few_words : networks::gpt_parts<6, 128, 4, 64, 256>::network {};
using unet = networks::padded_unet<32, 1, 2, 8, 3>;

struct step {
    index_t ns = 0;
    index_t bytes = 0;
};
step step_of(const ts::graph_view& g, const ts::cluster& on, const ts::strategy& s) {
    const search::finished_step x = search::simulate_finished(g, on, s);
    return {x.makespan, *std::max_element(x.peak_bytes.begin(), x.peak_bytes.end())};
}

} // namespace

TEST_CASE("within a limit of memory: it fits, no rule that fits is faster, and more memory is never slower") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    for (const ts::graph& network : {ts::describe<few_words>(64), ts::describe<unet>(16)}) {
        const ts::graph_view g = network.view();
        const ts::strategy s = search::data_parallel(g, 2);
        std::vector<step> rules;
        for (const char* how : {"none", "selective", "full", "every:2", "every:3"}) {
            ts::strategy by_rule = s;
            search::recompute(by_rule, g, search::recompute_rule_of(how));
            rules.push_back(step_of(g, on, by_rule));
        }
        index_t least = rules[0].bytes;
        for (const step& x : rules) {
            least = std::min(least, x.bytes);
        }
        index_t before = 0;
        int chains = 0;
        for (int percent : {100, 85, 70, 55, 40, 25, 1}) {
            CAPTURE(percent);
            search::recompute_options o;
            o.memory = rules[0].bytes * percent / 100;
            const search::recompute_found found = search::recompute_within(g, on, s, o);
            const step seen = step_of(g, on, found.best);
            CHECK(seen.ns == found.step);
            CHECK(seen.bytes == found.bytes);
            CHECK(found.fits == (found.bytes <= o.memory));
            chains += found.fits && found.what == "chain" ? 1 : 0;
            for (const step& x : rules) {
                CHECK((!found.fits || x.bytes > o.memory || found.step <= x.ns));
                CHECK((found.fits || x.bytes > o.memory)); // a rule that fits is not passed over
            }
            CHECK((found.fits || found.bytes <= least));
            CHECK((percent != 100 || (found.what == "none" && found.simulated == 1)));
            CHECK((!found.fits || found.step >= before));
            before = found.fits ? found.step : before;
            CHECK((percent > 1 || !found.fits));
            MESSAGE(percent << " %: " << found.what << ", " << found.step / 1000 << " us, " << found.bytes / 1000
                            << " kB, " << found.simulated << " plans");
        }
        CHECK(chains > 0); // it finds what no rule says
    }
}

TEST_CASE("what a search by name finds recomputes by a rule, or as much as memory asks for") {
    ts::device_graph machine = ts::machines::p100_nodes(1);
    const ts::graph network = ts::describe<few_words>(64);
    const ts::graph_view g = network.view();
    const ts::strategy plain = search::data_parallel(g, 4);
    machine.classes[0].memory_bytes = step_of(g, ts::cluster(machine), plain).bytes / 2;
    const ts::cluster on(machine);
    search::search_options o;
    CHECK(search::run(search::data_parallel_record, g, on, o).best == plain);
    o.recomputed = search::recompute_rule_of("selective");
    ts::strategy by_rule = plain;
    search::recompute(by_rule, g, o.recomputed);
    CHECK(search::run(search::data_parallel_record, g, on, o).best == by_rule);
    o.recomputed = {};
    o.recompute_to_fit = true;
    const search::search_found found = search::run(search::data_parallel_record, g, on, o);
    CHECK(!search::fits(g, on, plain));
    CHECK(search::fits(g, on, found.best));
    CHECK(found.text.find("recomputed so that it fits: ") == 0);
}

TEST_CASE("the chain of a network covers it, and its losses are kept") {
    const ts::graph network = ts::describe<few_words>(8);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    const search::recompute_chain c = search::chain_to_recompute(g, ts::strategy(g), on.class_of(0), 3);
    CHECK(c.first.front() == 0);
    CHECK(c.first.back() == g.op_count);
    CHECK(c.places() >= 12); // two sums in each of six blocks
    for (std::size_t i = 0; i < c.parts.size(); ++i) {
        const auto first = ts::to_size(c.parts[i].first);
        const auto last = ts::to_size(c.parts[i].last);
        CHECK(c.parts[i].last - c.parts[i].first <= 3);
        CHECK(c.recompute[i].size() == ts::to_size(c.first[last] - c.first[first]));
        CHECK(c.parts[i].alive >= c.parts[i].stored);
        for (std::size_t k = 0; k < c.recompute[i].size(); ++k) {
            CHECK((c.recompute[i][k] == 0 || !g.is_loss(c.first[first] + static_cast<int>(k))));
        }
    }
}
