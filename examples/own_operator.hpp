// SPDX-License-Identifier: Apache-2.0
// Three operators, each defined outside the library: an expression; a description with its loops; one with a kernel of its own.
#pragma once

#include <tessera/backend/host/op/row.hpp>
#include <tessera/backend/reference/op/row.hpp>
#include <tessera/net/network.hpp>
#include <tessera/op/opaque.hpp>

#include <cmath>

namespace own {

namespace ts = tessera;

// ---- element by element: x / (1 + |x|) ---------------------------------------------------------------------------------------------------

struct softsign : ts::elementwise<softsign> {
    static constexpr auto of(auto x) { return x / (1 + abs(x)); }
};

// ---- a normalization: x / sqrt(mean of x^2 + epsilon) * gamma (Zhang and Sennrich 2019, "Root mean square layer normalization") ------------

struct rms_norm_attributes {
    double epsilon = 1e-5;
};

/// x[N,C]. Nest 0 sums x^2 of every row, in double: partial where the channels are split. Nest 1 divides. The reverse of nest 1 leaves the sum of
/// dy * gamma * x of every row, partial again, and the reverse of nest 0 uses it.
constexpr ts::description describe_rms_norm(const ts::shape& x) {
    ts::detail::describer w;
    const int n = w.add_loop(ts::loop_name::sample, x[0]);
    const int c = w.add_loop(ts::loop_name::channel, x[1]);
    const int input = w.add_operand(ts::operand_kind::input, 0);
    w.index(input, x[0], n);
    w.index(input, x[1], c);
    const int gamma = w.add_operand(ts::operand_kind::parameter, 0);
    w.index(gamma, x[1], c);
    const int squares = w.add_operand(ts::operand_kind::intermediate, 0, ts::element::f64);
    w.index(squares, x[0], n);
    const int output = w.add_operand(ts::operand_kind::output, 0);
    w.index(output, x[0], n);
    w.index(output, x[1], c);
    w.d.operands[input].gradient_reads = ts::bit(input) | ts::bit(squares) | ts::bit(gamma);
    w.d.operands[gamma].gradient_reads = ts::bit(input) | ts::bit(squares);
    w.d.operands[squares].gradient_reads = ts::bit(input) | ts::bit(gamma);
    w.add_nest(w.all_loops(), ts::bit(input), squares, ts::reducer::sum, 2);
    w.add_nest(w.all_loops(), ts::bit(input) | ts::bit(squares) | ts::bit(gamma), output, ts::reducer::none, 2);
    return w.d;
}

struct rms_norm_loops {
    template <class Real>
    static double inverse(const ts::reference::shard<Real>& s, double sum) {
        const double mean = sum / static_cast<double>(s.extents(s.input())[1]);
        return 1 / std::sqrt(mean + s.call.attributes.template as<rms_norm_attributes>().epsilon);
    }
    template <class Real>
    static void forward(const ts::reference::shard<Real>& s, int nest) {
        const Real* const x = s.value(s.input());
        double* const squares = s.template value<double>(s.intermediate(0));
        if (nest == 0) {
            s.fill(s.intermediate(0), 0.0);
            s.walk({s.value_at(s.input()), s.value_at(s.intermediate(0))}, [&](const auto& r) {
                for (ts::index_t i = 0; i < r.count; ++i) {
                    const auto value = static_cast<double>(x[r.at[0] + i * r.step[0]]);
                    squares[r.at[1]] += value * value; // the innermost loop is the row
                }
            });
            return;
        }
        const Real* const gamma = s.value(s.parameter(0));
        Real* const y = s.value(s.output());
        s.walk(
            {s.value_at(s.input()), s.value_at(s.parameter(0)), s.value_at(s.intermediate(0)), s.value_at(s.output())},
            [&](const auto& r) {
                const auto by = static_cast<Real>(inverse(s, squares[r.at[2]]));
                for (ts::index_t i = 0; i < r.count; ++i) {
                    y[r.at[3] + i * r.step[3]] = x[r.at[0] + i * r.step[0]] * by * gamma[r.at[1] + i * r.step[1]];
                }
            });
    }
    template <class Real>
    static void backward(const ts::reference::shard<Real>& s, int o) {
        const Real* const x = s.value(s.input());
        const Real* const dy = s.gradient(s.output());
        const double* const squares = s.template value<double>(s.intermediate(0));
        if (o == s.parameter(0)) { // dy * x / rms
            Real* const to = s.gradient(o);
            s.walk({s.value_at(s.input()), s.gradient_at(s.output()), s.value_at(s.intermediate(0)), s.gradient_at(o)},
                   [&](const auto& r) {
                       const auto by = static_cast<Real>(inverse(s, squares[r.at[2]]));
                       for (ts::index_t i = 0; i < r.count; ++i) {
                           to[r.at[3] + i * r.step[3]] += dy[r.at[1] + i * r.step[1]] * x[r.at[0] + i * r.step[0]] * by;
                       }
                   });
            return;
        }
        const Real* const gamma = s.value(s.parameter(0));
        if (o == s.intermediate(0)) {
            double* const to = s.template gradient<double>(o);
            s.walk({s.value_at(s.input()), s.gradient_at(s.output()), s.value_at(s.parameter(0)), s.gradient_at(o)},
                   [&](const auto& r) {
                       for (ts::index_t i = 0; i < r.count; ++i) {
                           to[r.at[3]] +=
                               static_cast<double>(dy[r.at[1] + i * r.step[1]] * gamma[r.at[2] + i * r.step[2]] *
                                                   x[r.at[0] + i * r.step[0]]);
                       }
                   });
            return;
        }
        // (dy * gamma - x * (sum of dy * gamma * x) / (rms^2 * channels)) / rms
        const double* const sums = s.template gradient<double>(s.intermediate(0));
        const auto channels = static_cast<double>(s.extents(s.input())[1]);
        Real* const to = s.gradient(o);
        s.walk({s.value_at(s.input()), s.gradient_at(s.output()), s.value_at(s.parameter(0)),
                s.value_at(s.intermediate(0)), s.gradient_at(s.intermediate(0)), s.gradient_at(o)},
               [&](const auto& r) {
                   const double by = inverse(s, squares[r.at[3]]);
                   const double share = sums[r.at[4]] * by * by / channels;
                   for (ts::index_t i = 0; i < r.count; ++i) {
                       const auto g = static_cast<double>(dy[r.at[1] + i * r.step[1]] * gamma[r.at[2] + i * r.step[2]]);
                       to[r.at[5] + i * r.step[5]] +=
                           static_cast<Real>(by * (g - static_cast<double>(x[r.at[0] + i * r.step[0]]) * share));
                   }
               });
    }
};

inline constexpr auto rms_norm_rows = ts::reference::own_rows_of<rms_norm_loops>();

inline constexpr ts::op_record rms_norm_record{
    .name = "rms_norm",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::detail::infer_rank(*x, 2, 2); },
    .describe = [](const ts::op_attributes&, const ts::shape* x, int) { return describe_rms_norm(*x); },
    .initial = {ts::initial_values::ones},
    .rows = {{"reference", &rms_norm_rows}},
};

struct rms_norm {
    static constexpr ts::op_attributes attributes = ts::attributes_of({&rms_norm_record}, rms_norm_attributes{});
};

// ---- a kernel of its own: y[n,c] = x[n,0] + ... + x[n,c], whose body says only that samples are free ------------------------------------------

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
