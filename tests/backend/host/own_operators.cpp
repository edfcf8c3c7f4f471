// SPDX-License-Identifier: Apache-2.0
// An operator that is not the library's trains on the host: by a row of its own, or by the reference's plain loops.
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/op/elementwise.hpp"
#include "tessera/host.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace host = ts::host;
using namespace test_support;

constexpr ts::op_record square_record{
    .name = "square",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int count) { return ts::op::infer_alike(x, count); },
    .describe = [](const ts::op_attributes&, const ts::shape* x,
                   int) { return ts::op::describe_function(*x, 1, false); },
};
struct square {
    static constexpr ts::op_attributes attributes{.kind = {&square_record}};
};
struct first : ts::linear<12> {};
struct head : ts::linear<6> {};
struct network : ts::sequential<ts::features<10>, first, square, head, ts::cross_entropy> {};

int calls = 0;
float value(float x) {
    ++calls;
    return x * x;
}
float slope(float x) { return 2 * x; }

struct square_function {
    template <class Real>
    static Real value(Real x) {
        return x * x;
    }
    template <class Real>
    static Real slope(Real x) {
        return 2 * x;
    }
};

constexpr host::operator_row rows[] = {host::elementwise<host::each<value>, host::each_times<slope>>(square_record)};
constexpr auto loops =
    ts::reference::row_of<float, ts::reference::detail::function_loops<square_function>>(square_record);
constexpr const ts::reference::operator_row<float>* table[] = {&loops, &ts::reference::relu_row<float>};

/// Losses of three steps over two devices.
std::vector<double> losses(const host::own_operators& own, host::tuning how) {
    const ts::graph g = ts::describe<network>(8);
    const batch_data data(g.view(), 3);
    host::backend_options options;
    options.how = how;
    options.seed = 2;
    options.own = own;
    const ts::optimizer update = ts::sgd{.learning_rate = 0.1F};
    host::backend backend(update, options);
    ts::workers threads(2);
    ts::session<host::backend> s(g.view(), data_parallel(g.view(), 2), 2, update, {}, backend, threads);
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(s.step(data.inputs));
    }
    return all;
}

} // namespace

TEST_CASE("an operator of one's own trains over two devices by its row, and by plain loops") {
    const std::vector<double> by_loops = losses({.rows = {}, .loops = table}, host::tuning::estimate);
    CHECK(calls == 0);
    CHECK(by_loops[2] < by_loops[0]);
    for (const host::tuning how : {host::tuning::estimate, host::tuning::random, host::tuning::measure}) {
        calls = 0;
        const std::vector<double> by_row = losses({.rows = rows, .loops = {}}, how);
        CHECK(calls > 0);
        for (std::size_t i = 0; i < by_row.size(); ++i) {
            CHECK(by_row[i] == doctest::Approx(by_loops[i]).epsilon(1e-5));
        }
    }
}

TEST_CASE("an operator of one's own without a row or loops is refused by name") {
    const std::string message = message_of([] { (void)losses({}, host::tuning::estimate); });
    CHECK(message ==
          "tessera: square: the host backend does not know the operator square; hand in a row or plain loops "
          "for it (backend_options::own)");
}

TEST_CASE("a trainer hands on what the backend alone knows") {
    const ts::local_devices devices(1);
    ts::trainer_options options;
    host::backend_options own;
    own.own.rows = rows;
    const ts::graph g = ts::describe<network>(8);
    calls = 0;
    ts::trainer<network, host::backend> t(devices, data_parallel(g.view(), 1), 8, ts::sgd{}, options, own);
    const batch_data data(g.view(), 3);
    (void)t.step(data.inputs);
    CHECK(calls > 0);
    options.profile = "one";
    own.profile_path = "other";
    CHECK(contains(message_of([&] {
                       ts::trainer<network, host::backend> refused(devices, data_parallel(g.view(), 1), 8, ts::sgd{},
                                                                   options, own);
                   }),
                   "what is measured is to be kept in one and in other"));
}
