// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions through oneDNN: the convolution that goes from their output to their input, its passes
// exchanged. Its backward data is their forward, its forward their gradient of the input. The bias is added here.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/onednn/operands.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/transposed_conv2d.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::host {

/// Padding of that convolution around the shard's part of the output.
struct transposed_window {
    index_t pad_begin[2]{};
    index_t pad_end[2]{};

    explicit transposed_window(const compute_call& c);
};

namespace detail {

onednn_problem make_transposed(const compute_call& c, const tensor_desc& x, const tensor_desc& w, const tensor_desc& y);

/// Calls body(first element, first channel, channels side by side) for every pixel of every block of channels; in a
/// plain tensor a block is one channel.
template <class Body>
void for_each_pixel(const shape& s, int f, Body&& body) {
    const index_t plane = s[2] * s[3];
    const index_t lanes = f == format::plain ? 1 : f == format::channels16 ? 16 : s[1];
    const index_t blocks = (s[1] + lanes - 1) / lanes;
    for (index_t n = 0; n < s[0]; ++n) {
        for (index_t b = 0; b < blocks; ++b) {
            const index_t live = b + 1 == blocks ? s[1] - b * lanes : lanes;
            for (index_t i = 0; i < plane; ++i) {
                body(((n * blocks + b) * plane + i) * lanes, b * lanes, live);
            }
        }
    }
}

/// Where in the scratch memory the sums of the bias's gradient lie: behind the primitive's own.
inline index_t bias_sums_at(const unique_primitive_desc& pd) { return (scratch_bytes(pd) + 63) / 64 * 64; }

} // namespace detail

void add_transposed_candidates(const compute_call& c, format_table& table, std::vector<candidate>& out);

class transposed_job : public job {
public:
    transposed_job(const bound_call& b, const format_table& table, dnnl_stream_t stream);

    const char* computed_by() const override { return "oneDNN convolution"; }
    void run(const run_state&) override;

private:
    void add_bias();
    void sum_bias();

    compute_call c_;
    detail::job_scratch scratch_;
    primitive_job primitive_;
    double* sums_ = nullptr;
    bool forward_ = true;
    int format_ = format::plain;
    shape output_;
    float* y_ = nullptr;
    float* bias_ = nullptr;
};

inline constexpr row_list transposed_convolution_rows{
    row<op::transposed_conv2d_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = add_transposed_candidates,
            .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
                return owned<job>(new transposed_job(b, table, stream));
            },
            .forward = "oneDNN convolution",
            .backward = "oneDNN convolution",
            .why = "the bias is added by a loop of our own: the gradient of a convolution has none",
            .problem =
                [](const compute_call& c) {
                    const transposed_window at(c);
                    return detail::window_numbers(op::windows_of(c.attributes, 4)) +
                           detail::padding_numbers(at.pad_begin, at.pad_end, 2);
                },
            .effort = detail::plain_is_slow,
            .check = first_use::sum_of_products,
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/transposed_convolution.inl"
#endif

#include "tessera/base/end_header.inl"
