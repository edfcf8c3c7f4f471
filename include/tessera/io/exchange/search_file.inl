// SPDX-License-Identifier: Apache-2.0
// Bodies of search_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/search_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::uint64_t sum_of(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return op::mix(h);
}

TESSERA_INLINE std::uint64_t subject_of(const graph_view& g, const cluster& on, const search::mcmc_options& o) {
    field_lines all;
    const device_graph& machine = on.graph();
    all.add("machine", machine.name);
    all.add("devices", on.devices());
    for (const device_class& c : machine.classes) {
        all.add("class", c.name);
        all.add("rates", c.gigaflops);
        all.add("tf32", c.tf32_gigaflops);
        all.add("bf16", c.bf16_gigaflops);
        if (c.has(precision::fp16) || c.has(precision::fp8)) { // files from before these were known go on
            all.add("fp16", c.fp16_gigaflops);
            all.add("fp8", c.fp8_gigaflops);
        }
        const index_t more[] = {c.memory_megabytes, c.memory_bytes, c.launch, c.serial_copies ? 1 : 0};
        all.add("memory", more);
    }
    for (const link& l : machine.links) {
        const index_t numbers[] = {l.from, l.to, l.megabytes, l.latency, l.cables, l.half_duplex ? 1 : 0};
        all.add("link", numbers);
    }
    all.add("seed", o.seed);
    all.add("temperature", o.temperature);
    all.add("price", o.milliseconds_per_gigabyte);
    all.add("least_gain", o.least_gain);
    const std::int64_t rules[] = {
        o.budget, static_cast<std::int64_t>(o.stop), o.patience, o.least_work, o.most_work, o.return_after};
    all.add("stop", rules);
    const search::proposal_options& p = o.proposals;
    const bool offers[] = {p.operator_placement, p.neighbours,   p.groups,      p.plain,
                           p.only_blocks,        p.only_regular, p.memory_limit};
    all.add("proposals", offers);
    all.add("proposals.devices", p.devices);
    all.add("optimizer", o.lowering.update);
    all.add("samples", g.tensor_count > 0 ? g.tensors[0].extents[0] : 0);
    all.add("network", network_hash(g));
    for (int op = 0; op < g.op_count; ++op) {
        all.add("operator", g.ops[op].name);
    }
    return all.hash();
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::string to_text(const search::search_state& state, const graph_view& g, const cluster& on,
                                   const search::mcmc_options& o) {
    detail::search_writer w(g, on.devices());
    w.text = std::to_string(detail::subject_of(g, on, o)) + "\n";
    w.number(state.round);
    w.number(state.finished ? 1 : 0);
    w.number(static_cast<std::int64_t>(state.chains.size()));
    w.line();
    for (const search::named_chain& c : state.chains) {
        w.text += c.start + "\n" + std::to_string(c.state.random) + ' ';
        for (const std::int64_t x :
             {c.start_cost, c.state.made, c.state.accepted, c.state.improved_at, c.state.work, c.state.mark_work,
              c.state.mark_cost, c.round_made, c.round_work, static_cast<std::int64_t>(c.state.improvements.size())}) {
            w.number(x);
        }
        w.line();
        w.write(c.state.current);
        for (const search::mcmc_improvement& i : c.state.improvements) {
            w.number(i.cost);
            w.line();
            w.write(i.value);
        }
    }
    return "tessera-search 6 " + std::to_string(detail::sum_of(w.text)) + "\n" + w.text;
}

TESSERA_INLINE search::search_state search_from_text(std::string_view text, const graph_view& g, const cluster& on,
                                                     const search::mcmc_options& o) {
    using reader = detail::search_reader;
    reader head(text);
    if (head.word() != "tessera-search" || head.word() != "6") {
        reader::refuse("it does not begin with 'tessera-search 6'; it is something else, or of another version");
    }
    const auto sum = head.number<std::uint64_t>(0, UINT64_MAX, "the check sum");
    const std::string_view body = text.substr(std::min(text.find('\n') + 1, text.size()));
    if (sum != detail::sum_of(body)) {
        reader::refuse("the check sum does not agree; the file is damaged or incomplete");
    }
    reader r(body);
    if (r.number<std::uint64_t>(0, UINT64_MAX, "the subject") != detail::subject_of(g, on, o)) {
        reader::refuse("it belongs to another network, machine, seed, budget, rule to stop by, temperature, price of "
                       "bytes or optimizer; "
                       "begin anew");
    }
    detail::strategy_reader strategies(g);
    search::search_state state;
    state.round = r.small("the round", 0);
    state.finished = r.flag("'finished'");
    const std::int64_t chains = r.count("the number of chains", static_cast<std::int64_t>(text.size()));
    for (std::int64_t i = 0; i < chains; ++i) {
        search::named_chain c;
        c.start = r.rest_of_line();
        c.state.random = r.number<std::uint64_t>(0, UINT64_MAX, "the state of random numbers");
        c.start_cost = r.count("a cost");
        c.state.made = r.count("a number of proposals");
        c.state.accepted = r.count("a number of proposals");
        c.state.improved_at = r.count("a number of proposals");
        c.state.work = r.count("a number of activities");
        c.state.mark_work = r.count("a number of activities");
        c.state.mark_cost = r.count("a cost");
        c.round_made = r.number<std::int64_t>(-1, INT64_MAX, "a number of proposals");
        c.round_work = r.number<std::int64_t>(-1, INT64_MAX, "a number of activities");
        const std::int64_t improvements = r.count("the number of improvements", search::mcmc_chain::most_improvements);
        c.state.current = r.read_strategy(strategies, on.devices());
        for (std::int64_t k = 0; k < improvements; ++k) {
            const index_t cost = r.count("a cost");
            c.state.improvements.push_back({cost, r.read_strategy(strategies, on.devices())});
        }
        state.chains.push_back(std::move(c));
    }
    if (!r.finished()) {
        reader::refuse("something follows the last chain");
    }
    return state;
}

TESSERA_INLINE void write_search(const std::string& path, const search::search_state& state, const graph_view& g,
                                 const cluster& on, const search::mcmc_options& o) {
    write_file_atomically(path, to_text(state, g, on, o));
}

TESSERA_INLINE search::search_state read_search(const std::string& path, const graph_view& g, const cluster& on,
                                                const search::mcmc_options& o) {
    if (!files::is_there(path)) {
        throw error("tessera: the search file '" + path + "' cannot be opened; begin a search without one");
    }
    return search_from_text(files::read(path), g, on, o);
}

TESSERA_INLINE search::mcmc_result run_search(const graph_view& g, const cluster& on,
                                              const std::vector<search::named_strategy>& starts,
                                              const search::parallel_search_options& o, const std::string& path,
                                              const progress_options& progress) {
    const bool resumes = !path.empty() && files::is_there(path);
    search::parallel_search s = resumes ? search::parallel_search(g, on, read_search(path, g, on, o.chain), o)
                                        : search::parallel_search(g, on, starts, o);
    progress_bar bar("search", o.chain.budget * static_cast<std::int64_t>(s.state().chains.size()), progress);
    const auto report = [&](const search::search_progress& now) {
        const std::string best = now.best_cost == INT64_MAX
                                     ? "nothing fits yet"
                                     : "best " + std::to_string(now.best_cost / 1000) + " us a step";
        bar.advance(now.made - bar.done(), best);
    };
    return s.run(report, [&](const search::search_state& state) {
        if (!path.empty()) {
            write_search(path, state, g, on, o.chain);
        }
    });
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
