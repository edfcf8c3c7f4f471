// SPDX-License-Identifier: Apache-2.0
#include "op_test/rows.hpp"

#include "op/nests.hpp"
#include "support/own_optimizers.hpp"
#include "support/random_network.hpp"
#include "support/window_draw.hpp"

#include "tessera/base/nearest.hpp"

#include <algorithm>

namespace op_test {

namespace {

std::string kind_of(const tests::op_case& c) { return std::string(ts::record_of(c.attributes).name); }

/// What rows of the table say of numbers of an operator: sqrt takes none below 0.
void take_care_of_numbers(tests::op_case& c) {
    for (const tests::op_case& known : tests::op_table()) {
        if (known.attributes.kind == c.attributes.kind) {
            c.shifts = c.shifts.empty() ? known.shifts : c.shifts;
            c.has_own_gradient = known.has_own_gradient;
            c.without_slope = known.without_slope;
        }
    }
}

bool matches(std::string_view pattern, std::string_view name) {
    if (pattern.empty() || pattern[0] != '*') {
        return pattern.empty() ? name.empty()
                               : !name.empty() && name[0] == pattern[0] && matches(pattern.substr(1), name.substr(1));
    }
    return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
}

} // namespace

std::vector<row> table_rows() {
    std::vector<row> all;
    for (const tests::op_case& c : tests::nests::every_row()) {
        all.push_back(
            {.name = c.name, .kind = kind_of(c), .of = c, .is_of_table = true, .picks = "--op " + quoted(c.name)});
    }
    const tests::op_case layer{
        "linear",
        ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = 3, .bias = true}),
        {ts::make_shape(4, 5)}};
    for (const auto& optimizers : {test_support::all_optimizers(), test_support::layerwise_optimizers()}) {
        for (const auto& [name, how] : optimizers) {
            all.push_back(
                {.name = "update by " + name, .kind = "optimizer", .of = layer, .how = how, .is_of_optimizer = true});
        }
    }
    return all;
}

std::vector<row> rows_of_networks(numbers which) {
    std::vector<row> all;
    for (std::uint64_t n = which.first; n <= which.last; ++n) {
        const ts::graph network = test_support::random_network(n);
        const ts::graph_view g = network.view();
        for (int op = 0; op < g.op_count; ++op) {
            tests::op_case c;
            c.attributes = g.ops[op].attributes;
            for (const int t : g.ops[op].inputs) {
                c.inputs.push_back(g.tensors[t].extents);
            }
            c.name = "network " + std::to_string(n) + ", operator " + std::to_string(op) + ": " + kind_of(c);
            take_care_of_numbers(c);
            all.push_back({.name = c.name,
                           .kind = kind_of(c),
                           .of = c,
                           .picks = "--networks " + std::to_string(n) + " --op " + quoted(c.name)});
        }
    }
    return all;
}

std::vector<row> rows_of_windows(numbers which) {
    constexpr double most_products = 3e4;
    std::vector<row> all;
    for (std::uint64_t n = which.first; n <= which.last; ++n) {
        const test_support::window_sweep::convolution drawn = test_support::window_sweep::draw(n, most_products);
        const tests::op_case c{"window " + std::to_string(n) + ": " + drawn.text(), drawn.attributes(), {drawn.x}};
        all.push_back({.name = c.name,
                       .kind = kind_of(c),
                       .of = c,
                       .sums_many = true,
                       .picks = "--windows " + std::to_string(n)});
    }
    return all;
}

std::string quoted(const std::string& word) {
    std::string text = "\"";
    for (const char c : word) {
        text += c == '"' || c == '\\' || c == '$' || c == '`' ? std::string{'\\', c} : std::string{c};
    }
    return text + "\"";
}

bool is_meant(std::string_view pattern, const row& r) { return matches(pattern, r.name) || matches(pattern, r.kind); }

std::vector<row> chosen(const std::vector<row>& all, const std::vector<std::string>& patterns) {
    if (patterns.empty()) {
        return all;
    }
    std::vector<bool> takes(all.size());
    for (const std::string& pattern : patterns) {
        bool any = false;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool meant = is_meant(pattern, all[i]);
            takes[i] = takes[i] || meant;
            any = any || meant;
        }
        if (!any) {
            std::vector<std::string> names;
            for (const row& r : all) {
                for (const std::string* const name : {&r.kind, &r.name}) {
                    if (std::find(names.begin(), names.end(), *name) == names.end()) {
                        names.push_back(*name);
                    }
                }
            }
            throw ts::error("--op: there is no operator or row '" + pattern + "'" + ts::did_you_mean(pattern, names) +
                            "; --list shows all");
        }
    }
    std::vector<row> taken;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (takes[i]) {
            taken.push_back(all[i]);
        }
    }
    return taken;
}

} // namespace op_test
