// SPDX-License-Identifier: Apache-2.0
// Three operators, each defined outside the library: an expression; loop nests; one with a kernel of its own.
#pragma once

#include <tessera/backend/host/op/row.hpp>
#include <tessera/net/network.hpp>
#include <tessera/op/nest/record.hpp>
#include <tessera/op/opaque.hpp>

namespace own {

namespace ts = tessera;

// ---- element by element: x / (1 + |x|) ------------------------------------------------------------------------------

struct softsign : ts::elementwise<softsign> {
    static constexpr auto of(auto x) { return x / (1 + abs(x)); }
};

// ---- a normalization: x / sqrt(mean of x^2 + epsilon) * gamma (Zhang and Sennrich 2019, "Root mean square layer
// normalization")

struct rms_norm : ts::operation<rms_norm> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto x = w.input(n, c);
        const auto gamma = w.parameter(ones, c);
        w.output(n, c) = x * rsqrt(w.mean(c, x * x) + 1e-5) * gamma;
    }
};

// ---- a kernel of its own: y[n,c] = x[n,0] + ... + x[n,c], whose body says only that samples are free ----------------

class running_sum_job : public ts::host::job {
public:
    explicit running_sum_job(const ts::host::bound_call& b) : c_(b.call) {}
    void run(const ts::run_state&) override {
        const int out = c_.d->output();
        const bool forward = ts::host::is_forward(c_.what);
        const auto* from = static_cast<const float*>(forward ? c_.value[0].data : c_.gradient[out].data);
        auto* to = static_cast<float*>(forward ? c_.value[out].data : c_.gradient[0].data);
        const ts::index_t channels = c_.d->operands[0].extents[1];
        for (ts::index_t n = 0; n < c_.ranges[0].size(); ++n, from += channels, to += channels) {
            float sum = 0;
            for (ts::index_t i = 0; i < channels; ++i) { // an element's gradient is the sum of those of all behind it
                const ts::index_t c = forward ? i : channels - 1 - i;
                sum += from[c];
                to[c] = sum;
            }
        }
    }

private:
    ts::compute_call c_;
};

inline constexpr ts::host::operator_row running_sum_row{
    .add_candidates = ts::host::detail::add_in_plain,
    .make_job = ts::host::detail::make<running_sum_job>,
};

inline constexpr ts::op_record running_sum_record{
    .name = "running_sum",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::detail::infer_rank(*x, 2, 2); },
    .describe = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::op::describe_opaque(x, 1, *x, 1); },
    .rows = {{"host", &running_sum_row}},
};

struct running_sum {
    static constexpr ts::op_attributes attributes{.kind = {&running_sum_record}};
};

} // namespace own
