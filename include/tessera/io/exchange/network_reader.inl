// SPDX-License-Identifier: Apache-2.0
// Bodies of network_reader.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/network_reader.hpp"

namespace tessera::io::detail {

TESSERA_INLINE double finite(const json_value& value) {
    const double x = value.number();
    if (!is_finite(x)) {
        value.refuse("is no finite number");
    }
    return x;
}

TESSERA_INLINE std::int64_t number_of(const json_value& value, const attribute_field& field) {
    return field.type == attribute_type::flag     ? (value.boolean() ? 1 : 0)
           : field.type == attribute_type::number ? std::bit_cast<std::int64_t>(finite(value))
                                                  : value.integer(field.least, field.most);
}

TESSERA_INLINE void read_attributes(const json_value* value, const json_value& node, const std::string& name,
                                    std::int64_t version, op_attributes& a) {
    std::optional<json_object> members;
    if (value != nullptr) {
        members.emplace(*value);
    }
    const attribute_list* const list = record_of(a).own;
    const attribute_defaults* const usual = defaults_of(record_of(a));
    const bool as_layer = usual != nullptr && (version > 1 || usual->is_whole());
    if (as_layer) {
        std::copy(std::begin(usual->usual.own), std::end(usual->usual.own), std::begin(a.own));
        std::copy(std::begin(usual->usual.initial), std::end(usual->usual.initial), std::begin(a.initial));
    }
    const bool asks = usual != nullptr && (version > 1 || record_of(a).formula != nullptr);
    const auto is = [](const char* one, const char* other) { return one != nullptr && std::string_view(one) == other; };
    std::string missing;
    int at = 0;
    int followed = 0; // where the attribute begins that another one follows
    for (int f = 0; list != nullptr && f < list->count; ++f) {
        const attribute_field& field = list->fields[f];
        const json_value* said = members ? members->find(field.name) : nullptr;
        followed = usual != nullptr && is(usual->followed, field.name) ? at : followed;
        if (said != nullptr) {
            const std::vector<json_value> numbers = field.count == 1 ? std::vector<json_value>{*said} : said->items();
            if (static_cast<int>(numbers.size()) != field.count) {
                said->refuse("has " + std::to_string(numbers.size()) + " numbers, but must have " +
                             std::to_string(field.count));
            }
            for (int k = 0; k < field.count; ++k) {
                a.own[at + k] = number_of(numbers[to_size(k)], field) ^ list->usual[at + k];
            }
        } else if (asks && usual->must_be_said(field.name)) {
            missing = missing.empty() ? field.name : missing;
        } else if (as_layer && is(usual->follows, field.name)) {
            for (int k = 0; k < field.count; ++k) {
                a.own[at + k] = a.own[followed + k] ^ list->usual[followed + k] ^ list->usual[at + k];
            }
        }
        at += field.count;
    }
    if (members) {
        members->finish();
    }
    if (!missing.empty()) {
        node.refuse("(" + std::string(record_of(a).name) + " '" + name + "') lacks the attribute '" + missing +
                    "', which has no default; say it");
    }
}

TESSERA_INLINE network_reader::network_reader(const json_document& document, const std::vector<const op_record*>& more)
    : document_(document), known_(known_operators(more)) {
    for (const known_operator& k : known_) {
        kinds_.emplace_back(k.record->name);
    }
}

TESSERA_INLINE network_file network_reader::read(index_t samples) {
    json_object top(document_.root());
    const json_value& version = top.get("tessera_network");
    version_ = version.integer(0, INT64_MAX);
    if (version_ < 1 || version_ > network_file_version) {
        version.refuse("is version " + std::to_string(version_) + ", but this reads versions 1 to " +
                       std::to_string(network_file_version));
    }
    file_.name = top.get("name").text();
    const index_t own_batch = top.get("batch").integer(1, INT32_MAX);
    batch_ = samples > 0 ? samples : own_batch;
    precision math = precision::fp32;
    if (const json_value* said = top.find("precision")) {
        constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
        math = static_cast<precision>(one_of(*said, names, "precision"));
    }
    const json_value& list = top.get("nodes");
    const std::vector<json_value> nodes = list.items();
    if (nodes.size() > most_network_nodes) {
        list.refuse("has " + std::to_string(nodes.size()) + " nodes; at most " + std::to_string(most_network_nodes) +
                    " are read");
    }
    top.finish();
    builder_.repeating = 1; // a layer may come again, with parameters of its own
    for (const json_value& node : nodes) {
        json_object members(node);
        members.find("input") != nullptr ? read_input(members) : read_operator(members, node);
        members.finish();
    }
    finish(list, math);
    return std::move(file_);
}

TESSERA_INLINE std::string_view network_reader::new_name(const json_value& value) {
    if (value.text().empty()) {
        value.refuse("is empty; every node has a name");
    }
    const std::string_view name = keep(value.text());
    if (!tensors_.emplace(name, builder_.tensor_count).second) {
        value.refuse("is '" + value.text() + "', as another node before it");
    }
    return name;
}

TESSERA_INLINE void network_reader::read_input(json_object& members) {
    const std::string_view name = new_name(members.get("input"));
    const json_value* called = members.find("called");
    const json_value& sample = members.get("sample");
    const std::vector<json_value> extents = sample.items();
    if (extents.size() > max_rank - 1) {
        sample.refuse("has " + std::to_string(extents.size()) + " extents, but a tensor has at most " +
                      std::to_string(max_rank - 1) + " besides that of samples");
    }
    shape s = make_shape(batch_);
    for (const json_value& extent : extents) {
        s.extent[s.rank++] = extent.integer(1, INT32_MAX);
    }
    if (is_too_large(s)) {
        sample.refuse("breaks a rule: " + words_of(tessera::detail::too_large(s)));
    }
    constexpr const char* types[] = {"f32", "i32"};
    const element type = one_of(members.get("type"), types, "type of an input") == 0 ? element::f32 : element::i32;
    const json_value* any = members.find("any_length");
    const bool any_length = any != nullptr && any->boolean();
    if (any_length && s.rank < 2) {
        any->refuse("is true, but the input has no length: its samples are single numbers");
    }
    builder_.add_input(s, type, called != nullptr ? keep(called->text()) : name, any_length);
}

TESSERA_INLINE void network_reader::read_operator(json_object& members, const json_value& at) {
    const std::string_view name = new_name(members.get("name"));
    const json_value* said = members.find("layer");
    const std::string_view layer = said != nullptr ? keep(said->text()) : name;
    op_attributes a{.kind = {record_named(members.get("kind"))}};
    read_attributes(members.find("attributes"), at, std::string(name), version_, a);
    if (const json_value* frozen = members.find("frozen")) {
        a.frozen = frozen->boolean();
    }
    if (const json_value* weight = members.find("loss_weight")) {
        a.weight = finite(*weight);
        if (!record_of(a).facts.loss) {
            weight->refuse("is the weight of no loss");
        }
    }
    if (const json_value* initial = members.find("initial")) {
        read_initial(*initial, a);
    }
    const json_value& reads = members.get("reads");
    std::vector<int> inputs;
    for (const json_value& from : reads.items()) {
        const auto found = tensors_.find(from.text());
        if (found == tensors_.end() || found->second == builder_.tensor_count) {
            from.refuse("is '" + from.text() + "', which is no node before '" + std::string(name) + "'" +
                        (found == tensors_.end() ? did_you_mean(from.text(), names()) : ""));
        }
        inputs.push_back(found->second);
    }
    if (inputs.empty() || inputs.size() > max_inputs) {
        reads.refuse("has " + std::to_string(inputs.size()) + " names, but an operator reads 1 to " +
                     std::to_string(max_inputs) + " tensors");
    }
    type_key tied_to = 0;
    if (const json_value* source = members.find("parameters_of")) {
        const auto found = tensors_.find(source->text());
        const int producer = found == tensors_.end() || found->second == builder_.tensor_count
                                 ? -1
                                 : builder_.tensors[found->second].producer;
        if (producer < 0) {
            source->refuse("is '" + source->text() + "', which is no operator before '" + std::string(name) + "'");
        }
        if (builder_.ops[producer].parameters.empty()) {
            source->refuse("is '" + source->text() + "', which has no parameters");
        }
        tied_to = builder_.ops[producer].key;
    }
    // A key of its own each: what is shared is said by name.
    const auto key = static_cast<type_key>(builder_.op_count + 1);
    if (builder_.add_op(a, layer, key, false, inputs.data(), static_cast<int>(inputs.size()), tied_to) < 0) {
        at.refuse("(" + std::string(record_of(a).name) + " '" + std::string(name) +
                  "') breaks a rule: " + words_of(builder_.refused));
    }
    names_.emplace_back(name);
}

TESSERA_INLINE std::string network_reader::words_of(const problem& p) {
    std::string text = to_text(p.broken);
    text += " [";
    if (p.dimension >= 0) {
        text += std::string("along ") + to_text(static_cast<loop_name>(p.dimension)) + ", ";
    }
    tessera::detail::append_numbers(text, p);
    return text;
}

TESSERA_INLINE const op_record* network_reader::record_named(const json_value& value) const {
    return known_[one_of(value, kinds_, "operator")].record;
}

TESSERA_INLINE void network_reader::read_initial(const json_value& value, op_attributes& a) {
    json_object members(value);
    for (int slot = 0; slot < 2; ++slot) {
        if (const json_value* said = members.find(tessera::detail::slot_name(slot))) {
            json_object rule(*said);
            const json_value& how = rule.get("how");
            a.initial[slot].how = static_cast<initial_values>(one_of(how, initial_names, "way to draw values"));
            if (a.initial[slot].how == initial_values::moments ||
                (slot == 1 && a.initial[slot].how >= initial_values::kaiming_uniform)) {
                how.refuse("is '" + how.text() + "', which does not suit a " + tessera::detail::slot_name(slot));
            }
            const json_value* number = rule.find("number");
            a.initial[slot].number = number != nullptr ? static_cast<float>(finite(*number)) : 1.0F;
            if (!is_finite(a.initial[slot].number)) {
                number->refuse("does not fit a float");
            }
            a.initial[slot].said = true;
            rule.finish();
        }
    }
    members.finish();
}

TESSERA_INLINE std::vector<std::string> network_reader::names() const {
    std::vector<std::string> all;
    for (const auto& entry : tensors_) {
        all.emplace_back(entry.first);
    }
    return all;
}

TESSERA_INLINE void network_reader::finish(const json_value& list, precision math) {
    graph& g = file_.network = builder_.built();
    bool has_loss = false;
    for (const op_node& o : g.ops) {
        has_loss = has_loss || record_of(o.attributes).facts.loss;
    }
    if (!has_loss) {
        list.refuse("breaks a rule: " + std::string(to_text(rule::network_has_no_loss)));
    }
    if (const problem p = problem_of_lengths(g.view())) {
        list.refuse("breaks a rule: " + words_of(p) + (p.op < 0 ? "" : ", at '" + names_[to_size(p.op)] + "'"));
    }
    std::unordered_map<std::string_view, int> layers;
    int introduced = 0; // parameters, which have the numbers in which operators introduce them
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
        op_node& o = g.ops[i];
        o.key = tessera::detail::hash_text(o.name);
        o.instance = layers[o.name]++;
        for (const int p : o.parameters) {
            if (p >= introduced) {
                introduced = p + 1;
                g.parameters[to_size(p)].instance = o.instance;
            }
        }
    }
    const network_paths paths = paths_of(g.view());
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
        if (paths.ops[i] != names_[i]) {
            list.refuse("has an operator '" + names_[i] + "' whose layer makes it '" + paths.ops[i] + "'; call it so");
        }
    }
    set_precision(g, math);
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
