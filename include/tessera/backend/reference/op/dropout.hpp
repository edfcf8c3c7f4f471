// SPDX-License-Identifier: Apache-2.0
// Dropout: the mask is a function of the global index (op/mask.hpp).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

namespace detail {

/// What dropout numbers its decisions by: the global index of the element, of the sample's channel, or of the sample.
template <op::dropped_unit Unit, class Real>
cursor mask_at(const shard<Real>& s) {
    if (Unit == op::dropped_unit::element) {
        return s.global_at(s.output());
    }
    cursor c;
    c.step[0] = Unit == op::dropped_unit::channel ? s.extents(s.output())[1] : 1;
    c.step[1] = Unit == op::dropped_unit::channel ? 1 : 0;
    return c;
}

/// Dropout of values (forward) or of gradients (backward).
template <op::dropped_unit Unit, class Real>
void drop(const shard<Real>& s, const Real* from, const cursor& from_at, Real* to, const cursor& to_at) {
    if (s.call.run == nullptr) {
        throw error("tessera: dropout needs the state of the run (seed and step)");
    }
    const auto percent = static_cast<int>(s.call.attributes.template as<op::dropout_attributes>().percent);
    const std::uint64_t key = op::mask_key(s.call.run->seed, s.call.run->step, s.call.op);
    const Real scale = static_cast<Real>(op::kept_scale(percent));
    s.walk({from_at, to_at, mask_at<Unit>(s)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const bool keep = op::keeps(key, r.at[2] + i * r.step[2], percent);
            to[r.at[1] + i * r.step[1]] = keep ? scale * from[r.at[0] + i * r.step[0]] : Real(0);
        }
    });
}

template <op::dropped_unit Unit>
struct dropout_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        if (s.call.what == pass::evaluate) {
            return map(s, s.input(), [](Real x) { return x; });
        }
        drop<Unit>(s, s.value(s.input()), s.value_at(s.input()), s.value(s.output()), s.value_at(s.output()));
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        drop<Unit>(s, s.gradient(s.output()), s.gradient_at(s.output()), s.gradient(o), s.gradient_at(o));
    }
};

} // namespace detail

inline constexpr row_list dropout_rows{
    row<op::dropout_record, detail::dropout_loops<op::dropped_unit::element>>{},
    row<op::channel_dropout_record, detail::dropout_loops<op::dropped_unit::channel>>{},
    row<op::stochastic_depth_record, detail::dropout_loops<op::dropped_unit::sample>>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
