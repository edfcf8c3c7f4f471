// SPDX-License-Identifier: Apache-2.0
// Norms of whole parameters (LARS, LAMB) in plans of random strategies and of every policy: each element of a parameter
// is counted once, updates read all parts, and a plan in which one is dropped, doubled or taken for another is refused.
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/random_strategy.hpp"

#include "tessera/strategy/typed_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

struct subject {
    ts::graph network;
    ts::optimizer how;
    ts::plan p;
};

subject made(ts::graph network, const ts::strategy& s, int devices, const ts::optimizer& update) {
    subject x{std::move(network), update, {}};
    ts::lower_options o;
    o.update = update;
    x.p = test_support::planned(x.network.view(), s, devices, o);
    return x;
}

/// Plans of several networks (one with tied layers, whose shards overlap), strategies and policies, of both optimizers
/// with and without clipping.
std::vector<subject> subjects() {
    namespace n = test_networks;
    const std::vector<ts::optimizer> ways{ts::lars{}, ts::lamb{}, ts::optimizer(ts::lars{}, 1.0F),
                                          ts::optimizer(ts::lamb{}, 1.0F)};
    std::vector<subject> all;
    test_support::coverage seen;
    for (int i = 0; i < 12; ++i) {
        const int devices = 2 + i % 3;
        const ts::graph g = i % 2 == 0 ? ts::describe<n::mlp::network>(6) : ts::describe<n::transformer::network>(4);
        const ts::strategy s = test_support::random_strategy(g.view(), devices, static_cast<std::uint64_t>(i), seen);
        all.push_back(made(g, s, devices, ways[ts::to_size(i / 2 % 4)]));
    }
    const ts::graph g = ts::describe<n::mlp::network>(6);
    for (const auto& x : test_support::small_policies(g.view(), 3)) {
        all.push_back(made(g, test_support::data_parallel(g.view(), 3, x.second), 3, ways[all.size() % 4]));
    }
    return all;
}

std::string verdict_of(const subject& s, const ts::plan& p) { return ts::verify(s.network.view(), p, 0, &s.how).text; }

bool is_norm(const ts::task& t) { return t.kind() == ts::task_kind::norm; }

/// A norm's part forgotten by those who read it.
void forget(ts::plan& p, int norm, bool by_all) {
    for (ts::task& t : p.tasks) {
        const auto here = std::find(t.reads.begin(), t.reads.end(), norm);
        if (here == t.reads.end()) {
            continue;
        }
        const auto place = static_cast<int>(here - t.reads.begin());
        t.reads.erase(here);
        t.mutable_params().layer_norms.erase(
            std::find(t.params().layer_norms.begin(), t.params().layer_norms.end(), norm));
        for (ts::task_parameter& x : t.mutable_params().parts) {
            x.reads -= x.reads > place ? 1 : 0;
        }
        if (!by_all) {
            return;
        }
    }
}

} // namespace

TEST_CASE("every element of a parameter is in one norm, and every update reads all of its parameter's") {
    int parts = 0;
    int overlapping = 0;
    for (const subject& s : subjects()) {
        const ts::graph_view g = s.network.view();
        CHECK(verdict_of(s, s.p) == "");
        for (int parameter = 0; parameter < g.parameter_count; ++parameter) {
            if (!g.parameters[parameter].trained) {
                continue;
            }
            // Counted by hand, element by element.
            std::vector<int> times(ts::to_size(g.parameters[parameter].extents.volume()), 0);
            const ts::shape& extents = g.parameters[parameter].extents;
            std::vector<int> norms;
            for (const ts::task& whole : s.p.tasks) {
                ts::for_each_part(whole, [&](const ts::task& t) {
                    if (!is_norm(t) || t.params().parameter != parameter) {
                        return;
                    }
                    norms.push_back(t.params().layer_norms[0]);
                    overlapping += t.params().counted_elsewhere.empty() ? 0 : 1;
                    const ts::box& region = s.p.tiles[ts::to_size(t.reads[0])].region;
                    const ts::interval own = ts::even_part(region.volume(), t.params().slices, t.params().slice);
                    for (ts::index_t i = own.begin; i < own.end; ++i) {
                        ts::index_t rest = i;
                        ts::index_t flat = 0;
                        ts::index_t stride = 1;
                        ts::box point = region;
                        for (int d = region.rank - 1; d >= 0; --d) {
                            const ts::index_t x = region.dim[d].begin + rest % region.dim[d].size();
                            rest /= region.dim[d].size();
                            point.dim[d] = {x, x + 1};
                            flat += x * stride;
                            stride *= extents[d];
                        }
                        bool elsewhere = false;
                        for (const ts::box& b : t.params().counted_elsewhere) {
                            elsewhere = elsewhere || b.contains(point);
                        }
                        times[ts::to_size(flat)] += elsewhere ? 0 : 1;
                    }
                });
            }
            CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
            parts += static_cast<int>(norms.size());
            std::sort(norms.begin(), norms.end());
            for (const ts::task& whole : s.p.tasks) {
                ts::for_each_part(whole, [&](const ts::task& t) {
                    if (t.kind() == ts::task_kind::update && t.params().parameter == parameter) {
                        std::vector<int> read = t.params().layer_norms;
                        std::sort(read.begin(), read.end());
                        CHECK(read == norms);
                    }
                });
            }
        }
    }
    CHECK(parts > 200);
    CHECK(overlapping > 0);
}

TEST_CASE("a plan that forgets a part of a norm, counts one twice or takes another's is refused") {
    int tried = 0;
    for (const subject& s : subjects()) {
        for (std::size_t i = 0; i < s.p.tasks.size(); ++i) {
            const ts::task& t = s.p.tasks[i];
            if (!is_norm(t)) {
                continue;
            }
            for (const bool by_all : {false, true}) {
                ts::plan p = s.p;
                forget(p, t.params().layer_norms[0], by_all);
                const std::string text = verdict_of(s, p);
                CAPTURE(text);
                CHECK((says(text, "another norm than that of all of its parameter") ||
                       says(text, "scales the steps of other parameters")));
                ++tried;
            }
            ts::plan p = s.p; // another slice, so that one is there twice and one is missing
            p.tasks[i].mutable_params().slice = (t.params().slice + 1) % t.params().slices;
            if (t.params().slices > 1 && t.params().state < 0 && t.params().parts.empty() &&
                p.tiles[ts::to_size(t.reads[0])].slices == 1) {
                CHECK(verdict_of(s, p) != "");
            }
            p = s.p; // all elements instead of a slice
            p.tasks[i].mutable_params().slice = 0;
            p.tasks[i].mutable_params().slices = 1;
            if (t.params().slices > 1) {
                CHECK(verdict_of(s, p) != "");
            }
            p = s.p; // what another part counts too
            p.tasks[i].mutable_params().counted_elsewhere.clear();
            if (!t.params().counted_elsewhere.empty()) {
                CHECK(says(verdict_of(s, p), "counted twice, or not at all"));
            }
            p = s.p; // counted by nobody
            p.tasks[i].mutable_params().counted_elsewhere.push_back(p.tiles[ts::to_size(t.reads[0])].region);
            CHECK(says(verdict_of(s, p), "counted twice, or not at all"));
            p = s.p;
            if (t.params().state >= 0) {
                p.tasks[i].mutable_params().state = -1;
                CHECK(says(verdict_of(s, p), "by other norms"));
            }
        }
        // Another optimizer asks for other norms.
        const ts::optimizer none(ts::sgd{.momentum = 0.9F}, s.how.clip_norm);
        const ts::optimizer moments(ts::adamw{}, s.how.clip_norm);
        const bool of_gradient = s.how.trust == ts::trust_by::gradient;
        CHECK(says(ts::verify(s.network.view(), s.p, 0, of_gradient ? &none : &moments).text, "other norms"));
    }
    CHECK(tried > 200);
}

TEST_CASE("a group without the ratio has no norms; averages of copies do not go with it") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(6);
    const ts::optimizer how =
        ts::with_groups(ts::lars{}, ts::group<ts::biases_and_norms>{.decay = 0, .trust_ratio = false});
    const subject s = made(g, test_support::data_parallel(g.view(), 3), 3, how);
    int matrices = 0;
    for (const ts::task& t : s.p.tasks) {
        const bool wanted =
            t.params().parameter >= 0 && g.parameters[ts::to_size(t.params().parameter)].extents.rank > 1;
        CHECK((!is_norm(t) || wanted));
        CHECK((t.kind() != ts::task_kind::update || t.params().layer_norms.empty() != wanted));
        matrices += is_norm(t) ? 1 : 0;
    }
    CHECK(matrices > 0);
    ts::strategy averages = test_support::data_parallel(g.view(), 2);
    averages.sync.average_every = 1;
    ts::lower_options o;
    o.update = ts::lars{.momentum = 0};
    std::string text;
    try {
        (void)ts::lower(g.view(), averages.view(), 2, o);
    } catch (const ts::error& e) {
        text = e.what();
    }
    CHECK(says(text, "averages of parameters go with plain SGD"));
}
