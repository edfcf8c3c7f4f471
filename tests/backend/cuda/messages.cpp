// SPDX-License-Identifier: Apache-2.0
// A message is one group of calls before its members' own work and one after it, as many as the simulator prices.
#include "support/cuda_lists.hpp"
#include "support/random_messages.hpp"
#include "support/refusal.hpp"
#include "support/star.hpp"

#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Reduce-scatters and all-gathers of parameters in a list: groups of calls. An all-reduce is both.
int listed_collectives(const listed& x) {
    int n = 0;
    int last = -1;
    for (const ts::cuda::call& c : x.list.calls) {
        const ts::task& t = x.p.tasks[ts::to_size(c.task)];
        const bool by_itself = t.kind() == ts::task_kind::update && t.params().method == ts::exchange::sliced &&
                               t.params().slices > 1 && t.params().parts.empty() && t.writes.size() > 1;
        if (c.group > last && (t.params().message >= 0 || by_itself)) {
            last = c.group;
            const auto* what = std::get_if<ts::cuda::collective>(&c.body);
            n += what != nullptr && what->which == ts::cuda::collective::kind::all_reduce ? 2 : 1;
        }
    }
    return n;
}

} // namespace

TEST_CASE("a list has as many collectives as the simulator prices, under every policy") {
    coverage seen;
    const char* said = std::getenv("TESSERA_LISTS");
    const int count = said != nullptr ? std::max(1, std::atoi(said)) : 60;
    int priced = 0;
    int largest = 0; // collectives in one group, at most
    for (int i = 0; i < count; ++i) {
        const message_case c = random_messages(i, seen);
        CAPTURE(i);
        CAPTURE(c.name);
        ts::lower_options o;
        o.update = c.update;
        const listed x = make_listed(c.network.view(), c.how, c.devices, gpu_placement(c.devices, 1), o);
        CHECK(list_checker(x).run() == "");
        const auto t = ts::simulation::simulate(c.network.view(), x.p, star(c.devices, 1000, 100000, 10000));
        CHECK(listed_collectives(x) == t.collectives);
        priced += t.collectives;
        for (std::size_t k = 0; k < x.list.calls.size();) {
            std::size_t end = k + 1;
            while (x.list.calls[k].group >= 0 && end < x.list.calls.size() &&
                   x.list.calls[end].group == x.list.calls[k].group) {
                ++end;
            }
            const bool collects = std::holds_alternative<ts::cuda::collective>(x.list.calls[k].body);
            largest = collects ? std::max(largest, static_cast<int>(end - k)) : largest;
            k = end;
        }
    }
    CHECK(priced > count);
    CHECK((count < 12 || largest > 8));
    MESSAGE(count << " lists: " << priced << " collectives; groups of up to " << largest << " calls");
}

TEST_CASE("where the state is on the host, gradients go down and parameters come up by copies beside the computation") {
    const ts::graph network = ts::describe<test_networks::mlp::network>(8);
    const ts::graph_view g = network.view();
    ts::index_t parameters = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        parameters += g.parameters[p].trained ? 4 * g.parameters[p].extents.volume() : 0;
    }
    ts::lower_options o;
    o.update = ts::optimizer(ts::adam{});
    for (const char* policy : {"", "zero-1", "zero-3", "blocking-all-reduce"}) {
        CAPTURE(std::string(policy));
        ts::strategy s = data_parallel(g, 2);
        s.state_on_host = true;
        if (*policy != 0) {
            s.sync = small_policy(g, 2, policy).second;
        }
        const listed x = make_listed(g, s, 2, gpu_placement(2, 1), o);
        CHECK(list_checker(x).run() == "");
        std::set<int> computing;
        std::set<int> copying;
        ts::index_t down = 0;
        ts::index_t up = 0;
        for (const ts::cuda::call& c : x.list.calls) {
            const auto* copy = std::get_if<ts::cuda::memory_copy>(&c.body);
            if (copy != nullptr && copy->goes != ts::cuda::memory_copy::way::on_gpu) {
                (copy->goes == ts::cuda::memory_copy::way::to_host ? down : up) += c.memory[0].bytes;
                copying.insert(c.stream);
            } else if (std::holds_alternative<ts::cuda::matrix_product>(c.body)) {
                computing.insert(c.stream);
            }
        }
        const int each = *policy == 'b' ? 2 : 1; // an all-reduce updates every copy whole
        CHECK(down == each * parameters);
        CHECK(up == each * parameters);
        CHECK(copying.size() == 2);
        for (const int stream : copying) {
            CHECK(computing.count(stream) == 0);
        }
    }
}

TEST_CASE("compressed gradients are refused by name") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const auto all = ts::schedule::gradients_of(g.view());
    for (const ts::synchronization& sync : {ts::schedule::eight_bit_gradients(all),
                                            ts::schedule::one_bit_gradients(all), ts::schedule::top_k_gradients(all)}) {
        CHECK(message_of([&] {
                  (void)make_listed(g.view(), data_parallel(g.view(), 2, sync), 2, gpu_placement(2, 1), {});
              }) == "tessera: the CUDA backend does not compress gradients; run the strategy on the host backend, or "
                    "send whole gradients (another synchronization policy)");
    }
}

TEST_CASE("a message goes as all-reduces of one group; unequal slices as reductions and broadcasts") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const auto all = ts::schedule::gradients_of(g.view());
    const auto groups_of = [&](const ts::synchronization& sync, int devices) {
        const listed x =
            make_listed(g.view(), data_parallel(g.view(), devices, sync), devices, gpu_placement(devices, 1), {});
        CHECK(list_checker(x).run() == "");
        CHECK(ts::cuda::to_text(x.list, x.p, g.view()).find("ncclSend") == std::string::npos);
        std::string text;
        int last = -1;
        for (const ts::cuda::call& c : x.list.calls) {
            if (c.group >= 0 && c.rank == 0) {
                text += std::string(c.group != last ? "|" : "") + ts::cuda::function_of(c).substr(4) + " ";
                last = c.group;
            }
        }
        return text;
    };
    // Five parameters, after the count of losses that are not finite; by 4 all but the last bias of 10 divide.
    CHECK(groups_of(ts::schedule::buckets(all), 4) == "|AllReduce |AllReduce AllReduce AllReduce AllReduce AllReduce ");
    const std::string slices = groups_of(ts::schedule::zero(all, 1), 4);
    CAPTURE(slices);
    CHECK(std::count(slices.begin(), slices.end(), '|') == 3);
    CHECK(slices.find("ReduceScatter") != std::string::npos);
    CHECK(slices.find("Reduce Reduce Reduce Reduce ") != std::string::npos);
    CHECK(slices.find("Broadcast Broadcast Broadcast Broadcast ") != std::string::npos);
}
