// SPDX-License-Identifier: Apache-2.0
// All operators of the library as a list, for whoever prints or tests them one by one. It is apart because it evaluates
// the bodies of those that are loop nests, which a program otherwise does for the operators of its networks alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/records.hpp"

namespace tessera {

namespace op {

inline constexpr const op_record& rms_norm_record = tessera::detail::operation_record_of<rms_norm_body>;
inline constexpr const op_record& instance_norm_record = tessera::detail::operation_record_of<instance_norm_body>;
inline constexpr const op_record& image_layer_norm_record = tessera::detail::operation_record_of<image_layer_norm_body>;
inline constexpr const op_record& pixel_norm_record = tessera::detail::operation_record_of<pixel_norm_body>;
inline constexpr const op_record& fixed_batch_norm_record = tessera::detail::operation_record_of<fixed_batch_norm_body>;
inline constexpr const op_record& rotary_record = tessera::detail::operation_record_of<rotary_body>;
inline constexpr const op_record& bilinear_record = tessera::detail::operation_record_of<bilinear_body>;

} // namespace op

inline constexpr op_kind op_kind::rms_norm{&op::rms_norm_record};
inline constexpr op_kind op_kind::instance_norm{&op::instance_norm_record};
inline constexpr op_kind op_kind::image_layer_norm{&op::image_layer_norm_record};
inline constexpr op_kind op_kind::pixel_norm{&op::pixel_norm_record};
inline constexpr op_kind op_kind::fixed_batch_norm{&op::fixed_batch_norm_record};
inline constexpr op_kind op_kind::rotary{&op::rotary_record};
inline constexpr op_kind op_kind::bilinear{&op::bilinear_record};

#define TESSERA_OPERATOR(name) op_kind::name.record,
/// Records of all operators of the library.
inline constexpr const op_record* library_operators[] = {TESSERA_OPERATORS(TESSERA_OPERATOR)};
#undef TESSERA_OPERATOR

} // namespace tessera

#include "tessera/base/end_header.inl"
