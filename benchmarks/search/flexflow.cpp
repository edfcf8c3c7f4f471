// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search on its six benchmarks (Jia, Zaharia and Aiken 2019), unrolled for 40 steps, 64 samples per device, on nodes of 4 P100,
// all simulated. Arguments: what to do, then names with values.
//   speed    full and delta simulation of the same random proposals: every makespan, and every tenth timeline, compared
//   search   what is found beside data parallelism, the best expert and OptCNN; where the time goes; which patterns recur
//   seeds    the spread over seeds;  long  a search ten times as long;  ablation  without reduction splits, without operator placement
//   exact    LeNet-5 and the RNNLM of 2 steps: every strategy of a space simulated, and MCMC in the same space
//   widths   nodes that OptCNN's eliminations leave, and widths of variable elimination
//   quick    a little of everything
// networks=0,1,5 devices=4,16 proposals=100 rounds=4 threads=2 seeds=10 temperature=0.002 per_device=64
#include "benchmarks/search/flexflow_networks.hpp"
#include "benchmarks/search/patterns.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tessera/execute/parallel_search.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/simulated_exhaustive.hpp"
#include "tessera/search/tied.hpp"
#include "tessera/simulate/critical_path.hpp"

#include <cstdlib>
#include <cstring>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
namespace simulation = tessera::simulation;

struct settings {
    std::vector<int> networks{0, 1, 2, 3, 4, 5};
    std::vector<int> devices{4, 16, 64};
    int proposals = 0; ///< 0: as many as default_proposals() says
    int rounds = 0;    ///< 0: four; two where a chain takes a second to begin
    int threads = 0;
    int seeds = 10;
    double temperature = 0.002;
    int per_device = 64;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

std::vector<int> numbers(const char* text) {
    std::vector<int> all;
    for (const char* at = text; at != nullptr && *at != '\0'; at = std::strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        all.push_back(std::atoi(at));
    }
    return all;
}

settings read(int count, char** arguments) {
    settings s;
    for (int i = 2; i < count; ++i) {
        const char* value = std::strchr(arguments[i], '=');
        const std::string name(arguments[i], value == nullptr ? std::strlen(arguments[i])
                                                              : static_cast<std::size_t>(value - arguments[i]));
        value = value == nullptr ? "" : value + 1;
        if (name == "networks") {
            s.networks = numbers(value);
        } else if (name == "devices") {
            s.devices = numbers(value);
        } else if (name == "temperature") {
            s.temperature = std::atof(value);
        } else if (int* known = name == "proposals"    ? &s.proposals
                                : name == "rounds"     ? &s.rounds
                                : name == "threads"    ? &s.threads
                                : name == "seeds"      ? &s.seeds
                                : name == "per_device" ? &s.per_device
                                                       : nullptr) {
            *known = std::atoi(value);
        } else {
            std::fprintf(stderr, "flexflow: '%s' means nothing here; the source's head lists what does\n",
                         arguments[i]);
            std::exit(2);
        }
    }
    return s;
}

ts::cluster machine(int devices) {
    return ts::cluster(devices < 4 ? ts::machines::p100_nodes(1, devices) : ts::machines::p100_nodes(devices / 4));
}
ts::graph network(int which, int devices, const settings& s) {
    return benchmarks::flexflow_network(which, s.per_device * devices);
}
/// Proposals of a chain: fewer where each takes longer.
int default_proposals(int which, int devices) {
    const int small[] = {8000, 3000, 3000, 2500, 3000, 2500};
    const int middle[] = {4000, 1000, 1000, 400, 600, 400};
    const int large[] = {2000, 400, 400, 100, 200, 100};
    return (devices <= 4 ? small : devices <= 16 ? middle : large)[which];
}

ts::index_t simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

// ---- full and delta ----------------------------------------------------------------------------------------------------

/// Random single-operator proposals from data parallelism, half of them accepted.
void speed(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    simulation::delta_simulation delta(on, g, search::data_parallel(g, devices));
    search::proposal_options o;
    o.groups = false; // as the paper: one operator at a time
    const search::proposer propose(on, g, o);
    search::random_numbers pick{1};
    const int wanted = s.proposals > 0 ? s.proposals : devices <= 4 ? 100 : devices <= 16 ? 30 : 10;
    double delta_time = 0;
    double cut_time = 0;
    double full_time = 0;
    double visited = 0;
    double activities = 0;
    bool equal = true;
    for (int made = 0; made < wanted;) {
        const search::proposal p = propose.next(delta.current(), pick);
        if (p.empty()) {
            continue;
        }
        double before = seconds();
        const ts::index_t bar = delta.makespan();
        const bool worse = delta.propose(p, bar) > bar; // as a search would ask
        delta.reject();
        cut_time += seconds() - before;
        before = seconds();
        const ts::index_t found = delta.propose(p);
        delta_time += seconds() - before;
        equal = equal && worse == (found > bar);
        ts::strategy next = delta.current();
        before = seconds();
        const ts::plan whole = ts::lower(g, next.view(), devices);
        const simulation::timeline t = simulation::simulate(g, whole, on);
        full_time += seconds() - before;
        equal = equal && found == t.makespan && (made % 10 != 0 || delta.spans() == t.tasks);
        visited += static_cast<double>(delta.visited());
        activities += static_cast<double>(delta.activities());
        before = seconds();
        if (pick(2) == 0) {
            delta.accept();
        } else {
            delta.reject();
        }
        delta_time += seconds() - before;
        ++made;
    }
    std::printf("| %s | %d | %.0f | %.4g | %.4g | %.4g | %.1f | %.1f | %.0f %% | %d | %s |\n",
                benchmarks::flexflow_names[which], devices, activities / wanted, wanted / full_time,
                wanted / delta_time, wanted / cut_time, full_time / delta_time, full_time / cut_time,
                100 * visited / activities, wanted, equal ? "equal" : "DIFFERENT");
    std::fflush(stdout);
}

void speed_table(const settings& s) {
    std::printf("\n## Full and delta simulation\n\nOne core; random proposals of one operator from data parallelism, "
                "half accepted. 'full' lowers and "
                "simulates the whole network, 'delta' what changed, 'cut' stops as soon as the makespan is certain to "
                "be more than "
                "before, as a search at temperature 0 asks. Visited: activities that delta simulates again.\n\n"
                "| network | GPUs | activities | full /s | delta /s | cut /s | delta/full | cut/full | visited | "
                "proposals | results |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int which : s.networks) {
        for (const int devices : s.devices) {
            speed(which, devices, s);
        }
    }
}

// ---- searches ----------------------------------------------------------------------------------------------------------

struct starts_of {
    std::vector<search::named_strategy> all; ///< data parallelism, the best expert, OptCNN
    ts::index_t data = 0;
    ts::index_t expert = 0;
    ts::index_t optcnn = 0;
    std::string best_expert;
    bool exact = false;
    double seconds = 0;
};

starts_of make_starts(const ts::graph_view& g, const ts::cluster& on) {
    starts_of r;
    const double begin = seconds();
    std::vector<search::named_strategy> experts = search::experts(g, on);
    r.data = simulated(g, experts[0].value, on);
    r.expert = INT64_MAX;
    std::size_t best = 1;
    for (std::size_t i = 1; i < experts.size(); ++i) {
        if (experts[i].name == "single device" || experts[i].name == "model parallel") {
            continue;
        }
        const ts::index_t cost = simulated(g, experts[i].value, on);
        if (cost < r.expert) {
            r.expert = cost;
            best = i;
        }
    }
    search::tied_result tied = search::tied_optcnn(g, ts::uniform_machine(on));
    r.optcnn = simulated(g, tied.best, on);
    r.exact = tied.exact;
    r.all = {experts[0], experts[best], {"OptCNN", tied.best}};
    // A chain is worth its time only from a good start; from the best one instead, it has other random numbers.
    const ts::index_t costs[] = {r.data, r.expert, r.optcnn};
    const auto least = static_cast<std::size_t>(std::min_element(costs, costs + 3) - costs);
    for (std::size_t i = 1; i < 3; ++i) {
        if (static_cast<double>(costs[i]) > 1.5 * static_cast<double>(costs[least])) {
            r.all[i] = {r.all[least].name + " again", r.all[least].value};
        }
    }
    r.best_expert = experts[best].name;
    r.seconds = seconds() - begin;
    return r;
}

search::parallel_search_options options_of(int which, int devices, const settings& s) {
    search::parallel_search_options o;
    o.chain.budget = s.proposals > 0 ? s.proposals : default_proposals(which, devices);
    o.chain.patience = o.chain.budget / 2;
    o.chain.temperature = s.temperature;
    o.rounds = s.rounds > 0 ? s.rounds : devices < 64 ? 4 : 2;
    o.threads = s.threads;
    o.random_starts = devices < 64 ? 1 : 0; // there, a random start takes minutes to become as good as the others
    return o;
}

struct found {
    search::mcmc_result result;
    double seconds = 0;
    std::int64_t made = 0;
};
found run(const ts::cluster& on, const ts::graph_view& g, const starts_of& starts,
          const search::parallel_search_options& o) {
    const double begin = seconds();
    search::parallel_search s(on, g, starts.all, o);
    found f{s.run(), 0, 0};
    f.seconds = seconds() - begin;
    for (const auto& c : f.result.chains) {
        f.made += c.made;
    }
    return f;
}

void print_gain(const char* name, const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    const ts::plan p = ts::lower(g, s.view(), on.devices());
    simulation::carrier how(on, g, {});
    const simulation::timeline t = simulation::simulate(p, how);
    const simulation::critical_time c = simulation::critical_path(p, how);
    double busy = 0;
    for (const ts::index_t b : t.device_busy) {
        busy += in_ms(b) / on.devices();
    }
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f |\n", name, in_ms(t.makespan),
                in_ms(c.compute), in_ms(c.transfer), in_ms(c.synchronization), in_ms(c.waiting), busy,
                in_ms(t.makespan) - busy, static_cast<double>(p.moved_bytes) * 1e-9);
}

void search_one(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    const starts_of starts = make_starts(g, on);
    const search::parallel_search_options o = options_of(which, devices, s);
    const found f = run(on, g, starts, o);
    const double best_other = in_ms(std::min({starts.data, starts.expert, starts.optcnn}));
    std::printf("\n### %s, %d P100\n\n| data parallel | best expert (%s) | OptCNN's model%s | found (from %s) | gain "
                "over data parallel | over "
                "the best | proposals | search | with starts |\n|---|---|---|---|---|---|---|---|---|\n| %.3f ms | "
                "%.3f ms | %.3f ms | %.3f ms | %.3fx "
                "| %.3fx | %lld | %.1f s | %.1f s |\n",
                benchmarks::flexflow_names[which], devices, starts.best_expert.c_str(),
                starts.exact ? "" : ", local optimum", f.result.start.c_str(), in_ms(starts.data), in_ms(starts.expert),
                in_ms(starts.optcnn), in_ms(f.result.cost), in_ms(starts.data) / in_ms(f.result.cost),
                best_other / in_ms(f.result.cost), static_cast<long long>(f.made), f.seconds,
                f.seconds + starts.seconds);
    std::printf(
        "\n| ms | step | path: compute | transfer | synchronization | waiting | mean device: compute | idle | GB moved "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    print_gain("data parallel", g, starts.all[0].value, on);
    print_gain("found", g, f.result.best, on);
    benchmarks::print_patterns(g, f.result.best, devices);
    std::fflush(stdout);
}

void seeds_one(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    const starts_of starts = make_starts(g, on);
    double least = 1e300;
    double most = 0;
    double sum = 0;
    double time = 0;
    for (int seed = 1; seed <= s.seeds; ++seed) {
        search::parallel_search_options o = options_of(which, devices, s);
        o.chain.seed = static_cast<std::uint64_t>(seed);
        const found f = run(on, g, starts, o);
        const double cost = in_ms(f.result.cost);
        least = std::min(least, cost);
        most = std::max(most, cost);
        sum += cost;
        time += f.seconds;
    }
    std::printf("| %s | %d | %.3f | %.3f | %.3f | %.2f %% | %.1f |\n", benchmarks::flexflow_names[which], devices,
                least, sum / s.seeds, most, 100 * (most / least - 1), time / s.seeds);
    std::fflush(stdout);
}

void long_one(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    const starts_of starts = make_starts(g, on);
    search::parallel_search_options o = options_of(which, devices, s);
    const found once = run(on, g, starts, o);
    o.chain.budget *= 10;
    o.chain.patience *= 10;
    const found ten = run(on, g, starts, o);
    std::printf("| %s | %d | %.3f | %.3f | %.2f %% | %.1f | %.1f |\n", benchmarks::flexflow_names[which], devices,
                in_ms(once.result.cost), in_ms(ten.result.cost),
                100 * (in_ms(once.result.cost) / in_ms(ten.result.cost) - 1), once.seconds, ten.seconds);
    std::fflush(stdout);
}

void ablation_one(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    const starts_of starts = make_starts(g, on);
    double cost[4]{};
    for (int k = 0; k < 4; ++k) {
        search::parallel_search_options o = options_of(which, devices, s);
        o.chain.proposals.offered.with_reduction = k != 1;
        o.chain.proposals.operator_placement = k != 2;
        o.chain.proposals.groups = k != 3;
        starts_of mine = starts;
        if (k == 1) { // and no start that has them
            search::optcnn_options without;
            without.offered.with_reduction = false;
            mine.all.back() = {"OptCNN", search::tied_optcnn(g, ts::uniform_machine(on), without).best};
        }
        if (k == 2) {
            mine.all.resize(1);
        }
        cost[k] = in_ms(run(on, g, mine, o).result.cost);
    }
    std::printf("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f |\n", benchmarks::flexflow_names[which], devices,
                in_ms(starts.data), cost[0], cost[1], cost[2], cost[3]);
    std::fflush(stdout);
}

template <class Action>
void each(const settings& s, const char* head, const Action& action) {
    std::printf("%s", head);
    for (const int which : s.networks) {
        for (const int devices : s.devices) {
            action(which, devices, s);
        }
    }
}

void searches(const settings& s) {
    std::printf("\n## Searches\n\nChains from data parallelism, the best expert, OptCNN's model (where these are not "
                "far behind) and, "
                "below 64 GPUs, a random start; "
                "the path is the critical one of "
                "the simulated step, its parts add up to the step.\n");
    each(s, "", search_one);
}
void seeds(const settings& s) {
    each(s,
         "\n## Spread over seeds\n\n| network | GPUs | least ms | mean | most | spread | s a search "
         "|\n|---|---|---|---|---|---|---|\n",
         seeds_one);
}
void longer(const settings& s) {
    each(s,
         "\n## Ten times as long\n\n| network | GPUs | found ms | ten times as long | worse by | s | s "
         "|\n|---|---|---|---|---|---|---|\n",
         long_one);
}
void ablation(const settings& s) {
    each(s,
         "\n## What the search may change\n\nms per step with as many proposals.\n\n| network | GPUs | data parallel | "
         "everything | no reduction splits | no operator placement | one operator "
         "at a time |\n|---|---|---|---|---|---|---|\n",
         ablation_one);
}

// ---- exactness ---------------------------------------------------------------------------------------------------------

void exact_one(const char* name, const ts::graph& network_of, int devices) {
    const ts::cluster on = machine(devices);
    const ts::graph_view g = network_of.view();
    search::mcmc_options o;
    o.proposals.only_blocks = o.proposals.only_regular = true;
    o.proposals.offered.with_reduction = false; // as FlexFlow's space
    std::fflush(stdout);
    const double begin = seconds();
    const search::simulated_optimum all = search::simulate_all(on, g, search::data_parallel(g, devices), o.proposals);
    const double took = seconds() - begin;
    double unrestricted = 1;
    for (int op = 0; op < g.op_count; ++op) {
        double choices = 0;
        for (const ts::configuration& c : search::enumerate(g.describe(op), devices)) {
            double ways = 1;
            for (int i = 0; i < c.shards(); ++i) {
                ways *= devices - i;
            }
            choices += ways;
        }
        unrestricted *= choices;
    }
    const auto chains = [&](bool only) {
        search::mcmc_options mine = o;
        mine.proposals.only_blocks = mine.proposals.only_regular = only;
        mine.proposals.offered.with_reduction = !only;
        mine.budget = 10'000;
        mine.patience = 10'000;
        mine.temperature = 0.02;
        const search::named_strategy data{"data parallel", search::data_parallel(g, devices)};
        const search::named_strategy single{"single device", search::single_device(g)};
        const std::vector<search::named_strategy> starts{data, single, data, single}; // all in the space
        return search::mcmc(on, g, starts, mine).cost;
    };
    const double again = seconds();
    const ts::index_t same_space = chains(true);
    const double mcmc_took = seconds() - again;
    std::printf("| %s | %d | %d | %.3g | %.4f | %.1f | %.4f | %.1f | %s | %.3g | %.4f |\n", name, devices, g.op_count,
                all.space, in_ms(all.cost), took, in_ms(same_space), mcmc_took,
                same_space == all.cost ? "reached" : "NOT REACHED", unrestricted, in_ms(chains(false)));
    std::fflush(stdout);
}

void exact() {
    std::printf(
        "\n## Exactness\n\nEvery layer's block in every configuration (no reduction splits) on every aligned or "
        "strided "
        "placement, all simulated; MCMC, 4 chains of "
        "10,000 proposals, in the same space, and where every operator may be split and placed by itself.\n\n| network "
        "| GPUs | operators | "
        "strategies | optimum ms | s | MCMC ms | s | optimum | strategies without restriction | MCMC there, ms |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int devices : {2, 4}) { // on 4 each takes minutes
        exact_one("LeNet-5, 64 samples", benchmarks::flexflow_lenet(64), devices);
        exact_one("RNNLM, 2 steps, 64 samples", benchmarks::flexflow_rnnlm_2_steps(64), devices);
    }
}

// ---- widths ------------------------------------------------------------------------------------------------------------

/// The shape of a network, or that of its recurrent cells, as a problem of two configurations each.
struct shape_graph {
    int nodes = 0;
    std::vector<std::pair<int, int>> edges;
    int node() { return nodes++; }
    int node(std::initializer_list<int> from) {
        for (const int f : from) {
            edges.push_back({f, nodes});
        }
        return nodes++;
    }
    search::additive_problem problem() const {
        search::additive_problem p;
        for (int v = 0; v < nodes; ++v) {
            p.add_node({0, 0});
        }
        for (const auto& [a, b] : edges) {
            p.add_edge(a, b, {0, 0, 0, 0});
        }
        return p;
    }
};

/// Embedding, cells and, where wanted, softmax of every step; returns the top cells.
std::vector<int> unroll(shape_graph& g, int layers, int steps, bool softmax, const std::vector<int>& before = {},
                        std::vector<int>* last = nullptr) {
    std::vector<int> row;
    for (int t = 0; t < steps; ++t) {
        row.push_back(g.node());
    }
    for (int l = 0; l < layers; ++l) {
        int state = before.empty() ? -1 : before[static_cast<std::size_t>(l)];
        for (int& x : row) {
            state = state < 0 ? g.node({x}) : g.node({x, state});
            x = state;
        }
        if (last != nullptr) {
            last->push_back(state);
        }
    }
    for (const int x : row) {
        softmax ? (void)g.node({x}) : void();
    }
    return row;
}

shape_graph attention_network(int steps) {
    shape_graph g;
    std::vector<int> last;
    const std::vector<int> memory = unroll(g, 2, steps, false, {}, &last);
    const std::vector<int> top = unroll(g, 2, steps, false, last);
    for (const int x : top) {
        const int attention = g.node({x});
        for (const int m : memory) {
            g.edges.push_back({m, attention});
        }
        g.node({attention});
    }
    return g;
}

/// A network's operators; batch norms, activations and reshapings belong to what makes their input if `merged`.
shape_graph of_network(const ts::graph& network_of, bool merged) {
    const ts::graph_view g = network_of.view();
    shape_graph s;
    std::vector<int> node(static_cast<std::size_t>(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        const ts::op_node& x = g.ops[op];
        const int producer = g.tensors[x.inputs[0]].producer;
        const ts::op_kind k = x.attributes.kind;
        const bool follows = k == ts::op_kind::batch_norm || k == ts::op_kind::relu || k == ts::op_kind::flatten ||
                             k == ts::op_kind::dropout;
        if (merged && follows && producer >= 0) {
            node[static_cast<std::size_t>(op)] = node[static_cast<std::size_t>(producer)];
            continue;
        }
        node[static_cast<std::size_t>(op)] = s.node();
        for (const int t : x.inputs) {
            if (g.tensors[t].producer >= 0) {
                s.edges.push_back(
                    {node[static_cast<std::size_t>(g.tensors[t].producer)], node[static_cast<std::size_t>(op)]});
            }
        }
    }
    return s;
}

void width_row(const char* name, const shape_graph& g, const char* expected) {
    const search::additive_problem p = g.problem();
    search::elimination_options two_rules;
    two_rules.leaf_rule = false;
    two_rules.budget = 1; // the order is what is wanted
    const auto eliminated = search::eliminate(p, two_rules);
    std::printf("| %s | %d | %zu | %d | %d | %s |\n", name, g.nodes, g.edges.size(), eliminated.statistics.remaining,
                search::min_fill_order(p).width, expected);
}

void widths() {
    std::printf("\n## What eliminations leave\n\nK: nodes that are left after OptCNN's two rules; width: of variable "
                "elimination in min-fill "
                "order. Expected, as worked out from the papers' descriptions by an independent script: operators, "
                "edges, K, width.\n\n| network | nodes | edges | K | width | expected "
                "|\n|---|---|---|---|---|---|\n");
    width_row("AlexNet", of_network(network(0, 1, {}), true), "11, 10, 2, 1");
    width_row("ResNet-101", of_network(network(1, 1, {}), true), "142, 174, 2, 2");
    width_row("ResNet-101, every operator", of_network(network(1, 1, {}), false), "-, -, 2, 2");
    width_row("Inception-v3", of_network(network(2, 1, {}), true), "122, 156, 2, 2");
    width_row("Inception-v3, every operator", of_network(network(2, 1, {}), false), "-, -, 2, 2");
    shape_graph lm;
    unroll(lm, 2, 40, true);
    width_row("RNNLM, a node a cell", lm, "160, 198, 160, 2");
    shape_graph tc;
    unroll(tc, 4, 40, true);
    width_row("RNNTC, a node a cell", tc, "240, 356, 240, 4");
    width_row("NMT 5+5, a node a cell", attention_network(5), "40, 73, 40, 9");
    width_row("NMT 40+40, a node a cell", attention_network(40), "320, 1998, 320, 80");
    width_row("RNNLM, every operator", of_network(network(4, 1, {}), false), "-");
    width_row("RNNTC, every operator", of_network(network(3, 1, {}), false), "-");
    width_row("NMT, every operator", of_network(network(5, 1, {}), false), "-");
}

void quick(settings s) {
    widths();
    exact_one("LeNet-5, 64 samples", benchmarks::flexflow_lenet(64), 2);
    s.networks = {0, 4};
    s.devices = {4};
    s.seeds = 2;
    speed_table(s);
    s.proposals = 200;
    searches(s);
    seeds(s);
    ablation(s);
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "quick";
    const settings s = read(count, arguments);
    if (what == "speed") {
        speed_table(s);
    } else if (what == "search") {
        searches(s);
    } else if (what == "seeds") {
        seeds(s);
    } else if (what == "long") {
        longer(s);
    } else if (what == "ablation") {
        ablation(s);
    } else if (what == "exact") {
        exact();
    } else if (what == "widths") {
        widths();
    } else {
        quick(s);
    }
}
