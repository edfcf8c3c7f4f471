// SPDX-License-Identifier: Apache-2.0
// Bodies of nest.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/nest.hpp"

namespace tessera::host {

TESSERA_INLINE nest_job::nest_job(const bound_call& b, const nest_kernels& how)
    : c_(b.call), s_(c_), p_(nests::program_of(c_.attributes, *c_.d)), how_(how) {
    nests::scalars_of_call(p_, c_, scalars_);
}

TESSERA_INLINE void nest_job::run(const run_state&) {
    if (is_forward(c_.what)) {
        for (int k = c_.first_nest; k <= c_.last_nest; ++k) {
            clear(p_.forward[k]);
            run(p_.forward[k], how_.forward[k]);
        }
        return;
    }
    for (int k = c_.d->nests.size() - 1; k >= 0; --k) {
        for (int o = 0; o < c_.d->operands.size(); ++o) {
            if (has(c_.emits, o) && gradient_nest(*c_.d, o) == k) {
                backward(o);
            }
        }
    }
}

TESSERA_INLINE void nest_job::backward(int o) {
    bool first = true;
    bool any = false;
    for (int k = 0; k < p_.backward.size(); ++k) {
        const nests::nest_pass& pass = p_.backward[k];
        if (pass.target != o) {
            continue;
        }
        any = true;
        if (first) {
            clear(pass);
            first = false;
        }
        if (reference::detail::adds_to_gradient(c_, pass)) {
            run(pass, how_.backward[k]);
        }
    }
    if (!any && c_.gradient[o].data != nullptr) {
        std::fill_n(detail::floats(c_.gradient[o].data), c_.gradient[o].region.volume(), 0.0F);
    }
}

TESSERA_INLINE void nest_job::clear(const nests::nest_pass& pass) const {
    const tile_view& t = pass.to_gradient ? c_.gradient[pass.target] : c_.value[pass.target];
    if (t.data == nullptr || kernels::use_of(p_, pass) == kernels::row_use::store) {
        return;
    }
    const index_t count = t.region.volume();
    if (c_.d->operands[pass.target].type == element::f64) {
        std::fill_n(static_cast<double*>(t.data), count, 0.0);
    } else {
        std::fill_n(detail::floats(t.data), count,
                    pass.reduce == reducer::max ? -std::numeric_limits<float>::infinity() : 0.0F);
    }
}

TESSERA_INLINE void nest_job::run(const nests::nest_pass& pass, nest_kernel kernel) {
    const description& d = *c_.d;
    reference::detail::cursor where[places];
    leaf leaves[max_leaves];
    float gathered[max_leaves + 1][most];
    const kernels::node_list nodes = kernels::leaves_of(pass);
    where[0] = pass.to_gradient ? s_.gradient_at(pass.target) : s_.value_at(pass.target);
    if (s_.touched(pass.target).empty()) {
        return;
    }
    int used = 1;
    for (int k = 0; k < nodes.count; ++k) {
        const expression::node& n = pass.nodes.nodes[nodes.at[k]];
        leaf& x = leaves[k];
        if (nests::is_scalar(n)) {
            const nests::scalar& s = p_.scalars[n.of[0] - nests::first_scalar];
            x.index = s.kind == nests::scalar_kind::index ? s.loop : -1;
            x.fixed = static_cast<float>(scalars_[n.of[0] - nests::first_scalar]);
            continue;
        }
        const int o = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        const bool is_value = n.what == expression::opcode::input;
        where[used] = is_value ? s_.value_at(o) : s_.gradient_at(o);
        x.place = used++;
        if (d.operands[o].type == element::f64) {
            x.twice = is_value ? s_.value<double>(o) : s_.gradient<double>(o);
        } else if (d.operands[o].type == element::i32) {
            x.integers = s_.value<std::int32_t>(o);
        } else {
            x.single = is_value ? s_.value(o) : s_.gradient(o);
        }
    }
    const int inner = kernels::inner_loop(p_, pass);
    interval ranges[max_loops];
    std::copy(c_.ranges, c_.ranges + max_loops, ranges);
    std::uint32_t loops = pass.loops;
    if (pass.inside == 0) {
        merge(d, leaves, nodes.count, inner, where, used, ranges, loops);
    }
    reference::detail::walker<places> w(d, loops, ranges, pass.inside, where);
    std::rotate(std::find(w.order, w.order + w.depth, inner), std::find(w.order, w.order + w.depth, inner) + 1,
                w.order + w.depth);
    const kernels::row_use use = kernels::use_of(p_, pass);
    const bool twice = d.operands[pass.target].type == element::f64;
    const tile_view& to = pass.to_gradient ? c_.gradient[pass.target] : c_.value[pass.target];
    w.go([&](const auto& r) {
        for (index_t begin = 0; begin < r.count; begin += most) {
            const index_t count = std::min(most, r.count - begin);
            const float* from[max_leaves];
            for (int k = 0; k < nodes.count; ++k) {
                from[k] = numbers_of(leaves[k], r, begin, count, inner, gathered[k]);
            }
            finish(use, twice, to.data, r.at[0] + begin * r.step[0], r.step[0], count, from, kernel,
                   gathered[max_leaves]);
        }
    });
}

TESSERA_INLINE void nest_job::merge(const description& d, const leaf* leaves, int leaf_count, int inner,
                                    reference::detail::cursor (&where)[places], int used, interval* ranges,
                                    std::uint32_t& loops) {
    const auto asks = [&](int l) {
        bool any = false;
        for (int k = 0; k < leaf_count; ++k) {
            any = any || leaves[k].index == l;
        }
        return any;
    };
    if (asks(inner)) {
        return;
    }
    for (int l = d.loops.size() - 1; l >= 0; --l) {
        if (!has(loops, l) || l == inner || asks(l)) {
            continue;
        }
        bool joins = true;
        for (int k = 0; k < used; ++k) {
            joins = joins && where[k].step[l] == where[k].step[inner] * ranges[inner].size();
        }
        if (!joins) {
            continue;
        }
        for (int k = 0; k < used; ++k) {
            where[k].base += where[k].step[l] * ranges[l].begin + where[k].step[inner] * ranges[inner].begin;
        }
        ranges[inner] = {0, ranges[inner].size() * ranges[l].size()};
        loops &= ~bit(l);
    }
}

TESSERA_INLINE void nest_job::finish(kernels::row_use use, bool twice, void* to, index_t at, index_t step,
                                     index_t count, const float* const* from, nest_kernel kernel, float* own) {
    using kernels::row_use;
    if (use == row_use::sum || use == row_use::maximum) {
        const double made = kernel(from, nullptr, static_cast<std::ptrdiff_t>(count));
        if (twice) {
            static_cast<double*>(to)[at] += made;
            return;
        }
        float& x = detail::floats(to)[at];
        const auto single = static_cast<float>(made);
        x = use == row_use::sum     ? static_cast<float>(static_cast<double>(x) + made)
            : x >= single || x != x ? x
                                    : single; // NOLINT(misc-redundant-expression): NaN
        return;
    }
    if (!twice && step == 1) {
        kernel(from, detail::floats(to) + at, static_cast<std::ptrdiff_t>(count));
        return;
    }
    for (index_t i = 0; i < count; ++i) {
        own[i] = use == row_use::store || twice ? 0.0F : detail::floats(to)[at + i * step];
    }
    kernel(from, own, static_cast<std::ptrdiff_t>(count));
    for (index_t i = 0; i < count; ++i) {
        if (twice) {
            static_cast<double*>(to)[at + i * step] += static_cast<double>(own[i]);
        } else {
            detail::floats(to)[at + i * step] = own[i];
        }
    }
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
