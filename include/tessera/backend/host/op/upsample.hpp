// SPDX-License-Identifier: Apache-2.0
// Images made larger, with pixels between their neighbours: rows first, then columns, in plain tiles.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/upsample.hpp"

#include <vector>

namespace tessera::host {

class bilinear_job : public job {
public:
    explicit bilinear_job(const bound_call& b);

    void run(const run_state&) override;

private:
    struct taps {
        index_t at[2];
        float weight[2];
    };

    void make_row(const float* x, float* y, const taps& t);

    void pass_row(float* x, const float* y, const taps& t);

    bool forward_;
    float* x_ = nullptr;
    float* y_ = nullptr;
    index_t planes_ = 0, rows_ = 0, columns_ = 0, pixels_ = 0, factor_ = 1, first_ = 0;
    std::vector<taps> row_taps_;
    std::vector<taps> column_taps_;
    std::vector<float> line_;
};

inline constexpr row_list upsample_rows{
    row<op::upsample_bilinear_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<bilinear_job>,
            .why = "oneDNN's resampling knows no neighbours beyond a shard's border",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/upsample.inl"
#endif

#include "tessera/base/end_header.inl"
