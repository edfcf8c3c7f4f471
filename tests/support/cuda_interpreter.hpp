// SPDX-License-Identifier: Apache-2.0
// Runs a list of calls on the processor: vendor calls by their definitions in plain loops, kernels of our own by their
// text, streams in a random order that their waits allow. What a wrong offset, size, stride or missing event does shows
// in the numbers.
#pragma once

#include "cuda_emulation.hpp"
#include "random_strategy.hpp"

#include "tessera/backend/cuda/bind.hpp"
#include "tessera/execute/local/store.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace test_support {

namespace ts = tessera;

/// An array of f32 or bf16.
struct typed_array {
    std::byte* data = nullptr;
    ts::element type = ts::element::f32;

    template <class Index>
    float operator[](Index i) const {
        const auto k = static_cast<std::size_t>(i);
        return type == ts::element::bf16 ? static_cast<float>(reinterpret_cast<const ts::bfloat16*>(data)[k])
                                         : reinterpret_cast<const float*>(data)[k];
    }
    template <class Index>
    void set(Index i, double x) const {
        const auto k = static_cast<std::size_t>(i);
        if (type == ts::element::bf16) {
            reinterpret_cast<ts::bfloat16*>(data)[k] = ts::bfloat16(static_cast<float>(x));
        } else {
            reinterpret_cast<float*>(data)[k] = static_cast<float>(x);
        }
    }
    typed_array from(ts::index_t i) const { return {data + i * ts::bytes_of(type), type}; }
};

/// The vendor calls, by their definitions. at[i] is the address of memory number i.
struct vendor_loops {
    const ts::cuda::call& c;
    std::byte* const* at;

    template <class T = float>
    T* memory(std::size_t i) const {
        return reinterpret_cast<T*>(at[i]);
    }
    typed_array array(std::size_t i, ts::element type) const { return {at[i], type}; }

    /// A factor of a product as tensor cores take it: TF32 keeps 10 bits of mantissa.
    static double factor(float x, ts::precision math) {
        if (math != ts::precision::tf32) {
            return static_cast<double>(x);
        }
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        bits = (bits + 0xfffU + ((bits >> 13U) & 1U)) & ~0x1fffU;
        std::memcpy(&x, &bits, sizeof bits);
        return static_cast<double>(x);
    }

    /// What is left in a workspace: both ends, and of large ones a word here and there between.
    static void spoil(std::byte* workspace, ts::index_t bytes) {
        constexpr ts::index_t end = 32768;
        const auto clear = [&](ts::index_t from, ts::index_t count) {
            std::memset(workspace + from, 0x7f, ts::to_size(count));
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
        return ts::to_size(((ts::index_t{a} * e[1] + b) * e[2] + i) * e[3] + j);
    }
    static std::size_t volume(const int (&e)[4]) { return place(e, e[0], 0, 0, 0); }
    static std::size_t volume(const ts::cuda::tensor_extents& e) { return ts::to_size(ts::cuda::volume_of(e)); }

    /// Extents of what a window walks over with those of an image as one plane: depth, height, width.
    struct planes {
        int size[3] = {1, 1, 1};

        explicit planes(const ts::cuda::tensor_extents& e) {
            for (int k = 0; k < e.size() - 2; ++k) {
                size[k + 5 - e.size()] = e[2 + k];
            }
        }
        int volume() const { return size[0] * size[1] * size[2]; }
        bool contains(const int (&where)[3]) const {
            bool inside = true;
            for (int k = 0; k < 3; ++k) {
                inside = inside && where[k] >= 0 && where[k] < size[k];
            }
            return inside;
        }
        int number(const int (&where)[3]) const { return (where[0] * size[1] + where[1]) * size[2] + where[2]; }
        /// The place of element `i`.
        std::array<int, 3> place(int i) const { return {i / size[2] / size[1], i / size[2] % size[1], i % size[2]}; }
    };
    /// A number of each dimension of a window; of images, `of_images` along the depth.
    static std::array<int, 3> numbers(const ts::cuda::window_numbers& n, int of_images) {
        return n.size() == 3 ? std::array<int, 3>{n[0], n[1], n[2]} : std::array<int, 3>{of_images, n[0], n[1]};
    }

    void operator()(const ts::cuda::activated_convolution& a) const {
        const ts::cuda::convolution& k = a.of;
        ts::cuda::convolution plain = k;
        plain.workspace = 0;
        // The sums stay as they are until bias and relu are done: y is rounded once.
        std::vector<float> exact(volume(k.y));
        convolve(plain, {reinterpret_cast<std::byte*>(exact.data()), ts::element::f32});
        const std::size_t plane = volume(k.y) / ts::to_size(k.y[0] * k.y[1]);
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const float x = exact[i] + array(3, k.type())[i / plane % ts::to_size(k.y[1])];
            array(2, k.type()).set(i, static_cast<double>(x <= 0 ? 0 : x));
        }
        if (k.workspace > 0) {
            spoil(at[4], c.memory[4].bytes);
        }
    }
    void operator()(const ts::cuda::normalization& n) const {
        using way = ts::cuda::normalization::direction;
        const int plane = n.x[2] * n.x[3];
        const double count = static_cast<double>(n.x[0]) * plane;
        const int channels = n.x[1];
        const auto each = [&](int channel, auto&& body) {
            for (int s = 0; s < n.x[0]; ++s) {
                for (int k = 0; k < plane; ++k) {
                    body((ts::to_size(s) * ts::to_size(channels) + ts::to_size(channel)) * ts::to_size(plane) +
                         ts::to_size(k));
                }
            }
        };
        const typed_array x = array(0, n.type);
        for (int k = 0; k < channels; ++k) {
            if (n.way == way::backward) {
                const double mean = static_cast<double>(memory(3)[k]);
                const double inverse = static_cast<double>(memory(3)[channels + k]);
                const typed_array dy = array(1, n.type);
                double sum = 0;
                double normal_sum = 0;
                each(k, [&](std::size_t i) {
                    sum += static_cast<double>(dy[i]);
                    normal_sum += static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - mean) * inverse;
                });
                memory(5)[k] = static_cast<float>(normal_sum);
                memory(6)[k] = static_cast<float>(sum);
                each(k, [&](std::size_t i) {
                    const double normal = (static_cast<double>(x[i]) - mean) * inverse;
                    array(4, n.type).set(i, static_cast<double>(memory(2)[k]) * inverse *
                                                (static_cast<double>(dy[i]) - (sum + normal * normal_sum) / count));
                });
                continue;
            }
            double mean = 0;
            double inverse = 0;
            if (n.way == way::training) {
                each(k, [&](std::size_t i) { mean += static_cast<double>(x[i]) / count; });
                double variance = 0;
                each(k, [&](std::size_t i) {
                    variance += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean) / count;
                });
                inverse = 1 / std::sqrt(variance + n.epsilon);
                memory(4)[k] = static_cast<float>(mean);
                memory(4)[channels + k] = static_cast<float>(inverse);
            } else {
                mean = static_cast<double>(memory(3)[k]);
                inverse = 1 / std::sqrt(static_cast<double>(memory(3)[channels + k]) + n.epsilon);
            }
            const typed_array y = array(n.way == way::training ? 3 : 4, n.type);
            each(k, [&](std::size_t i) {
                y.set(i, static_cast<double>(memory(1)[k]) * (static_cast<double>(x[i]) - mean) * inverse +
                             static_cast<double>(memory(2)[k]));
            });
        }
    }
    void operator()(const ts::cuda::row_softmax& s) const {
        for (int r = 0; r < s.rows; ++r) {
            const typed_array first = array(0, s.type).from(ts::index_t{r} * s.columns);
            const typed_array second = array(1, s.type).from(ts::index_t{r} * s.columns);
            double sum = 0;
            double largest = -std::numeric_limits<double>::infinity();
            for (int k = 0; k < s.columns; ++k) {
                largest = std::max(largest, static_cast<double>(first[k]));
            }
            for (int k = 0; k < s.columns; ++k) {
                sum += s.backward ? static_cast<double>(first[k]) * static_cast<double>(second[k])
                                  : std::exp(static_cast<double>(first[k]) - largest);
            }
            for (int k = 0; k < s.columns; ++k) {
                if (s.backward) {
                    array(2, s.type)
                        .from(ts::index_t{r} * s.columns)
                        .set(k, static_cast<double>(first[k]) * (static_cast<double>(second[k]) - sum));
                } else {
                    second.set(k, std::exp(static_cast<double>(first[k]) - largest) / sum);
                }
            }
        }
    }
    void operator()(const ts::cuda::tensor_operation& o) const {
        for (ts::index_t i = 0; i < o.rows * o.count; ++i) {
            const float b = memory(1)[o.repeats ? i % o.count : i];
            memory(2)[i] = o.multiplies ? memory(0)[i] * b : memory(0)[i] + b;
        }
    }
    void operator()(const ts::cuda::convolution& k) const {
        convolve(k, array(2, k.type()));
        if (k.workspace > 0) { // what is there is nobody's afterwards
            spoil(at[3], c.memory[3].bytes);
        }
    }
    void convolve(const ts::cuda::convolution& k, typed_array y) const {
        using way = ts::cuda::convolution::direction;
        const typed_array x = array(0, k.type());
        const typed_array w = array(1, k.type());
        const typed_array result = k.way == way::forward ? y : k.way == way::backward_data ? x : w;
        const std::size_t size = volume(k.way == way::forward ? k.y : k.way == way::backward_data ? k.x : k.w);
        std::vector<double> sums(size, 0.0);
        const int out_per_group = k.w[0] / k.groups;
        const planes in(k.x);
        const planes window(k.w);
        const planes out(k.y);
        const auto padding = numbers(k.padding, 0);
        const auto stride = numbers(k.stride, 1);
        const auto dilation = numbers(k.dilation, 1);
        const auto element = [](const ts::cuda::tensor_extents& e, int i, int j, int rest) {
            return volume(e) / ts::to_size(e[0] * e[1]) * ts::to_size(i * e[1] + j) + ts::to_size(rest);
        };
        for (int n = 0; n < k.y[0]; ++n) {
            for (int o = 0; o < k.y[1]; ++o) {
                for (int p = 0; p < out.volume(); ++p) {
                    for (int i = 0; i < k.w[1]; ++i) {
                        for (int r = 0; r < window.volume(); ++r) {
                            int where[3];
                            for (std::size_t d = 0; d < 3; ++d) {
                                where[d] = out.place(p)[d] * stride[d] + window.place(r)[d] * dilation[d] - padding[d];
                            }
                            if (!in.contains(where)) {
                                continue;
                            }
                            const std::size_t yi = element(k.y, n, o, p);
                            const std::size_t xi = element(k.x, n, o / out_per_group * k.w[1] + i, in.number(where));
                            const std::size_t wi = element(k.w, o, i, r);
                            if (k.way == way::forward) {
                                sums[yi] += factor(x[xi], k.math) * factor(w[wi], k.math);
                            } else if (k.way == way::backward_data) {
                                sums[xi] += factor(y[yi], k.math) * factor(w[wi], k.math);
                            } else {
                                sums[wi] += factor(y[yi], k.math) * factor(x[xi], k.math);
                            }
                        }
                    }
                }
            }
        }
        for (std::size_t i = 0; i < size; ++i) {
            result.set(i, sums[i]);
        }
    }
    void operator()(const ts::cuda::bias_add& k) const {
        const std::size_t plane = place({1, 1, k.y[2], k.y[3]}, 1, 0, 0, 0);
        for (std::size_t i = 0; i < volume(k.y); ++i) {
            memory(1)[i] += memory(0)[i / plane % ts::to_size(k.y[1])];
        }
    }
    void operator()(const ts::cuda::bias_gradient& k) const {
        const std::size_t plane = place({1, 1, k.y[2], k.y[3]}, 1, 0, 0, 0);
        std::vector<double> sums(ts::to_size(k.y[1]), 0.0);
        for (std::size_t i = 0; i < volume(k.y); ++i) {
            sums[i / plane % sums.size()] += static_cast<double>(memory(0)[i]);
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            memory(1)[i] = static_cast<float>(sums[i]);
        }
    }
    void operator()(const ts::cuda::matrix_product& p) const {
        for (ts::index_t i = 0; i < p.batch; ++i) {
            const typed_array a = array(0, p.type_of(0)).from(i * p.apart[0]);
            const typed_array b = array(1, p.type_of(1)).from(i * p.apart[1]);
            const typed_array d = array(2, p.type_of(2)).from(i * p.apart[2]);
            for (ts::index_t n = 0; n < p.n; ++n) {
                for (ts::index_t m = 0; m < p.m; ++m) {
                    double sum = 0;
                    for (ts::index_t k = 0; k < p.k; ++k) {
                        sum += factor(p.transpose_a ? a[k + m * p.lead_of(0)] : a[m + k * p.lead_of(0)], p.math) *
                               factor(p.transpose_b ? b[n + k * p.lead_of(1)] : b[k + n * p.lead_of(1)], p.math);
                    }
                    sum = sum * static_cast<double>(p.scale) +
                          (p.bias ? static_cast<double>(array(3, p.type_of(2))[m]) : 0);
                    d.set(m + n * p.lead_of(2), p.positive && sum < 0 ? 0 : sum);
                }
            }
        }
        for (ts::index_t n = 0; n < p.n && p.sums; ++n) {
            double sum = 0;
            for (ts::index_t k = 0; k < p.k; ++k) {
                const typed_array b = array(1, p.type_of(1));
                sum += static_cast<double>(p.transpose_b ? b[n + k * p.lead_of(1)] : b[k + n * p.lead_of(1)]);
            }
            array(3, p.type_of(2)).set(n, sum);
        }
        if (p.workspace > 0) {
            spoil(at[c.memory.size() - 1], c.memory.back().bytes);
        }
    }
    void operator()(const ts::cuda::pooling& p) const {
        const typed_array x = array(0, p.type);
        const typed_array y = array(1, p.type);
        const planes in(p.x);
        const planes out(p.y);
        const auto size = numbers(p.window, 1);
        const auto padding = numbers(p.padding, 0);
        const auto stride = numbers(p.stride, 1);
        for (int plane = 0; plane < p.x[0] * p.x[1]; ++plane) {
            for (int o = 0; o < out.volume(); ++o) {
                float largest = -std::numeric_limits<float>::infinity();
                double sum = 0;
                int count = 0;
                const int elements = size[0] * size[1] * size[2];
                for (int r = 0; r < elements; ++r) {
                    const int inside[3] = {r / size[2] / size[1], r / size[2] % size[1], r % size[2]};
                    int where[3];
                    for (std::size_t d = 0; d < 3; ++d) {
                        where[d] = out.place(o)[d] * stride[d] + inside[d] - padding[d];
                    }
                    if (in.contains(where)) {
                        const float value = x[plane * in.volume() + in.number(where)];
                        largest = value > largest || std::isnan(value) ? value : largest;
                        sum += static_cast<double>(value);
                        ++count;
                    }
                }
                if (p.how == ts::cuda::pooling::mode::average_with_padding) {
                    count = elements;
                }
                const double result =
                    p.how == ts::cuda::pooling::mode::maximum ? static_cast<double>(largest) : sum / count;
                y.set(plane * out.volume() + o, static_cast<double>(p.scale) * result);
            }
        }
    }
    void operator()(const ts::cuda::activation& k) const {
        for (ts::index_t i = 0; i < k.count; ++i) {
            const float x = array(0, k.type)[i];
            if (!k.backward) {
                const float y = k.which == ts::cuda::activation::function::relu      ? (x <= 0 ? 0 : x) // NaN stays
                                : k.which == ts::cuda::activation::function::sigmoid ? 1 / (1 + std::exp(-x))
                                                                                     : std::tanh(x);
                array(1, k.type).set(i, static_cast<double>(y));
            } else {
                const float dy = array(1, k.type)[i];
                const float dx = k.which == ts::cuda::activation::function::relu      ? (x <= 0 ? 0 : dy)
                                 : k.which == ts::cuda::activation::function::sigmoid ? dy * (x * (1 - x))
                                                                                      : dy * (1 - x * x);
                array(2, k.type).set(i, static_cast<double>(dx));
            }
        }
    }
    void operator()(const ts::cuda::memory_clear&) const { std::memset(at[0], 0, ts::to_size(c.memory[0].bytes)); }
    void operator()(const ts::cuda::memory_copy&) const { std::memcpy(at[1], at[0], ts::to_size(c.memory[1].bytes)); }
    template <class Other>
    void operator()(const Other&) const {}
};

/// Runs a list. Streams advance in an order drawn from a seed, as far as their waits allow.
class interpreter {
public:
    interpreter(const ts::cuda::call_list& l, const ts::addresses& where, const ts::optimizer& update)
        : l_(l), where_(where), how_(update) {
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
        streams_.resize(l.streams.size());
        for (std::size_t i = 0; i < l.calls.size(); ++i) {
            streams_[ts::to_size(l.calls[i].stream)].push_back(i);
        }
    }

    void run(const ts::run_state& state, std::uint64_t seed) {
        random pick{seed};
        step_.seed = state.seed;
        step_.step = state.step;
        step_.learning_rate = state.learning_rate;
        if (how_.has_corrections()) {
            step_.correction1 = 1 - std::pow(static_cast<double>(how_.beta1), static_cast<double>(state.step) + 1);
            step_.correction2 = 1 - std::pow(static_cast<double>(how_.beta2), static_cast<double>(state.step) + 1);
        }
        std::vector<char> done(l_.calls.size(), 0);
        std::vector<std::size_t> next(streams_.size(), 0);
        for (std::size_t left = l_.calls.size(); left > 0;) {
            std::vector<std::size_t> ready;
            for (std::size_t k = 0; k < streams_.size(); ++k) {
                if (next[k] < streams_[k].size() && can_start(streams_[k][next[k]], done, next)) {
                    ready.push_back(streams_[k][next[k]]);
                }
            }
            if (ready.empty()) {
                throw ts::error("the streams wait for each other");
            }
            const auto [first, last] = group_[ready[ts::to_size(pick(static_cast<int>(ready.size())))]];
            execute(first, last, state);
            for (std::size_t c = first; c < last; ++c) {
                done[c] = 1;
                ++next[ts::to_size(l_.calls[c].stream)];
                --left;
            }
        }
    }

private:
    /// All members of a group are next in their streams, and what they wait for is done.
    bool can_start(std::size_t which, const std::vector<char>& done, const std::vector<std::size_t>& next) const {
        const auto [first, last] = group_[which];
        for (std::size_t c = first; c < last; ++c) {
            const auto stream = ts::to_size(l_.calls[c].stream);
            for (std::size_t k = next[stream]; streams_[stream][k] != c; ++k) {
                if (streams_[stream][k] < first || streams_[stream][k] >= last) {
                    return false;
                }
            }
            for (const ts::cuda::call_wait& w : l_.calls[c].waits) {
                if (done[ts::to_size(w.call)] == 0) {
                    return false;
                }
            }
        }
        return true;
    }

    std::byte* address(const ts::cuda::memory_use& m) const { return where_[m.tile] + m.offset; }

    void execute(std::size_t first, std::size_t last, const ts::run_state& state) {
        const ts::cuda::call& c = l_.calls[first];
        if (std::holds_alternative<ts::cuda::point_to_point>(c.body)) {
            exchange_all(first, last);
        } else if (std::holds_alternative<ts::cuda::collective>(c.body)) {
            collect_all(first, last);
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
        const auto fixed = ts::to_size(k.pointers);
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
        cuda_emulation::launch(k.which, k.type, static_cast<unsigned>(k.blocks), static_cast<unsigned>(k.threads), a);
    }

    /// The n-th receive from a peer takes the n-th send to it.
    void exchange_all(std::size_t first, std::size_t last) {
        std::vector<char> taken(last - first, 0);
        for (std::size_t r = first; r < last; ++r) {
            const auto& to = std::get<ts::cuda::point_to_point>(l_.calls[r].body);
            for (std::size_t s = first; s < last && !to.sends; ++s) {
                const auto& from = std::get<ts::cuda::point_to_point>(l_.calls[s].body);
                if (from.sends && taken[s - first] == 0 && l_.calls[s].rank == to.peer &&
                    from.peer == l_.calls[r].rank) {
                    if (from.count != to.count || from.type != to.type) {
                        throw ts::error("a send and its receive differ");
                    }
                    taken[s - first] = taken[r - first] = 1;
                    std::memcpy(address(l_.calls[r].memory[0]), address(l_.calls[s].memory[0]),
                                ts::to_size(l_.calls[r].memory[0].bytes));
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

    /// A message is several collectives of the same members, one after the other in their group.
    void collect_all(std::size_t first, std::size_t last) {
        const std::size_t members = l_.communicators[ts::to_size(l_.calls[first].communicator)].size();
        if ((last - first) % members != 0) {
            throw ts::error("a collective without all its members");
        }
        for (; first < last; first += members) {
            collect(first, first + members);
        }
    }

    void collect(std::size_t first, std::size_t last) {
        const auto& what = std::get<ts::cuda::collective>(l_.calls[first].body);
        if (what.type == ts::element::f64) {
            collect_of<double>(what, first, last);
        } else if (what.type == ts::element::bf16) {
            collect_of<ts::bfloat16>(what, first, last);
        } else {
            collect_of<float>(what, first, last);
        }
    }

    template <class T>
    void collect_of(const ts::cuda::collective& what, std::size_t first, std::size_t last) {
        using kind = ts::cuda::collective::kind;
        const std::size_t members = last - first;
        const auto count = ts::to_size(what.count);
        std::vector<T*> data(members);
        std::vector<T*> result(members);
        for (std::size_t c = first; c < last; ++c) {
            const auto& own = std::get<ts::cuda::collective>(l_.calls[c].body);
            const auto rank = ts::to_size(l_.calls[c].rank);
            if (own.which != what.which || own.count != what.count || own.root != what.root || data[rank] != nullptr) {
                throw ts::error("members of a collective differ");
            }
            data[rank] = reinterpret_cast<T*>(address(l_.calls[c].memory[0]));
            result[rank] = reinterpret_cast<T*>(address(l_.calls[c].memory.back()));
        }
        const bool reduces = what.which != kind::all_gather && what.which != kind::broadcast;
        const bool whole = what.which == kind::all_reduce;
        const bool rooted = what.which == kind::reduce || what.which == kind::broadcast;
        const auto root = ts::to_size(what.root);
        for (std::size_t r = 0; r < (whole || rooted ? 1 : members); ++r) {
            const std::size_t owner = rooted ? root : r;
            for (std::size_t at = r * count; at < (r + 1) * count; ++at) {
                T sum = data[0][at];
                for (std::size_t m = 1; m < members; ++m) {
                    if (what.how == ts::reducer::max) {
                        sum = std::max(sum, data[m][at]);
                    } else {
                        sum += data[m][at];
                    }
                }
                for (std::size_t m = 0; m < members; ++m) {
                    if (whole || !reduces || m == owner) {
                        result[m][at] = reduces ? sum : data[owner][at];
                    }
                }
            }
        }
    }

    const ts::cuda::call_list& l_;
    const ts::addresses& where_;
    ts::optimizer how_;
    ts::cuda::step_values step_;
    std::vector<std::pair<std::size_t, std::size_t>> group_;
    std::vector<std::vector<std::size_t>> streams_;
};

} // namespace test_support
