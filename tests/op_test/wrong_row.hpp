// SPDX-License-Identifier: Apache-2.0
// An operator whose kernel one backend has wrong, so that there is something for the runner to find: y = 2 x.
#pragma once

#include "op_test/task.hpp"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/op/opaque.hpp"

namespace op_test {

/// Right, or with a wrong gradient.
template <bool Right>
struct twice_loops {
    template <class Real>
    static void forward(const ts::reference::shard<Real>& s, int) {
        copy(s.value(s.input()), s.value(s.output()), size_of(s), Real(2));
    }
    template <class Real>
    static void backward(const ts::reference::shard<Real>& s, int o) {
        copy(s.gradient(s.output()), s.gradient(o), size_of(s), Right ? Real(2) : Real(2.5));
    }

private:
    template <class Real>
    static ts::index_t size_of(const ts::reference::shard<Real>& s) { // of the shard's samples
        return s.call.ranges[0].size() * s.extents(s.input())[1];
    }
    template <class Real>
    static void copy(const Real* from, Real* to, ts::index_t count, Real factor) {
        for (ts::index_t i = 0; i < count; ++i) {
            to[i] = factor * from[i];
        }
    }
};
template <bool Right>
inline constexpr auto twice_rows = ts::reference::own_rows_of<twice_loops<Right>>();

/// Its record with the row of the backend that is tested, or the reference's alone.
template <bool Right>
constexpr ts::op_record twice_with(const char* backend, const void* kernels) {
    return {
        .name = "wrong_on_purpose",
        .infer = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::detail::infer_rank(*x, 2, 2); },
        .describe = [](const ts::op_attributes&, const ts::shape* x,
                       int) { return ts::op::describe_opaque(x, 1, *x, 1); },
        .rows = {{"reference", &twice_rows<Right>}, {backend, kernels}},
    };
}

inline row wrong_row_of(const ts::op_record& r) {
    return {.name = "wrong_on_purpose",
            .kind = "wrong_on_purpose",
            .of = {"wrong_on_purpose", {.kind = {&r}}, {ts::make_shape(6, 5)}},
            .picks = "--wrong-row"};
}

} // namespace op_test
