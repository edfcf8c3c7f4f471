// SPDX-License-Identifier: Apache-2.0
// The optimizer's state on the host: which bytes leave the devices, what crosses the links, how long the host steps, and
// what the verifier lets nothing leave out.
#include "support/planned.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/schedule/zero.hpp"
#include "tessera/search/offload/within_memory.hpp"
#include "tessera/search/run.hpp"
#include "tessera/search/searches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace {

namespace ts = tessera;
namespace search = ts::search;
using test_support::planned;
using ts::index_t;

constexpr index_t features = 64;
constexpr int layers = 3;
struct tower
    : ts::sequential<ts::features<features>, ts::repeat<layers, ts::linear<features>, ts::tanh>, ts::cross_entropy> {};
/// Weights and biases: multiples of 64 bytes in any of 1, 2 and 4 slices.
constexpr index_t sizes[] = {features * features, features};

ts::lower_options with(const ts::optimizer& how) {
    ts::lower_options o;
    o.update = how;
    return o;
}
const ts::optimizer& adam() {
    static const ts::optimizer x(ts::adam{});
    return x;
}

ts::strategy on_host(const ts::graph_view& g, int devices, bool there = true) {
    ts::strategy s = test_support::data_parallel(g, devices);
    s.state_on_host = there;
    return s;
}

/// A sum over the slices that one of n devices updates.
template <class Function>
index_t over_slices(int devices, Function&& of) {
    index_t all = 0;
    for (const index_t n : sizes) {
        all += layers * of(n / devices);
    }
    return all;
}

std::string refusal_of(const ts::graph_view& g, const ts::plan& p) { return ts::verify(g, p).text; }

/// Some task of a kind that touches the host's memory.
std::size_t find(const ts::plan& p, ts::task_kind kind) {
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& t = p.tasks[i];
        if (t.kind() == kind &&
            (p.tiles[ts::to_size(t.writes[0])].on_host || p.tiles[ts::to_size(t.reads[0])].on_host)) {
            return i;
        }
    }
    FAIL("no such task");
    return 0;
}

} // namespace

TEST_CASE("the state's bytes leave the devices, and lie in the host's memory with those of a copy of the parameters") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    const ts::optimizer momentum(ts::sgd{.momentum = 0.9F});
    const ts::optimizer averaged = ts::optimizer(ts::adam{}).averaging(0.9F);
    for (const ts::optimizer& how : {momentum, adam(), averaged}) {
        for (const int devices : {1, 2, 4}) {
            for (const int stage : {0, 1, 2, 3}) {
                CAPTURE(devices);
                CAPTURE(stage);
                ts::strategy s = on_host(g, devices, false);
                if (stage > 0) {
                    s.sync = ts::schedule::zero(ts::schedule::gradients_of(g), stage);
                }
                const ts::plan kept = planned(g, s, devices, with(how));
                s.state_on_host = true;
                const ts::plan out = planned(g, s, devices, with(how));
                const index_t slices = over_slices(devices, [](index_t n) { return 4 * n; });
                CHECK(kept.host_persistent_bytes.empty());
                REQUIRE(out.host_persistent_bytes.size() == ts::to_size(devices));
                REQUIRE(out.host_bytes.size() == ts::to_size(devices));
                for (std::size_t d = 0; d < ts::to_size(devices); ++d) {
                    CHECK(kept.persistent_bytes[d] - out.persistent_bytes[d] == how.state_count() * slices);
                    CHECK(out.host_persistent_bytes[d] == (1 + how.state_count()) * slices);
                    CHECK(out.host_bytes[d] > 0);
                    CHECK(out.host_bytes[d] <= slices); // gradients on their way
                }
                CHECK(out.moved_bytes == kept.moved_bytes); // between devices
            }
        }
    }
}

TEST_CASE("gradients go down and parameters come up over the link, and the host steps at its rate") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    ts::device_graph machine = ts::machines::h100_nodes(1);
    for (const int devices : {1, 2, 4}) {
        for (const int share : {1, 2, 8}) {
            for (const index_t megabytes : {index_t{1000}, index_t{48000}}) {
                CAPTURE(devices);
                CAPTURE(share);
                CAPTURE(megabytes);
                ts::device_class& c = machine.classes[0];
                c.host_megabytes = megabytes;
                c.share_host_link = share;
                c.host_update_megabytes = 5000;
                const ts::cluster on(machine);
                const auto at = [&](bool there) {
                    return ts::simulation::simulate(g, planned(g, on_host(g, devices, there), devices, with(adam())),
                                                    on);
                };
                const ts::simulation::timeline kept = at(false);
                const ts::simulation::timeline out = at(true);
                const index_t way = over_slices(devices, [&](index_t n) { return 4 * n * 1000 / megabytes + 1; });
                const index_t step = over_slices(devices, [&](index_t n) { return 28 * n * 1000 / 5000 + 1; });
                const auto all = ts::to_size(on.devices());
                const std::size_t link = out.lane_busy.size() - 3 * all;
                for (int d = 0; d < on.devices(); ++d) {
                    const int sharing = d % share == 0 ? std::clamp(devices - d, 0, share) : 0;
                    const std::size_t lane = link + 2 * ts::to_size(d);
                    CHECK(out.lane_busy[lane] == sharing * way);
                    CHECK(out.lane_busy[lane + 1] == sharing * way);
                    CHECK(out.lane_busy[link + 2 * all + ts::to_size(d)] == (d == 0 ? devices * step : 0));
                    CHECK(kept.lane_busy[lane] == 0);
                }
                CHECK(out.makespan >= std::max(devices * step, std::min(devices, share) * way));
                CHECK(out.makespan > kept.makespan);
            }
        }
    }
}

TEST_CASE("a machine that does not say how fast its host is, is refused by name") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    const ts::plan p = planned(g, on_host(g, 1), 1, with(adam()));
    ts::device_graph machine = ts::machines::h100_nodes(1);
    machine.classes[0].host_update_megabytes = 0;
    CHECK_THROWS_WITH_AS((void)ts::simulation::simulate(g, p, ts::cluster(machine)),
                         doctest::Contains("give host_update_megabytes_per_second in its machine file"), ts::error);
    machine.classes[0].host_megabytes = 0;
    CHECK_THROWS_WITH_AS((void)ts::simulation::simulate(g, p, ts::cluster(machine)),
                         doctest::Contains("give host_megabytes_per_second in its machine file"), ts::error);
    machine.classes[0].share_host_link = 0;
    CHECK_THROWS_WITH_AS((void)ts::cluster(machine), doctest::Contains("shares its link to the host among 0 devices"),
                         ts::error);
}

TEST_CASE("an optimizer without a state is refused") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    CHECK_THROWS_WITH_AS((void)planned(g, on_host(g, 1), 1, with(ts::optimizer(ts::sgd{}))),
                         doctest::Contains("the optimizer keeps no state that could wait in the host's memory"),
                         ts::error);
}

TEST_CASE("the verifier refuses a gradient that is not brought down, and a parameter that is not brought up") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        const ts::plan sound = planned(g, on_host(g, devices), devices, with(adam()));
        REQUIRE(refusal_of(g, sound).empty());
        const std::size_t down = find(sound, ts::task_kind::reduce);
        const std::size_t step = find(sound, ts::task_kind::update);
        const std::size_t up = find(sound, ts::task_kind::average);
        REQUIRE(sound.tasks[down].writes == sound.tasks[step].reads);
        const std::string unsound = "not all that it works with is brought down";

        ts::plan p = sound; // the gradient is read on the device
        ts::replace_tile(p.tasks[step], sound.tasks[down].writes[0], sound.tasks[down].reads[0]);
        CHECK(refusal_of(g, p).find(unsound) != std::string::npos);

        p = sound; // the device's parameter is stepped from there
        p.tasks[step].writes = {sound.tasks[up].writes[0]};
        CHECK(refusal_of(g, p).find(unsound) != std::string::npos);

        p = sound; // the state is the device's
        p.tiles[ts::to_size(p.tasks[step].params().state)].on_host = false;
        CHECK(!refusal_of(g, p).empty());

        p = sound; // one copy is left as it was
        p.tasks[up].writes.pop_back();
        CHECK(!refusal_of(g, p).empty());

        p = sound; // another slice comes up in its place
        const auto other = std::find_if(p.tiles.begin(), p.tiles.end(), [&](const ts::tile& x) {
            return x.on_host && x.kind == ts::tile_kind::parameter &&
                   x.tensor != p.tiles[ts::to_size(p.tasks[up].reads[0])].tensor;
        });
        REQUIRE(other != p.tiles.end());
        p.tasks[up].reads[0] = static_cast<int>(other - p.tiles.begin());
        CHECK(!refusal_of(g, p).empty());

        p = sound; // up before the step
        std::vector<int>& list = p.order[ts::to_size(p.list_of(p.tasks[up]))];
        std::swap(list[ts::to_size(p.tasks[up].position)], list[ts::to_size(p.tasks[step].position)]);
        std::swap(p.tasks[up].position, p.tasks[step].position);
        std::swap(p.tasks[up].waits, p.tasks[step].waits);
        CHECK(!refusal_of(g, p).empty());

        p = sound; // a plan without such memory
        p.host_persistent_bytes.clear();
        CHECK(refusal_of(g, p).find("lasts in the host's memory, of which the plan has none") != std::string::npos);
    }
}

TEST_CASE("searches leave the state on the host where memory asks for it") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    ts::device_graph machine = ts::machines::h100_nodes(1);
    const ts::lower_options lowering = with(adam());
    const auto bytes = [&](bool there) {
        return search::simulate_finished(g, ts::cluster(machine), on_host(g, 1, there), {}, lowering).peak_bytes[0];
    };
    REQUIRE(bytes(true) < bytes(false));
    for (const search::offload_of what : {search::offload_of::optimizer, search::offload_of::both}) {
        CAPTURE(std::string(to_text(what)));
        CHECK(search::offload_of_text(to_text(what)) == what);
        const search::offload_options o{.lowering = lowering, .memory = bytes(true), .what = what};
        const search::offload_found x = search::offload_within(g, ts::cluster(machine), on_host(g, 1, false), o);
        CHECK(x.fits);
        CHECK(x.state); // outputs alone are too few bytes
        CHECK(x.best.state_on_host);
        CHECK(x.bytes <= bytes(true));
        search::offload_options roomy = o;
        roomy.memory = bytes(false);
        CHECK(!search::offload_within(g, ts::cluster(machine), on_host(g, 1, false), roomy).state);
    }
    CHECK_THROWS_WITH_AS((void)search::offload_of_text("all"), doctest::Contains("say activations, optimizer or both"),
                         ts::error);
    machine.classes[0].memory_bytes = bytes(true);
    search::search_options o;
    o.lowering = lowering;
    o.offload_to_fit = true;
    o.offloads = search::offload_of::optimizer;
    const search::search_found found = search::run(search::data_parallel_record, g, ts::cluster(machine), o);
    CHECK(found.text.find("the optimizer's state is on the host") != std::string::npos);
}
