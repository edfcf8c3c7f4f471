// SPDX-License-Identifier: Apache-2.0
// Every way in which the host computes a pass of an operator, held against the reference loops in double precision.
#pragma once

#include "op/harness.hpp"
#include "tessera/backend/host/bind.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

namespace host_operators {

using namespace tests;
namespace host = ts::host;

/// Memory between guards, full of NaNs.
class guarded {
public:
    guarded() = default;
    explicit guarded(ts::index_t bytes) : size_(ts::to_size(bytes)), memory_(bytes + 2 * guard) {
        std::memset(memory_.data(), 0x5a, size_ + 2 * guard);
        clear();
    }
    std::byte* data() const { return memory_.data() + guard; }
    float* floats() const { return reinterpret_cast<float*>(data()); }
    std::size_t size() const { return size_; }
    void clear() const { std::memset(data(), 0xff, size_); }
    bool is_intact() const {
        for (std::size_t i = 0; i < guard; ++i) {
            if (memory_.data()[i] != std::byte{0x5a} || data()[size_ + i] != std::byte{0x5a}) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr ts::index_t guard = 4096;
    std::size_t size_ = 0;
    ts::buffer memory_;
};

struct tester {
    /// How much two results may differ.
    struct closeness {
        double relative = 2e-5; ///< of the norm
        double absolute = 1e-12;
        bool spreads =
            false; ///< zeros may have met an infinity where the reference has no product: what it has finite may be NaN
        bool signs = false; ///< of zeros, too
        bool fills = true;  ///< what fills up blocks is checked
    };

    host::format_table table;
    host::unique_stream stream = host::make_stream();
    int candidates = 0;
    closeness close;
    bool takes[2] = {true, true};       ///< passes forward, and backward
    mutable double largest[2] = {0, 0}; ///< differences of them, relative to the norm
    /// What computes an operator's passes, forward and backward: the words of the jobs that were made of the ways that
    /// are offered.
    std::map<const ts::op_record*, std::set<std::string>> computed[2];

    void reorder(int from_format, int to_format, const ts::shape& s, void* from, void* to) const {
        const auto a = host::detail::desc_as(table, from_format, to_format, s);
        const auto b = host::detail::desc_as(table, to_format, from_format, s);
        const guarded scratch(host::reorder_job::scratch_bytes(a, b));
        host::reorder_job(a, b, from, to, scratch.data(), stream.get()).run({});
    }

    /// Writes a tile in a format; what fills up its last block of samples is anything (for gradients, zeros).
    void put(const tile& x, int f, bool gradient, const guarded& to, bool is_double) const {
        if (!x.integers.empty()) {
            std::memcpy(to.data(), x.integers.data(), to.size());
            return;
        }
        if (is_double) {
            std::memcpy(to.data(), x.numbers.data(), to.size());
            return;
        }
        std::vector<float> plain(x.numbers.begin(), x.numbers.end());
        const ts::shape s = x.region.extents();
        if (f == host::format::plain) {
            std::memcpy(to.data(), plain.data(), to.size());
        } else if (f == host::format::samples16) {
            const ts::index_t length = s.volume() / s[0];
            std::fill(to.floats(), to.floats() + to.size() / 4, gradient ? 0.0F : 3.0F);
            for (ts::index_t i = 0; i < s.volume(); ++i) {
                to.floats()[((i / length / 16) * length + i % length) * 16 + i / length % 16] = plain[ts::to_size(i)];
            }
        } else {
            reorder(host::format::plain, f, s, plain.data(), to.data());
        }
    }

    /// Reads a tile in a format, and checks what fills up its last block.
    std::vector<double> get(const ts::box& region, int f, bool gradient, const guarded& from, bool is_double) const {
        const ts::shape s = region.extents();
        const auto count = ts::to_size(s.volume());
        if (is_double) {
            const auto* x = reinterpret_cast<const double*>(from.data());
            return {x, x + count};
        }
        std::vector<float> plain(count);
        if (f == host::format::plain) {
            std::memcpy(plain.data(), from.data(), count * 4);
        } else if (f == host::format::samples16) {
            const ts::index_t length = s.volume() / s[0];
            bool filled = true;
            for (ts::index_t i = 0; i < (s[0] + 15) / 16 * 16 * length; ++i) {
                const float x = from.floats()[((i / length / 16) * length + i % length) * 16 + i / length % 16];
                if (i < s.volume()) {
                    plain[ts::to_size(i)] = x;
                } else {
                    filled = filled && (gradient ? x == 0 : std::isfinite(x));
                }
            }
            CHECK((filled || !close.fills));
        } else {
            if (f == host::format::channels16) {
                const ts::index_t plane = s.volume() / (s[0] * s[1]);
                bool filled = true;
                for (ts::index_t i = 0; i < static_cast<ts::index_t>(from.size() / 4); ++i) {
                    const ts::index_t c = i / 16 / plane % ((s[1] + 15) / 16) * 16 + i % 16;
                    filled = filled && (c < s[1] || from.floats()[i] == 0);
                }
                CHECK((filled || !close.fills));
            }
            reorder(f, host::format::plain, s, from.data(), plain.data());
        }
        return {plain.begin(), plain.end()};
    }

    /// What is not a number, or infinite, must be so in both.
    void check_close(const std::vector<double>& found, const std::vector<double>& expected, bool spreads, bool is_value,
                     double& most) const {
        REQUIRE(found.size() == expected.size());
        double error = 0;
        double norm = 0;
        int lost = 0;
        int made = 0;
        int signs = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!std::isfinite(expected[i])) {
                const bool same = std::isnan(expected[i]) ? std::isnan(found[i]) : found[i] == expected[i];
                lost += same || ((spreads || close.spreads) && !std::isfinite(found[i])) ? 0 : 1;
            } else if (!std::isfinite(found[i])) {
                made += spreads || close.spreads ? 0 : 1;
            } else {
                error += (found[i] - expected[i]) * (found[i] - expected[i]);
                norm += expected[i] * expected[i];
                const bool zeros = found[i] == 0 && expected[i] == 0;
                signs +=
                    close.signs && is_value && zeros && std::signbit(found[i]) != std::signbit(expected[i]) ? 1 : 0;
            }
        }
        CHECK(lost == 0); // NaN or infinity that became a number, or the other
        CHECK(made == 0);
        CHECK(signs == 0);
        CHECK(std::sqrt(error) <= close.relative * std::sqrt(norm) + close.absolute);
        most = std::max(most, std::sqrt(error) / std::max(std::sqrt(norm), 1e-6));
    }

    /// Memory of one call done one way.
    struct prepared {
        host::bound_call b;
        guarded value[ts::max_operands];
        guarded gradient[ts::max_operands];
        guarded scratch;
    };

    /// Lays the call's operands out; `written` (values), or what the call emits, stays full of NaNs.
    void prepare(prepared& p, const op_instance& whole, const ts::compute_call& c, const host::candidate& k,
                 std::uint32_t written, void* workspace) const {
        p.b.call = c;
        p.b.how = k;
        for (int o = 0; o < c.d->operands.size(); ++o) {
            const ts::element type = c.d->operands[o].type;
            if (c.value[o].region.rank > 0 && !ts::has(k.unused, o)) {
                const int f = k.value[o] < 0 ? host::format::plain : k.value[o];
                p.value[o] = guarded(table.bytes(f, c.value[o].region.extents(), type));
                if (!ts::has(written, o)) {
                    put(part_of(whole.value[ts::to_size(o)], c.value[o].region), f, false, p.value[o],
                        type == ts::element::f64);
                }
                p.b.call.value[o].data = p.value[o].data();
            }
            if (c.gradient[o].region.rank > 0) {
                const int f = k.gradient[o] < 0 ? host::format::plain : k.gradient[o];
                p.gradient[o] = guarded(table.bytes(f, c.gradient[o].region.extents(), type));
                if (!ts::has(c.emits, o)) {
                    put(part_of(whole.gradient[ts::to_size(o)], c.gradient[o].region), f, true, p.gradient[o],
                        type == ts::element::f64);
                }
                p.b.call.gradient[o].data = p.gradient[o].data();
            }
        }
        p.scratch = guarded(k.scratch);
        p.b.scratch = p.scratch.data();
        p.b.workspace = workspace;
    }

    void run(prepared& p) const {
        const ts::owned<host::job> j = host::detail::make_job(p.b, table, stream.get(), host::all_rows());
        run(p, *j);
    }
    static void run(prepared& p, host::job& j) {
        for (int again = 0; again < 2; ++again) {
            j.run(*p.b.call.run);
        }
        for (int o = 0; o < ts::max_operands; ++o) {
            CHECK((p.value[o].size() == 0 || p.value[o].is_intact()));
            CHECK((p.gradient[o].size() == 0 || p.gradient[o].is_intact()));
        }
        CHECK((p.scratch.size() == 0 || p.scratch.is_intact()));
    }

    /// What the reference makes of the call.
    void expect(const op_instance& whole, ts::compute_call c, std::vector<tile>& values,
                std::vector<tile>& gradients) const {
        values.resize(ts::to_size(c.d->operands.size()));
        gradients.resize(ts::to_size(c.d->operands.size()));
        for (int o = 0; o < c.d->operands.size(); ++o) {
            if (c.value[o].region.rank > 0) {
                values[ts::to_size(o)] = part_of(whole.value[ts::to_size(o)], c.value[o].region);
                c.value[o].data = op_instance::view(values[ts::to_size(o)]).data;
            }
            if (c.gradient[o].region.rank > 0) {
                gradients[ts::to_size(o)] = part_of(whole.gradient[ts::to_size(o)], c.gradient[o].region);
                c.gradient[o].data = op_instance::view(gradients[ts::to_size(o)]).data;
            }
        }
        ts::reference::compute<double>(c);
    }

    void check_call(const op_instance& whole, const ts::compute_call& c, std::uint32_t written,
                    const ts::compute_call* first) {
        const int way = host::is_forward(c.what) ? 0 : 1;
        if (!takes[way]) {
            return;
        }
        std::vector<tile> values;
        std::vector<tile> gradients;
        expect(whole, c, values, gradients);
        std::vector<host::candidate> all = host::detail::candidates_of(c, table, host::all_rows());
        const std::size_t offered = all.size();
        host::add_plain_candidates(c, all); // what binding falls back to
        for (const host::candidate& k : all) {
            CAPTURE(std::string(ts::to_text(c.what)));
            CAPTURE(c.first_nest);
            CAPTURE(c.last_nest);
            CAPTURE(c.emits);
            CAPTURE(host::detail::candidate_name(k, table, c.d->operands.size()));
            CAPTURE(host::detail::problem_name(c, host::all_rows()));
            ++candidates;
            const bool mixes = k.engine == host::engine_kind::winograd; // an element with its neighbours
            const guarded workspace(k.workspace);
            if (!host::is_forward(c.what) && k.workspace > 0) {
                REQUIRE(first != nullptr);
                fill_workspace(whole, *first, k, workspace);
            }
            prepared p;
            prepare(p, whole, c, k, written, workspace.data());
            const ts::owned<host::job> j = host::detail::make_job(p.b, table, stream.get(), host::all_rows());
            if (&k < all.data() + offered) {
                computed[way][&ts::record_of(c.attributes)].insert(j->computed_by());
            }
            run(p, *j);
            CHECK(workspace.is_intact());
            if (!host::is_forward(c.what) &&
                k.workspace > 0) { // as it is timed: by itself, with a workspace of anything
                const guarded anything(k.workspace);
                prepared alone;
                prepare(alone, whole, c, k, written, anything.data());
                const ts::owned<host::job> timed =
                    host::detail::make_job(alone.b, table, stream.get(), host::all_rows());
                timed->stand_alone();
                run(alone, *timed);
                CHECK(anything.is_intact());
            }
            for (int o = 0; o < c.d->operands.size(); ++o) {
                CAPTURE(o);
                const bool is_double = c.d->operands[o].type == ts::element::f64;
                if (ts::has(written, o) && c.d->operands[o].type == ts::element::i32) {
                    const std::vector<std::int32_t>& expected = values[ts::to_size(o)].integers;
                    REQUIRE(p.value[o].size() == expected.size() * sizeof(std::int32_t));
                    CHECK(std::memcmp(p.value[o].data(), expected.data(), p.value[o].size()) == 0);
                } else if (ts::has(written, o) && !ts::has(k.unused, o)) {
                    check_close(get(c.value[o].region, std::max(k.value[o], 0), false, p.value[o], is_double),
                                values[ts::to_size(o)].numbers, mixes, true, largest[way]);
                }
                if (ts::has(c.emits, o)) {
                    check_close(get(c.gradient[o].region, std::max(k.gradient[o], 0), true, p.gradient[o], is_double),
                                gradients[ts::to_size(o)].numbers, mixes, false, // the reference adds them to zeros
                                largest[way]);
                }
            }
        }
    }

    /// Backward of a pool needs what forward, done the same way, leaves behind.
    void fill_workspace(const op_instance& whole, const ts::compute_call& forward, const host::candidate& k,
                        const guarded& workspace) {
        bool found = false;
        for (const host::candidate& f : host::detail::candidates_of(forward, table, host::all_rows())) {
            if (f.engine == k.engine && host::detail::entry_format(f) == host::detail::entry_format(k)) {
                CHECK(f.workspace == k.workspace);
                prepared p;
                prepare(p, whole, forward, f, ts::bit(forward.d->output()), workspace.data());
                run(p);
                found = true;
            }
        }
        CHECK(found);
    }

    static void restrict(ts::compute_call& c, const ts::interval* ranges, bool first_part) {
        std::copy(ranges, ranges + ts::max_loops, c.ranges);
        c.first_part = first_part;
        for (int o = 0; o < ts::max_operands; ++o) {
            c.value[o] = c.gradient[o] = {};
        }
    }

    static void touch(ts::compute_call& c, std::uint32_t values) {
        for (int o = 0; o < c.d->operands.size(); ++o) {
            const ts::box region = ts::region(*c.d, o, c.ranges);
            if (ts::has(values, o) && !region.empty()) {
                c.value[o].region = region;
            }
        }
    }

    ts::compute_call forward_call(const op_instance& whole, ts::pass what, int first, int last,
                                  const ts::interval* ranges, bool first_part, std::uint32_t& written) const {
        const ts::description& d = whole.d;
        ts::compute_call c = whole.call(what);
        restrict(c, ranges, first_part);
        c.first_nest = first;
        c.last_nest = last;
        std::uint32_t read = 0;
        written = 0;
        for (int k = first; k <= last; ++k) {
            written |= ts::bit(d.nests[k].write);
            read |= d.nests[k].reads;
        }
        if (what == ts::pass::evaluate && c.attributes.kind == ts::op_kind::batch_norm) {
            read |= ts::bit(d.find_operand(ts::operand_kind::state, 2));
            read &= ~ts::bit(d.find_operand(ts::operand_kind::intermediate, 0));
        }
        touch(c, read | written);
        return c;
    }

    void check_forward(const op_instance& whole, ts::pass what, int first, int last, const ts::interval* ranges,
                       bool first_part) {
        std::uint32_t written = 0;
        const ts::compute_call c = forward_call(whole, what, first, last, ranges, first_part, written);
        check_call(whole, c, written, nullptr);
    }

    void check_backward(const op_instance& whole, std::uint32_t emits, ts::pass what, const ts::interval* ranges,
                        bool first_part, int nest) {
        const ts::description& d = whole.d;
        ts::compute_call c = whole.call(what);
        restrict(c, ranges, first_part);
        c.first_nest = c.last_nest = nest;
        std::uint32_t reads = 0;
        for (int o = 0; o < d.operands.size(); ++o) {
            if (ts::has(emits, o) && (first_part || !d.operands[o].additive) && !ts::region(d, o, ranges).empty()) {
                c.emits |= ts::bit(o);
                reads |= d.operands[o].gradient_reads;
                c.gradient[o].region = ts::region(d, o, ranges);
            }
        }
        if (c.emits == 0) {
            return;
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            const bool flows = d.operands[o].kind == ts::operand_kind::intermediate && d.operands[o].differentiable;
            if ((o == d.output() && !whole.is_loss()) || (flows && ts::has(reads, o))) {
                c.gradient[o].region = ts::region(d, o, ranges);
            }
        }
        touch(c, reads);
        std::uint32_t written = 0;
        const ts::compute_call first =
            forward_call(whole, ts::pass::forward, 0, d.nests.size() - 1, ranges, true, written);
        check_call(whole, c, 0, &first);
    }

    /// Every pass and nest over the ranges of a shard.
    void check_shard(const op_instance& whole, const op_instance& evaluated, const ts::interval* ranges,
                     bool first_part) {
        const ts::description& d = whole.d;
        const int last = d.nests.size() - 1;
        const bool normalizes = whole.row.attributes.kind == ts::op_kind::batch_norm;
        for (int k = 0; k <= last; ++k) {
            check_forward(whole, ts::pass::forward, k, k, ranges, first_part);
        }
        check_forward(evaluated, ts::pass::evaluate, last, last, ranges, first_part);
        bool inner_whole = true; // intermediates are complete within the shard
        for (int k = 0; k < last; ++k) {
            for (int l = 0; l < d.loops.size(); ++l) {
                inner_whole =
                    inner_whole && (!ts::has(ts::reduced_loops(d, k), l) || ranges[l].size() == d.loops[l].extent);
            }
        }
        if (last > 0 && inner_whole) {
            check_forward(whole, ts::pass::forward, 0, last, ranges, first_part);
            if (!normalizes) {
                check_forward(evaluated, ts::pass::evaluate, 0, last, ranges, first_part);
            }
        }
        const bool for_training = d.find_operand(ts::operand_kind::parameter) >= 0;
        for (int k = last; k >= 0; --k) {
            const std::uint32_t inputs = ts::gradients_of(d, k, true);
            check_backward(whole, inputs, for_training ? ts::pass::backward_input : ts::pass::backward, ranges,
                           first_part, k);
            const std::uint32_t others = ts::gradients_of(d, k, false);
            check_backward(whole, others, ts::pass::backward_weight, ranges, first_part, k);
            for (int o = 0; o < d.operands.size(); ++o) {
                const bool joint = d.operands[o].kind == ts::operand_kind::parameter && !normalizes; // weight and bias
                if (ts::has(inputs | others, o) && (inputs | others) != ts::bit(o) && !joint) {
                    const ts::pass what = !ts::has(inputs, o) ? ts::pass::backward_weight
                                          : for_training      ? ts::pass::backward_input
                                                              : ts::pass::backward;
                    check_backward(whole, ts::bit(o), what, ranges, first_part, k);
                }
            }
        }
    }

    void check_row(const op_case& row, std::uint64_t seed, int shards) {
        check_row(row, seed, shards, [](op_instance&) {});
    }
    /// With other numbers than the instance has of itself, which `change` puts in.
    template <class Change>
    void check_row(const op_case& row, std::uint64_t seed, int shards, const Change& change) {
        CAPTURE(row.name);
        op_instance whole(row, seed);
        change(whole);
        whole.forward();
        whole.backward();
        op_instance evaluated(row, seed);
        change(evaluated);
        evaluated.forward(ts::pass::evaluate);
        const ts::description& d = whole.d;
        check_shard(whole, evaluated, loop_ranges(d).range, true);
        random_numbers random{seed};
        const std::uint32_t reduced = ts::reduced_loops(d, d.nests.size() - 1);
        for (int trial = 0; trial < shards; ++trial) {
            loop_ranges part(d);
            bool first_part = true;
            for (int l = 0; l < d.loops.size(); ++l) {
                const ts::index_t extent = d.loops[l].extent;
                if (ts::splittable(d, l) && random.below(3) > 0) {
                    const ts::index_t begin = random.below(extent);
                    part.range[l] = {begin, begin + 1 + random.below(extent - begin)};
                    first_part = first_part && (begin == 0 || !ts::has(reduced, l));
                }
            }
            check_shard(whole, evaluated, part.range, first_part);
        }
    }
};

} // namespace host_operators
