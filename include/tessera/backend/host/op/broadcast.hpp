// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of inputs that are broadcast, on plain tiles: the same kernels, a row of the innermost loop at
// a time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/op/elementwise_kernels.hpp"
#include "tessera/backend/reference/shard.hpp"

#include <algorithm>
#include <utility>

namespace tessera::host {

/// `Kernels`: how(which, from, to, count) computes the result or the gradient of an input.
template <class Kernels>
class broadcast_job : public job {
public:
    broadcast_job(const bound_call& b, Kernels how)
        : c_(b.call), how_(std::forward<Kernels>(how)), out_(b.call.d->output()),
          attributes_(attributes_as_floats(b.call.attributes)) {}
    void run(const run_state&) override {
        if (is_forward(c_.what)) {
            pass(expression::the_result);
            return;
        }
        for (int o = 0; o < out_; ++o) {
            if (has(c_.emits, o)) {
                pass(o);
            }
        }
    }

private:
    static constexpr int leaves = expression::most_inputs + 2; ///< the inputs, the output, its gradient
    static constexpr index_t most = 512;                       ///< numbers of a row at a time
    using cursor = reference::detail::cursor;

    /// The output, or the gradient of input `which`, which is summed over what the input is broadcast along.
    void pass(int which) {
        const description& d = *c_.d;
        const tile_view& target = which < 0 ? c_.value[out_] : c_.gradient[which];
        float* const to = detail::floats(target.data);
        const float* from[leaves] = {};
        cursor where[leaves + 1];
        where[leaves] = reference::detail::place(d.operands[which < 0 ? out_ : which], target.region);
        for (int k = 0; k < leaves; ++k) {
            const bool is_gradient = k == out_ + 1;
            const int o = is_gradient ? out_ : k;
            const bool reads = is_gradient ? which >= 0 : which < 0 ? k < out_ : k <= out_;
            const tile_view& tile = is_gradient ? c_.gradient[o] : c_.value[o];
            from[k] = reads ? detail::floats(tile.data) : nullptr;
            where[k] = from[k] == nullptr ? where[leaves] : reference::detail::place(d.operands[o], tile.region);
        }
        const bool sums = which >= 0 && gradient_reduced_loops(d, which) != 0;
        if (sums) {
            std::fill_n(to, target.region.volume(), 0.0F);
        }
        std::uint32_t loops = bit(d.loops.size()) - 1;
        interval ranges[max_loops];
        std::copy(c_.ranges, c_.ranges + max_loops, ranges);
        merge(d.loops.size() - 1, where, ranges, loops);
        float rows[leaves][most];
        float made[most];
        reference::detail::walk(d, loops, ranges, 0, where, [&](const auto& r) {
            for (index_t begin = 0; begin < r.count; begin += most) {
                const index_t count = std::min(most, r.count - begin);
                const float* given[leaves + expression::most_attributes] = {};
                for (int k = 0; k < leaves; ++k) {
                    given[k] = from[k] == nullptr
                                   ? nullptr
                                   : row_of(from[k] + r.at[k] + begin * r.step[k], r.step[k], count, rows[k]);
                }
                for (int k = 0; k < expression::most_attributes; ++k) {
                    given[out_ + 2 + k] = attributes_.data() + k;
                }
                const index_t step = r.step[leaves];
                float* const first = to + r.at[leaves] + begin * step;
                if (!sums && step == 1) {
                    how_(which, given, first, static_cast<std::ptrdiff_t>(count));
                    continue;
                }
                how_(which, given, made, static_cast<std::ptrdiff_t>(count));
                put(made, count, first, step, sums);
            }
        });
    }
    /// Numbers one after the other: where they are, or gathered.
    static const float* row_of(const float* first, index_t step, index_t count, float* own) {
        if (step == 1) {
            return first;
        }
        for (index_t i = 0; i < count; ++i) {
            own[i] = first[i * step];
        }
        return own;
    }
    static void put(const float* made, index_t count, float* to, index_t step, bool sums) {
        if (step == 0 && sums) {
            double sum = 0;
            for (index_t i = 0; i < count; ++i) {
                sum += static_cast<double>(made[i]);
            }
            *to = static_cast<float>(static_cast<double>(*to) + sum);
            return;
        }
        for (index_t i = 0; i < count; ++i) {
            to[i * step] = sums ? to[i * step] + made[i] : made[i];
        }
    }
    /// Loops around the innermost one that go on where it ends, for every operand, become part of it.
    static void merge(int inner, cursor (&where)[leaves + 1], interval* ranges, std::uint32_t& loops) {
        for (int l = inner - 1; l >= 0; --l) {
            for (const cursor& c : where) {
                if (c.step[l] != c.step[inner] * ranges[inner].size()) {
                    return;
                }
            }
            for (cursor& c : where) {
                c.base += c.step[l] * ranges[l].begin + c.step[inner] * ranges[inner].begin;
            }
            ranges[inner] = {0, ranges[inner].size() * ranges[l].size()};
            loops &= ~bit(l);
        }
    }

    compute_call c_;
    Kernels how_;
    int out_;
    std::array<float, expression::most_attributes> attributes_;
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
