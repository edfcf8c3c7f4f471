// SPDX-License-Identifier: Apache-2.0
// Bodies of operator_timing.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/measure/operator_timing.hpp"

namespace tessera {

TESSERA_INLINE index_t operator_prediction::nanoseconds_of(std::size_t task) const {
    const std::size_t boundary = forward.tasks.size();
    const simulation::task_span& s = task < boundary ? forward.tasks[task] : backward.tasks[task - boundary];
    return s.end - s.start;
}

TESSERA_INLINE void operator_timing::add(const operator_prediction& p) {
    predicted_forward = p.forward_seconds();
    predicted_backward = p.backward_seconds();
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE std::string text_of_number(double x, int digits) {
    char text[40];
    print_to(text, sizeof text, "%.*f", digits, x);
    return text;
}

TESSERA_INLINE std::string text_of_error(double predicted, double measured) {
    char text[40] = "-";
    if (predicted > 0 && measured > 0) {
        print_to(text, sizeof text, "%+.0f %%", 100 * (predicted / measured - 1));
    }
    return text;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::string to_text(const std::vector<operator_timing>& rows) {
    using detail::text_of_microseconds;
    using detail::text_of_number;
    std::vector<std::vector<std::string>> cells{
        {"operator", "input", "split", "pass", "us", "quartiles", "GFLOP/s", "moved bytes", "predicted us", "error"}};
    for (const operator_timing& r : rows) {
        for (const bool back : {false, true}) {
            const timing& t = back ? r.backward : r.forward;
            const double predicted = back ? r.predicted_backward : r.predicted_forward;
            cells.push_back({r.name, r.input, r.split, back ? "backward" : "forward", text_of_microseconds(t.median),
                             text_of_microseconds(t.lower_quartile) + " to " + text_of_microseconds(t.upper_quartile),
                             text_of_number((back ? r.backward_rate : r.forward_rate) * 1e-9, 2),
                             std::to_string(back ? r.backward_bytes : r.forward_bytes),
                             predicted > 0 ? text_of_microseconds(predicted) : "-",
                             detail::text_of_error(predicted, t.median)});
        }
    }
    return detail::aligned(cells);
}

TESSERA_INLINE std::string to_text(const std::vector<task_timing>& rows) {
    using detail::text_of_microseconds;
    std::vector<std::vector<std::string>> cells{
        {"task", "what", "kind", "device", "us", "quartiles", "predicted us", "error"}};
    for (const task_timing& r : rows) {
        const timing& t = r.measured;
        cells.push_back(
            {std::to_string(r.task), r.what, r.kind, std::to_string(r.device), text_of_microseconds(t.median),
             text_of_microseconds(t.lower_quartile) + " to " + text_of_microseconds(t.upper_quartile),
             r.predicted > 0 ? text_of_microseconds(r.predicted) : "-", detail::text_of_error(r.predicted, t.median)});
    }
    return detail::aligned(cells);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
