// SPDX-License-Identifier: Apache-2.0
// Every way in which the host could compute each pass of a random convolution: those that it offers, and those that it
// leaves out because oneDNN does them wrong.
#pragma once

#include "window_draw.hpp"

#include "tessera/backend/host/choose/sampled.hpp"
#include "tessera/backend/host/op/convolution.hpp"

#include <string>
#include <vector>

namespace test_support {

namespace window_sweep {

namespace host = tessera::host;

/// One way of a pass, and what is wrong with it.
struct finding {
    std::string convolution, pass, way, implementation, wrong;
    bool is_offered = false;
};

inline std::string implementation_of(const ts::compute_call& c, const host::candidate& k,
                                     const host::format_table& table) {
    if (k.engine == host::engine_kind::vectors) {
        return "own kernel";
    }
    const host::detail::onednn_problem p = host::detail::problem_of<host::onednn_convolution>(c, k, table);
    return p.pd ? host::implementation_name(p.pd) : "none";
}

/// A pass of it, as binding asks for its ways.
inline ts::compute_call call_of(const ts::description& d, const ts::op_attributes& attributes, ts::pass what,
                                const convolution& of) {
    ts::compute_call c;
    c.d = &d;
    c.attributes = attributes;
    c.what = what;
    c.last_nest = d.nests.size() - 1;
    const ts::loop_ranges whole(d);
    for (int l = 0; l < ts::max_loops; ++l) {
        c.ranges[l] = whole.range[l];
    }
    if (of.is_part) {
        c.ranges[d.find_loop(of.dimensions == 3 ? ts::loop_name::depth : ts::loop_name::height)] = {of.first_row,
                                                                                                    of.end_row};
    }
    const int bias = d.find_operand(ts::operand_kind::parameter, 1);
    c.emits = what == ts::pass::backward_input ? ts::bit(d.find_operand(ts::operand_kind::input))
              : what == ts::pass::forward
                  ? 0
                  : ts::bit(d.find_operand(ts::operand_kind::parameter, 0)) | (bias >= 0 ? ts::bit(bias) : 0);
    for (int o = 0; o < d.operands.size(); ++o) { // what binding says of operands that the pass touches
        bool read = false;
        for (int e = 0; e < d.operands.size(); ++e) {
            read = read || (ts::has(c.emits, e) && ts::has(d.operands[e].gradient_reads, o));
        }
        if (what == ts::pass::forward || read) {
            c.value[o].region = ts::region(d, o, c.ranges);
        }
        if (what != ts::pass::forward && (o == d.output() || ts::has(c.emits, o))) {
            c.gradient[o].region = ts::region(d, o, c.ranges);
        }
    }
    return c;
}

/// Tries all ways of all passes; `found` gets every way, `all` or those that are wrong. Deterministic. `only` one pass;
/// `as_offered`: no others.
inline void try_convolution(const convolution& of, const host::sample_limits& most, bool all,
                            std::vector<finding>& found, const char* only = nullptr, bool as_offered = false) {
    const ts::op_attributes attributes = of.attributes();
    const ts::description d = ts::record_of(attributes).describe(attributes, &of.x, 1);
    const host::unique_stream stream = host::make_stream();
    for (const ts::pass what : {ts::pass::forward, ts::pass::backward_input, ts::pass::backward_weight}) {
        if (only != nullptr && std::string(only) != to_text(what)) {
            continue;
        }
        host::format_table table;
        const ts::compute_call c = call_of(d, attributes, what, of);
        std::vector<host::candidate> offered;
        host::detail::add_onednn_convolutions(c, table, offered);
        std::vector<host::candidate> ways;
        host::detail::add_all_onednn_convolutions(c, table, ways);
        if (of.dimensions == 2 && of.a.groups == 1) {
            host::detail::add_in_samples<host::conv_job>(c, ways);
            host::detail::add_in_samples<host::conv_job>(c, offered);
        }
        for (const host::candidate& k : ways) {
            const auto make = [&](const host::bound_call& b) -> ts::owned<host::job> {
                if (b.how.engine == host::engine_kind::vectors) {
                    return ts::owned<host::job>(new host::conv_job(b));
                }
                return ts::owned<host::job>(new host::product_job<host::onednn_convolution>(b, table, stream.get()));
            };
            finding f{of.text(), to_text(what), to_text(k.engine), implementation_of(c, k, table), {}, false};
            f.way += " " + table.name(host::detail::entry_format(k) < 0 ? k.gradient[d.output()]
                                                                        : host::detail::entry_format(k));
            for (const host::candidate& o : offered) {
                f.is_offered = f.is_offered || host::same_formats(o, k);
            }
            if (as_offered && !f.is_offered) {
                continue;
            }
            f.wrong = host::detail::wrong_sample(c, k, table, stream.get(), most, make);
            if (all || !f.wrong.empty()) {
                found.push_back(f);
            }
        }
    }
}

} // namespace window_sweep

} // namespace test_support
