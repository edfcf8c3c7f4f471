// SPDX-License-Identifier: Apache-2.0
// Bodies of model.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/model.hpp"

namespace tessera::onnx {

TESSERA_INLINE std::string to_text(data_type t) {
    switch (t) {
    case data_type::undefined:
        return "no type";
    case data_type::f32:
        return "float";
    case data_type::u8:
        return "uint8";
    case data_type::i8:
        return "int8";
    case data_type::u16:
        return "uint16";
    case data_type::i16:
        return "int16";
    case data_type::i32:
        return "int32";
    case data_type::i64:
        return "int64";
    case data_type::text:
        return "string";
    case data_type::boolean:
        return "bool";
    case data_type::f16:
        return "float16";
    case data_type::f64:
        return "double";
    case data_type::u32:
        return "uint32";
    case data_type::u64:
        return "uint64";
    case data_type::bf16:
        return "bfloat16";
    }
    return "type " + std::to_string(static_cast<int>(t));
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
