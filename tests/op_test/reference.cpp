// SPDX-License-Identifier: Apache-2.0
// The reference loops, in double: shards against the whole, and gradients against differences of the forward pass.
#include "op/differences.hpp"
#include "op/splits.hpp"
#include "op_test/backends.hpp"
#include "op_test/checks.hpp"
#include "op_test/wrong_row.hpp"

namespace op_test {

namespace {

constexpr ts::op_record wrong_record = twice_with<false>(nullptr, nullptr);

void run(const task& t, outcome& found) {
    const tests::op_case& c = t.what->of;
    if (t.what->is_of_optimizer) {
        return;
    }
    finding& forward = found.of(part::forward);
    finding& backward = found.of(part::backward);
    // Differences of each element of a large input would take minutes.
    if (t.wants(part::backward) && !c.has_own_gradient && !t.what->sums_many) {
        check(backward,
              [&] { backward.error = tests::check_gradients(c, t.seed, t.seed != 1 || !t.what->is_of_table); });
    }
    const auto split = [&](finding& to, bool goes_backward) {
        check(to, [&] {
            tests::splits::split_check shards(c, t.seed);
            tests::random_numbers random{t.seed};
            shards.check_random(2 * t.devices, random, goes_backward);
            to.error = std::max(to.error, shards.largest[goes_backward ? 1 : 0]);
        });
    };
    if (t.wants(part::forward) && t.devices > 0) {
        split(forward, false);
    }
    if (t.wants(part::backward) && t.devices > 0) {
        split(backward, true);
    }
}

} // namespace

backend reference_backend() {
    static const row wrong = wrong_row_of(wrong_record);
    return {.name = "reference",
            .against = "differences of its own forward pass, and the whole operator, in double",
            .precisions = {ts::precision::fp32},
            .has = {true, true, false},
            .run = run,
            .wrong = &wrong};
}

} // namespace op_test
