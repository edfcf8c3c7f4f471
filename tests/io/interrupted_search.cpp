// SPDX-License-Identifier: Apache-2.0
#include "tessera/execute/local/search_threads.hpp"
#include "tessera/io/exchange/coarse_search_file.hpp"

#include "examples/zoo/recurrent.hpp"
#include "tessera/machine/presets.hpp"
#include "tests/io/temporary_folder.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

using small_rnn = networks::rnnlm_parts<3, 16, 50>::network;

search::parallel_search_options small(bool compares) {
    search::parallel_search_options o;
    o.chain.budget = 160;
    o.chain.patience = 120;
    o.chain.stop = search::stop_rule::doubling;
    o.chain.least_work = 20'000;
    o.chain.most_work = 1'000'000;
    o.chain.return_after = 30;
    o.threads = ts::search_threads(2);
    o.drop_slow_starts = compares;
    return o;
}

/// Interrupts after so many reports of proposals, and counts those that come after that.
class interruption {
public:
    explicit interruption(int after) : left_(after) {}
    void operator()(const search::search_progress& now) {
        if (now.made == made_) { // a start has been priced
            return;
        }
        made_ = now.made;
        late_ += flag_ ? 1 : 0;
        flag_ = flag_ || --left_ <= 0;
    }
    const std::atomic<bool>* flag() const { return &flag_; }
    bool happened() const { return flag_; }
    int late() const { return late_; }

private:
    int left_;
    int late_ = 0;
    std::int64_t made_ = 0;
    std::atomic<bool> flag_ = false;
};

} // namespace

TEST_CASE("an interrupted search goes on in the middle of a round, through its file, and ends as if nothing had been") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::k80_nodes(1));
    const auto starts = search::hand_designed(g.view(), on);
    for (const bool compares : {false, true}) {
        search::parallel_search_options o = small(compares);
        search::parallel_search whole(g.view(), on, starts, o);
        const auto expected = whole.run();
        const std::string end = ts::io::to_text(whole.state(), g.view(), on, o.chain);
        std::uint64_t random = 7;
        search::search_state state = search::parallel_search(g.view(), on, starts, o).state();
        int interruptions = 0;
        int inside = 0; // a round
        while (!state.finished) {
            random = ts::op::mix(random);
            interruption soon(1 + static_cast<int>(random % 9));
            o.interrupted = soon.flag();
            search::parallel_search part(g.view(), on, std::move(state), o);
            const auto best = part.run([&](const search::search_progress& p) { soon(p); });
            CHECK(best.cost < INT64_MAX); // there is a result at any time
            CHECK(soon.late() <= 1);      // the other thread's slice of 20
            CHECK(part.interrupted() == !part.finished());
            for (const search::named_chain& c : part.state().chains) {
                inside += c.round_made >= 0 && c.state.made > c.round_made ? 1 : 0;
            }
            interruptions += part.interrupted() ? 1 : 0;
            const std::string text = ts::io::to_text(part.state(), g.view(), on, o.chain);
            state = ts::io::search_from_text(text, g.view(), on, o.chain);
        }
        CHECK(interruptions > 3);
        CHECK(inside > 0);
        CHECK(ts::io::to_text(state, g.view(), on, o.chain) == end);
        o.interrupted = nullptr;
        const auto found = search::parallel_search(g.view(), on, std::move(state), o).result();
        CHECK(found.cost == expected.cost);
        CHECK(found.best.ops == expected.best.ops);
    }
}

TEST_CASE("a search interrupted before its first proposal has priced every start") {
    const ts::graph g = ts::describe<small_rnn>(16);
    const ts::cluster on(ts::machines::k80_nodes(1));
    const std::atomic<bool> at_once = true;
    search::parallel_search_options o = small(false);
    o.interrupted = &at_once;
    search::parallel_search s(g.view(), on, search::hand_designed(g.view(), on), o);
    const auto found = s.run();
    CHECK(s.interrupted());
    for (const auto& c : found.chains) {
        CHECK(c.made == 0);
        CHECK(c.start_cost > 0);
        CHECK(found.cost <= c.start_cost);
    }
}

TEST_CASE("a search from coarse to fine goes on from its file wherever it was interrupted, and finds the same") {
    const ts::graph g = ts::describe<small_rnn>(32);
    const ts::cluster on(ts::machines::p100_nodes(4));
    const auto starts = search::hand_designed(g.view(), on);
    search::coarse_search_options o;
    o.search = small(true);
    o.search.chain.budget = 40;
    o.search.most_chains = 2;
    o.most_proposals = 80;
    o.rounds = 2;
    o.search.rounds = 2;
    const auto expected = search::coarse_search(g.view(), on, starts, o);
    const test::temporary_folder folder;
    std::uint64_t random = 11;
    int interruptions = 0;
    for (;; ++interruptions) {
        REQUIRE(interruptions < 200);
        random = ts::op::mix(random);
        interruption soon(2 + static_cast<int>(random % 5));
        o.search.interrupted = soon.flag();
        ts::io::file_journal journal(folder / "search");
        const auto found = search::coarse_search(
            g.view(), on, starts, o, [&](const search::search_progress& p) { soon(p); }, &journal);
        CHECK(found.cost < INT64_MAX);
        if (!soon.happened()) {
            CHECK(found.cost == expected.cost);
            CHECK(found.best.ops == expected.best.ops);
            break;
        }
    }
    CHECK(interruptions > 2);

    // Kept with other options, and damaged.
    search::coarse_search_options other = o;
    other.search.interrupted = nullptr;
    other.search.chain.seed = 2;
    ts::io::file_journal kept(folder / "search");
    CHECK_THROWS_WITH_AS(search::coarse_search(g.view(), on, starts, other, {}, &kept), doctest::Contains("begin anew"),
                         ts::error);
    const std::string text = ts::io::read_file(folder / "search");
    for (std::size_t keep = 0; keep < text.size(); keep += text.size() / 20 + 1) {
        ts::io::write_file_atomically(folder / "cut", text.substr(0, keep));
        CHECK_THROWS_AS((void)ts::io::file_journal(folder / "cut"), ts::error);
    }
    ts::io::write_file_atomically(folder / "longer", text + "x");
    CHECK_THROWS_AS((void)ts::io::file_journal(folder / "longer"), ts::error);
}
