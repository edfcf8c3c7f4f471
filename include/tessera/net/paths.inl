// SPDX-License-Identifier: Apache-2.0
// Bodies of paths.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/paths.hpp"

namespace tessera {

TESSERA_INLINE const std::string& network_paths::parameter(int which) const {
    return which < 0 ? nothing : parameters[to_size(which)];
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE std::string plain_scopes(std::string_view name) {
    constexpr std::string_view unnamed[] = {"{anonymous}::", "(anonymous namespace)::"};
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const std::string_view rest = name.substr(i);
        const bool behind_number = i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9';
        if (rest.substr(0, unnamed[0].size()) == unnamed[0]) {
            i += unnamed[0].size() - 1;
        } else if (rest.substr(0, unnamed[1].size()) == unnamed[1]) {
            i += unnamed[1].size() - 1;
        } else if (rest.substr(0, 2) == "::") {
            text += '.';
            ++i;
        } else if (c != ' ' && !(behind_number && (c == 'L' || c == 'U'))) {
            text += c;
        }
    }
    return text;
}

TESSERA_INLINE std::string_view last_scopes(std::string_view full, int parts) {
    int depth = 0;
    for (std::size_t i = full.size(); i > 0; --i) {
        const char c = full[i - 1];
        depth += c == '>' || c == ')' ? 1 : c == '<' || c == '(' ? -1 : 0;
        if (c == '.' && depth == 0 && --parts == 0) {
            return full.substr(i);
        }
    }
    return full;
}

TESSERA_INLINE std::string told_apart(std::string_view own, std::string_view full,
                                      const std::vector<std::string>& others) {
    if (full.empty()) {
        return std::string(own);
    }
    for (int parts = 0;; ++parts) {
        const std::string_view name = parts == 0 ? own : last_scopes(full, parts);
        bool unique = true;
        for (const std::string& other : others) {
            unique = unique && name != (parts == 0 || other.empty() ? own : last_scopes(other, parts));
        }
        if (unique || (parts > 0 && name == full)) {
            return std::string(name);
        }
    }
}

TESSERA_INLINE text_lists::text_lists(int texts) {
    std::size_t lists = 16;
    while (lists < to_size(texts)) {
        lists *= 2;
    }
    begin.assign(lists, -1);
}

TESSERA_INLINE int& text_lists::list_of(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return begin[static_cast<std::size_t>(h ^ (h >> 32U)) & (begin.size() - 1)];
}

TESSERA_INLINE void text_lists::add(std::string_view text) {
    int& list = list_of(text);
    next.push_back(list);
    list = static_cast<int>(next.size()) - 1;
}

TESSERA_INLINE bool are_one_layer(const op_node& a, const op_node& b) {
    return a.name == b.name && a.full_name.empty() == b.full_name.empty() && (a.full_name.empty() || a.key == b.key);
}

TESSERA_INLINE layer_labels labels_of(const graph_view& g) {
    layer_labels labels;
    std::vector<int> first; // operator of every layer
    std::vector<int> layer; // of every operator
    text_lists layers(g.op_count);
    for (int op = 0; op < g.op_count; ++op) {
        int k = layers.list_of(g.ops[op].name);
        while (k >= 0 && !are_one_layer(g.ops[first[to_size(k)]], g.ops[op])) {
            k = layers.after(k);
        }
        if (k < 0) {
            k = static_cast<int>(first.size());
            first.push_back(op);
            layers.add(g.ops[op].name);
        }
        layer.push_back(k);
    }
    std::vector<int> label; // of every layer
    text_lists texts(g.op_count);
    for (const int op : first) {
        std::vector<std::string> others;
        for (int k = layers.list_of(g.ops[op].name); k >= 0; k = layers.after(k)) {
            const int other = first[to_size(k)];
            if (other != op && g.ops[other].name == g.ops[op].name) {
                others.push_back(plain_scopes(g.ops[other].full_name));
            }
        }
        const std::string text = others.empty() ? std::string(g.ops[op].name)
                                                : told_apart(g.ops[op].name, plain_scopes(g.ops[op].full_name), others);
        int k = texts.list_of(text);
        while (k >= 0 && labels.texts[to_size(k)] != text) {
            k = texts.after(k);
        }
        if (k < 0) {
            k = static_cast<int>(labels.texts.size());
            labels.texts.push_back(text);
            texts.add(text);
        }
        label.push_back(k);
    }
    for (const int k : layer) {
        labels.of.push_back(label[to_size(k)]);
    }
    return labels;
}

TESSERA_INLINE std::string slot_name(int slot) {
    constexpr const char* names[] = {"weight", "bias", "statistics"};
    return slot >= 0 && slot < 3 ? names[slot] : std::to_string(slot);
}

TESSERA_INLINE std::vector<std::string> numbered(const std::vector<std::string>& texts,
                                                 const std::vector<int>& labels) {
    std::vector<int> uses(texts.size());
    for (const int label : labels) {
        ++uses[to_size(label)];
    }
    bool may_meet = false; // only a label that looks like another with a number
    for (const std::string& text : texts) {
        may_meet = may_meet || (text.find('.') != std::string::npos && text.back() >= '0' && text.back() <= '9');
    }
    std::vector<int> before(texts.size());
    std::vector<std::string> paths;
    text_lists known(static_cast<int>(labels.size()));
    for (const int label : labels) {
        const auto k = to_size(label);
        std::string path = texts[k];
        if (uses[k] > 1) {
            path += "." + std::to_string(before[k]++);
        }
        const auto is_taken = [&] {
            int other = known.list_of(path);
            while (other >= 0 && paths[to_size(other)] != path) {
                other = known.after(other);
            }
            return other >= 0;
        };
        while (may_meet && is_taken()) {
            path += ".0";
        }
        paths.push_back(path);
        known.add(path);
    }
    return paths;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE network_paths paths_of(const graph_view& g) {
    network_paths paths;
    const detail::layer_labels labels = detail::labels_of(g);
    paths.ops = detail::numbered(labels.texts, labels.of);
    std::vector<int> place(to_size(g.parameter_count),
                           -1);   // of who introduced it, among those who introduced any
    std::vector<int> introducing; // their labels
    for (int op = 0; op < g.op_count; ++op) {
        const auto mine = static_cast<int>(introducing.size());
        for (const int p : g.ops[op].parameters) {
            int& at = place[to_size(p)];
            at = at < 0 ? mine : at;
            if (at == mine && mine == static_cast<int>(introducing.size())) {
                introducing.push_back(labels.of[to_size(op)]);
            }
        }
    }
    const std::vector<std::string> layers = detail::numbered(labels.texts, introducing);
    for (int p = 0; p < g.parameter_count; ++p) {
        const int at = place[to_size(p)];
        paths.parameters.push_back((at < 0 ? std::string(g.parameters[p].layer) : layers[to_size(at)]) + "/" +
                                   detail::slot_name(g.parameters[p].slot));
    }
    return paths;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE bool has_plain_label(const graph_view& g, int op) {
    const op_node& own = g.ops[op];
    if (own.name.find('.') != std::string_view::npos) {
        return false;
    }
    for (int i = 0; i < g.op_count; ++i) {
        const op_node& other = g.ops[i];
        const bool together = own.full_name.empty() ? other.full_name.empty() : other.key == own.key;
        if (other.name.substr(0, own.name.size()) == own.name &&
            (other.name.size() == own.name.size() ? !together : other.name[own.name.size()] == '.')) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string path_of(const graph_view& g, int op) {
    if (op < 0) {
        return "-";
    }
    if (!detail::has_plain_label(g, op)) {
        return paths_of(g).op(op);
    }
    int same = 0;
    int before = 0;
    for (int i = 0; i < g.op_count; ++i) {
        same += g.ops[i].name == g.ops[op].name ? 1 : 0;
        before += i < op && g.ops[i].name == g.ops[op].name ? 1 : 0;
    }
    return std::string(g.ops[op].name) + (same > 1 ? "." + std::to_string(before) : "");
}

TESSERA_INLINE std::string parameter_path_of(const graph_view& g, int parameter) {
    if (parameter < 0) {
        return "-";
    }
    int introduced = -1; // by the operators so far
    int of = -1;
    for (int op = 0; op < g.op_count && of < 0; ++op) {
        for (const int p : g.ops[op].parameters) {
            of = p == parameter ? op : of;
        }
    }
    if (of < 0 || !detail::has_plain_label(g, of)) {
        return paths_of(g).parameter(parameter);
    }
    int same = 0;
    int before = 0;
    for (int op = 0; op < g.op_count; ++op) {
        bool introduces = false;
        for (const int p : g.ops[op].parameters) {
            introduces = introduces || p > introduced;
        }
        for (const int p : g.ops[op].parameters) {
            introduced = p > introduced ? p : introduced;
        }
        same += introduces && g.ops[op].name == g.ops[of].name ? 1 : 0;
        before += introduces && op < of && g.ops[op].name == g.ops[of].name ? 1 : 0;
    }
    return std::string(g.ops[of].name) + (same > 1 ? "." + std::to_string(before) : "") + "/" +
           detail::slot_name(g.parameters[parameter].slot);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
