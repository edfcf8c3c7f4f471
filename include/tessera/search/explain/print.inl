// SPDX-License-Identifier: Apache-2.0
// Bodies of print.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/explain/print.hpp"

namespace tessera::search::detail {

TESSERA_INLINE std::string milliseconds(index_t ns) {
    const index_t thousandths = (ns + (ns < 0 ? -500 : 500)) / 1000;
    const index_t size = thousandths < 0 ? -thousandths : thousandths;
    std::string rest = std::to_string(size % 1000);
    rest.insert(0, 3 - rest.size(), '0');
    return (thousandths < 0 ? "-" : "") + std::to_string(size / 1000) + "." + rest;
}

TESSERA_INLINE std::string reason(const graph_view& g, const movement& m) {
    const std::string from = m.source >= 0 ? path_of(g, m.source) : "the inputs";
    const std::string parameter = parameter_path_of(g, m.parameter);
    switch (m.what) {
    case tile_kind::input:
    case tile_kind::activation:
        return "output of " + from + " to " + path_of(g, m.op) + ", " + to_text(m.when);
    case tile_kind::gradient:
        return "gradient of the output of " + from + ", by " + path_of(g, m.op) + ", " + to_text(m.when);
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient:
        return "sums inside " + from + ", " + to_text(m.when);
    case tile_kind::parameter:
        return "new values of the parameter " + parameter;
    case tile_kind::parameter_gradient:
        return "gradients of the parameter " + parameter;
    case tile_kind::optimizer_state:
        return "optimizer state of the parameter " + parameter;
    case tile_kind::code:
        return "compressed gradients of the parameter " + parameter;
    case tile_kind::scalar:
        return "norms of gradients";
    case tile_kind::scratch:
    case tile_kind::residual:
        break;
    }
    return to_text(m.what);
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::string to_text(const graph_view& g, const explanation& e, std::size_t most) {
    using tessera::detail::aligned;
    const description d = g.describe(e.op);
    std::string text = "why " + path_of(g, e.op) + " (" + to_text(g.ops[e.op].attributes.kind) + ", output " +
                       tessera::detail::text_of(g.output_of(e.op).extents) + ") is as it is: a step takes " +
                       detail::milliseconds(e.step) + " ms, simulated\n";
    std::vector<std::vector<std::string>> rows{
        {"", "splits", "devices", "step ms", "difference", "compute ms", "synchronization ms", "transfer ms"}};
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < e.alternatives.size(); ++i) {
        const alternative& a = e.alternatives[i];
        if (i >= most && !a.chosen) {
            ++left_out;
            continue;
        }
        rows.push_back({a.chosen ? ">" : "", tessera::detail::text_of_splits(d, a.what, nullptr),
                        tessera::detail::text_of_devices(a.devices), detail::milliseconds(a.step),
                        (a.step > e.step ? "+" : "") + detail::milliseconds(a.step - e.step),
                        detail::milliseconds(a.compute), detail::milliseconds(a.synchronization),
                        a.transfer < 0 ? "-" : detail::milliseconds(a.transfer)});
    }
    text += aligned(rows);
    text += left_out > 0 ? std::to_string(left_out) + " slower ones are left out\n" : "";
    text +=
        "(step: simulated with this one operator changed; the others: of this operator, by OptCNN's additive model)\n";
    text += e.moves.empty() ? "nothing moves because of it\n" : "what moves because of it in a step, in bytes:\n";
    rows.clear();
    for (const movement& m : e.moves) {
        rows.push_back({"  " + std::to_string(m.bytes), detail::reason(g, m)});
    }
    return text + aligned(rows);
}

TESSERA_INLINE std::string to_text(const graph_view& g, const strategy_difference& d, const strategy& a,
                                   const strategy& b, const std::string& first, const std::string& second) {
    if (!d.any()) {
        return "the strategies are the same\n";
    }
    std::string text;
    strategy::each_field([&](const char* name, auto member, const field_facts& f) {
        using type = std::remove_cvref_t<decltype(a.*member)>;
        if constexpr (is_plain<type> || Described<type>) {
            const char* what = f.words != nullptr ? f.words : name;
            text += !d.has(what) ? ""
                                 : std::string(what) + ": " + detail::text_of_field(a.*member) + " in " + first + ", " +
                                       detail::text_of_field(b.*member) + " in " + second + "\n";
        }
    });
    std::vector<std::vector<std::string>> rows{{"layer", first, second, "differs in"}};
    for (const operator_difference& o : d.ops) {
        const description op = g.describe(o.op);
        const auto shown = [&](const strategy& s) {
            const configuration& c = s.ops[to_size(o.op)];
            std::string one = tessera::detail::text_of_splits(op, c, s.pool.data()) + " on " +
                              tessera::detail::text_of_devices(detail::devices_of(c, s.pool));
            one += c.replicate > 1 ? ", " + std::to_string(c.replicate) + " copies" : "";
            one += c.stage > 0 || o.has("stage") ? ", stage " + std::to_string(c.stage) : "";
            return one + (c.recompute ? ", recomputed" : c.offload ? ", offloaded" : "");
        };
        std::string what;
        for (const std::string& w : o.words) {
            what += (what.empty() ? "" : " ") + w;
        }
        rows.push_back({path_of(g, o.op), shown(a), shown(b), what});
    }
    text += std::to_string(d.ops.size()) + " of " + std::to_string(g.op_count) + " operators differ\n";
    return text + (d.ops.empty() ? "" : tessera::detail::aligned(rows));
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
