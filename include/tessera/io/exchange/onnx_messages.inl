// SPDX-License-Identifier: Apache-2.0
// Bodies of onnx_messages.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/onnx_messages.hpp"

namespace tessera::io::detail {

TESSERA_INLINE void read_entry(wire_reader in, std::string& key, std::string& value) {
    while (!in.at_end()) {
        const wire_field f = in.next();
        if (f.number == 1) {
            key = in.text_of(f);
        } else if (f.number == 2) {
            value = in.text_of(f);
        }
    }
}

TESSERA_INLINE std::int64_t number_in(const std::string& text) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
        return -1;
    }
    return std::stoll(text);
}

TESSERA_INLINE onnx::tensor read_onnx_tensor(wire_reader in) {
    onnx::tensor t;
    while (!in.at_end()) {
        const wire_field f = in.next();
        switch (f.number) {
        case 1:
            in.append_integers(f, t.extents);
            break;
        case 2:
            t.type = static_cast<onnx::data_type>(in.integer_of(f));
            break;
        case 4:
            in.append_numbers(f, t.floats);
            break;
        case 5:
        case 7:
        case 11:
            in.append_integers(f, t.integers);
            break;
        case 8:
            t.name = in.text_of(f);
            break;
        case 9:
            t.raw = in.bytes_of(f);
            t.has_raw = true;
            break;
        case 10:
            in.append_numbers(f, t.doubles);
            break;
        case 13: {
            std::string key;
            std::string value;
            read_entry(in.message_of(f), key, value);
            if (key == "location") {
                t.location = value;
            } else if (key == "offset" || key == "length") {
                const std::int64_t number = number_in(value);
                if (number < 0) {
                    in.refuse(std::string("the ").append(key).append(" of a tensor is '").append(value) +
                              "', and no whole number");
                }
                (key == "offset" ? t.offset : t.length) = number;
            }
            break;
        }
        case 14:
            t.external = in.integer_of(f) == 1;
            break;
        default:
            break;
        }
    }
    return t;
}

TESSERA_INLINE onnx::attribute read_onnx_attribute(wire_reader in) {
    using kind = onnx::attribute::kind;
    onnx::attribute a;
    kind found = kind::none; // of files that do not say it
    while (!in.at_end()) {
        const wire_field f = in.next();
        switch (f.number) {
        case 1:
            a.name = in.text_of(f);
            break;
        case 2:
            a.number = in.float_of(f);
            found = kind::number;
            break;
        case 3:
            a.integer = in.integer_of(f);
            found = kind::integer;
            break;
        case 4:
            a.text = in.text_of(f);
            found = kind::text;
            break;
        case 5:
            a.value = read_onnx_tensor(in.message_of(f));
            found = kind::tensor;
            break;
        case 6:
            found = kind::graph;
            break;
        case 7:
            in.append_numbers(f, a.numbers);
            found = kind::numbers;
            break;
        case 8:
            in.append_integers(f, a.integers);
            found = kind::integers;
            break;
        case 20:
            a.holds = static_cast<kind>(in.integer_of(f));
            break;
        default:
            break;
        }
    }
    a.holds = a.holds == kind::none ? found : a.holds;
    return a;
}

TESSERA_INLINE onnx::node read_onnx_node(wire_reader in) {
    onnx::node n;
    while (!in.at_end()) {
        const wire_field f = in.next();
        switch (f.number) {
        case 1:
            n.inputs.push_back(in.text_of(f));
            break;
        case 2:
            n.outputs.push_back(in.text_of(f));
            break;
        case 3:
            n.name = in.text_of(f);
            break;
        case 4:
            n.type = in.text_of(f);
            break;
        case 5:
            n.attributes.push_back(read_onnx_attribute(in.message_of(f)));
            break;
        case 7:
            n.domain = in.text_of(f);
            break;
        default:
            break;
        }
    }
    return n;
}

TESSERA_INLINE onnx::dimension read_onnx_dimension(wire_reader in) {
    onnx::dimension d;
    while (!in.at_end()) {
        const wire_field f = in.next();
        if (f.number == 1) {
            d.extent = in.integer_of(f);
        } else if (f.number == 2) {
            d.name = in.text_of(f);
        }
    }
    return d;
}

TESSERA_INLINE onnx::value_info read_onnx_value(wire_reader in) {
    onnx::value_info v;
    const auto each = [](wire_reader message, std::uint32_t wanted, const auto& found) {
        while (!message.at_end()) {
            const wire_field f = message.next();
            if (f.number == wanted) {
                found(message, f);
            }
        }
    };
    while (!in.at_end()) {
        const wire_field f = in.next();
        if (f.number == 1) {
            v.name = in.text_of(f);
        } else if (f.number == 2) {
            each(in.message_of(f), 1, [&](const wire_reader& type, const wire_field& of_tensor) {
                v.is_tensor = true;
                each(type.message_of(of_tensor), 1, [&](const wire_reader& m, const wire_field& number) {
                    v.type = static_cast<onnx::data_type>(m.integer_of(number));
                });
                each(type.message_of(of_tensor), 2, [&](const wire_reader& m, const wire_field& shape) {
                    v.has_shape = true;
                    each(m.message_of(shape), 1, [&](const wire_reader& s, const wire_field& dimension) {
                        v.dimensions.push_back(read_onnx_dimension(s.message_of(dimension)));
                    });
                });
            });
        }
    }
    return v;
}

TESSERA_INLINE onnx::graph read_onnx_graph(wire_reader in) {
    onnx::graph g;
    while (!in.at_end()) {
        const wire_field f = in.next();
        switch (f.number) {
        case 1:
            g.nodes.push_back(read_onnx_node(in.message_of(f)));
            break;
        case 2:
            g.name = in.text_of(f);
            break;
        case 5:
            g.initializers.push_back(read_onnx_tensor(in.message_of(f)));
            break;
        case 11:
            g.inputs.push_back(read_onnx_value(in.message_of(f)));
            break;
        case 12:
            g.outputs.push_back(read_onnx_value(in.message_of(f)));
            break;
        case 15:
            g.has_sparse = true;
            break;
        default:
            break;
        }
    }
    return g;
}

TESSERA_INLINE onnx::model read_onnx_model(wire_reader in) {
    onnx::model m;
    while (!in.at_end()) {
        const wire_field f = in.next();
        switch (f.number) {
        case 1:
            m.ir_version = in.integer_of(f);
            break;
        case 2:
            m.producer = in.text_of(f);
            break;
        case 7:
            m.graph = read_onnx_graph(in.message_of(f));
            m.has_graph = true;
            break;
        case 8: {
            std::string domain;
            std::int64_t version = 0;
            for (wire_reader set = in.message_of(f); !set.at_end();) {
                const wire_field x = set.next();
                if (x.number == 1) {
                    domain = set.text_of(x);
                } else if (x.number == 2) {
                    version = set.integer_of(x);
                }
            }
            m.opset = onnx::is_usual_domain(domain) ? version : m.opset;
            break;
        }
        case 25:
            for (wire_reader function = in.message_of(f); !function.at_end();) {
                const wire_field x = function.next();
                if (x.number == 1) {
                    m.functions.insert(function.text_of(x));
                }
            }
            break;
        default:
            break;
        }
    }
    return m;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
