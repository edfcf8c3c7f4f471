// SPDX-License-Identifier: Apache-2.0
// Bodies of search.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/search.hpp"

#include <utility>

namespace tessera::search::detail {

TESSERA_INLINE std::vector<configuration> eliminated_within(const graph_view& g, const machine& on, int places,
                                                            index_t price) {
    configuration_options offered;
    offered.uneven = true;
    const optcnn_problem p = make_optcnn_problem(g, on, offered);
    additive_problem whole;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        std::vector<cost_t> unary = p.costs.unary(op);
        for (std::size_t i = 0; i < unary.size(); ++i) {
            const configuration& c = p.configurations[to_size(op)][i];
            index_t bytes = 0;
            for (int o = 0; o < d.operands.size(); ++o) {
                bytes += d.operands[o].kind == operand_kind::parameter
                             ? 4 * cost::detail::largest_piece(d, o, c, nullptr)
                             : 0;
            }
            unary[i] = c.shards() != places ? forbidden : add_costs(unary[i], bytes * price / 1000);
        }
        whole.add_node(unary);
    }
    for (int e = 0; e < p.costs.edges(); ++e) {
        whole.add_edge(p.costs.edge(e).from, p.costs.edge(e).to, p.costs.table(e));
    }
    const elimination_solution found = eliminate(whole);
    std::vector<configuration> all;
    for (std::size_t op = 0; op < found.choice.size(); ++op) {
        all.push_back(p.configurations[op][found.choice[op]]);
    }
    return all; // none where an operator cannot be split in so many shards
}

TESSERA_INLINE machine places_of(const cluster& on, int places, precision math) {
    const device_class& c = on.class_of(0);
    machine m;
    m.devices = places;
    m.gigaflops = c.rate(work_kind::matrix_product, math);
    m.memory_megabytes = c.memory_megabytes;
    m.launch = c.launch;
    m.capacity = c.memory_bytes;
    const route r = on.between(0, places > 1 ? places - 1 : 0);
    m.link_latency = r.latency;
    m.link_megabytes = places > 1 ? r.megabytes : 1;
    return m;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE grid_searcher::grid_searcher(const graph_view& g, const cluster& on, const grid_options& o)
    : on_(on), g_(g), options_(o), estimate_(g, on, o.times, o.lowering) {
    int node = 0;
    while (node < on.devices() && on.node_of(node) == on.node_of(0)) {
        ++node;
    }
    largest_ = o.largest_tensor > 0 ? o.largest_tensor : node;
}

TESSERA_INLINE grid_result grid_searcher::run() {
    std::vector<open> all = list();
    grid_result r;
    r.considered = static_cast<int>(all.size());
    std::vector<open> fit;
    for (open& c : all) {
        index_t most = 0;
        for (const index_t b : options_.memory_limit ? estimate_.memory(c.what.grid) : std::vector<index_t>{}) {
            most = std::max(most, b);
        }
        if (estimate_.memory_limit() > 0 && most > estimate_.memory_limit()) {
            ++r.too_large;
            continue;
        }
        c.bound = estimate_.least(c.what.grid);
        fit.push_back(std::move(c));
    }
    std::sort(fit.begin(), fit.end(), [](const open& a, const open& b) { return a.bound < b.bound; });
    r.best.cost.makespan = INT64_MAX;
    for (open& c : fit) {
        if (c.bound >= r.best.cost.makespan) {
            break;
        }
        c.what.cost = estimate_(c.what.grid);
        ++r.estimated;
        if (c.what.cost.makespan < r.best.cost.makespan) {
            r.best = c.what;
            r.better.push_back(c.what);
        }
    }
    if (r.better.empty()) {
        throw error("tessera: none of " + std::to_string(r.considered) + " grids of " + std::to_string(on_.devices()) +
                    " devices fits in the memory of the machine '" + on_.graph().name + "'" + asked() +
                    "; use more devices or a smaller batch");
    }
    return r;
}

TESSERA_INLINE std::string grid_searcher::asked() const {
    return options_.micro_batches < 1 ? std::string()
                                      : " with " + std::to_string(options_.micro_batches) + " micro-batches";
}

TESSERA_INLINE std::vector<index_t> grid_searcher::samples_of_micro_batches(int tensor, index_t batch,
                                                                            bool joins) const {
    std::vector<index_t> all;
    const index_t m = options_.micro_batches;
    for (int data = 1; m > 0 && data <= on_.devices() / tensor; ++data) {
        const bool stages =
            on_.devices() / tensor % data == 0 && on_.devices() / tensor / data <= estimate_.repeats().count;
        if (stages && batch % (data * m) == 0) {
            all.push_back(batch / (data * m));
        }
    }
    for (index_t b = 1; m < 1 && b <= (joins ? batch : options_.largest_micro_batch); b *= 2) {
        all.push_back(b);
    }
    return all;
}

TESSERA_INLINE std::vector<grid_searcher::open> grid_searcher::list() {
    std::vector<open> all;
    const index_t batch = g_.tensors[0].extents[0];
    const int devices = on_.devices();
    const bool joins = tessera::detail::first_joining_loss(g_) >= 0;
    for (int tensor = 1; tensor <= largest_; ++tensor) {
        if (devices % tensor != 0) {
            continue;
        }
        for (const index_t b : samples_of_micro_batches(tensor, batch, joins)) {
            const auto ways = within(tensor, b);
            for (int stages = 1; stages <= estimate_.repeats().count; ++stages) {
                const int data = devices / tensor / stages;
                if (joins && data * b != batch) {
                    continue; // it takes one micro-batch
                }
                const index_t m = options_.micro_batches;
                if (data * tensor * stages != devices || batch % (data * b) != 0 ||
                    (m > 0 ? batch / (data * b) != m : batch / (data * b) > 4096)) {
                    continue;
                }
                for (const auto& [name, configurations] : ways) {
                    for (const bool again : {false, true}) {
                        if (options_.recompute && !again) {
                            continue;
                        }
                        open c;
                        device_grid& x = c.what.grid;
                        x.data = data;
                        x.tensor = tensor;
                        x.stages = stages;
                        x.micro_batches = static_cast<int>(batch / (data * b));
                        x.recompute = again;
                        x.within = configurations;
                        x.stage = even_stages(g_, estimate_.repeats(), stages);
                        c.what.within = name;
                        all.push_back(c);
                    }
                }
            }
        }
    }
    return all;
}

TESSERA_INLINE std::vector<std::pair<std::string, std::vector<configuration>>>
grid_searcher::within(int tensor, index_t samples) const {
    std::vector<std::pair<std::string, std::vector<configuration>>> ways;
    ways.emplace_back("Megatron-LM", megatron_within(g_, tensor));
    const repeated_blocks& r = estimate_.repeats();
    constexpr int blocks = 3; // the middle one stands for all
    for (const index_t price : {index_t{0}, index_t{1000}}) {
        if (tensor == 1) {
            break;
        }
        const shortened_graph few = with_blocks(g_, r, blocks, samples);
        const std::vector<configuration> found = detail::eliminated_within(
            few.network.view(), detail::places_of(on_, tensor, g_.ops[0].attributes.math), tensor, price);
        if (found.empty()) {
            continue;
        }
        std::vector<configuration> all;
        for (int op = 0; op < g_.op_count; ++op) {
            all.push_back(found[to_size(r.in_blocks(blocks, op))]);
        }
        ways.emplace_back(price == 0 ? "found by elimination" : "found by elimination, parameters divided", all);
    }
    return ways;
}

TESSERA_INLINE grid_result search_grid(const graph_view& g, const cluster& on, const grid_options& o) {
    return grid_searcher(g, on, o).run();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
