// SPDX-License-Identifier: Apache-2.0
// Whatever carries or compares strategies notices every field of them.
#include "support/strategy_fields.hpp"
#include "support/networks.hpp"

#include "tessera/io/exchange/search_file.hpp"
#include "tessera/io/exchange/strategy_file.hpp"
#include "tessera/io/reports/described_json.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/schedule/gradients.hpp"
#include "tessera/schedule/stale_gradients.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"
#include "tessera/search/by_hand/side_by_side.hpp"
#include "tessera/search/explain/print.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using test_support::changed_field;

const ts::graph& mlp() {
    static const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    return g;
}

ts::strategy base() {
    return test_support::with_everything(search::data_parallel(mlp().view(), 2), mlp().view().parameter_count);
}

ts::strategy changed(const changed_field& f) {
    ts::strategy s = base();
    f.apply(s);
    return s;
}

std::string name_of(const changed_field& f) { return std::string(f.owner) + "::" + f.name; }

search::mcmc_state state_with(const ts::strategy& s) {
    search::mcmc_state x;
    x.current = s;
    x.improvements.push_back({5, s});
    return x;
}

} // namespace

TEST_CASE("strategy fields: each is changed by one of the changes, which leave all others alone") {
    std::map<std::string, std::size_t> changes;
    std::set<std::string> names;
    for (const changed_field& f : test_support::changed_fields()) {
        ++changes[f.owner];
        CHECK(names.insert(name_of(f)).second);
    }
    std::map<std::string, std::size_t> counts = test_support::field_counts();
    CHECK(counts["strategy_view"] == counts["strategy"] + 2); // ops and pool with their sizes
    counts.erase("strategy_view");
    CHECK(changes == counts);
    // What is listed is what is there, under the same names.
    std::set<std::string> listed;
    const auto list = [&]<class T>(const char* owner, const T*) {
        T::each_field([&](const char* name, auto, const ts::field_facts&) {
            listed.insert(std::string(owner) + "::" + (std::string(name) == "synchronization" ? "sync" : name));
        });
    };
    list("strategy", static_cast<const ts::strategy*>(nullptr));
    list("configuration", static_cast<const ts::configuration*>(nullptr));
    list("pipeline_schedule", static_cast<const ts::pipeline_schedule*>(nullptr));
    list("action", static_cast<const ts::action*>(nullptr));
    list("synchronization", static_cast<const ts::synchronization*>(nullptr));
    list("message", static_cast<const ts::message*>(nullptr));
    list("gradient_slice", static_cast<const ts::gradient_slice*>(nullptr));
    CHECK(listed == names);
}

namespace {

enum class manner : std::uint8_t { calm, wild };
constexpr const char* to_text(manner m) { return m == manner::calm ? "calm" : "wild"; }

/// A value with fields that nothing else knows.
struct dummy {
    int count = 3;
    bool flag = false;
    manner how = manner::calm;
    std::vector<int> list;

    template <class See>
    static constexpr void each_field(See&& see) {
        see("count", &dummy::count, {.least = 1});
        see("flag", &dummy::flag, {});
        see("how", &dummy::how, {});
        see("list", &dummy::list, {});
    }
};

} // namespace

namespace tessera {
template <>
inline constexpr int value_count<manner> = 2;
} // namespace tessera

TEST_CASE("strategy fields: what is in a list of fields is compared, hashed, written and read, whatever it is") {
    const dummy usual;
    const auto text_of = [](const dummy& d) {
        ts::io::json j = ts::io::json::object();
        ts::io::detail::write_fields(j, d);
        return j.dump();
    };
    CHECK(text_of(usual) == "{}");
    const auto holds = [&](const dummy& x, const char* text) {
        CHECK(!ts::same_fields(x, usual));
        CHECK(ts::hash_of_fields(x) != ts::hash_of_fields(usual));
        CHECK(text_of(x) == text);
        const ts::io::json_document document(text, "dummy");
        ts::io::json_object o(document.root());
        dummy back;
        ts::io::detail::read_fields(o, back);
        o.finish();
        return back;
    };
    const dummy other{4, false, manner::calm, {}};
    const dummy flagged{3, true, manner::calm, {}};
    const dummy wild{3, false, manner::wild, {}};
    CHECK(ts::same_fields(holds(other, "{\"count\":4}"), other));
    CHECK(ts::same_fields(holds(flagged, "{\"flag\":true}"), flagged));
    CHECK(ts::same_fields(holds(wild, "{\"how\":\"wild\"}"), wild));
    const dummy listed{3, false, manner::calm, {1}};
    CHECK(!ts::same_fields(listed, usual));
    CHECK(ts::hash_of_fields(listed) != ts::hash_of_fields(usual));
    for (const char* wrong : {"{\"count\":0}", "{\"flag\":1}", "{\"how\":\"tame\"}"}) {
        const ts::io::json_document document(wrong, "dummy");
        ts::io::json_object o(document.root());
        dummy back;
        CHECK_THROWS_AS(ts::io::detail::read_fields(o, back), ts::error);
    }
}

TEST_CASE("strategy fields: comparisons, views and differences notice each") {
    const ts::graph_view g = mlp().view();
    CHECK(base() == base());
    CHECK(ts::is_same(base(), base()));
    CHECK(!search::difference(g, base(), base()).any());
    for (const changed_field& f : test_support::changed_fields()) {
        CAPTURE(name_of(f));
        const ts::strategy s = changed(f);
        CHECK(!(s == base()));
        CHECK(!ts::is_same(s, base()));
        CHECK(ts::hash_of(s) != ts::hash_of(base()));
        CHECK(ts::strategy(s.view()) == s);
        // Leave to be uneven, or to reduce, changes nothing that runs.
        const bool only_leave = f.name == std::string("uneven") || f.name == std::string("reduces");
        const search::strategy_difference d = search::difference(g, s, base());
        CHECK(d.any() == !only_leave);
        CHECK((search::to_text(g, d, s, base()) != "the strategies are the same\n") == !only_leave);
        const std::string owner = f.owner;
        const std::string field = f.name;
        const bool shards =
            (owner == "configuration" && field != "stage" && field != "recompute" && field != "offload") ||
            field == "ops" || field == "pool";
        CHECK(ts::is_same_but_for_shards(s, base()) == shards);
    }
    ts::strategy moved = base(); // the same numbers at another place of the pool, and others that nothing uses
    moved.pool.insert(moved.pool.begin(), {9, 9, 9});
    moved.ops[1].devices += 3;
    CHECK(!(moved == base()));
    CHECK(ts::is_same(moved, base()));
    CHECK(ts::hash_of(moved) == ts::hash_of(base()));
}

namespace {

/// Changed alone these contradict the other fields, so that no file with them can be read.
const std::set<std::string> contradictions{"configuration::partial",
                                           "configuration::ring",
                                           "configuration::stage",
                                           "gradient_slice::parameter",
                                           "gradient_slice::slice",
                                           "gradient_slice::slices",
                                           "message::slices",
                                           "pipeline_schedule::micro_batches",
                                           "pipeline_schedule::stages",
                                           "action::micro_batch",
                                           "action::stage",
                                           "action::what",
                                           "strategy::micro_batches",
                                           "strategy::schedule",
                                           "synchronization::average_every",
                                           "synchronization::compress",
                                           "synchronization::staleness",
                                           "synchronization::messages",
                                           "synchronization::shards_parameters"};

} // namespace

TEST_CASE(
    "strategy fields: a search file brings each back, or refuses it; a text in which one is different is another") {
    const ts::graph_view g = mlp().view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    const search::mcmc_options o;
    const auto text_of = [&](const ts::strategy& s) {
        search::search_state state;
        state.chains.push_back({"start", 7, state_with(s)});
        return ts::io::to_text(state, g, on, o);
    };
    std::set<std::string> texts{text_of(base())};
    std::set<std::string> refused;
    for (const changed_field& f : test_support::changed_fields()) {
        CAPTURE(name_of(f));
        const ts::strategy s = changed(f);
        const std::string text = text_of(s);
        // strategy::sync and synchronization::sum_at are one change; how many micro-batches a schedule has is the
        // strategy's to say.
        CHECK((texts.insert(text).second || name_of(f) == "synchronization::sum_at" ||
               name_of(f) == "pipeline_schedule::micro_batches"));
        try {
            const search::search_state back = ts::io::search_from_text(text, g, on, o);
            REQUIRE(back.chains.size() == 1);
            CHECK((ts::is_same(back.chains[0].state.current, s) || name_of(f) == "pipeline_schedule::micro_batches"));
            REQUIRE(back.chains[0].state.improvements.size() == 1);
            CHECK(back.chains[0].state.improvements[0].value == back.chains[0].state.current);
        } catch (const ts::error& e) {
            CHECK(std::string(e.what()).find("tessera: search file, line ") == 0);
            refused.insert(name_of(f));
        }
    }
    refused.insert("pipeline_schedule::micro_batches");
    CHECK(refused == contradictions);
}

TEST_CASE("strategy fields: a strategy file brings each back, or refuses a strategy that breaks a rule; none is lost") {
    const ts::graph_view g = mlp().view();
    const std::string text = ts::io::to_text(ts::io::to_json(g, base(), 4));
    CHECK(ts::is_same(ts::io::strategy_from_text(g, text).value, base()));
    std::set<std::string> refused;
    for (const changed_field& f : test_support::changed_fields()) {
        CAPTURE(name_of(f));
        const ts::strategy s = changed(f);
        try {
            const std::string other = ts::io::to_text(ts::io::to_json(g, s, 4));
            const ts::strategy back = ts::io::strategy_from_text(g, other).value;
            CHECK(other != text);
            CHECK(ts::is_same(back, s));
        } catch (const ts::error&) {
            refused.insert(name_of(f));
        }
    }
    CHECK(refused == contradictions);
}

TEST_CASE("strategy fields: a strategy file brings rings back") {
    const ts::graph network = ts::describe<test_networks::transformer::network>(2);
    const ts::graph_view g = network.view();
    for (const auto how : {search::sequence_sharing::ring, search::sequence_sharing::zigzag}) {
        const ts::strategy s = search::share_sequences(g, how, 1, 3);
        const std::string text = ts::io::to_text(ts::io::to_json(g, s, 3));
        CHECK(text.find("\"ring\": true") != std::string::npos);
        CHECK(ts::is_same(ts::io::strategy_from_text(g, text).value, s));
    }
}

TEST_CASE("strategy fields: a strategy file brings late gradients back") {
    const ts::graph_view g = mlp().view();
    ts::strategy s = search::data_parallel(g, 2);
    s.sync = ts::schedule::stale_gradients(ts::schedule::gradients_of(g), 2);
    s.steps_per_plan = 4;
    const std::string text = ts::io::to_text(ts::io::to_json(g, s, 2));
    CHECK(ts::is_same(ts::io::strategy_from_text(g, text).value, s));
}

TEST_CASE(
    "strategy fields: of starts that cost the same, those that differ in more than where shards lie are searched") {
    const ts::graph_view g = mlp().view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::strategy data = search::data_parallel(g, 2);
    ts::strategy mirrored = data;
    for (ts::configuration& c : mirrored.ops) {
        c.start = 2;
    }
    ts::strategy other = data; // there is no batch norm: it costs the same
    other.statistics = ts::statistics_over::mini_batch;
    search::parallel_search_options o;
    o.chain.budget = 1;
    o.rounds = 1;
    o.random_starts = 0;
    o.drop_slow_starts = true;
    search::parallel_search s(g, on, {{"data parallel", data}, {"mirrored", mirrored}, {"other", other}}, o);
    s.run_round();
    const auto& chains = s.state().chains;
    REQUIRE(chains.size() == 3);
    CHECK(chains[0].start_cost == chains[2].start_cost);
    CHECK(chains[1].start == "other"); // what is there again comes last
    CHECK(chains[2].start == "mirrored");
}

TEST_CASE("strategy fields: a search keeps stages and what is recomputed") {
    const ts::graph_view g = mlp().view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    ts::strategy start = search::data_parallel(g, 2);
    start.micro_batches = 2;
    for (std::size_t op = 0; op < start.ops.size(); ++op) {
        start.ops[op].recompute = op % 2 == 0;
        start.ops[op].stage = 2 * op < start.ops.size() ? 0 : 1;
    }
    search::mcmc_options o;
    o.temperature = 10; // whatever is proposed is taken
    search::mcmc_chain chain(g, on, start, o);
    chain.run(100);
    CHECK(chain.accepted() > 10);
    CHECK(ts::is_same_but_for_shards(chain.state().current, start));
    search::random_numbers pick;
    const search::proposer propose(g, on, o.proposals);
    CHECK(ts::is_same_but_for_shards(propose.random_start(start, pick), start));
    for (const search::named_strategy& s : search::layers_side_by_side(propose, start)) {
        CHECK(ts::is_same_but_for_shards(s.value, start));
    }
}
