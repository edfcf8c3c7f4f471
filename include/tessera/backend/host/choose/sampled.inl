// SPDX-License-Identifier: Apache-2.0
// Bodies of sampled.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/sampled.hpp"

#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE sample_numbers::sample_numbers() {
    for (index_t i = 0; i < period; ++i) {
        const auto k = static_cast<int>(op::mix(static_cast<std::uint64_t>(i) + 77) >> 40U & 31U) - 16;
        of_[i] = static_cast<float>(k < 0 ? k : k + 1) * 0.0625F;
    }
}

TESSERA_INLINE void sample_numbers::fill(float* to, index_t count, index_t first) const {
    for (index_t done = 0; done < count;) {
        const index_t from = (first + done) % period;
        const index_t now = period - from < count - done ? period - from : count - done;
        std::memcpy(to + done, of_ + from, to_size(now) * sizeof(float));
        done += now;
    }
}

TESSERA_INLINE const sample_numbers& sample_numbers::get() {
    static const sample_numbers all;
    return all;
}

TESSERA_INLINE sampled_sum::sampled_sum(const compute_call& c, int target, std::uint32_t factors)
    : d_(*c.d), ranges_(c.ranges), target_(target) {
    for (int o = 0; o < d_.operands.size(); ++o) {
        if (has(factors, o)) {
            factor& f = factors_[factor_count_++];
            f.operand = o;
            f.region = region(d_, o, ranges_);
        }
    }
    // A bias's gradient counts points once that differ in summed loops alone.
    const bool additive = d_.operands[target].additive;
    order_loops(additive ? loops_of(d_.output()) : (bit(d_.loops.size()) - 1));
}

TESSERA_INLINE double sampled_sum::products() const {
    double n = 1;
    for (int k = 0; k < step_count_; ++k) {
        n *= steps_[k].equation < 0 ? static_cast<double>(ranges_[steps_[k].loop].size()) : 1.0;
    }
    return n;
}

TESSERA_INLINE sampled_sum::result sampled_sum::at(const index_t* element) {
    element_ = element;
    sum_ = {};
    visit(0);
    return sum_;
}

TESSERA_INLINE std::uint32_t sampled_sum::loops_of(int o) const {
    std::uint32_t all = 0;
    for (int k = 0; k < d_.operands[o].extents.rank; ++k) {
        for (const affine::term& t : d_.operands[o].dim[k].terms) {
            all |= bit(t.loop);
        }
    }
    return all;
}

TESSERA_INLINE void sampled_sum::order_loops(std::uint32_t all) {
    const operand& t = d_.operands[target_];
    std::uint32_t known = 0;
    for (int k = 0; k < t.extents.rank; ++k) {
        int open = -1;
        for (const affine::term& x : t.dim[k].terms) {
            if (has(known, x.loop)) {
                continue;
            }
            const bool is_longer = open < 0 || ranges_[x.loop].size() > ranges_[open].size();
            if (open >= 0) { // the longest loop follows from the others
                const int shorter = is_longer ? open : x.loop;
                steps_[step_count_++] = {shorter, -1};
                known |= bit(shorter);
            }
            open = is_longer ? x.loop : open;
        }
        if (open >= 0) {
            steps_[step_count_++] = {open, k};
            known |= bit(open);
        }
    }
    const int first = step_count_;
    for (int l = 0; l < d_.loops.size(); ++l) {
        if (has(all, l) && !has(known, l)) {
            steps_[step_count_++] = {l, -1};
        }
    }
    for (int k = first; k + 1 < step_count_; ++k) {
        if (ranges_[steps_[k].loop].size() > ranges_[steps_[k + 1].loop].size()) {
            const step longer = steps_[k];
            steps_[k] = steps_[k + 1];
            steps_[k + 1] = longer;
        }
    }
}

TESSERA_INLINE void sampled_sum::visit(int k) {
    if (k == step_count_) {
        add();
        return;
    }
    const step& s = steps_[k];
    const interval range = ranges_[s.loop];
    if (s.equation < 0) {
        for (at_[s.loop] = range.begin; at_[s.loop] < range.end; ++at_[s.loop]) {
            visit(k + 1);
        }
        return;
    }
    const affine& a = d_.operands[target_].dim[s.equation];
    index_t rest = element_[s.equation] - a.offset;
    index_t coefficient = 1;
    for (const affine::term& x : a.terms) {
        if (x.loop == s.loop) {
            coefficient = x.coefficient;
        } else {
            rest -= x.coefficient * at_[x.loop];
        }
    }
    if (rest % coefficient == 0 && rest / coefficient >= range.begin && rest / coefficient < range.end) {
        at_[s.loop] = rest / coefficient;
        visit(k + 1);
    }
}

TESSERA_INLINE void sampled_sum::add() {
    double product = 1;
    for (int k = 0; k < factor_count_; ++k) {
        const factor& f = factors_[k];
        const operand& o = d_.operands[f.operand];
        index_t flat = 0;
        for (int n = 0; n < o.extents.rank; ++n) {
            index_t i = o.dim[n].offset;
            for (const affine::term& x : o.dim[n].terms) {
                i += x.coefficient * at_[x.loop];
            }
            const interval inside = f.region.dim[n];
            if (i < inside.begin || i >= inside.end) {
                return; // padding
            }
            flat = flat * inside.size() + i - inside.begin;
        }
        product *= static_cast<double>(sample_numbers::get().at(flat + first_of(f.operand)));
    }
    sum_.sum += product;
    sum_.squares += product * product;
}

TESSERA_INLINE guarded_memory::guarded_memory(index_t bytes) : bytes_(to_size(bytes)), all_(bytes + 2 * guard) {
    std::memset(all_.data(), 0x5a, guard);
    std::memset(data(), 0xff, bytes_);
    std::memset(data() + bytes_, 0x5a, guard);
}

TESSERA_INLINE bool guarded_memory::is_intact() const {
    for (std::size_t i = 0; i < guard; ++i) {
        if (all_.data()[i] != std::byte{0x5a} || data()[bytes_ + i] != std::byte{0x5a}) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE std::string sampled_run::run(const job_maker& make) {
    const compute_call& given = b_.call;
    const candidate& k = b_.how;
    const description& d = *given.d;
    const sample_numbers& numbers = sample_numbers::get();
    memory_.reserve(2 * max_operands + 2);
    for (int o = 0; o < d.operands.size(); ++o) {
        for (const bool gradient : {false, true}) {
            const int f = gradient ? k.gradient[o] : k.value[o];
            const bool emitted =
                is_forward(given.what) ? !gradient && o == d.output() : gradient && has(given.emits, o);
            if (f < 0) {
                continue;
            }
            const box whole = region(d, o, given.ranges);
            const shape s = whole.extents();
            memory_.emplace_back(table_.bytes(f, s, d.operands[o].type));
            std::byte* const data = memory_.back().data();
            (gradient ? b_.call.gradient[o] : b_.call.value[o]) = tile_view{data, whole};
            if (emitted && d.operands[o].additive && !given.first_part) {
                continue; // nobody writes it
            }
            if (emitted) {
                results_.push_back({o, gradient, f, data, s});
            } else if (f == format::plain) {
                numbers.fill(reinterpret_cast<float*>(data), s.volume(), sampled_sum::first_of(o));
            } else {
                const buffer plain(s.volume() * 4);
                numbers.fill(reinterpret_cast<float*>(plain.data()), s.volume(), sampled_sum::first_of(o));
                reorder(format::plain, f, s, plain.data(), data);
                if (f >= format::opaque) { // weights are read and saved out of it, too
                    const buffer back(s.volume() * 4);
                    reorder(f, format::plain, s, data, back.data());
                    if (std::memcmp(back.data(), plain.data(), to_size(s.volume()) * 4) != 0) {
                        return "a reorder of its weights loses elements";
                    }
                }
            }
        }
    }
    memory_.emplace_back(k.scratch);
    b_.scratch = memory_.back().data();
    memory_.emplace_back(k.workspace);
    b_.workspace = memory_.back().data();
    make(b_)->run({});
    for (const guarded_memory& m : memory_) {
        if (!m.is_intact()) {
            return "it writes past its memory";
        }
    }
    return {};
}

TESSERA_INLINE const float* sampled_run::elements(const result& r, buffer& copy) const {
    if (r.format != format::plain) {
        copy = buffer(r.extents.volume() * 4);
        reorder(r.format, format::plain, r.extents, r.data, copy.data());
    }
    return reinterpret_cast<const float*>(r.format == format::plain ? r.data : copy.data());
}

TESSERA_INLINE std::string sampled_run::is_wrong(const result& r, index_t element, double found, double expected) {
    char text[200];
    print_to(text, sizeof text, "element %lld of %s%d is %g instead of %g", static_cast<long long>(element),
             r.gradient ? "the gradient of operand " : "operand ", r.operand, found, expected);
    return text;
}

TESSERA_INLINE void sampled_run::reorder(int from, int to, const shape& s, std::byte* source, std::byte* target) const {
    const reorder_call r{from, to, s};
    const buffer scratch(reorder_scratch(table_, r));
    make_reorder(table_, r, source, target, scratch.data(), stream_)->run({});
}

TESSERA_INLINE std::string wrong_sample(const compute_call& given, const candidate& k, const format_table& table,
                                        dnnl_stream_t stream, const sample_limits& most, const job_maker& make) {
    const description& d = *given.d;
    const sample_numbers& numbers = sample_numbers::get();
    const int in = d.find_operand(operand_kind::input);
    const int weight = d.find_operand(operand_kind::parameter, 0);
    const int bias = d.find_operand(operand_kind::parameter, 1);
    const int out = d.output();
    const bool forward = is_forward(given.what);
    sampled_run once(given, k, table, stream);
    if (std::string wrong = once.run(make); !wrong.empty()) {
        return wrong;
    }

    for (const sampled_run::result& r : once.results()) {
        buffer copy;
        const float* const found = once.elements(r, copy);
        const bool additive = d.operands[r.operand].additive;
        std::uint32_t factors = bit(out);
        if (!additive) {
            factors = forward ? bit(in) | bit(weight) : bit(out) | bit(r.operand == in ? weight : in);
        }
        sampled_sum slow(given, r.operand, factors);
        const double each = slow.products();
        index_t count = static_cast<index_t>(static_cast<double>(most.products) / each);
        count = count > most.elements ? most.elements : count < most.fewest ? most.fewest : count;
        const box whole = region(d, r.operand, given.ranges);
        const index_t volume = r.extents.volume();
        for (index_t n = 0; n < count && n < volume; ++n) {
            index_t element[max_rank];
            index_t flat = 0;
            for (int x = 0; x < r.extents.rank;
                 ++x) { // half of them at sides: the first, the last or any in each dimension
                const std::uint64_t random = op::mix(static_cast<std::uint64_t>(n * max_rank + x) + 1);
                const index_t any = static_cast<index_t>((random >> 8U) % static_cast<std::uint64_t>(r.extents[x]));
                const bool at_side = n % 2 == 0;
                const auto side = random % 3U;
                const index_t i = n == 0                  ? 0
                                  : n == 1                ? r.extents[x] - 1
                                  : !at_side || side == 0 ? any
                                  : side == 1             ? 0
                                                          : r.extents[x] - 1;
                element[x] = whole.dim[x].begin + i;
                flat = flat * r.extents[x] + i;
            }
            if (count >= volume) { // all of them
                flat = n;
                for (index_t x = r.extents.rank - 1, rest = n; x >= 0; --x) {
                    element[x] = whole.dim[x].begin + rest % r.extents[static_cast<int>(x)];
                    rest /= r.extents[static_cast<int>(x)];
                }
            }
            const sampled_sum::result expected = slow.at(element);
            double sum = expected.sum;
            if (forward && bias >= 0 && given.first_part &&
                k.value[bias] >= 0) { // channels are the second dimension, features the last
                const int channel = d.operands[bias].dim[0].terms[0].loop;
                for (int x = 0; x < r.extents.rank; ++x) {
                    const affine& a = d.operands[out].dim[x];
                    if (!a.terms.empty() && a.terms[0].loop == channel) {
                        sum += static_cast<double>(
                            numbers.at(element[x] - whole.dim[x].begin + sampled_sum::first_of(bias)));
                    }
                }
            }
            const double near = 1e-3 * std::sqrt(expected.squares) + 1e-5;
            if (!(std::abs(static_cast<double>(found[flat]) - sum) <= near)) {
                return sampled_run::is_wrong(r, flat, static_cast<double>(found[flat]), sum);
            }
        }
    }
    return {};
}

TESSERA_INLINE std::string wrong_part(const compute_call& given, const candidate& k, const format_table& table,
                                      dnnl_stream_t stream, const sample_limits& most, const job_maker& make,
                                      const function_ref<void(const compute_call&)>& loops) {
    const description& d = *given.d;
    sampled_run once(given, k, table, stream);
    if (std::string wrong = once.run(make); !wrong.empty()) {
        return wrong;
    }
    std::vector<buffer> memory; // every operand, plain
    compute_call all = given;
    for (int o = 0; o < d.operands.size(); ++o) {
        const box whole = region(d, o, given.ranges);
        memory.emplace_back(whole.volume() * 4);
        sample_numbers::get().fill(reinterpret_cast<float*>(memory.back().data()), whole.volume(),
                                   sampled_sum::first_of(o));
        all.value[o] = all.gradient[o] = tile_view{memory.back().data(), whole};
    }
    for (const sampled_run::result& r : once.results()) {
        buffer copy;
        const float* const found = once.elements(r, copy);
        const operand& target = d.operands[r.operand];
        const box whole = region(d, r.operand, given.ranges);
        double spent = 0;
        for (std::uint64_t n = 0; n < 32 && (n < 4 || spent < static_cast<double>(most.products)); ++n) {
            compute_call part = all;
            for (int x = 0; x < target.extents.rank; ++x) {
                const affine& a = target.dim[x];
                if (a.all || a.terms.size() != 1 || a.terms[0].coefficient != 1) {
                    continue; // elements of which several loops tell are computed whole
                }
                interval& loop = part.ranges[a.terms[0].loop];
                const index_t length = loop.size() < 2 ? loop.size() : 2;
                const auto places = static_cast<std::uint64_t>(loop.size() - length + 1);
                const std::uint64_t random = op::mix(n * max_rank + static_cast<std::uint64_t>(x) + 1) >> 8U;
                const std::uint64_t place = n == 0 ? 0 : n == 1 ? places - 1 : random % places;
                loop = {loop.begin + static_cast<index_t>(place), loop.begin + static_cast<index_t>(place) + length};
            }
            double points = 1;
            for (int l = 0; l < d.loops.size(); ++l) {
                points *= static_cast<double>(part.ranges[l].size());
            }
            spent += points;
            const box computed = region(d, r.operand, part.ranges);
            const buffer expected(computed.volume() * 4);
            (r.gradient ? part.gradient : part.value)[r.operand] = tile_view{expected.data(), computed};
            part.emits = r.gradient ? bit(r.operand) : given.emits;
            loops(part);
            for (index_t i = 0; i < computed.volume(); ++i) {
                index_t flat = 0;
                index_t scale = 1;
                index_t rest = i;
                for (int x = computed.rank - 1; x >= 0; --x) {
                    flat += (computed.dim[x].begin + rest % computed.dim[x].size() - whole.dim[x].begin) * scale;
                    rest /= computed.dim[x].size();
                    scale *= whole.dim[x].size();
                }
                const auto is = static_cast<double>(found[flat]);
                const auto should_be = static_cast<double>(reinterpret_cast<const float*>(expected.data())[i]);
                if (!(std::abs(is - should_be) <= 1e-4 * (1 + std::abs(should_be)))) {
                    return sampled_run::is_wrong(r, flat, is, should_be);
                }
            }
        }
    }
    return {};
}

TESSERA_INLINE bool keeps_elements(const format_table& table, const reorder_call& r, dnnl_stream_t stream) {
    const index_t bytes = r.extents.volume() * 4;
    const buffer plain(bytes);
    sample_numbers::get().fill(reinterpret_cast<float*>(plain.data()), r.extents.volume(), 0);
    buffer now(bytes);
    std::memcpy(now.data(), plain.data(), to_size(bytes));
    int in = format::plain;
    for (const int f : {r.from, r.to, format::plain}) {
        if (f == in) {
            continue;
        }
        const reorder_call one{in, f, r.extents};
        buffer next(table.bytes(f, r.extents, element::f32));
        const buffer scratch(reorder_scratch(table, one));
        make_reorder(table, one, now.data(), next.data(), scratch.data(), stream)->run({});
        now = std::move(next);
        in = f;
    }
    return std::memcmp(now.data(), plain.data(), to_size(bytes)) == 0;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
