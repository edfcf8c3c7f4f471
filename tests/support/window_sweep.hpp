// SPDX-License-Identifier: Apache-2.0
// Random convolutions, of images and of volumes, and every way in which the host could compute each of their passes:
// those that it offers, and those that it leaves out because oneDNN does them wrong.
#pragma once

#include "tessera/backend/host/choose/sampled.hpp"
#include "tessera/backend/host/op/convolution.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace test_support {

namespace window_sweep {

namespace ts = tessera;
namespace host = tessera::host;

/// A convolution, perhaps of a shard that begins and ends inside its images.
struct convolution {
    int dimensions = 2;
    ts::shape x;
    ts::op::conv3d_attributes a; ///< of images the first two numbers of each
    bool is_part = false;
    ts::index_t first_row = 0, end_row = 0; ///< of the outermost dimension of the output, where it is a part

    ts::op_attributes attributes() const {
        if (dimensions == 3) {
            return ts::attributes_of(ts::op_kind::conv3d, a);
        }
        ts::op::conv2d_attributes b;
        for (int k = 0; k < 2; ++k) {
            b.window[k] = a.window[k];
            b.stride[k] = a.stride[k];
            b.padding[k] = a.padding[k];
            b.dilation[k] = a.dilation[k];
        }
        b.out = a.out;
        b.groups = a.groups;
        b.bias = a.bias;
        return ts::attributes_of(ts::op_kind::conv2d, b);
    }
    std::string text() const {
        std::string s = dimensions == 3 ? "conv3d x" : "conv2d x";
        for (int k = 0; k < x.rank; ++k) {
            s += (k > 0 ? "x" : " ") + std::to_string(x[k]);
        }
        const std::pair<const char*, const ts::index_t*> all[] = {
            {" window ", a.window}, {" stride ", a.stride}, {" padding ", a.padding}, {" dilation ", a.dilation}};
        for (const auto& [name, numbers] : all) {
            s += name;
            for (int k = 0; k < dimensions; ++k) {
                s += (k > 0 ? "," : "") + std::to_string(numbers[k]);
            }
        }
        s += " out " + std::to_string(a.out) + " groups " + std::to_string(a.groups) + (a.bias ? " bias" : "");
        return is_part ? s + " rows " + std::to_string(first_row) + "-" + std::to_string(end_row) : s;
    }
};

class draws {
public:
    explicit draws(std::uint64_t seed) : state_(ts::op::mix(seed + 1)) {}
    ts::index_t below(ts::index_t n) {
        state_ = ts::op::mix(state_ + 0x9e3779b97f4a7c15ULL);
        return static_cast<ts::index_t>((state_ >> 16U) % static_cast<std::uint64_t>(n));
    }
    /// From 1 to `most`, small ones as often as large ones.
    ts::index_t size(ts::index_t most) {
        ts::index_t top = 1;
        while (top < most && below(4) != 0) {
            top *= 2;
        }
        top = std::min(top, most);
        return 1 + below(top);
    }

private:
    std::uint64_t state_;
};

/// Convolution `number` of the sweep: windows to 300, strides to 5, paddings up to the window, dilations to 4, groups,
/// batches of 1 to 64. `most` multiply-adds at most, and 2^24 elements in a tensor.
inline convolution draw(std::uint64_t number, double most) {
    for (std::uint64_t again = 0;; ++again) {
        draws r(number * 1000 + again);
        convolution c;
        c.dimensions = r.below(5) < 2 ? 3 : 2;
        const bool wide = r.below(3) == 0; // a window that is large
        const bool dilated = r.below(4) == 0;
        const bool strided = r.below(2) == 0;
        const bool padded = r.below(2) == 0;
        c.x.rank = 2 + c.dimensions;
        c.x.extent[0] = r.below(3) == 0 ? 1 + r.below(64) : r.size(16);
        for (int k = 0; k < c.dimensions; ++k) {
            c.a.window[k] = wide ? 1 + r.below(c.dimensions == 3 ? 60 : 300) : r.size(16);
            c.a.stride[k] = strided ? 1 + r.below(5) : 1;
            c.a.dilation[k] = dilated ? 1 + r.below(4) : 1;
            const ts::index_t reach = (c.a.window[k] - 1) * c.a.dilation[k] + 1;
            c.a.padding[k] = padded ? r.below(std::min<ts::index_t>(reach, 160)) : 0;
            const ts::index_t rest = std::max<ts::index_t>(reach - 2 * c.a.padding[k], 1);
            c.x.extent[2 + k] = rest + r.below(r.below(2) == 0 ? 4 : 40);
        }
        const ts::index_t kinds = r.below(4);
        c.a.groups = kinds == 0 ? 1 + r.below(4) : kinds == 1 && r.below(2) == 0 ? 16 * (1 + r.below(2)) : 1;
        c.x.extent[1] = c.a.groups * (c.a.groups >= 16 && r.below(2) == 0 ? 1 : r.size(48));
        c.a.out = c.a.groups * (c.a.groups >= 16 && r.below(2) == 0 ? 1 : r.size(48));
        c.a.bias = r.below(2) == 0;
        const ts::op::windows w = c.dimensions == 3 ? ts::op::windows_of(c.a) : ts::op::windows_of(c.attributes(), 4);
        const ts::inferred y = ts::op::infer_convolution(w, {c.a.out, c.a.groups, c.a.bias}, c.x);
        if (y.refused) {
            continue;
        }
        double products = static_cast<double>(y.output.volume()) * static_cast<double>(c.x[1] / c.a.groups);
        double weights = static_cast<double>(c.a.out) * static_cast<double>(c.x[1] / c.a.groups);
        for (int k = 0; k < c.dimensions; ++k) {
            products *= static_cast<double>(c.a.window[k]);
            weights *= static_cast<double>(c.a.window[k]);
        }
        constexpr double largest = 1 << 22;
        if (products > most || weights > largest || static_cast<double>(c.x.volume()) > largest ||
            static_cast<double>(y.output.volume()) > largest) {
            continue;
        }
        if (y.output[2] > 2 && r.below(3) == 0) {
            c.is_part = true;
            c.first_row = r.below(y.output[2] / 2);
            c.end_row = c.first_row + 1 + r.below(y.output[2] - c.first_row);
        }
        return c;
    }
}

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
