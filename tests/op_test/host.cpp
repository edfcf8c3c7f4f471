// SPDX-License-Identifier: Apache-2.0
// The host: every way in which it computes a pass, whole and in shards, against the reference in double; and plans in
// random memory formats.
#include "op_test/backends.hpp"
#include "op_test/checks.hpp"
#include "op_test/on_plan.hpp"
#include "op_test/wrong_row.hpp"
#include "support/host_formats.hpp"
#include "support/host_operators.hpp"

namespace op_test {

namespace {

namespace host = ts::host;

/// Right but for its last element.
class wrong_job : public host::job {
public:
    explicit wrong_job(const host::bound_call& b) : c_(b.call) {}
    void run(const ts::run_state&) override {
        const int out = c_.d->output();
        const bool forward = host::is_forward(c_.what);
        const ts::tile_view& to = forward ? c_.value[out] : c_.gradient[0];
        const auto* const x = static_cast<const float*>(forward ? c_.value[0].data : c_.gradient[out].data);
        auto* const y = static_cast<float*>(to.data);
        const ts::index_t count = to.region.volume();
        for (ts::index_t i = 0; i < count; ++i) {
            y[i] = 2 * x[i] + (i + 1 == count ? 1.0F : 0.0F);
        }
    }

private:
    ts::compute_call c_;
};
constexpr host::operator_row wrong_kernels{
    .add_candidates = host::detail::add_in_plain,
    .make_job = host::detail::make<wrong_job>,
};
constexpr ts::op_record wrong_record = twice_with<true>("host", &wrong_kernels);

void run(const task& t, outcome& found) {
    for (const part p : {part::forward, part::backward}) {
        if (t.wants(p) && !t.what->is_of_optimizer) {
            finding& f = found.of(p);
            check(f, [&] {
                host_operators::tester every_way;
                if (!t.what->is_of_table || is_attention(t)) { // sums of many numbers, or of some that cancel
                    every_way.close = {.relative = t.what->sums_many ? 2e-4 : 2e-5, .absolute = 1e-8};
                }
                every_way.takes[0] = p == part::forward;
                every_way.takes[1] = p == part::backward;
                every_way.check_row(t.what->of, t.seed, t.devices);
                f.error = std::max(every_way.largest[0], every_way.largest[1]);
            });
        }
    }
    run_as_plan(t, found, [&](const ts::optimizer& update, int) {
        return test_support::host_in_formats_of(update, static_cast<int>(t.seed % 1000003));
    });
}

} // namespace

backend host_backend() {
    static const row wrong = wrong_row_of(wrong_record);
    return {.name = "host",
            .against = "the reference, each way to compute a pass in double, and plans in random formats",
            .precisions = {ts::precision::fp32},
            .run = run,
            .wrong = &wrong};
}

} // namespace op_test
