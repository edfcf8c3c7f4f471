// SPDX-License-Identifier: Apache-2.0
// An ONNX model as plain values: what a file says (github.com/onnx/onnx, onnx.proto), of which a network is made.
// Nothing here is checked.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::onnx {

/// Types of elements by their numbers in the format (TensorProto.DataType).
enum class data_type : int {
    undefined = 0,
    f32 = 1,
    u8 = 2,
    i8 = 3,
    u16 = 4,
    i16 = 5,
    i32 = 6,
    i64 = 7,
    text = 8,
    boolean = 9,
    f16 = 10,
    f64 = 11,
    u32 = 12,
    u64 = 13,
    bf16 = 16,
};

std::string to_text(data_type t);

/// Whether its elements are read as fp32, as integers (booleans too), or not at all.
constexpr bool is_number(data_type t) {
    return t == data_type::f32 || t == data_type::f64 || t == data_type::f16 || t == data_type::bf16;
}
constexpr bool is_integer(data_type t) {
    return (t >= data_type::u8 && t <= data_type::i64) || t == data_type::boolean || t == data_type::u32 ||
           t == data_type::u64;
}
/// Bytes of an element in raw data; 0 for what is not read.
constexpr int bytes_of(data_type t) {
    switch (t) {
    case data_type::u8:
    case data_type::i8:
    case data_type::boolean:
        return 1;
    case data_type::u16:
    case data_type::i16:
    case data_type::f16:
    case data_type::bf16:
        return 2;
    case data_type::f32:
    case data_type::i32:
    case data_type::u32:
        return 4;
    case data_type::i64:
    case data_type::f64:
    case data_type::u64:
        return 8;
    default:
        return 0;
    }
}

/// A tensor with its elements, which lie in raw bytes, little-endian, or in one of the typed lists. Does not own the
/// bytes.
struct tensor {
    std::string name;
    data_type type = data_type::undefined;
    std::vector<std::int64_t> extents;
    bool has_raw = false;
    std::string_view raw;
    std::vector<float> floats;            ///< of float
    std::vector<double> doubles;          ///< of double
    std::vector<std::int64_t> integers;   ///< of all integers; of float16 and bfloat16 the bits
    bool external = false;                ///< its bytes lie in another file
    std::string location;                 ///< of that file
    std::int64_t offset = 0, length = -1; ///< of its bytes there; -1: as many as it needs
};

/// What an attribute holds (AttributeProto.AttributeType); kinds that are not listed are not read.
struct attribute {
    enum class kind : int {
        none = 0,
        number = 1,
        integer = 2,
        text = 3,
        tensor = 4,
        graph = 5,
        numbers = 6,
        integers = 7
    };

    std::string name;
    kind holds = kind::none;
    float number = 0;
    std::int64_t integer = 0;
    std::string text;
    std::vector<float> numbers;
    std::vector<std::int64_t> integers;
    onnx::tensor value;
};

/// Operators without a domain are those of "" and of "ai.onnx".
inline bool is_usual_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

struct node {
    std::string name, type, domain;
    std::vector<std::string> inputs; ///< "" for one that is left out
    std::vector<std::string> outputs;
    std::vector<attribute> attributes;
};

/// An extent of an input: a number, or a name for one that may be any.
struct dimension {
    std::int64_t extent = -1; ///< negative: not said
    std::string name;
};

/// An input or an output.
struct value_info {
    std::string name;
    bool is_tensor = false;
    bool has_shape = false;
    data_type type = data_type::undefined;
    std::vector<dimension> dimensions;
};

struct graph {
    std::string name;
    std::vector<node> nodes;
    std::vector<tensor> initializers;
    std::vector<value_info> inputs, outputs;
    bool has_sparse = false; ///< sparse initializers
};

struct model {
    std::int64_t ir_version = 0;
    std::string producer;
    std::int64_t opset = 0; ///< of the operators without a domain
    bool has_graph = false;
    std::set<std::string> functions; ///< operators that the model defines itself
    onnx::graph graph;
    std::int64_t bytes = 0; ///< of its files, which bounds what may be made of it
};

/// What the reader of a network is told besides the model.
struct options {
    std::int64_t batch = 0;             ///< samples; 0: as many as the model says, 1 where it does not say
    std::string loss = "cross_entropy"; ///< or "mse_loss"; what is put behind the first output
};

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/model.inl"
#endif

#include "tessera/base/end_header.inl"
