// SPDX-License-Identifier: Apache-2.0
// Megatron's sequence parallelism, Ulysses and rings: what moves in a block is what the papers count and nothing else, what
// norms, dropout and residuals keep is a share, and types, values and searches by name are one strategy.
#include "tessera/search/by_hand/sequence_parallel.hpp"

#include "examples/zoo/llama.hpp"
#include "examples/zoo/vision_transformer.hpp"
#include "examples/zoo/zoo.hpp"
#include "support/networks.hpp"
#include "support/refusal.hpp"
#include "tessera/layout/collective.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/finished_step.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using test_support::message_of;
using ts::index_t;

constexpr index_t batch = 4;
constexpr index_t positions = 16;
constexpr index_t width = 64;
constexpr index_t block = batch * positions * width; ///< numbers in what a block hands to the next
using small_gpt = networks::gpt_parts<2, width, 8, positions, 40>::network;
using small_llama = networks::llama_parts<2, width, 8, 96, positions, 40>::network;

/// What crosses between devices of one tensor, or of its gradient.
struct crossing {
    ts::collective kind = ts::collective::none;
    index_t numbers = 0; ///< of all devices
};
using crossings = std::map<int, crossing>; ///< by tensor

crossings crossings_of(const ts::plan& p, ts::tile_kind of) {
    std::map<int, std::pair<std::vector<ts::piece>, std::vector<ts::piece>>> pieces;
    std::map<int, std::set<int>> seen;
    crossings all;
    for (const ts::task& t : p.tasks) {
        if (t.kind() != ts::task_kind::copy || p.tiles[ts::to_size(t.writes[0])].kind != of) {
            continue;
        }
        const ts::tile& to = p.tiles[ts::to_size(t.writes[0])];
        index_t numbers = 0;
        for (const ts::copy_segment& s : t.copy().segments) {
            const ts::tile& from = p.tiles[ts::to_size(s.source)];
            numbers += from.device >= 0 && from.device != to.device ? s.region.volume() : 0;
        }
        if (numbers == 0) {
            continue;
        }
        for (const ts::copy_segment& s : t.copy().segments) {
            const ts::tile& from = p.tiles[ts::to_size(s.source)];
            if (seen[to.tensor].insert(s.source).second) {
                pieces[to.tensor].first.push_back({from.region, from.device, std::max(from.summand, 0)});
            }
        }
        pieces[to.tensor].second.push_back({to.region, to.device, 0});
        all[to.tensor].numbers += numbers;
    }
    for (auto& [tensor, c] : all) { // shards that make different regions of a gradient add nothing up
        std::vector<ts::piece>& from = pieces[tensor].first;
        bool apart = true;
        for (std::size_t i = 0; i < from.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                apart = apart && ts::intersect(from[i].region, from[k].region).empty();
            }
        }
        for (ts::piece& x : from) {
            x.summand = apart ? 0 : x.summand;
        }
        c.kind = ts::classify(pieces[tensor].first, pieces[tensor].second);
    }
    return all;
}

/// Of the tensors that the operators in [first, last) make, in their order.
std::vector<crossing> within(const ts::graph_view& g, const crossings& all, int first, int last) {
    std::vector<crossing> found;
    for (int op = first; op < last; ++op) {
        const auto c = all.find(g.ops[op].output);
        if (c != all.end()) {
            found.push_back(c->second);
        }
    }
    return found;
}

template <class Net>
ts::graph described(index_t samples = batch) {
    return ts::describe<Net>(samples);
}

/// The operators of blocks: each begins at an attention's norm.
std::vector<std::pair<int, int>> blocks_of(const ts::graph_view& g) {
    std::vector<int> norms;
    for (int op = 0; op < g.op_count; ++op) {
        const std::string_view kind = g.ops[op].attributes.kind.record->name;
        if (kind == "layer_norm" || kind == "rms_norm") {
            norms.push_back(op);
        }
    }
    std::vector<std::pair<int, int>> all;
    for (std::size_t i = 0; i + 2 < norms.size(); i += 2) { // the last norm is behind all blocks
        all.emplace_back(norms[i], norms[i + 2]);
    }
    return all;
}

/// Whether it normalizes, drops or adds a residual.
bool is_between_products(const ts::op_node& op) {
    const std::string_view kind = op.attributes.kind.record->name;
    return kind == "layer_norm" || kind == "rms_norm" || kind == "add" || kind == "dropout";
}

index_t kept_between(const ts::graph_view& g, const ts::plan& p, int device, int first, int last) {
    index_t bytes = 0;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == ts::task_kind::compute && t.what == ts::pass::forward && t.device == device && t.op >= first &&
            t.op < last && is_between_products(g.ops[t.op]) &&
            g.tensors[g.ops[t.op].output].extents.rank == 3) { // not attention's own dropout
            for (const int w : t.writes) {
                const ts::tile& x = p.tiles[ts::to_size(w)];
                bytes += x.kind == ts::tile_kind::activation ? x.elements * ts::bytes_of(x.type) : 0;
            }
        }
    }
    return bytes;
}

} // namespace

TEST_CASE_TEMPLATE("megatron-sp: a block moves 2 all-gathers and 2 reduce-scatters forward, and as many backward", Net,
                   small_gpt, small_llama) {
    const ts::graph network = described<Net>();
    const ts::graph_view g = network.view();
    for (const auto& [groups, share] : {std::pair{1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {4, 2}}) {
        CAPTURE(groups);
        CAPTURE(share);
        const ts::strategy s = search::megatron_sp(g, groups, share);
        ts::require(g, s.view(), groups * share);
        ts::plan p = ts::lower(g, s.view(), groups * share);
        const crossings forward = crossings_of(p, ts::tile_kind::activation);
        const crossings backward = crossings_of(p, ts::tile_kind::gradient);
        const index_t each = (share - 1) * block; // half of what an all-reduce in a ring moves: 2 (t - 1) b s h
        int blocks = 0;
        for (const auto& [first, last] : blocks_of(g)) {
            ++blocks;
            const auto up = within(g, forward, first, last);
            const auto down = within(g, backward, first, last);
            REQUIRE(up.size() == 4);
            REQUIRE(down.size() == 4);
            for (std::size_t i = 0; i < 4; ++i) {
                const bool gathers = i % 2 == 0; // norm, merge, norm, narrow
                CHECK(up[i].kind == (gathers ? ts::collective::all_gather : ts::collective::reduce_scatter));
                CHECK(down[i].kind == (gathers ? ts::collective::reduce_scatter : ts::collective::all_gather));
                CHECK(up[i].numbers == each);
                CHECK(down[i].numbers == each);
            }
        }
        CHECK(blocks == 2);
        for (const crossings* all : {&forward, &backward}) {
            for (const auto& [tensor, c] : *all) {
                CHECK(c.kind != ts::collective::all_reduce);
            }
        }
        CHECK_NOTHROW(ts::finish(g, p));
    }
}

TEST_CASE("megatron-sp: what is summed first travels once, for queries, keys and values and for both sides of SwiGLU") {
    const ts::graph network = described<small_llama>();
    const ts::graph_view g = network.view();
    constexpr int share = 4;
    ts::strategy s = search::megatron_sp(g, 1, share);
    CHECK(s.sums_first);
    const auto block_backward = [&] {
        const auto [first, last] = blocks_of(g)[1];
        std::array<index_t, 4> numbers{};
        const auto all = within(g, crossings_of(ts::lower(g, s.view(), share), ts::tile_kind::gradient), first, last);
        for (std::size_t i = 0; i < 4; ++i) {
            numbers[i] = all.at(i).numbers;
        }
        return numbers;
    };
    constexpr index_t each = (share - 1) * block;
    CHECK(block_backward() == std::array<index_t, 4>{each, each, each, each});
    s.sums_first = false;
    CHECK(block_backward() == std::array<index_t, 4>{3 * each, each, 2 * each, each});
}

TEST_CASE("megatron-sp: beside activations, only parameters of norms and of positions' sums move") {
    const ts::graph network = described<small_llama>();
    const ts::graph_view g = network.view();
    for (const int share : {2, 4, 8}) {
        const ts::plan p = ts::lower(g, search::megatron_sp(g, 1, share).view(), share);
        index_t activations = 0;
        for (const auto kind : {ts::tile_kind::activation, ts::tile_kind::gradient}) {
            for (const auto& [tensor, c] : crossings_of(p, kind)) {
                activations += c.numbers;
            }
        }
        index_t statistics = 0; // of the loss, whose words are divided
        for (const ts::task& t : p.tasks) {
            for (const ts::copy_segment& c : t.copy().segments) {
                const ts::tile& to = p.tiles[ts::to_size(t.writes[0])];
                const ts::tile& from = p.tiles[ts::to_size(c.source)];
                statistics += to.kind == ts::tile_kind::intermediate && from.device != to.device
                                  ? c.region.volume() * ts::bytes_of(to.type)
                                  : 0;
            }
        }
        // An all-reduce of every norm's weights: 2 (t - 1) times their number. There are 5 norms.
        CHECK(p.moved_bytes - statistics == 4 * (activations + 2 * (share - 1) * 5 * width));
    }
}

TEST_CASE_TEMPLATE("megatron-sp: norms, dropout and residuals keep a share of what they keep undivided", Net, small_gpt,
                   small_llama) {
    const ts::graph network = described<Net>();
    const ts::graph_view g = network.view();
    const ts::plan whole = ts::lower(g, search::megatron(g, 1, 4).view(), 4);
    const auto [first, last] = blocks_of(g)[1];
    // The paper counts bytes of 16-bit numbers and masks; here each of a block's operators between products keeps its
    // output, s b h numbers of 4 bytes, and masks are made anew.
    index_t kept = 0;
    for (int op = first; op < last; ++op) {
        kept += is_between_products(g.ops[op]) && g.tensors[g.ops[op].output].extents.rank == 3 ? 4 * block : 0;
    }
    CHECK(kept == (std::is_same_v<Net, small_gpt> ? 6 : 4) * 4 * block);
    CHECK(kept_between(g, whole, 0, first, last) == kept);
    for (const int share : {2, 4, 8}) {
        const ts::plan p = ts::lower(g, search::megatron_sp(g, 1, share).view(), share);
        for (int d = 0; d < share; ++d) {
            CHECK(kept_between(g, p, d, first, last) * share == kept);
        }
        const ts::plan q = ts::lower(g, search::ulysses(g, 2, share).view(), 2 * share);
        for (int d = 0; d < 2 * share; ++d) {
            CHECK(kept_between(g, q, d, first, last) * share * 2 == kept);
        }
    }
}

TEST_CASE_TEMPLATE("ulysses: a block moves 4 all-to-alls forward and 4 backward", Net, small_gpt, small_llama) {
    const ts::graph network = described<Net>();
    const ts::graph_view g = network.view();
    for (const auto& [groups, share] : {std::pair{1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}}) {
        CAPTURE(groups);
        CAPTURE(share);
        const ts::strategy s = search::ulysses(g, groups, share);
        ts::require(g, s.view(), groups * share);
        ts::plan p = ts::lower(g, s.view(), groups * share);
        const crossings forward = crossings_of(p, ts::tile_kind::activation);
        const crossings backward = crossings_of(p, ts::tile_kind::gradient);
        std::size_t inside = 0;
        for (const auto& [first, last] : blocks_of(g)) {
            for (const crossings* way : {&forward, &backward}) {
                const auto all = within(g, *way, first, last);
                REQUIRE(all.size() == 4);
                inside += 2;
                for (const crossing& c : all) {
                    CHECK(c.kind == ts::collective::all_to_all);
                    // Each device sends (P - 1) / P of its N T C / P numbers, the P of every group together:
                    CHECK(c.numbers * share == (share - 1) * block);
                }
            }
        }
        CHECK(forward.size() + backward.size() == 2 * inside); // and nothing else moves
        CHECK_NOTHROW(ts::finish(g, p));
    }
}

TEST_CASE("shared sequences: the zoo's networks keep the rules, and their plans are sound") {
    int transformers = 0;
    for (const networks::zoo_entry& e : networks::zoo_shallow()) {
        CAPTURE(std::string(e.name));
        const ts::graph network = e.describe(4);
        const ts::graph_view g = network.view();
        for (const auto how : {search::sequence_sharing::megatron_sp, search::sequence_sharing::ulysses}) {
            for (const auto& [groups, most] : {std::pair{1, 4}, {2, 2}, {3, 2}}) {
                const int share = search::most_that_share(g, most);
                const ts::strategy s = search::share_sequences(g, how, groups, share);
                ts::plan p = ts::lower(g, s.view(), groups * share);
                CHECK_NOTHROW(ts::require(g, s.view(), groups * share));
                CHECK_NOTHROW(ts::finish(g, p));
                bool heads = false;
                for (int op = 0; op < g.op_count; ++op) {
                    const int l = search::detail::heads_loop(g.describe(op));
                    heads = heads || l >= 0;
                    CHECK((l < 0 || s.ops[ts::to_size(op)].degree[l] == share));
                }
                transformers += heads && share > 1 ? 1 : 0;
            }
        }
    }
    CHECK(transformers >= 4 * 6);
    // Without sequences there is nothing to share: what megatron says.
    const ts::graph plain = ts::describe<test_networks::mlp::network>(8);
    CHECK(search::megatron_sp(plain.view(), 2, 2).ops == search::megatron(plain.view(), 2, 2).ops);
    CHECK(search::ulysses(plain.view(), 2, 2).ops == search::data_parallel(plain.view(), 4).ops);
}

namespace {

template <class Type>
void check_type(const ts::graph_view& g, const ts::strategy& s) {
    static_assert(Type::ok);
    CHECK(ts::strategy(Type::view()) == s);
    CHECK_NOTHROW(ts::require(g, Type::view(), Type::devices));
}

} // namespace

TEST_CASE("shared sequences as types are those of values") {
    const ts::graph network = described<small_gpt>();
    const ts::graph_view g = network.view();
    check_type<ts::megatron_sp<small_gpt, batch, 4>>(g, search::megatron_sp(g, 1, 4));
    check_type<ts::megatron_sp<small_gpt, batch, 2, 4>>(g, search::megatron_sp(g, 4, 2));
    check_type<ts::ulysses<small_gpt, batch, 8>>(g, search::ulysses(g, 1, 8));
    check_type<ts::ulysses<small_gpt, batch, 2, 2>>(g, search::ulysses(g, 2, 2));
    static_assert(ts::ulysses<small_gpt, batch, 2, 2>::devices == 4);
}

TEST_CASE("rings as types are those of values, and by name") {
    const ts::graph network = described<small_gpt>();
    const ts::graph_view g = network.view();
    check_type<ts::ring_attention<small_gpt, batch, 4>>(g, search::ring_attention(g, 1, 4));
    check_type<ts::ring_attention<small_gpt, batch, 3, 2>>(g, search::ring_attention(g, 2, 3)); // of 8 heads
    check_type<ts::zigzag_attention<small_gpt, batch, 8>>(g, search::zigzag_attention(g, 1, 8));
    check_type<ts::zigzag_attention<small_gpt, batch, 2, 2>>(g, search::zigzag_attention(g, 2, 2));
    const auto found = [&](const search::search_record& r, const ts::device_graph& m, double share) {
        search::search_options o;
        o.values.set("sequence-devices", share);
        return r.run(g, ts::cluster(m), o).best;
    };
    const ts::device_graph two = ts::machines::p100_nodes(2, 3);
    CHECK(found(search::ring_record, two, 0) == search::ring_attention(g, 2, 3));
    CHECK(found(search::zigzag_record, two, 6) == search::zigzag_attention(g, 1, 6));
    CHECK(message_of([&] {
              (void)found(search::zigzag_record, ts::machines::p100_nodes(1, 16), 16);
          }).find(to_text(ts::rule::degree_exceeds_extent)) != std::string::npos);
    // Every operator with positions has piece i of each group on device i, or from either end.
    const ts::strategy zigzag = search::zigzag_attention(g, 2, 3);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::configuration& c = zigzag.ops[ts::to_size(op)];
        const ts::description d = g.describe(op);
        const int l = d.find_loop(ts::loop_name::position);
        CHECK(c.ring == (g.ops[op].attributes.kind == ts::op_kind::attention));
        for (int i = 0; i < c.shards() && l >= 0; ++i) {
            const ts::shard s = ts::shard_at(c, zigzag.pool.data(), d, i);
            const int n = d.find_loop(ts::loop_name::sample);
            const int group = n < 0 ? 0 : s.index[n];
            CHECK(s.device == 3 * group + (s.index[l] < 3 ? s.index[l] : 5 - s.index[l]));
        }
    }
}

TEST_CASE("rings: the zoo's networks keep the rules, and their plans are sound") {
    int rings = 0;
    for (const networks::zoo_entry& e : networks::zoo_shallow()) {
        CAPTURE(std::string(e.name));
        if (std::string_view(e.name).starts_with("t5_")) {
            continue; // its tables of buckets go round no ring
        }
        const ts::graph network = e.describe(4);
        const ts::graph_view g = network.view();
        for (const auto how : {search::sequence_sharing::ring, search::sequence_sharing::zigzag}) {
            const int share = search::most_that_share(g, 4, how);
            const ts::strategy s = search::share_sequences(g, how, 2, share);
            ts::plan p = ts::lower(g, s.view(), 2 * share);
            CHECK_NOTHROW(ts::require(g, s.view(), 2 * share));
            CHECK_NOTHROW(ts::finish(g, p));
            for (const ts::task& t : p.tasks) {
                rings += t.compute().turn > 0 ? 1 : 0;
            }
        }
    }
    CHECK(rings > 100);
}

TEST_CASE("shared sequences: devices that do not divide the heads are refused in words") {
    const ts::graph network = described<small_gpt>(); // of 8 heads
    const ts::graph_view g = network.view();
    using test_support::text_of_rule;
    for (const auto how : {search::sequence_sharing::megatron_sp, search::sequence_sharing::ulysses}) {
        const std::string many = message_of([&] { (void)search::share_sequences(g, how, 1, 16); });
        CHECK(many.find(to_text(ts::rule::more_devices_than_heads)) != std::string::npos);
        CHECK(many.find("attention") != std::string::npos);
        CHECK(many.find("16") != std::string::npos);
        const std::string three = message_of([&] { (void)search::share_sequences(g, how, 1, 3); });
        CHECK(three.find(to_text(ts::rule::devices_do_not_divide_heads)) != std::string::npos);
        CHECK(three.find("found 3, needed 8") != std::string::npos);
        CHECK_NOTHROW((void)search::share_sequences(g, how, 1, 8));
    }
    CHECK(search::most_that_share(g, 12) == 4);
    CHECK(search::most_that_share(g, 16) == 8);
    CHECK(search::most_that_share(g, 7) == 1);
}

TEST_CASE("shared sequences by name: groups of neighbours, as many as the option says or as divide the heads") {
    const ts::graph network = described<small_gpt>(8);
    const ts::graph_view g = network.view();
    const auto found = [&](const search::search_record& r, const ts::device_graph& m, double share) {
        search::search_options o;
        o.values.set("sequence-devices", share);
        return r.run(g, ts::cluster(m), o).best;
    };
    const ts::device_graph two = ts::machines::p100_nodes(2, 4);
    CHECK(found(search::megatron_sp_record, two, 0) == search::megatron_sp(g, 2, 4));
    CHECK(found(search::megatron_sp_record, two, 2) == search::megatron_sp(g, 4, 2));
    CHECK(found(search::ulysses_record, two, 8) == search::ulysses(g, 1, 8));
    CHECK(found(search::ulysses_record, ts::machines::p100_nodes(1, 6), 0) == search::ulysses(g, 3, 2));
    CHECK(message_of([&] {
              (void)found(search::ulysses_record, ts::machines::p100_nodes(1, 6), 4);
          }).find("4 devices that share a sequence do not divide the machine's 6") != std::string::npos);
    CHECK(message_of([&] {
              (void)found(search::ulysses_record, ts::machines::p100_nodes(2, 8), 16);
          }).find(to_text(ts::rule::more_devices_than_heads)) != std::string::npos);
}

TEST_CASE("a plan whose first sums miss a part, take one twice or are read beside a part of theirs is refused") {
    const ts::graph network = described<small_gpt>();
    const ts::graph_view g = network.view();
    const ts::plan sound = ts::lower(g, search::megatron_sp(g, 1, 4).view(), 4);
    const auto is_sum = [&](const ts::task& t) {
        return t.kind() == ts::task_kind::copy &&
               sound.tiles[ts::to_size(t.writes[0])].kind == ts::tile_kind::gradient &&
               sound.tiles[ts::to_size(t.writes[0])].summand >= 0;
    };
    std::size_t sum = 0;
    while (!is_sum(sound.tasks[sum])) {
        ++sum;
    }
    const int made = sound.tasks[sum].writes[0];
    std::size_t reader = sum + 1;
    while (std::count(sound.tasks[reader].reads.begin(), sound.tasks[reader].reads.end(), made) == 0) {
        ++reader;
    }
    REQUIRE(sound.tasks[sum].copy().segments.size() == 3);
    const auto refused = [&](const auto& change) {
        ts::plan p = sound;
        change(p);
        return message_of([&] { ts::finish(g, p); });
    };
    CHECK(refused([](ts::plan&) {}) == "accepted");
    CHECK(refused([&](ts::plan& p) { // the last part is left out
              p.tasks[sum].mutable_copy().segments.pop_back();
              p.tasks[sum].reads.pop_back();
          })
              .find("does not add every part") != std::string::npos);
    CHECK(refused([&](ts::plan& p) { // the first one twice
              p.tasks[sum].mutable_copy().segments[2].source = p.tasks[sum].copy().segments[1].source;
              p.tasks[sum].reads[2] = p.tasks[sum].reads[1];
          }) != "accepted");
    CHECK(refused([&](ts::plan& p) { p.tiles[ts::to_size(made)].summand += 1; }) != "accepted");
    CHECK(refused([&](ts::plan& p) { // a part in the place of the sum
              const int part = p.tasks[sum].reads[0];
              for (ts::copy_segment& s : p.tasks[reader].mutable_copy().segments) {
                  s.source = s.source == made ? part : s.source;
              }
              std::replace(p.tasks[reader].reads.begin(), p.tasks[reader].reads.end(), made, part);
          })
              .find("does not add every part") != std::string::npos);
    CHECK(refused([&](ts::plan& p) { // the sum, and a part of it again
              const int part = p.tasks[sum].reads[1];
              ts::copy_segment again = p.tasks[reader].copy().segments[1];
              again.source = part;
              p.tasks[reader].mutable_copy().segments.push_back(again);
              p.tasks[reader].reads.push_back(part);
          })
              .find("does not add every part") != std::string::npos);
}
