// SPDX-License-Identifier: Apache-2.0
// Machines, strategies and searches under way for fuzz_files.
#include "examples/networks.hpp"
#include "fuzz/target.hpp"
#include "support/random_pipeline.hpp"
#include "tessera/io/exchange/coarse_search_file.hpp"
#include "tessera/io/exchange/machine_file.hpp"
#include "tessera/io/exchange/strategy_file.hpp"
#include "tessera/machine/presets.hpp"

namespace ts = tessera;
namespace io = tessera::io;

/// Plans and simulates; a refusal is fine, anything else is not. (In use.cpp.)
void use(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::cluster& on);

namespace {

using fuzz::counted;

const ts::graph& network() {
    static const ts::graph g = ts::describe<networks::lenet5>(12);
    return g;
}
const ts::cluster& two_nodes() {
    static const ts::cluster on(ts::machines::p100_nodes(2));
    return on;
}

bool read_machine(const std::string& text) {
    const ts::device_graph g = counted([&] { return io::machine_from_text(text); });
    if (!(io::machine_from_text(io::to_text(io::to_json(g))) == g)) {
        return false;
    }
    if (g.components.size() > 200) {
        return true;
    }
    const ts::cluster on(g);
    (void)ts::uniform_machine(on);
    if (on.devices() <= 8) {
        ts::strategy s(network().view());
        for (ts::configuration& c : s.ops) {
            c.degree[0] = std::min(on.devices(), 12);
            c.uneven = c.reduces = true;
        }
        use(network().view(), s, on.devices(), on);
    }
    return true;
}

bool read_strategy(const std::string& text) {
    const ts::graph_view g = network().view();
    const io::strategy_file file = counted([&] { return io::strategy_from_text(g, text); });
    const std::string again = io::to_text(io::to_json(g, file.value, file.devices));
    const io::strategy_file back = io::strategy_from_text(g, again);
    if (io::to_text(io::to_json(g, back.value, back.devices)) != again) {
        return false;
    }
    const ts::index_t steps = ts::index_t{file.value.micro_batches} * file.value.steps_per_plan;
    if (file.devices <= two_nodes().devices() && steps <= 64) {
        use(g, file.value, file.devices, two_nodes());
    }
    return true;
}

/// Strategies as files have them, of pipelines drawn at random.
std::vector<std::string> strategies() {
    std::vector<std::string> all;
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        all.push_back(io::to_text(
            io::to_json(network().view(), test_support::random_pipeline(network().view(), 4, seed, seen).how, 4)));
    }
    return all;
}

ts::search::search_state state_of(std::uint64_t seed, int chains = 2) {
    const ts::graph_view g = network().view();
    ts::search::search_state state;
    state.round = 3;
    for (std::uint64_t c = 0; c < static_cast<std::uint64_t>(chains); ++c) {
        ts::search::named_chain chain;
        chain.start = "data parallel";
        chain.start_cost = 1000;
        chain.state.current = ts::strategy(g);
        chain.state.current.ops[0].degree[0] = static_cast<int>(1 + (seed + c) % 3);
        chain.state.random = seed * 77 + c;
        chain.state.made = 5;
        chain.state.improvements.push_back({900, chain.state.current});
        state.chains.push_back(chain);
    }
    return state;
}

/// The body of a search's file; what stands before it is the sum of what it has become.
std::string body_of(const std::string& file) { return file.substr(file.find('\n') + 1); }
bool read_search(const std::string& body) {
    const std::string text = "tessera-search 6 " + std::to_string(io::detail::sum_of(body)) + "\n" + body;
    const ts::search::mcmc_options o;
    const auto state = counted([&] { return io::search_from_text(text, network().view(), two_nodes(), o); });
    const std::string again = io::to_text(state, network().view(), two_nodes(), o);
    return io::to_text(io::search_from_text(again, network().view(), two_nodes(), o), network().view(), two_nodes(),
                       o) == again;
}

bool read_coarse(const std::string& text) {
    const std::vector<std::string> all = counted([&] { return io::detail::searches_in(text); });
    return io::detail::searches_in(io::detail::text_of_searches(all)) == all;
}

} // namespace

std::vector<fuzz::target> fuzz::strategy_targets() {
    std::vector<std::string> machines;
    for (const auto& g : {ts::machines::this_host(), ts::machines::k80_nodes(1), ts::machines::heterogeneous()}) {
        machines.push_back(io::to_text(io::to_json(g)));
    }
    const auto large_machine = [first = machines[0]](int n) { // with so many switches in a ring
        io::json m = io::json_document(first, "machine").value();
        const int before = static_cast<int>(m["components"].size());
        for (int i = 0; i < n; ++i) {
            m["components"].push_back({{"name", "s" + std::to_string(i)}, {"class", -1}, {"inside", -1}});
            m["links"].push_back({{"from", before + i},
                                  {"to", before + (i + 1) % n},
                                  {"megabytes_per_second", 10},
                                  {"latency_nanoseconds", 5},
                                  {"cables", 1},
                                  {"half_duplex", false}});
        }
        return io::to_text(m);
    };
    const std::vector<std::string> some = strategies();
    const auto repeated = [first = some[0]](int n) { // a list of so many layers of one name
        std::string text = first;
        const std::size_t layer = text.find("{\"layer\"");
        if (layer != std::string::npos) {
            const std::string one = text.substr(layer, text.find('\n', layer) - layer);
            std::string all;
            for (int i = 0; i < n; ++i) {
                all += one + (one.back() == ',' ? "" : ",");
            }
            text.insert(layer, all);
        }
        return text;
    };
    const ts::search::mcmc_options o;
    std::vector<std::string> searches;
    std::vector<std::string> files;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        files.push_back(io::to_text(state_of(seed), network().view(), two_nodes(), o));
        searches.push_back(body_of(files.back()));
    }
    return {
        {"strategy", some, {{2000, repeated}}, read_strategy},
        {"machine", machines, {{5000, large_machine}}, read_machine},
        {"search",
         searches,
         {{200,
           [o](int chains) { return body_of(io::to_text(state_of(1, chains), network().view(), two_nodes(), o)); }}},
         read_search},
        {"coarse",
         {io::detail::text_of_searches(files)},
         {{300'000, [](int n) { return "tessera-coarse-search 1 1000\n" + std::string(ts::to_size(n), '0'); }},
          {1000, [first = files[0]](
                     int n) { return io::detail::text_of_searches(std::vector<std::string>(ts::to_size(n), first)); }}},
         read_coarse},
    };
}
