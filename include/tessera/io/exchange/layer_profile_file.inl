// SPDX-License-Identifier: Apache-2.0
// Bodies of layer_profile_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/layer_profile_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE search::placement::layer_profile profile_reader::read() {
    while (next_line()) {
        if (line_.empty()) {
            if (text_.find_first_not_of("\r\n", at_) != std::string_view::npos) {
                refuse("is empty; take it out");
            }
        } else if (line_.front() == '\t') {
            edge();
        } else {
            layer();
        }
    }
    if (profile_.layers.empty()) {
        throw error("tessera: " + profile_.name + " has no layers; name a profile");
    }
    std::vector<char> joined(profile_.layers.size(), 0);
    for (const auto& [from, to] : profile_.edges) {
        joined[to_size(from)] = joined[to_size(to)] = 1;
    }
    for (std::size_t v = 0; v < joined.size(); ++v) {
        if (joined[v] == 0 && joined.size() > 1) {
            throw error("tessera: " + profile_.name + ": no edge joins the layer '" + profile_.layers[v].id +
                        "' to another; the file may be cut short");
        }
    }
    (void)to_cost_graph(profile_); // cycles, and numbers that no cost graph has
    return std::move(profile_);
}

TESSERA_INLINE void profile_reader::refuse(const std::string& what) const {
    throw error("tessera: " + profile_.name + ", line " + std::to_string(number_) + " " + what);
}

TESSERA_INLINE std::string profile_reader::shown(std::string_view text) {
    std::string printable;
    for (const char c : text.substr(0, 40)) {
        printable += c >= ' ' && c <= '~' ? c : '?';
    }
    return "\"" + printable + (text.size() > 40 ? "...\"" : "\"");
}

TESSERA_INLINE bool profile_reader::next_line() {
    if (at_ >= text_.size()) {
        return false;
    }
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    line_.remove_suffix(!line_.empty() && line_.back() == '\r' ? 1 : 0);
    at_ = end + 1;
    ++number_;
    return true;
}

TESSERA_INLINE std::string profile_reader::id(std::string_view text) const {
    for (const char c : text) {
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
            refuse("has the name " + shown(text) + "; names have letters, digits and _ alone");
        }
    }
    if (text.empty()) {
        refuse("has no name");
    }
    return std::string(text);
}

TESSERA_INLINE double profile_reader::number(std::string_view text, const char* what) const {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 1e18)) {
        refuse("gives " + std::string(what) + " as " + shown(text) + "; give a number from 0 to 1e18");
    }
    return value;
}

TESSERA_INLINE std::string_view profile_reader::field(std::string_view& rest, const std::string& name,
                                                      bool last) const {
    const std::size_t end = last ? rest.size() : rest.find(", ");
    if (end == std::string_view::npos || rest.substr(0, name.size() + 1) != name + "=") {
        refuse("has " + shown(rest) + " where \"" + name + "=...\" belongs" +
               (rest.empty() ? "; the file may be cut short" : ""));
    }
    const std::string_view value = rest.substr(name.size() + 1, end - name.size() - 1);
    rest.remove_prefix(last ? end : end + 2);
    return value;
}

TESSERA_INLINE void profile_reader::layer() {
    if (!profile_.edges.empty()) {
        refuse("is a layer after the edges; put all layers first");
    }
    search::placement::profiled_layer l;
    const std::size_t first = line_.find(" -- ");
    const std::size_t second = line_.rfind(" -- forward_compute_time=");
    if (first == std::string_view::npos || second == std::string_view::npos || second <= first) {
        refuse("is " + shown(line_) + "; a layer is \"name -- kind -- forward_compute_time=...\"");
    }
    l.id = id(line_.substr(0, first));
    l.kind = std::string(line_.substr(first + 4, second - first - 4));
    std::string_view rest = line_.substr(second + 4);
    if (const std::size_t stage = rest.rfind(" -- stage_id="); stage != std::string_view::npos) {
        const double value = number(rest.substr(stage + 13), "the stage");
        if (value > 1e6 || value != std::floor(value)) {
            refuse("gives the stage as " + fixed_text(value) + "; give a whole number up to a million");
        }
        l.stage = static_cast<int>(value);
        rest = rest.substr(0, stage);
    }
    l.forward_ms = number(field(rest, "forward_compute_time", false), "the forward time");
    l.backward_ms = number(field(rest, "backward_compute_time", false), "the backward time");
    l.output_bytes = sizes(field(rest, "activation_size", false));
    l.parameter_bytes = number(field(rest, "parameter_size", true), "the size of the parameters");
    if (!numbers_.insert({l.id, static_cast<int>(profile_.layers.size())}).second) {
        refuse("is another layer called '" + l.id + "'; give each its own name");
    }
    profile_.layers.push_back(std::move(l));
}

TESSERA_INLINE std::vector<double> profile_reader::sizes(std::string_view text) const {
    if (text.empty() || text.front() != '[') {
        return {number(text, "the size of the output")};
    }
    if (text.size() < 2 || text.back() != ']') {
        refuse("gives the size of the output as " + shown(text) + "; a list ends with ]");
    }
    text = text.substr(1, text.size() - 2);
    std::vector<double> all;
    while (true) {
        const std::size_t end = text.find("; ");
        all.push_back(number(text.substr(0, end), "the size of an output"));
        if (end == std::string_view::npos) {
            return all;
        }
        text.remove_prefix(end + 2);
    }
}

TESSERA_INLINE void profile_reader::edge() {
    const std::string_view text = line_.substr(1);
    const std::size_t middle = text.find(" -- ");
    if (middle == std::string_view::npos) {
        refuse("is " + shown(text) + "; an edge is \"name -- name\"");
    }
    const int from = known(id(text.substr(0, middle)));
    const int to = known(id(text.substr(middle + 4)));
    if (from == to) {
        refuse("joins '" + profile_.layers[to_size(from)].id + "' to itself; take it out");
    }
    if (!edges_.insert({from, to}).second) {
        refuse("is an edge that was there before; take it out");
    }
    profile_.edges.push_back({from, to});
}

TESSERA_INLINE int profile_reader::known(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
        refuse("joins '" + name + "', but no layer is called so");
    }
    return found->second;
}

TESSERA_INLINE std::string profile_number(double x) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE search::placement::layer_profile profile_from_text(std::string_view text, const std::string& called) {
    return detail::profile_reader(text, called).read();
}

TESSERA_INLINE search::placement::layer_profile read_layer_profile(const std::string& path) {
    return profile_from_text(read_file(path), path);
}

TESSERA_INLINE std::string profile_text(const search::placement::layer_profile& p) {
    std::string text;
    for (const search::placement::profiled_layer& l : p.layers) {
        text += l.id + " -- " + l.kind + " -- forward_compute_time=" + detail::profile_number(l.forward_ms) +
                ", backward_compute_time=" + detail::profile_number(l.backward_ms) + ", activation_size=";
        std::string sizes;
        for (const double b : l.output_bytes) {
            sizes += (sizes.empty() ? "" : "; ") + detail::profile_number(b);
        }
        text += l.output_bytes.size() == 1 ? sizes : "[" + sizes + "]";
        text += ", parameter_size=" + detail::profile_number(l.parameter_bytes);
        text += (l.stage >= 0 ? " -- stage_id=" + std::to_string(l.stage) : "") + "\n";
    }
    for (const auto& [from, to] : p.edges) {
        text += "\t" + p.layers[to_size(from)].id + " -- " + p.layers[to_size(to)].id + "\n";
    }
    return text;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
