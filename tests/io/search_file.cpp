// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/search_file.hpp"
#include "tessera/execute/local/search_threads.hpp"

#include "examples/zoo/recurrent.hpp"
#include "tessera/machine/presets.hpp"
#include "tests/io/temporary_folder.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

using small_rnn = networks::rnnlm_parts<3, 16, 50>::network;

search::parallel_search_options small(int threads) {
    search::parallel_search_options o;
    o.chain.budget = 240;
    o.chain.patience = 120;
    o.chain.stop = search::stop_rule::doubling;
    o.chain.least_work = 20'000;
    o.chain.most_work = 1'000'000;
    o.chain.return_after = 30;
    o.threads = ts::search_threads(threads);
    return o;
}

bool same(const ts::strategy& a, const ts::strategy& b) { return a.ops == b.ops && a.pool == b.pool; }

bool same(const search::search_state& a, const search::search_state& b) {
    bool equal = a.round == b.round && a.finished == b.finished && a.chains.size() == b.chains.size();
    for (std::size_t i = 0; i < a.chains.size() && equal; ++i) {
        const search::mcmc_state& x = a.chains[i].state;
        const search::mcmc_state& y = b.chains[i].state;
        equal = a.chains[i].start == b.chains[i].start && a.chains[i].start_cost == b.chains[i].start_cost &&
                same(x.current, y.current) && x.random == y.random && x.made == y.made && x.accepted == y.accepted &&
                x.improved_at == y.improved_at && x.work == y.work && x.mark_work == y.mark_work &&
                x.mark_cost == y.mark_cost && a.chains[i].round_made == b.chains[i].round_made &&
                a.chains[i].round_work == b.chains[i].round_work && x.improvements.size() == y.improvements.size();
        for (std::size_t k = 0; k < x.improvements.size() && equal; ++k) {
            equal = x.improvements[k].cost == y.improvements[k].cost &&
                    same(x.improvements[k].value, y.improvements[k].value);
        }
    }
    return equal;
}

} // namespace

TEST_CASE("parallel search: the same on one thread and on three; no worse than its starts; progress grows to the end") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    const auto starts = search::hand_designed(g.view(), on);
    search::parallel_search alone(g.view(), on, starts, small(1));
    search::parallel_search three(g.view(), on, starts, small(3));
    std::int64_t made = 0;
    bool grows = true;
    const auto found = alone.run();
    const auto again = three.run([&](const search::search_progress& p) {
        grows = grows && p.made >= made && p.made <= p.budget && p.best_cost > 0;
        made = p.made;
    });
    CHECK(grows);
    CHECK(same(alone.state(), three.state()));
    CHECK(same(found.best, again.best));
    std::int64_t sum = 0;
    for (const auto& c : found.chains) {
        CHECK(found.cost <= c.start_cost);
        sum += c.made;
    }
    CHECK(sum == made);
    CHECK(found.chains.back().start == "random 1");
    const auto p = ts::lower(g.view(), found.best.view(), on.devices());
    CHECK(found.cost == ts::simulation::simulate(g.view(), p, on).makespan);
}

TEST_CASE("parallel search: data parallelism is among the starts; pins hold in every start and in what is found") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::parallel_search_options o = small(2);
    const ts::strategy pins = search::model_parallel(g.view(), 2);
    o.chain.proposals.pinned.assign(g.ops.size(), 0);
    for (std::size_t op = 0; op < g.ops.size(); op += 3) {
        o.chain.proposals.pinned[op] = 1;
    }
    o.pins = &pins;
    search::parallel_search s(g.view(), on, {{"one device", search::single_device(g.view())}}, o);
    CHECK(s.state().chains[0].start == "data parallel");
    const auto found = s.run();
    for (std::size_t op = 0; op < g.ops.size(); op += 3) {
        CHECK(found.best.ops[op] == pins.ops[op]);
    }
}

TEST_CASE("search file: what is written is read exactly, and an interrupted search ends as one that was not") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::k80_nodes(1));
    const auto starts = search::hand_designed(g.view(), on);
    const search::parallel_search_options o = small(2);
    search::parallel_search whole(g.view(), on, starts, o);
    const auto expected = whole.run();
    search::parallel_search first(g.view(), on, starts, o);
    first.run_round();
    const std::string text = ts::io::to_text(first.state(), g.view(), on, o.chain);
    const search::search_state read = ts::io::search_from_text(text, g.view(), on, o.chain);
    CHECK(same(read, first.state()));
    CHECK(ts::io::to_text(read, g.view(), on, o.chain) == text);
    const test::temporary_folder folder;
    const std::string path = folder / "search";
    ts::io::write_search(path, first.state(), g.view(), on, o.chain);
    const auto found = ts::io::run_search(g.view(), on, {}, o, path);
    CHECK(found.cost == expected.cost);
    CHECK(same(found.best, expected.best));
    CHECK(ts::io::read_search(path, g.view(), on, o.chain).finished);

    // Damage of any kind is refused, also where the sum has been made to agree.
    const auto refused = [&](const std::string& bad) {
        CHECK_THROWS_AS(ts::io::search_from_text(bad, g.view(), on, o.chain), ts::error);
    };
    for (std::size_t at = 0; at < text.size(); at += text.size() / 50 + 1) {
        std::string bad = text;
        bad[at] = bad[at] == '7' ? '8' : '7';
        refused(bad);
        refused(text.substr(0, at));
    }
    const std::string body = text.substr(text.find('\n') + 1);
    const auto resummed = [](const std::string& s) {
        return "tessera-search 6 " + std::to_string(ts::io::detail::sum_of(s)) + "\n" + s;
    };
    CHECK(resummed(body) == text);
    std::uint64_t state = 3;
    int thrown = 0;
    for (int i = 0; i < 300;
         ++i) { // a mutation may still be a state; what must not happen is anything but a state or an error
        std::string bad = body;
        state = ts::op::mix(state);
        const std::size_t at = state % bad.size();
        bad[at] = "0123456789- \nx"[(state >> 40U) % 14];
        if (i % 3 == 0) {
            (void)bad.erase(at, 1 + (state >> 50U) % 9);
        }
        try {
            search::parallel_search(g.view(), on, ts::io::search_from_text(resummed(bad), g.view(), on, o.chain), o);
        } catch (const ts::error&) {
            ++thrown;
        }
    }
    CHECK(thrown > 30);
    search::mcmc_options other = o.chain;
    other.seed = 99;
    CHECK_THROWS_AS(ts::io::search_from_text(text, g.view(), on, other), ts::error);
    other = o.chain;
    other.return_after = 29;
    CHECK_THROWS_AS(ts::io::search_from_text(text, g.view(), on, other), ts::error);
    other = o.chain;
    other.milliseconds_per_gigabyte = 1;
    CHECK_THROWS_AS(ts::io::search_from_text(text, g.view(), on, other), ts::error);
    CHECK_THROWS_AS(ts::io::read_search(path + ".none", g.view(), on, o.chain), ts::error);
}
