// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/mcmc/plain_changes.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/side_by_side.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

using small_rnn = networks::rnnlm_parts<3, 16, 50>::network;

std::string text_of(const search::proposal& p) {
    std::string text;
    for (const ts::change& x : p) {
        text += std::to_string(x.op) + ":";
        for (const int degree : x.what.degree) {
            text += std::to_string(degree) + ",";
        }
        text += std::to_string(x.what.start) + "/" + std::to_string(x.what.stride) + "/";
        for (const ts::index_t d : x.pool) {
            text += std::to_string(d) + ",";
        }
        text += " ";
    }
    return text;
}

using device_set = std::vector<int>;

/// The sets of devices that blocks' layers have, and all.
std::set<device_set> sets_in_use(const search::proposal_space& space, const ts::strategy& now, int devices) {
    std::set<device_set> sets;
    for (std::size_t b = 0; b < space.groups().blocks.size(); ++b) {
        device_set used = space.devices_of(now, space.layer_of(b));
        std::sort(used.begin(), used.end());
        sets.insert(used);
    }
    device_set all;
    for (int d = 0; d < devices; ++d) {
        all.push_back(d);
    }
    sets.insert(all);
    return sets;
}

/// All plain changes on some sets of devices by their definition: blocks' layers, loops, alone or not.
std::set<std::string> by_hand(const search::proposal_space& space, const ts::strategy& now,
                              const std::set<device_set>& sets) {
    std::set<std::string> found;
    for (std::size_t b = 0; b < space.groups().blocks.size(); ++b) {
        const int layer = space.layer_of(b);
        for (const ts::configuration& c : space.choices(layer)) {
            int loops = c.partial > 1 || c.replicate > 1 ? 1 : 0;
            for (const int degree : c.degree) {
                loops += degree > 1 ? 1 : 0;
            }
            for (const device_set& set : sets) {
                if (loops < 2 && static_cast<int>(set.size()) == c.shards()) {
                    search::proposal alone;
                    space.add(alone, {layer, c, set});
                    search::proposal block;
                    space.spread(block, {layer, c, set});
                    const std::size_t k = ts::to_size(space.kind_of(layer));
                    if (space.is_legal(now, alone) && space.groups().kinds[k].size() == 1) {
                        found.insert(text_of(alone));
                    }
                    if (space.is_legal(now, block)) {
                        found.insert(text_of(block));
                    }
                }
            }
        }
    }
    return found;
}

} // namespace

TEST_CASE("plain changes: all that there are, each once, block by block on the layer's own devices first") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const search::proposal_space space(g.view(), on, {});
    ts::strategy now = search::data_parallel(g.view(), 4);
    std::set<device_set> neighbours_seen;
    for (const int round : {0, 1}) {
        if (round == 1) { // the second block on two devices of its own
            search::proposal p;
            const int layer = space.layer_of(1);
            ts::configuration half;
            half.degree[space.described(layer).find_loop(ts::loop_name::sample)] = 2;
            space.spread(p, {layer, half, {1, 3}});
            for (const ts::change& x : p) {
                ts::apply(now, x);
            }
            REQUIRE_NOTHROW(ts::require(g.view(), now.view(), 4));
        }
        const std::set<device_set> in_use = sets_in_use(space, now, 4);
        for (std::uint64_t seed = 1; seed < 8; ++seed) {
            std::set<std::string> found;
            std::set<device_set> sets = in_use;
            std::pair<std::size_t, int> last{0, 0};
            const std::uint64_t size = search::plain_changes(space, now).size();
            for (std::uint64_t number = 0; number < size; ++number) {
                const search::proposal p = search::plain_changes(space, now)(number, seed);
                if (p.empty()) {
                    continue;
                }
                CHECK(found.insert(text_of(p)).second);
                ts::strategy then = now;
                for (const ts::change& x : p) {
                    ts::apply(then, x);
                }
                REQUIRE_NOTHROW(ts::require(g.view(), then.view(), 4));
                const int layer = p[0].op;
                device_set before = space.devices_of(now, layer);
                device_set after = space.devices_of(then, layer);
                std::sort(before.begin(), before.end());
                const auto& order = space.heaviest_first();
                const auto block = ts::to_size(space.groups().block_of[ts::to_size(layer)]);
                const auto place = ts::to_size(std::find(order.begin(), order.end(), block) - order.begin());
                const std::pair<std::size_t, int> stage{place, before == after ? 0 : in_use.contains(after) ? 1 : 2};
                CHECK(stage >= last);
                last = stage;
                if (stage.second == 2) {
                    sets.insert(after);
                    neighbours_seen.insert(after);
                }
            }
            CHECK(found == by_hand(space, now, sets));
            CHECK(sets.size() == in_use.size() + 2); // one device, and two
        }
    }
    const std::set<device_set> aligned{{0}, {1}, {2}, {3}, {0, 1}, {2, 3}};
    CHECK(std::includes(aligned.begin(), aligned.end(), neighbours_seen.begin(), neighbours_seen.end()));
    CHECK(neighbours_seen.size() > 3);
}

TEST_CASE("proposals: blocks in falling order of parameters per FLOP") {
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::graph lenet = ts::describe<networks::lenet5>(16);
    const auto order = search::proposal_space(lenet.view(), on, {}).heaviest_first();
    REQUIRE(order.size() == 5); // two convolutions, whose weights are used at every position, and three linear layers
    CHECK(order[3] == 1);
    CHECK(order[4] == 0);
    const ts::graph rnn = ts::describe<small_rnn>(16);
    CHECK(search::proposal_space(rnn.view(), on, {}).heaviest_first()[0] == 0); // a table of words
}

TEST_CASE("plain changes: pinned operators stay, and without placement all devices are used") {
    const ts::graph g = ts::describe<networks::lenet5>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::proposal_options o;
    o.operator_placement = false;
    o.pinned.assign(ts::to_size(g.view().op_count), 1);
    o.pinned[0] = 0;
    const search::proposal_space space(g.view(), on, o);
    const ts::strategy single = search::single_device(g.view());
    int changes = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
        for (const ts::change& x : search::plain_changes(space, single)(i, 5)) {
            CHECK(x.op == 0);
            CHECK(x.what.shards() == 4);
            ++changes;
        }
    }
    CHECK(changes > 10);
}

TEST_CASE("layers side by side: in turns on parts of the devices, what is not dealt out as before") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const search::proposal_space space(g.view(), on, {});
    const ts::strategy from = search::data_parallel(g.view(), 4);
    const auto all = search::layers_side_by_side(space, from);
    // Words, two cells, logits: the cells on two parts, all blocks on two and on four, each on neighbours and strided.
    REQUIRE(all.size() == 6);
    CHECK(all[0].name == "layers side by side on 2 parts");
    CHECK(all[1].name == "layers side by side on 2 parts, strided");
    CHECK(all[4].name == "blocks side by side on 4 parts");
    for (const search::named_strategy& s : all) {
        CHECK_NOTHROW(ts::require(g.view(), s.value.view(), 4));
    }
    const auto devices = [&](std::size_t start, std::size_t block) {
        return space.devices_of(all[start].value, space.layer_of(block));
    };
    CHECK(devices(0, 1) == std::vector<int>{0, 1});
    CHECK(devices(0, 2) == std::vector<int>{2, 3});
    CHECK(devices(1, 1) == std::vector<int>{0, 2});
    CHECK(devices(1, 2) == std::vector<int>{1, 3});
    for (const std::size_t block : {0U, 3U}) {
        CHECK(devices(0, block) == std::vector<int>{0, 1, 2, 3});
    }
    for (const std::size_t block : {0U, 1U, 2U, 3U}) {
        CHECK(devices(4, block) == std::vector<int>{static_cast<int>(block)});
    }
    CHECK(search::layers_side_by_side({g.view(), ts::cluster(ts::machines::p100_nodes(1, 1)), {}},
                                      search::single_device(g.view()))
              .empty());
}
