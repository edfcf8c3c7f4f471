// SPDX-License-Identifier: Apache-2.0
// The last product and its cross-entropy in one, on the host: any legal strategy and any pipeline give the numbers of
// one device, with the table of words shared with the embedding or not.
#include "support/host_formats.hpp"
#include "support/sweep_check.hpp"

#include "tessera/op/embedding.hpp"
#include "tessera/op/vocabulary_loss.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct words : ts::embedding<23, 10> {};
struct middle : ts::linear<10> {};
struct logits : ts::vocabulary_loss<23, ts::label_smoothing<0.1>> {};
struct counted : ts::masked_vocabulary_loss<23, ts::ignore<3>, ts::label_smoothing<0.2>> {};
struct tied : ts::sequential<ts::tokens<7>, words, middle, ts::gelu, ts::tied<ts::vocabulary_loss<23>, words>> {};
struct apart : ts::sequential<ts::tokens<7>, words, middle, ts::gelu, logits> {};
struct some_rows : ts::sequential<ts::tokens<7>, words, middle, ts::gelu, counted> {};
struct rows : ts::sequential<ts::features<10>, middle, ts::tanh, logits> {};

/// `in_parts`: those whose losses micro-batches make.
std::vector<test_support::sweep_case> cases(bool in_parts) {
    const ts::optimizer update(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    std::vector<test_support::sweep_case> all;
    all.push_back({"tied", ts::describe<tied>(6), update});
    all.push_back({"apart", ts::describe<apart>(5), update});
    if (!in_parts) { // rows that do not count are those of the whole batch
        all.push_back({"of some rows", ts::describe<some_rows>(6), update});
    }
    all.push_back({"rows", ts::describe<rows>(9), update});
    return all;
}

} // namespace

TEST_CASE("random strategies of networks whose logits are not kept give the numbers of one device") {
    using namespace test_support;
    coverage seen;
    int made = 0;
    for (const sweep_case& c : cases(false)) {
        sweep_check check;
        const auto make = [&](const ts::optimizer& update) { return host_in_formats_of(update, made++ / 2); };
        sweep(c, strategy_count(10), seen, make,
              [&](const sweep_case& of, int number, int devices, const sweep_result& r) {
                  CAPTURE(number);
                  check.hold(of, devices, r, allowed_rounding);
              });
        check.tell(c, strategy_count(10), "strategies");
    }
}

TEST_CASE("random pipelines of networks whose logits are not kept give the numbers of one device") {
    using namespace test_support;
    coverage seen;
    int made = 0;
    for (const sweep_case& c : cases(true)) {
        sweep_check check;
        const auto make = [&](const ts::optimizer& update) { return host_in_formats_of(update, made++ / 2); };
        sweep_pipelines(c, strategy_count(8), seen, make,
                        [&](const sweep_case& of, const pipeline_case& p, int devices, const sweep_result& r) {
                            CAPTURE(p.schedule);
                            CAPTURE(p.stages);
                            CAPTURE(p.how.micro_batches);
                            check.hold(of, devices, r, allowed_rounding);
                        });
        check.tell(c, strategy_count(8), "pipelines");
    }
}
