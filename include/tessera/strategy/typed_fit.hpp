// SPDX-License-Identifier: Apache-2.0
// The split of an operator from the layouts of its inputs and of its output.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp" // first, so that compilers name few headers before the words of a refusal

#include "tessera/layout/typed_layout.hpp"
#include "tessera/strategy/operand_layout.hpp"

namespace tessera {

/// A configuration with its own cut points and devices, or why the layouts have none.
struct fitted_configuration {
    configuration c;
    std::vector<index_t> pool;
    problem refused; ///< `op`: which of the layouts; `dimension`: of its tensor
};

namespace detail {

/// The loop whose places a dimension's shards are, if there is only one; -1.
constexpr int loop_of_dimension(const description& d, const operand& o, int k) {
    int found_loop = -1;
    for (const affine::term& t : o.dim[k].terms) {
        if (!o.dim[k].all && splittable(d, t.loop)) {
            found_loop = found_loop < 0 ? t.loop : -2;
        }
    }
    return found_loop;
}

/// Splits the loops that dimensions of one operand name. `known`: the shards of loops that were named before.
constexpr problem split_loops(const description& d, const operand& o, const tensor_layout& l, int which,
                              fitted_configuration& f, std::uint32_t& known) {
    for (int k = 0; k < o.extents.rank; ++k) {
        const int named = loop_of_dimension(d, o, k);
        if (named < 0) {
            if (l.shards[k] > 1) {
                return {rule::layouts_do_not_fit, which, k, l.shards[k], 1};
            }
            continue;
        }
        int& degree = f.c.degree[named];
        if (has(known, named) && degree != l.shards[k]) {
            return {rule::layouts_do_not_fit, which, k, l.shards[k], degree};
        }
        known |= bit(named);
        degree = l.shards[k];
        const bool own = o.dim[k].terms.size() == 1 && o.dim[k].terms[0].coefficient == 1 && o.dim[k].offset == 0;
        bool even = true;
        for (int i = 0; i < l.shards[k]; ++i) {
            even = even && l.range(k, i) == even_part(l.extents[k], l.shards[k], i);
        }
        if (own && !even && f.c.cuts[named] < 0) {
            f.c.cuts[named] = static_cast<int>(f.pool.size());
            for (int i = 1; i < l.shards[k]; ++i) {
                f.pool.push_back(l.range(k, i).begin);
            }
        }
    }
    return {};
}

/// How a layout that is given differs from one that the operator's shards have. Of an input the borders that windows
/// read besides may be missing: they are fetched.
constexpr problem compare_layouts(const tensor_layout& given, const tensor_layout& needed_layout, int which,
                                  bool is_input) {
    for (int k = 0; k < given.extents.rank; ++k) {
        if (given.shards[k] != needed_layout.shards[k]) {
            return {rule::layouts_do_not_fit, which, k, given.shards[k], needed_layout.shards[k]};
        }
        for (int i = 0; i < given.shards[k]; ++i) {
            const interval a = given.range(k, i);
            const interval b = needed_layout.range(k, i);
            if (!(a == b) && !(is_input && (a.contains(b) || b.contains(a)))) {
                return {rule::layouts_do_not_fit, which, k, a.begin != b.begin ? a.begin : a.end,
                        a.begin != b.begin ? b.begin : b.end};
            }
        }
    }
    if (given.partial != needed_layout.partial || given.replicate != needed_layout.replicate) {
        const bool parts = given.partial != needed_layout.partial;
        return {rule::layouts_do_not_fit, which, -1, parts ? given.partial : given.replicate,
                parts ? needed_layout.partial : needed_layout.replicate};
    }
    for (std::size_t i = 0; i < given.devices.size(); ++i) {
        if (given.devices[i] != needed_layout.devices[i]) {
            return {rule::layouts_do_not_fit, which, -1, given.devices[i], needed_layout.devices[i]};
        }
    }
    return {};
}

} // namespace detail

/// The configuration under which an operator's inputs and its output have these layouts, the inputs' in order and the
/// output's last. What the output says of devices and copies holds.
TESSERA_VECTOR_CONSTEXPR fitted_configuration fit_configuration(const description& d,
                                                                const std::vector<tensor_layout>& given) {
    fitted_configuration f;
    const int inputs = count_of(d, operand_kind::input);
    const auto count = static_cast<int>(given.size());
    const auto operand_at = [&](int i) { return i < inputs ? d.find_operand(operand_kind::input, i) : d.output(); };
    for (int i = 0; i < count; ++i) {
        const operand& o = d.operands[operand_at(i)];
        const tensor_layout& l = given[static_cast<std::size_t>(i)];
        for (int k = 0; k < o.extents.rank || k < l.extents.rank; ++k) {
            const bool there = o.extents.rank == l.extents.rank;
            if (!there || o.extents[k] != l.extents[k]) {
                f.refused = {rule::layouts_do_not_fit, i, there ? k : -1, there ? l.extents[k] : l.extents.rank,
                             there ? o.extents[k] : o.extents.rank};
                return f;
            }
        }
    }
    f.c.uneven = f.c.reduces = true; // layouts say what is meant
    std::uint32_t known = 0;
    for (int i = inputs; i >= 0; --i) { // the output's first, which has no borders
        if (problem p =
                detail::split_loops(d, d.operands[operand_at(i)], given[static_cast<std::size_t>(i)], i, f, known)) {
            f.refused = p;
            return f;
        }
    }
    const tensor_layout& out = given[static_cast<std::size_t>(inputs)];
    f.c.partial = given[0].partial;
    const int copies = layout_of_operand(d, d.output(), f.c, f.pool.data(), operand_tensor::value).replicate;
    f.c.replicate = out.replicate % copies == 0 ? out.replicate / copies : 1;
    // Where the output's layout has its shards, in the order of the operator's.
    const int shards = f.c.shards();
    f.c.start = 0;
    const tensor_layout numbered = layout_of_operand(d, d.output(), f.c, f.pool.data(), operand_tensor::value);
    f.c.devices = static_cast<int>(f.pool.size());
    for (int s = 0; s < shards && numbered.count() == out.count(); ++s) {
        for (int i = 0; i < shards; ++i) {
            if (numbered.devices[static_cast<std::size_t>(i)] == s) {
                f.pool.push_back(out.devices[static_cast<std::size_t>(i)]);
            }
        }
    }
    f.c.devices = numbered.count() == out.count() ? f.c.devices : -1;
    for (int i = inputs; i >= 0; --i) {
        const tensor_layout l = layout_of_operand(d, operand_at(i), f.c, f.pool.data(), operand_tensor::value);
        if (problem p = detail::compare_layouts(given[static_cast<std::size_t>(i)], l, i, i < inputs)) {
            f.refused = p;
            return f;
        }
    }
    return f;
}

/// Which of the layouts that an operator is given, counted from 0; in messages.
template <int Number>
struct layout_number;

template <class T>
inline constexpr bool is_layout = false;
template <class Extents, class Dims, class Copies, class Summands, class Where, element Type>
inline constexpr bool is_layout<layout<Extents, Dims, Copies, Summands, Where, Type>> = true;

namespace detail {

/// The fit of an operator as a constant.
template <int Pool>
struct fitted_numbers {
    configuration c;
    index_t pool[static_cast<std::size_t>(Pool + 1)]{};
    problem refused;
};

} // namespace detail

/// The configuration of Op that Layouts make: of its inputs in order, then of its output. Does not compile where there
/// is none.
template <class Op, class... Layouts>
struct fitted {
    static TESSERA_VECTOR_CONSTEXPR fitted_configuration make() {
        constexpr int count = static_cast<int>(sizeof...(Layouts));
        const tensor_layout given[] = {Layouts::value()...};
        std::vector<tensor_layout> all;
        shape inputs[count];
        for (int i = 0; i < count; ++i) {
            all.push_back(given[i]);
            inputs[i] = given[i].extents;
        }
        const int taken = record_of(Op::attributes).inputs; // 0: any number from 2 on
        if (count != taken + 1 && (taken > 0 || count < 3)) {
            return {{}, {}, {rule::wrong_number_of_layouts, -1, -1, count, taken > 0 ? taken + 1 : 3}};
        }
        const inferred out = infer(Op::attributes, inputs, count - 1);
        if (out.refused) {
            return {{}, {}, out.refused};
        }
        const description d = describe(Op::attributes, inputs, count - 1);
        fitted_configuration f = fit_configuration(d, all);
        for (int l = 0; l < d.loops.size() && !f.refused; ++l) {
            if (f.c.degree[l] > 1 && !splittable(d, l)) {
                f.refused = {rule::loop_not_splittable, -1, -1, f.c.degree[l], 1};
            }
        }
        return f;
    }
    static TESSERA_VECTOR_CONSTEXPR auto store() {
        detail::require_constant_vectors<fitted>();
        if constexpr ((Layouts::ok && ...)) {
            constexpr auto pool = static_cast<int>(make().pool.size());
            const fitted_configuration f = make();
            detail::fitted_numbers<pool> n{f.c, {}, f.refused};
            for (int i = 0; i < pool; ++i) {
                n.pool[i] = f.pool[static_cast<std::size_t>(i)];
            }
            return n;
        } else {
            return detail::fitted_numbers<0>{{}, {}, {rule::layouts_do_not_fit, -1, -1, 0, 0}};
        }
    }
    static constexpr auto stored = store();
    static constexpr problem p = stored.refused;
    static constexpr bool test() {
        if constexpr (p.broken == rule::none) {
            return true;
        } else if constexpr (!(Layouts::ok && ...)) {
            return false; // refused already
        } else if constexpr (p.broken == rule::layouts_do_not_fit && p.dimension >= 0) {
            return refuse<p.broken, layer<Op>, layout_number<p.op>, dimension<p.dimension>, found<p.found>,
                          needed<p.needed>>();
        } else if constexpr (p.broken == rule::layouts_do_not_fit) {
            return refuse<p.broken, layer<Op>, layout_number<p.op>, found<p.found>, needed<p.needed>>();
        } else {
            return refuse<p.broken, layer<Op>, found<p.found>, needed<p.needed>>();
        }
    }
    static constexpr bool ok = test();
};

} // namespace tessera

#include "tessera/base/end_header.inl"
