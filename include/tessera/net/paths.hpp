// SPDX-License-Identifier: Apache-2.0
// One name for every operator and every parameter of a network: unique in it, the same on every compiler, for people, files and messages.
#pragma once

#include "tessera/net/graph.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera {

/// conv1, conv<1,2>, relu.2, encoder.norm; conv1/weight. An operator has the name of its layer, with as many scopes as tell it from other
/// layers of that name, and a number from 0 where a layer of that name occurs several times. A parameter has the name of the layer that
/// introduced it (numbered where the layer introduced several, as in repeat<>) and what it is: weight, bias or statistics.
struct network_paths {
    std::vector<std::string> ops;
    std::vector<std::string> parameters;

    const std::string& op(int which) const { return which < 0 ? nothing : ops[static_cast<std::size_t>(which)]; }
    const std::string& parameter(int which) const {
        return which < 0 ? nothing : parameters[static_cast<std::size_t>(which)];
    }
    std::string nothing = "-";
};

namespace detail {

/// A whole name as compilers write it with points between scopes, without spaces, unnamed scopes and the letters behind numbers.
inline std::string plain_scopes(std::string_view name) {
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

/// The last `parts` parts of a name with scopes; all of it where there are fewer.
inline std::string_view last_scopes(std::string_view full, int parts) {
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

/// What layers of different types that have one name are called: with as few scopes as tell it from all others.
inline std::string told_apart(std::string_view own, std::string_view full, const std::vector<std::string>& others) {
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

/// The label of every operator: its path without the number.
inline std::vector<std::string> labels_of(const graph_view& g) {
    using layer = std::pair<std::string_view, type_key>; // of layers that are numbered together the key is 0
    const auto layer_of = [&g](int op) {
        return layer(g.ops[op].name, g.ops[op].full_name.empty() ? 0 : g.ops[op].key);
    };
    std::map<layer, std::string> labels;
    std::map<std::string_view, std::vector<std::pair<layer, std::string>>> of_name;
    for (int op = 0; op < g.op_count; ++op) {
        if (labels.try_emplace(layer_of(op)).second) {
            of_name[g.ops[op].name].emplace_back(layer_of(op), plain_scopes(g.ops[op].full_name));
        }
    }
    for (const auto& [own, alike] : of_name) {
        for (const auto& [which, full] : alike) {
            std::vector<std::string> others;
            for (const auto& [other, its_full] : alike) {
                if (other != which) {
                    others.push_back(its_full);
                }
            }
            labels[which] = others.empty() ? std::string(own) : told_apart(own, full, others);
        }
    }
    std::vector<std::string> result;
    for (int op = 0; op < g.op_count; ++op) {
        result.push_back(labels[layer_of(op)]);
    }
    return result;
}

inline std::string slot_name(int slot) {
    constexpr const char* names[] = {"weight", "bias", "statistics"};
    return slot >= 0 && slot < 3 ? names[slot] : std::to_string(slot);
}

/// Appends numbers to labels that occur several times; to what is still not unique, more of them.
inline std::vector<std::string> numbered(const std::vector<std::string>& labels) {
    std::map<std::string_view, int> uses;
    for (const std::string& label : labels) {
        ++uses[label];
    }
    std::map<std::string_view, int> before;
    std::map<std::string, int> taken;
    std::vector<std::string> paths;
    for (const std::string& label : labels) {
        std::string path = uses[label] > 1 ? label + "." + std::to_string(before[label]++) : label;
        while (taken.count(path) > 0) {
            path += "." + std::to_string(taken[path]++);
        }
        taken[path] = 0;
        paths.push_back(std::move(path));
    }
    return paths;
}

} // namespace detail

/// The paths of all operators and parameters.
inline network_paths paths_of(const graph_view& g) {
    network_paths paths;
    const std::vector<std::string> labels = detail::labels_of(g);
    paths.ops = detail::numbered(labels);
    std::vector<int> introduced_by(static_cast<std::size_t>(g.parameter_count), -1);
    std::vector<int> place(static_cast<std::size_t>(g.op_count), -1); // among those that introduce parameters
    std::vector<std::string> their_labels;
    for (int op = 0; op < g.op_count; ++op) {
        for (const int p : g.ops[op].parameters) {
            if (introduced_by[static_cast<std::size_t>(p)] < 0) {
                introduced_by[static_cast<std::size_t>(p)] = op;
                if (place[static_cast<std::size_t>(op)] < 0) {
                    place[static_cast<std::size_t>(op)] = static_cast<int>(their_labels.size());
                    their_labels.push_back(labels[static_cast<std::size_t>(op)]);
                }
            }
        }
    }
    const std::vector<std::string> layers = detail::numbered(their_labels);
    for (int p = 0; p < g.parameter_count; ++p) {
        const int op = introduced_by[static_cast<std::size_t>(p)];
        const int at = op < 0 ? -1 : place[static_cast<std::size_t>(op)];
        paths.parameters.push_back(
            (at < 0 ? std::string(g.parameters[p].layer) : layers[static_cast<std::size_t>(at)]) + "/" +
            detail::slot_name(g.parameters[p].slot));
    }
    return paths;
}

namespace detail {

/// True where the layer of an operator needs no scopes, and no name looks like another with a number.
inline bool has_plain_label(const graph_view& g, int op) {
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

} // namespace detail

/// The path of one operator, "-" for none. Looks at all operators once; for all paths there is paths_of().
inline std::string path_of(const graph_view& g, int op) {
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

/// The path of one parameter, "-" for none. Looks at all operators once, for parameters are numbered as operators introduce them.
inline std::string parameter_path_of(const graph_view& g, int parameter) {
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
