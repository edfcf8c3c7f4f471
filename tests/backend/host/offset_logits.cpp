// SPDX-License-Identifier: Apache-2.0
// Logits with an offset that all of them share: the loss keeps its digits, whole and with the classes split, on the
// reference and the host.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;

constexpr ts::index_t batch = 4;
constexpr int classes = 6;
struct logits : ts::linear<classes> {};
template <class Loss>
struct net : ts::sequential<ts::features<2>, logits, Loss> {};

/// -log softmax, smoothed, of the logits as they are stored.
double expected(const std::vector<float>& x, const std::vector<int>& labels, double smoothing) {
    double top = -HUGE_VAL;
    for (const float v : x) {
        top = std::max(top, static_cast<double>(v));
    }
    double sum = 0;
    for (const float v : x) {
        sum += std::exp(static_cast<double>(v) - top);
    }
    double loss = 0;
    for (const int label : labels) {
        for (int k = 0; k < classes; ++k) {
            const double q = (k == label ? 1 - smoothing : 0) + smoothing / classes;
            loss += q * (std::log(sum) + (top - static_cast<double>(x[ts::to_size(k)])));
        }
    }
    return loss / static_cast<double>(labels.size());
}

template <class Loss, class Backend>
void check(double smoothing) {
    const ts::graph g = ts::describe<net<Loss>>(batch);
    const std::vector<float> nothing(2 * batch, 0.0F);
    const std::vector<int> labels{0, 3, 5, 1};
    for (const float offset : {0.0F, 1e5F, -1e5F, 1e6F, 1e7F}) {
        std::vector<float> x;
        for (int k = 0; k < classes; ++k) {
            x.push_back(offset + 2.0F * static_cast<float>(k % 3)); // exact up to 1e7
        }
        for (const int parts : {1, 2}) {
            CAPTURE(offset);
            CAPTURE(parts);
            ts::strategy s(g.view());
            s.ops[1].degree[1] = parts;
            s.ops[1].reduces = parts > 1;
            ts::trainer<net<Loss>, Backend> t(ts::local_devices(2), s, batch, ts::sgd{.learning_rate = 0.1F});
            t.values().set_parameter(1, x);
            const auto given = ts::named_batch(ts::feed<ts::features<2>>(nothing), ts::feed<ts::labels>(labels));
            CHECK(static_cast<double>(t.evaluate(given).loss) ==
                  doctest::Approx(expected(x, labels, smoothing)).epsilon(1e-5));
        }
    }
}

} // namespace

TEST_CASE("an offset of all logits costs cross-entropies no digits") {
    check<ts::cross_entropy, ts::host::backend>(0);
    check<ts::masked_cross_entropy<>, ts::host::backend>(0);
    check<ts::smooth_cross_entropy<0.25>, ts::host::backend>(0.25);
    check<ts::cross_entropy, ts::reference::backend>(0);
    check<ts::masked_cross_entropy<>, ts::reference::backend>(0);
}
