// SPDX-License-Identifier: Apache-2.0
// A message is one collective: what backends execute is counted, and it is what the simulator prices, for random plans
// under every policy.
#include "support/random_messages.hpp"
#include "support/same_numbers.hpp"
#include "support/star.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/simulate/simulate.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using namespace test_support;

/// How often every task of a plan has run.
struct run_counts {
    std::mutex mutex;
    std::map<int, int> of_task;
};

/// A backend that counts the tasks that run.
template <class Base>
class counting : public Base {
public:
    counting(const ts::optimizer& update, run_counts& counts) : Base(update), counts_(&counts) {}

    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        const ts::runnable own = Base::prepare(p, index, g, where);
        const std::lock_guard<std::mutex> lock(counts_->mutex);
        calls_->push_back({own, counts_, index});
        return {[](void* context, const ts::run_state& run) {
                    const auto& c = *static_cast<const counted*>(context);
                    c.own.call(c.own.context, run);
                    const std::lock_guard<std::mutex> held(c.counts->mutex);
                    ++c.counts->of_task[c.index];
                },
                &calls_->back()};
    }

private:
    struct counted {
        ts::runnable own;
        run_counts* counts;
        int index;
    };
    run_counts* counts_;
    std::shared_ptr<std::deque<counted>> calls_ = std::make_shared<std::deque<counted>>();
};

/// Reduce-scatters and all-gathers that the tasks which ran did: each member of a message, or of an update, runs a task
/// for both.
int executed(const ts::plan& p, const run_counts& counts) {
    struct collective {
        int runs = 0;
        std::set<int> devices;
        bool sums = false;
        bool shares = false;
    };
    std::map<std::vector<int>, collective> all;
    for (const auto& [index, runs] : counts.of_task) {
        const ts::task& t = p.tasks[ts::to_size(index)];
        const bool by_itself = t.kind() == ts::task_kind::update && t.params().method == ts::exchange::sliced &&
                               t.params().slices > 1 && t.params().parts.empty() && t.writes.size() > 1;
        if (t.params().message < 0 && !by_itself) {
            continue;
        }
        std::vector<int> key{t.params().message, static_cast<int>(t.kind()), t.step};
        if (t.params().message < 0) {
            key.insert(key.end(), t.writes.begin(), t.writes.end());
        }
        collective& c = all[key];
        c.runs += runs;
        c.devices.insert(t.device);
        for (const int r : t.reads) {
            const ts::tile& x = p.tiles[ts::to_size(r)];
            c.sums = c.sums || (x.kind != ts::tile_kind::scalar && x.device != t.device);
        }
        for (const int w : t.writes) {
            c.shares = c.shares || p.tiles[ts::to_size(w)].device != t.device;
        }
    }
    int n = 0;
    for (const auto& [key, c] : all) {
        REQUIRE(c.runs % static_cast<int>(c.devices.size()) == 0);
        n += c.runs / static_cast<int>(c.devices.size()) * ((c.sums ? 1 : 0) + (c.shares ? 1 : 0));
    }
    return n;
}

template <class Base>
void compare(const message_case& c, ts::workers& threads, int& priced, int& parameters) {
    const ts::graph_view g = c.network.view();
    run_counts counts;
    counting<Base> backend(c.update, counts);
    ts::session<counting<Base>> session(g, c.how, c.devices, c.update, {}, backend, threads);
    const batch_data data(g, 7);
    session.step(data.inputs);
    const ts::plan& p = session.training_plan();
    const sim::timeline t = sim::simulate(session.planned_graph(), p, star(c.devices, 1000, 100000, 10000));
    CHECK(executed(p, counts) == t.collectives);
    priced += t.collectives;
    for (const ts::task& x : p.tasks) {
        parameters = std::max(parameters, static_cast<int>(x.params().parts.size()));
    }
}

} // namespace

TEST_CASE("as many collectives are executed as are priced, under every policy, on threads") {
    coverage seen;
    const char* said = std::getenv("TESSERA_STRATEGIES");
    const int count = said != nullptr ? std::max(1, std::atoi(said)) : 48;
    ts::workers threads(4);
    int priced = 0;
    int parameters = 0; // of one task, at most
    for (int i = 0; i < count; ++i) {
        const message_case c = random_messages(i, seen);
        CAPTURE(i);
        CAPTURE(c.name);
#ifdef TESSERA_TEST_HOST
        if (i % 2 == 1) {
            compare<ts::host::backend>(c, threads, priced, parameters);
            continue;
        }
#endif
        compare<ts::reference::backend>(c, threads, priced, parameters);
    }
    CHECK(priced > count);
    CHECK((count < 12 || parameters > 4));
    MESSAGE(count << " plans: " << priced << " collectives; tasks of up to " << parameters << " parameters");
}

TEST_CASE("a message of n parameters is one task to sum and one to update for each member, not n") {
    const ts::graph g = ts::describe<test_networks::residual_net::network>(4);
    const int devices = 4;
    const auto all = ts::schedule::gradients_of(g.view());
    const auto count = [&](const ts::synchronization& sync, ts::task_kind kind) {
        int n = 0;
        for (const ts::task& t : planned(g.view(), data_parallel(g.view(), devices, sync), devices).tasks) {
            n += t.kind() == kind ? 1 : 0;
        }
        return n;
    };
    const ts::synchronization one = ts::schedule::buckets(all, {1 << 30, 1 << 30});
    REQUIRE(one.messages.size() == 1);
    const ts::synchronization each = ts::schedule::buckets(all, {1, 1});
    REQUIRE(each.messages.size() == all.size());
    for (const ts::task_kind kind : {ts::task_kind::reduce, ts::task_kind::update}) {
        CHECK(count(one, kind) == devices);
        CHECK(count(each, kind) == devices * static_cast<int>(all.size()));
    }
}
