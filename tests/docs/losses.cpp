// SPDX-License-Identifier: Apache-2.0
// The code of "Losses" in docs/training.md and of "A loss" in docs/adding_an_operator.md.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;

struct log_cosh : ts::row_loss<log_cosh> {
    static constexpr auto of(auto x, auto target) {
        const auto size = abs(x - target);
        return size + softplus(-2 * size) - 0.6931471805599453;
    }
};

struct fc : ts::linear<2> {};
struct network : ts::sequential<ts::features<3>, fc, log_cosh> {};

} // namespace

TEST_CASE("a loss in one line trains") {
    const std::vector<float> x = {1, 2, 3, -1, 0, 2, 3, 1, 0, 0.5F, -2, 1};
    const std::vector<float> wanted = {1, 0, -1, 2, 3, 0, 0.5F, 1};
    const ts::graph g = ts::describe<network>(4);
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(2), ts::search::data_parallel(g.view(), 2),
                                                         4, ts::sgd{.learning_rate = 0.1F});
    const auto batch = ts::named_batch(ts::feed<ts::features<3>>(x), ts::feed<ts::labels>(wanted));
    struct {
        std::vector<float> inputs;
    } const inputs{x};
    const std::vector<float> y = trainer.predict(inputs).values;
    double expected = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        expected += std::log(std::cosh(static_cast<double>(y[i]) - static_cast<double>(wanted[i]))) / 8;
    }
    const double first = static_cast<double>(trainer.step(batch));
    CHECK(first == doctest::Approx(expected).epsilon(1e-5));
    for (int i = 0; i < 30; ++i) {
        trainer.step(batch);
    }
    CHECK(trainer.evaluate(batch).loss < first / 2);
}
