// SPDX-License-Identifier: Apache-2.0
// Bodies of network_cpp.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/network_cpp.hpp"

namespace tessera::io::detail {

TESSERA_INLINE const std::set<std::string>& cpp_words() {
    static const std::set<std::string> all{
        "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
        "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
        "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
        "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
        "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
        "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
        "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
        "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
        "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
        "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
        "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
        "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
        "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
        "xor_eq",      "linux",    "unix"};
    return all;
}

TESSERA_INLINE std::string cpp_text(double x) {
    char to[40];
    const auto end = std::to_chars(to, to + sizeof to, x).ptr; // the shortest that is this number again
    std::string text(to, end);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

TESSERA_INLINE std::string cpp_writer::write(const std::string& name) {
    free_names names(cpp_words(), {"ts", "tessera", "std"});
    const std::string network = names.next(name);
    for (int t = 0; t < g_.tensor_count; ++t) {
        names_.push_back(names.next(called(t)));
    }
    std::string layers;
    std::string entries;
    for (int t = 0; t < g_.tensor_count; ++t) {
        const int op = g_.tensors[t].producer;
        layers += "struct " + names_[to_size(t)] +
                  " {\n    static constexpr std::string_view path = " + path_text(called(t)) + ";\n" +
                  (op < 0 ? "" : "    static constexpr ts::op_attributes attributes = " + attributes(op) + ";\n") +
                  "};\n";
        entries += (entries.empty() ? "" : ",\n    ") + (op < 0 ? input(t) : node(op));
    }
    if (g_.op_count > 0 && only_planned(g_.ops[0].attributes.math)) {
        throw error("tessera: the network '" + name + "' is of " + to_text(g_.ops[0].attributes.math) +
                    ", which is planned for and which no type of a network has; print it in fp32, tf32 or bf16");
    }
    const std::string dag = "ts::dag<\n    " + entries + ">";
    const precision math = g_.op_count > 0 ? g_.ops[0].attributes.math : precision::fp32;
    return "// The network " + quoted::line(name) +
           " as a type, written from its description.\n#pragma once\n\n#include <tessera/net/dag.hpp>\n"
           "#include <tessera/net/precision.hpp>\n#include <tessera/op/known_operators.hpp>\n\n#include "
           "<string_view>\n\nnamespace " +
           network + "_layers {\n\nnamespace ts = tessera;\n\n" + layers + "\nstruct " + network + " : " +
           (math == precision::fp32 ? dag : std::string("ts::with_precision<ts::") + to_text(math) + ", " + dag + ">") +
           " {};\n\n} // namespace " + network + "_layers\n\nusing " + network + "_layers::" + network + ";\n";
}

TESSERA_INLINE std::string cpp_writer::path_text(const std::string& path) {
    const std::string text = quoted::cpp(path);
    return path.find('\0') == std::string::npos ? text : "{" + text + ", " + std::to_string(path.size()) + "}";
}

TESSERA_INLINE std::string cpp_writer::called(int t) const {
    const int op = g_.tensors[t].producer;
    return op < 0 ? std::string(g_.tensors[t].name) : labels_.texts[to_size(labels_.of[to_size(op)])];
}

TESSERA_INLINE std::string cpp_writer::input(int t) const {
    const tensor_node& x = g_.tensors[t];
    const bool integers = x.type == element::i32;
    const int rank = x.extents.rank;
    constexpr const char* of_numbers[] = {"", "scalars", "features", "sequence", "image", "volume"};
    constexpr const char* of_integers[] = {"", "labels", "tokens", "label_map", "label_volume"};
    if (rank < 1 || rank > (integers ? 4 : 5) || (x.any_length && rank != (integers ? 2 : 3))) {
        throw error("tessera: the input " + called(t) + " has no type in C++: it has " + std::to_string(rank) +
                    " dimensions");
    }
    std::string what = std::string("ts::") + (integers ? of_integers[rank] : of_numbers[rank]);
    for (int d = 1; d < rank; ++d) {
        const std::string extent = std::to_string(x.extents[d]);
        what += (d == 1 ? "<" : ", ") + (d == 1 && x.any_length ? "ts::up_to<" + extent + ">" : extent);
    }
    return "ts::input<" + names_[to_size(t)] + ", " + what + (rank > 1 ? ">" : "") + ">";
}

TESSERA_INLINE std::string cpp_writer::node(int op) {
    const op_node& o = g_.ops[op];
    const std::string& name = names_[to_size(o.output)];
    const int source = source_of_parameters(g_, first_users_, op);
    const int count = record_of(o.attributes).uses != nullptr ? 1 : o.inputs.size();
    if (source != -1) {
        if (source < -1) {
            throw error("tessera: the operator " + called(o.output) +
                        " has no place in a typed network: it takes parameters of several layers");
        }
        if (count != 1) {
            throw error("tessera: the operator " + called(o.output) + " has no place in a typed network: it reads " +
                        std::to_string(count) + " tensors and takes the parameters of another");
        }
        return "ts::chain<" + name + ", " + names_[to_size(o.inputs[0])] + ", ts::tied<" + name + ", " +
               names_[to_size(g_.ops[source].output)] + ">>";
    }
    std::string text = "ts::node<" + name + ", " + name;
    for (int k = 0; k < count; ++k) {
        text += ", " + names_[to_size(o.inputs[k])];
    }
    return text + ">";
}

TESSERA_INLINE std::string cpp_writer::kind(int op) const {
    const op_record& r = record_of(g_.ops[op].attributes);
    for (const known_operator& k : known_) {
        if (k.record == &r && !k.kind.empty()) {
            return k.kind;
        }
    }
    throw error("tessera: the operator " + called(g_.ops[op].output) + " cannot be written in C++: its kind, " +
                r.name + ", is not the library's");
}

TESSERA_INLINE std::string cpp_writer::attributes(int op) const {
    const op_attributes& a = g_.ops[op].attributes;
    const std::string plain_text = own(a, kind(op), called(g_.ops[op].output));
    std::string more;
    if (a.frozen) {
        more += "        a.frozen = true;\n";
    }
    if (a.weight != 1.0) {
        more += "        a.weight = " + cpp_text(a.weight) + ";\n";
    }
    for (int slot = 0; slot < 2; ++slot) {
        if (const initial_rule& rule = a.initial[slot]; rule.said) {
            more += "        a.initial[" + std::to_string(slot) + "] = {ts::initial_values::" + to_text(rule.how) +
                    ", static_cast<float>(" + cpp_text(static_cast<double>(rule.number)) + "), true};\n";
        }
    }
    return more.empty()
               ? plain_text
               : "[] {\n        ts::op_attributes a = " + plain_text + ";\n" + more + "        return a;\n    }()";
}

TESSERA_INLINE std::string cpp_writer::own(const op_attributes& a, const std::string& kind, const std::string& called) {
    std::string fields;
    const bool listed = each_said_attribute(a, [&](const attribute_field& field, const std::int64_t* numbers) {
        std::string all;
        for (int k = 0; k < field.count; ++k) {
            all += (k > 0 ? ", " : "") + by_type(
                                             field, numbers[k], [](std::int64_t n) { return std::to_string(n); },
                                             [](double n) { return cpp_text(n); },
                                             [](bool n) { return std::string(n ? "true" : "false"); });
        }
        fields += (fields.empty() ? "." : ", .") + std::string(field.name) + " = " +
                  (field.count == 1 ? all : "{" + all + "}");
    });
    if (!listed) {
        throw error("tessera: the operator " + called +
                    " cannot be written in C++: its record does not list its attributes");
    }
    return fields.empty()
               ? "{.kind = " + kind + "}"
               : "ts::attributes_of(" + kind + ", " + std::string(record_of(a).own->type) + "{" + fields + "})";
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
