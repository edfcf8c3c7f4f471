// SPDX-License-Identifier: Apache-2.0
// Runs a list of calls on the processor: vendor calls by their definitions in plain loops, kernels of our own by their text, streams in
// a random order that their waits allow. What a wrong offset, size, stride or missing event does shows in the numbers.
#pragma once

#include "cuda_emulation.hpp"
#include "random_strategy.hpp"

#include "tessera/backend/cuda/bind.hpp"
#include "tessera/execute/store.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace test_support {

namespace ts = tessera;

/// The vendor calls, by their definitions. at[i] is the address of memory number i.
struct vendor_loops {
    const ts::cuda::call& c;
    std::byte* const* at;

    template <class T = float>
    T* memory(std::size_t i) const {
        return reinterpret_cast<T*>(at[i]);
    }

    /// What is left in a workspace: both ends, and of large ones a word here and there between.
    static void spoil(std::byte* workspace, ts::index_t bytes) {
        constexpr ts::index_t end = 32768;
        const auto clear = [&](ts::index_t from, ts::index_t count) {
            std::memset(workspace + from, 0x7f, static_cast<std::size_t>(count));
        };
        if (bytes <= 2 * end) {
            return clear(0, bytes);
        }
        clear(0, end);
        clear(bytes - end, end);
        for (ts::index_t i = end; i < bytes - end; i += 2048) {
            clear(i, 16);
        }
    }

    /// Number of the element (a, b, c, d) of a dense array, and of the array's elements.
    static std::size_t place(const int (&e)[4], int a, int b, int i, int j) {
        return static_cast<std::size_t>(((ts::index_t{a} * e[1] + b) * e[2] + i) * e[3] + j);
    }
    static std::size_t volume(const int (&e)[4]) { return place(e, e[0], 0, 0, 0); }

    void operator()(const ts::cuda::convolution& k) const {
        using way = ts::cuda::convolution::direction;
        float* x = memory(0);
        float* w = memory(1);
        float* y = memory(2);
        float* result = k.way == way::forward ? y : k.way == way::backward_data ? x : w;
        const std::size_t size = volume(k.way == way::forward ? k.y : k.way == way::backward_data ? k.x : k.w);
        std::vector<double> sums(size, 0.0);
        const int out_per_group = k.w[0] / k.groups;
        for (int n = 0; n < k.y[0]; ++n) {
            for (int o = 0; o < k.y[1]; ++o) {
                for (int h = 0; h < k.y[2]; ++h) {
                    for (int v = 0; v < k.y[3]; ++v) {
                        const std::size_t yi = place(k.y, n, o, h, v);
                        for (int i = 0; i < k.w[1]; ++i) {
                            for (int r = 0; r < k.w[2]; ++r) {
                                for (int s = 0; s < k.w[3]; ++s) {
                                    const int row = h * k.stride[0] + r * k.dilation[0] - k.padding[0];
                                    const int column = v * k.stride[1] + s * k.dilation[1] - k.padding[1];
                                    if (row < 0 || row >= k.x[2] || column < 0 || column >= k.x[3]) {
                                        continue;
                                    }
                                    const int channel = o / out_per_group * k.w[1] + i;
                                    const std::size_t xi = place(k.x, n, channel, row, column);
                                    const std::size_t wi = place(k.w, o, i, r, s);
                                    if (k.way == way::forward) {
                                        sums[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
                                    } else if (k.way == way::backward_data) {
                                        sums[xi] += static_cast<double>(y[yi]) * static_cast<double>(w[wi]);
                                    } else {
                                        sums[wi] += static_cast<double>(y[yi]) * static_cast<double>(x[xi]);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        for (std::size_t i = 0; i < size; ++i) {
            result[i] = static_cast<float>(sums[i]);
        }
        if (k.workspace > 0) { // what is there is nobody's afterwards
            spoil(at[3], c.memory[3].bytes);
        }
    }
    void operator()(const ts::cuda::bias_add& k) const {
        const std::size_t plane = place({1, 1, k.y[2], k.y[3]}, 1, 0, 0, 0);
        for (std::size_t i = 0; i < volume(k.y); ++i) {
            memory(1)[i] += memory(0)[i / plane % static_cast<std::size_t>(k.y[1])];
        }
    }
    void operator()(const ts::cuda::bias_gradient& k) const {
        const std::size_t plane = place({1, 1, k.y[2], k.y[3]}, 1, 0, 0, 0);
        std::vector<double> sums(static_cast<std::size_t>(k.y[1]), 0.0);
        for (std::size_t i = 0; i < volume(k.y); ++i) {
            sums[i / plane % sums.size()] += static_cast<double>(memory(0)[i]);
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            memory(1)[i] = static_cast<float>(sums[i]);
        }
    }
    void operator()(const ts::cuda::matrix_product& p) const {
        for (ts::index_t i = 0; i < p.batch; ++i) {
            const float* a = memory(0) + i * p.apart[0];
            const float* b = memory(1) + i * p.apart[1];
            float* d = memory(2) + i * p.apart[2];
            for (ts::index_t n = 0; n < p.n; ++n) {
                for (ts::index_t m = 0; m < p.m; ++m) {
                    double sum = 0;
                    for (ts::index_t k = 0; k < p.k; ++k) {
                        sum += static_cast<double>(p.transpose_a ? a[k + m * p.lead_of(0)] : a[m + k * p.lead_of(0)]) *
                               static_cast<double>(p.transpose_b ? b[n + k * p.lead_of(1)] : b[k + n * p.lead_of(1)]);
                    }
                    sum = sum * static_cast<double>(p.scale) + (p.bias ? static_cast<double>(memory(3)[m]) : 0);
                    d[m + n * p.lead_of(2)] = static_cast<float>(sum);
                }
            }
        }
        if (p.workspace > 0) {
            spoil(at[c.memory.size() - 1], c.memory.back().bytes);
        }
    }
    void operator()(const ts::cuda::pooling& p) const {
        const float* x = memory(0);
        float* y = memory(1);
        for (int plane = 0; plane < p.x[0] * p.x[1]; ++plane) {
            for (int h = 0; h < p.y[2]; ++h) {
                for (int v = 0; v < p.y[3]; ++v) {
                    float largest = -std::numeric_limits<float>::infinity();
                    double sum = 0;
                    int count = 0;
                    for (int r = 0; r < p.window[0]; ++r) {
                        for (int s = 0; s < p.window[1]; ++s) {
                            const int row = h * p.stride[0] + r - p.padding[0];
                            const int column = v * p.stride[1] + s - p.padding[1];
                            if (row >= 0 && row < p.x[2] && column >= 0 && column < p.x[3]) {
                                const float value = x[(plane * p.x[2] + row) * p.x[3] + column];
                                largest = value > largest ? value : largest;
                                sum += static_cast<double>(value);
                                ++count;
                            }
                        }
                    }
                    if (p.how == ts::cuda::pooling::mode::average_with_padding) {
                        count = p.window[0] * p.window[1];
                    }
                    const double result =
                        p.how == ts::cuda::pooling::mode::maximum ? static_cast<double>(largest) : sum / count;
                    y[(plane * p.y[2] + h) * p.y[3] + v] = static_cast<float>(static_cast<double>(p.scale) * result);
                }
            }
        }
    }
    void operator()(const ts::cuda::activation& k) const {
        for (ts::index_t i = 0; i < k.count; ++i) {
            const float x = memory(0)[i];
            if (!k.backward) {
                memory(1)[i] = k.which == ts::op_kind::relu      ? (x > 0 ? x : 0)
                               : k.which == ts::op_kind::sigmoid ? 1 / (1 + std::exp(-x))
                                                                 : std::tanh(x);
            } else {
                const float slope = k.which == ts::op_kind::relu      ? (x > 0 ? 1.0F : 0.0F)
                                    : k.which == ts::op_kind::sigmoid ? x * (1 - x)
                                                                      : 1 - x * x;
                memory(2)[i] = memory(1)[i] * slope;
            }
        }
    }
    void operator()(const ts::cuda::memory_clear&) const {
        std::memset(at[0], 0, static_cast<std::size_t>(c.memory[0].bytes));
    }
    void operator()(const ts::cuda::memory_copy&) const {
        std::memcpy(at[1], at[0], static_cast<std::size_t>(c.memory[1].bytes));
    }
    template <class Other>
    void operator()(const Other&) const {}
};

/// Runs a list. Streams advance in an order drawn from a seed, as far as their waits allow.
class interpreter {
public:
    interpreter(const ts::plan& p, const ts::cuda::call_list& l, const ts::addresses& where, const ts::optimizer& how)
        : p_(p), l_(l), where_(where), how_(how) {
        for (std::size_t i = 0; i < l.calls.size();) {
            std::size_t end = i + 1;
            while (l.calls[i].group >= 0 && end < l.calls.size() && l.calls[end].group == l.calls[i].group) {
                ++end;
            }
            for (std::size_t k = i; k < end; ++k) {
                group_.push_back({i, end});
            }
            i = end;
        }
        lanes_.resize(l.lanes.size());
        for (std::size_t i = 0; i < l.calls.size(); ++i) {
            lanes_[static_cast<std::size_t>(l.calls[i].lane)].push_back(i);
        }
    }

    void run(const ts::run_state& state, std::uint64_t seed) {
        random pick{seed};
        step_.seed = state.seed;
        step_.step = state.step;
        step_.learning_rate = state.learning_rate;
        if (how_.which == ts::optimizer::kind::adam) {
            step_.correction1 = 1 - std::pow(static_cast<double>(how_.beta1), static_cast<double>(state.step) + 1);
            step_.correction2 = 1 - std::pow(static_cast<double>(how_.beta2), static_cast<double>(state.step) + 1);
        }
        std::vector<char> done(l_.calls.size(), 0);
        std::vector<std::size_t> next(lanes_.size(), 0);
        for (std::size_t left = l_.calls.size(); left > 0;) {
            std::vector<std::size_t> ready;
            for (std::size_t k = 0; k < lanes_.size(); ++k) {
                if (next[k] < lanes_[k].size() && can_start(lanes_[k][next[k]], done, next)) {
                    ready.push_back(lanes_[k][next[k]]);
                }
            }
            if (ready.empty()) {
                throw ts::error("the streams wait for each other");
            }
            const auto [first, last] = group_[ready[static_cast<std::size_t>(pick(static_cast<int>(ready.size())))]];
            execute(first, last, state);
            for (std::size_t c = first; c < last; ++c) {
                done[c] = 1;
                ++next[static_cast<std::size_t>(l_.calls[c].lane)];
                --left;
            }
        }
    }

private:
    /// All members of a group are next in their streams, and what they wait for is done.
    bool can_start(std::size_t which, const std::vector<char>& done, const std::vector<std::size_t>& next) const {
        const auto [first, last] = group_[which];
        for (std::size_t c = first; c < last; ++c) {
            const auto lane = static_cast<std::size_t>(l_.calls[c].lane);
            for (std::size_t k = next[lane]; lanes_[lane][k] != c; ++k) {
                if (lanes_[lane][k] < first || lanes_[lane][k] >= last) {
                    return false;
                }
            }
            for (const ts::cuda::call_wait& w : l_.calls[c].waits) {
                if (done[static_cast<std::size_t>(w.call)] == 0) {
                    return false;
                }
            }
        }
        return true;
    }

    std::byte* address(const ts::cuda::memory_use& m) const { return where_[m.tile] + m.offset; }

    void execute(std::size_t first, std::size_t last, const ts::run_state& state) {
        const ts::cuda::call& c = l_.calls[first];
        if (std::holds_alternative<ts::cuda::exchange>(c.body)) {
            exchange_all(first, last);
        } else if (std::holds_alternative<ts::cuda::collective>(c.body)) {
            collect(first, last);
        } else {
            std::vector<std::byte*> at;
            for (const ts::cuda::memory_use& m : c.memory) {
                at.push_back(address(m));
            }
            if (const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body)) {
                launch(*k, at);
            } else if (const auto* u = std::get_if<ts::cuda::upload>(&c.body)) {
                u->what.apply(state.inputs[u->tensor], at[0], u->type, true, ts::reducer::none);
            } else {
                std::visit(vendor_loops{c, at.data()}, c.body);
            }
        }
    }

    void launch(const ts::cuda::kernel_launch& k, std::vector<std::byte*>& at) {
        ts::cuda::kernel_arguments a;
        a.numbers = k.numbers;
        const auto fixed = static_cast<std::size_t>(k.pointers);
        for (std::size_t i = 0; i < fixed; ++i) {
            a.at[i] = at[i];
        }
        std::size_t next = fixed;
        if (at.size() > fixed) {
            a.at[next++] = at.data() + fixed;
        }
        if (!k.constants.empty()) {
            a.at[next++] = const_cast<ts::index_t*>(k.constants.data());
        }
        if (k.reads_step) {
            a.at[next++] = &step_;
        }
        cuda_emulation::launch(k.which, static_cast<unsigned>(k.blocks), static_cast<unsigned>(k.threads), a);
    }

    /// The n-th receive from a peer takes the n-th send to it.
    void exchange_all(std::size_t first, std::size_t last) {
        std::vector<char> taken(last - first, 0);
        for (std::size_t r = first; r < last; ++r) {
            const auto& to = std::get<ts::cuda::exchange>(l_.calls[r].body);
            for (std::size_t s = first; s < last && !to.sends; ++s) {
                const auto& from = std::get<ts::cuda::exchange>(l_.calls[s].body);
                if (from.sends && taken[s - first] == 0 && l_.calls[s].rank == to.peer &&
                    from.peer == l_.calls[r].rank) {
                    if (from.count != to.count || from.type != to.type) {
                        throw ts::error("a send and its receive differ");
                    }
                    taken[s - first] = taken[r - first] = 1;
                    std::memcpy(address(l_.calls[r].memory[0]), address(l_.calls[s].memory[0]),
                                static_cast<std::size_t>(l_.calls[r].memory[0].bytes));
                    break;
                }
            }
        }
        for (char t : taken) {
            if (t == 0) {
                throw ts::error("a send or a receive has no peer in its group");
            }
        }
    }

    void collect(std::size_t first, std::size_t last) {
        const auto& what = std::get<ts::cuda::collective>(l_.calls[first].body);
        if (what.type == ts::element::f64) {
            collect_of<double>(what, first, last);
        } else {
            collect_of<float>(what, first, last);
        }
    }

    template <class T>
    void collect_of(const ts::cuda::collective& what, std::size_t first, std::size_t last) {
        const std::size_t members = last - first;
        const auto count = static_cast<std::size_t>(what.count);
        std::vector<T*> data(members);
        for (std::size_t c = first; c < last; ++c) {
            data[static_cast<std::size_t>(l_.calls[c].rank)] = reinterpret_cast<T*>(address(l_.calls[c].memory[0]));
        }
        const bool reduces = what.which != ts::cuda::collective::kind::all_gather;
        const bool whole = what.which == ts::cuda::collective::kind::all_reduce;
        for (std::size_t r = 0; r < (whole ? 1 : members); ++r) {
            for (std::size_t at = r * count; at < (r + 1) * count; ++at) {
                T sum = data[0][at];
                for (std::size_t m = 1; m < members; ++m) {
                    sum = what.how == ts::reducer::max ? std::max(sum, data[m][at]) : sum + data[m][at];
                }
                for (std::size_t m = 0; m < members; ++m) {
                    if (whole || !reduces || m == r) {
                        data[m][at] = reduces ? sum : data[r][at];
                    }
                }
            }
        }
    }

    const ts::plan& p_;
    const ts::cuda::call_list& l_;
    const ts::addresses& where_;
    ts::optimizer how_;
    ts::cuda::step_values step_;
    std::vector<std::pair<std::size_t, std::size_t>> group_;
    std::vector<std::vector<std::size_t>> lanes_;
};

} // namespace test_support
