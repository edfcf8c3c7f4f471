// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, denormal numbers and zeros of either sign in every row of the operator table, as calls that the interpreter runs, against
// the reference backend on the same plan; and updates that would not be finite.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Sums of products, in which zeros from outside an image or a part meet an infinity, and normalizations from other moments than the reference's:
/// they may have NaN where the reference has an infinity or a number.
bool spreads(ts::op_kind kind) {
    return kind == ts::op_kind::conv2d || kind == ts::op_kind::transposed_conv2d || kind == ts::op_kind::linear ||
           kind == ts::op_kind::expert_linear || kind == ts::op_kind::matmul || kind == ts::op_kind::batch_norm ||
           kind == ts::op_kind::layer_norm;
}

/// Runs a row whole and in random splits on both backends; numbers differ by at most the norm's 1e-4 and `absolute`.
template <class Change>
void hold(const tests::op_case& row, double absolute, const Change& change) {
    const ts::graph network = graph_of(row);
    const ts::graph_view g = network.view();
    batch_data data(g, 3);
    for (std::vector<float>& x : data.numbers) {
        change(x);
    }
    coverage seen;
    for (const int devices : {1, 3}) {
        const ts::strategy s = devices == 1 ? ts::strategy(g) : random_strategy(g, devices, row.name.size() + 90, seen);
        CAPTURE(row.name);
        CAPTURE(devices);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, 1));
        const auto expected = values_after(plain, g, s, devices, data);
        const auto got = values_after(emulated, g, s, devices, data);
        for (const auto& [key, values] : expected) {
            double error = 0;
            double norm = 0;
            int lost = 0;
            int made = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double found = got.at(key)[i];
                if (!std::isfinite(values[i])) {
                    const bool same = std::isnan(values[i]) ? std::isnan(found) : found == values[i];
                    lost += same || (spreads(row.attributes.kind) && !std::isfinite(found)) ? 0 : 1;
                } else if (!std::isfinite(found)) {
                    made += spreads(row.attributes.kind) ? 0 : 1;
                } else {
                    error += (found - values[i]) * (found - values[i]);
                    norm += values[i] * values[i];
                }
            }
            const int result = key; // a structured binding cannot be captured
            CAPTURE(result);
            CHECK(lost == 0);
            CHECK(made == 0);
            CHECK(std::sqrt(error) <= 1e-4 * std::sqrt(norm) + absolute);
        }
    }
}

} // namespace

TEST_CASE(
    "NaN and infinity stay in the calls where the reference has them, and denormal numbers and zeros are numbers") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const tests::op_case& row : tests::op_table()) {
        for (const float number : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
            CAPTURE(number);
            hold(row, 1e-6, [number](std::vector<float>& x) {
                for (std::size_t i = 1; i < x.size(); i += 1 + x.size() / 2) {
                    x[i] = number;
                }
            });
        }
        hold(row, 1e-41, [](std::vector<float>& x) {
            for (float& v : x) {
                v *= 1e-39F;
            }
        });
        hold(row, 1e-6, [](std::vector<float>& x) {
            for (float& v : x) {
                v = v < 0 ? -0.0F : 0.0F;
            }
        });
    }
}

TEST_CASE("updates and running statistics that would not be finite are left out element by element") {
    struct conv : ts::conv2d<3, ts::window<3>> {};
    struct norm : ts::batch_norm<> {};
    struct fc : ts::linear<4> {};
    struct network : ts::sequential<ts::image<2, 6, 6>, conv, norm, ts::relu, ts::max_pool<2>, ts::flatten, fc,
                                    ts::cross_entropy> {};
    const ts::graph g = ts::describe<network>(4);
    batch_data data(g.view(), 2);
    data.numbers[0][5] = std::numeric_limits<float>::quiet_NaN();
    const ts::optimizer heavy(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const ts::optimizer adam(ts::adam{});
    const ts::optimizer clipped(ts::sgd{.learning_rate = 0.1F}, 1.0F);
    for (const ts::optimizer& how : {heavy, adam, clipped}) {
        emulated_backend backend(how, gpu_placement(1, 0));
        ts::workers threads(1);
        ts::session<emulated_backend> session(g.view(), ts::strategy(g.view()), 1, how, {}, backend, threads);
        const std::vector<float> before = session.parameter(0);
        CHECK_THROWS_AS(session.step(data.inputs), ts::error);
        for (int p = 0; p < g.view().parameter_count; ++p) {
            for (const float x : session.parameter(p)) {
                CHECK(std::isfinite(x));
            }
        }
        CHECK(session.parameter(0) == before);
        CHECK(std::isfinite(session.step(batch_data(g.view(), 3).inputs)));
    }
}
