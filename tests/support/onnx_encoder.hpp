// SPDX-License-Identifier: Apache-2.0
// ONNX files of a few lines: messages in protobuf's wire format, written field by field.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace test_support {

using onnx_extents = std::vector<std::int64_t>;

/// A message that grows by its fields.
class wire_writer {
public:
    std::string bytes;

    wire_writer& varint(std::uint64_t x) {
        for (; x >= 128; x >>= 7U) {
            bytes.push_back(static_cast<char>(x | 128U));
        }
        bytes.push_back(static_cast<char>(x));
        return *this;
    }
    wire_writer& integer(int field, std::int64_t x) {
        return varint(static_cast<std::uint64_t>(field) << 3U).varint(static_cast<std::uint64_t>(x));
    }
    wire_writer& text(int field, const std::string& x) {
        varint(static_cast<std::uint64_t>(field) << 3U | 2U).varint(x.size());
        bytes += x;
        return *this;
    }
    wire_writer& message(int field, const wire_writer& m) { return text(field, m.bytes); }
    wire_writer& number(int field, float x) {
        varint(static_cast<std::uint64_t>(field) << 3U | 5U);
        char raw[4];
        std::memcpy(raw, &x, 4);
        bytes.append(raw, 4);
        return *this;
    }
};

template <class T>
std::string raw_of(const std::vector<T>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T)};
}

/// A tensor of this type (its number in the format) whose elements are raw bytes.
inline wire_writer onnx_tensor(const std::string& name, int type, const onnx_extents& extents, const std::string& raw) {
    wire_writer t;
    for (const std::int64_t e : extents) {
        t.integer(1, e);
    }
    return t.integer(2, type).text(8, name).text(9, raw);
}

/// An attribute, in the words of the format.
struct onnx_attribute {
    wire_writer message;

    onnx_attribute(const std::string& name, std::int64_t x) { message.text(1, name).integer(3, x).integer(20, 2); }
    onnx_attribute(const std::string& name, int x) : onnx_attribute(name, static_cast<std::int64_t>(x)) {}
    onnx_attribute(const std::string& name, double x) {
        message.text(1, name).number(2, static_cast<float>(x)).integer(20, 1);
    }
    onnx_attribute(const std::string& name, const char* x) { message.text(1, name).text(4, x).integer(20, 3); }
    onnx_attribute(const std::string& name, const onnx_extents& all) {
        message.text(1, name).integer(20, 7);
        for (const std::int64_t x : all) {
            message.integer(8, x);
        }
    }
    onnx_attribute(const std::string& name, const wire_writer& tensor) {
        message.text(1, name).message(5, tensor).integer(20, 5);
    }
};

/// A model as it grows: bytes() is its file.
class onnx_model {
public:
    std::int64_t opset = 18;
    wire_writer more; ///< fields of the model besides

    /// `extents`: a negative one is the name "n".
    onnx_model& input(const std::string& name, const onnx_extents& extents, int type = 1) {
        graph_.message(11, value(name, extents, type));
        return *this;
    }
    onnx_model& output(const std::string& name) {
        graph_.message(12, value(name, {}, 1));
        return *this;
    }
    onnx_model& weight(const std::string& name, const onnx_extents& extents, const std::vector<float>& all) {
        return tensor(onnx_tensor(name, 1, extents, raw_of(all)));
    }
    onnx_model& list(const std::string& name, const onnx_extents& all) {
        return tensor(onnx_tensor(name, 7, {static_cast<std::int64_t>(all.size())}, raw_of(all)));
    }
    onnx_model& tensor(const wire_writer& t) {
        graph_.message(5, t);
        return *this;
    }
    onnx_model& node(const std::string& type, const std::vector<std::string>& reads,
                     const std::vector<std::string>& makes, const std::vector<onnx_attribute>& attributes = {},
                     const std::string& domain = "") {
        wire_writer n;
        for (const std::string& r : reads) {
            n.text(1, r);
        }
        for (const std::string& m : makes) {
            n.text(2, m);
        }
        n.text(3, "the_" + (makes.empty() ? type : makes[0])).text(4, type);
        for (const onnx_attribute& a : attributes) {
            n.message(5, a.message);
        }
        graph_.message(1, domain.empty() ? n : n.text(7, domain));
        return *this;
    }
    onnx_model& graph_field(int field, const wire_writer& m) {
        graph_.message(field, m);
        return *this;
    }

    std::string bytes() const {
        wire_writer m;
        m.integer(1, 9).text(2, "test").message(7, wire_writer(graph_).text(2, "net"));
        m.message(8, wire_writer().text(1, "").integer(2, opset));
        return m.bytes + more.bytes;
    }

private:
    static wire_writer value(const std::string& name, const onnx_extents& extents, int type) {
        wire_writer shape;
        for (const std::int64_t e : extents) {
            shape.message(1, e < 0 ? wire_writer().text(2, "n") : wire_writer().integer(1, e));
        }
        wire_writer tensor;
        tensor.integer(1, type).message(2, shape);
        return wire_writer().text(1, name).message(2, wire_writer().message(1, tensor));
    }

    wire_writer graph_;
};

} // namespace test_support
