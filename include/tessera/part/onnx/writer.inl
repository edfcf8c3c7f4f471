// SPDX-License-Identifier: Apache-2.0
// Bodies of writer.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/writer.hpp"

namespace tessera::onnx {

TESSERA_INLINE view network_writer::input(const std::string& name, const shape& extents, element type) {
    written_node n;
    n.name = unused(name);
    n.is_input = true;
    n.type = type;
    n.extents = extents;
    nodes.push_back(std::move(n));
    return view::of(static_cast<int>(nodes.size()) - 1, extents);
}

TESSERA_INLINE view network_writer::add(const std::string& wanted, const op_attributes& a,
                                        const std::vector<int>& reads) {
    std::vector<shape> shapes;
    for (const int r : reads) {
        shapes.push_back(node_at(r).extents);
    }
    for (const shape& x : shapes) {
        if (is_too_large(x)) {
            throw cannot_say{"a tensor is too large"};
        }
    }
    const inferred made = record_of(a).infer(a, shapes.data(), static_cast<int>(shapes.size()));
    if (made.refused) {
        std::string text = to_text(made.refused);
        text.erase(0, text.find(": ") + 2);
        throw cannot_say{"as " + std::string(record_of(a).name) + " it breaks a rule: " + text};
    }
    written_node n;
    n.name = unused(wanted);
    n.attributes = a;
    n.reads = reads;
    n.extents = made.output;
    nodes.push_back(std::move(n));
    return view::of(static_cast<int>(nodes.size()) - 1, made.output);
}

TESSERA_INLINE view network_writer::add(const std::string& wanted, const op_attributes& a, const view& whole) {
    return add(wanted, a, std::vector<int>{whole.node});
}

TESSERA_INLINE view network_writer::add(const std::string& wanted, op_kind kind, const std::vector<int>& reads) {
    return add(wanted, op_attributes{.kind = kind}, reads);
}

TESSERA_INLINE op_attributes network_writer::named(const std::string& name) {
    for (const known_operator& k : known_operators()) {
        if (name == k.record->name) {
            return {.kind = {k.record}};
        }
    }
    throw cannot_say{"there is no operator " + name};
}

TESSERA_INLINE void network_writer::parameter(int node, const char* slot, std::vector<std::int64_t> extents,
                                              std::vector<float> numbers) {
    parameters.push_back({node, slot, std::move(extents), std::move(numbers)});
}

TESSERA_INLINE view network_writer::whole(const view& v, const std::string& wanted) {
    const view_steps steps = steps_to(v);
    if (!steps.exist) {
        throw cannot_say{"its samples are mixed with another dimension, or parts of a dimension are left out"};
    }
    view now = view::of(v.node, v.base);
    for (const view_steps::step& step : steps.moves) {
        std::vector<index_t> have;
        for (int d = 0; d < now.base.rank; ++d) {
            have.push_back(now.base[d]);
        }
        now = step.extents == have ? now : reshape(now, step.extents, wanted);
        op::permute_attributes own;
        own.rank = static_cast<index_t>(step.order.size());
        for (std::size_t k = 0; k < step.order.size(); ++k) {
            own.order[k] = step.order[k];
        }
        now = move(wanted + ".permute", attributes_of(op_kind::permute, own), now.node);
    }
    return reshape(now, steps.shape, wanted);
}

TESSERA_INLINE void network_writer::keep_what_is_read(const std::set<int>& kept) {
    std::vector<char> read(nodes.size(), 0);
    std::vector<int> place(nodes.size(), -1);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        const bool stays = nodes[i].is_input || read[i] != 0 || kept.count(static_cast<int>(i)) > 0;
        read[i] = stays ? 1 : 0;
        for (const int r : nodes[i].reads) {
            read[to_size(r)] |= read[i];
        }
        if (stays && nodes[i].parameters_of >= 0) {
            read[to_size(nodes[i].parameters_of)] = 1;
        }
    }
    std::vector<written_node> left;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (read[i] == 0) {
            continue;
        }
        place[i] = static_cast<int>(left.size());
        for (int& r : nodes[i].reads) {
            r = place[to_size(r)];
        }
        if (nodes[i].parameters_of >= 0) {
            nodes[i].parameters_of = place[to_size(nodes[i].parameters_of)];
        }
        left.push_back(std::move(nodes[i]));
    }
    nodes = std::move(left);
    std::vector<written_parameter> of_those;
    for (written_parameter& p : parameters) {
        p.node = place[to_size(p.node)];
        if (p.node >= 0) {
            of_those.push_back(std::move(p));
        }
    }
    parameters = std::move(of_those);
    moved_to = std::move(place);
}

TESSERA_INLINE void network_writer::require_rank(std::size_t rank) {
    if (rank > max_rank) {
        throw cannot_say{"it goes through a tensor of " + std::to_string(rank) + " dimensions, and there are at most " +
                         std::to_string(max_rank)};
    }
}

TESSERA_INLINE view network_writer::move(const std::string& wanted, const op_attributes& a, int from) {
    for (std::size_t i = to_size(from) + 1; i < nodes.size(); ++i) {
        const written_node& n = nodes[i];
        if (!n.is_input && n.reads == std::vector<int>{from} && n.attributes == a) {
            return view::of(static_cast<int>(i), n.extents);
        }
    }
    return add(wanted, a, std::vector<int>{from});
}

TESSERA_INLINE view network_writer::reshape(const view& from, const std::vector<index_t>& extents,
                                            const std::string& wanted) {
    if (extents.empty()) {
        return from;
    }
    require_rank(extents.size());
    if (extents.size() == 2 && from.base.rank > 2) {
        return move(wanted + ".flatten", {.kind = op_kind::flatten}, from.node);
    }
    op::reshape_attributes own;
    own.rank = static_cast<index_t>(extents.size()) - 1;
    for (std::size_t k = 1; k < extents.size(); ++k) {
        own.extent[k - 1] = extents[k];
    }
    return move(wanted + ".reshape", attributes_of(op_kind::reshape, own), from.node);
}

TESSERA_INLINE std::string network_writer::unused(const std::string& wanted) {
    std::string name;
    for (const char c : wanted) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (plain) {
            name += c;
        } else if (!name.empty() && name.back() != '.') {
            name += '.';
        }
    }
    while (!name.empty() && name.back() == '.') {
        name.pop_back();
    }
    name = name.empty() ? "node" : name.substr(0, 200);
    const std::string stem = name;
    for (int& more = taken_[stem]; more > 0; ++more) {
        name = stem + "_" + std::to_string(more);
        if (taken_.count(name) == 0) {
            break;
        }
    }
    ++taken_[name];
    return name;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
