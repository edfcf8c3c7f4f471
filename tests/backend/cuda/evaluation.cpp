// SPDX-License-Identifier: Apache-2.0
// Evaluations (running statistics, no dropout) and batches that leave shards without samples, as lists of calls.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include <doctest/doctest.h>

#include "tessera/search/by_hand/baselines.hpp"

#include <algorithm>
#include <random>

namespace {

namespace ts = tessera;
using namespace test_support;

struct many_classes : ts::linear<500> {};
struct wide_net : ts::sequential<ts::features<20>, many_classes, ts::cross_entropy> {};

/// Rows of the oracle's first loss whose first largest logit is the label's.
ts::index_t correct_of(const ts::reference::network& oracle, const ts::graph& g) {
    const auto loss = std::find_if(g.ops.begin(), g.ops.end(), [](const ts::op_node& o) {
        return o.attributes.kind == ts::op_kind::cross_entropy;
    });
    const auto& logits = oracle.values[ts::to_size(loss->inputs[0])];
    const auto& labels = oracle.labels[ts::to_size(loss->inputs[1])];
    const std::size_t classes = logits.size() / labels.size();
    ts::index_t correct = 0;
    for (std::size_t n = 0; n < labels.size(); ++n) {
        const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n * classes);
        correct += std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row == labels[n] ? 1 : 0;
    }
    return correct;
}

/// A session of 64 rows with data parallelism on one and on four emulated GPUs.
template <class Use>
void on_emulated_gpus(const Use& use) {
    const ts::graph g = ts::describe<wide_net>(64);
    const batch_data data(g.view(), 5);
    for (const int devices : {1, 4}) {
        emulated_backend backend({}, gpu_placement(devices, 0));
        ts::workers threads(devices);
        const ts::strategy s = ts::search::data_parallel(g.view(), devices);
        ts::session<emulated_backend> session(g.view(), s, devices, {}, {.seed = 3}, backend, threads);
        use(backend, session, data);
    }
}

} // namespace

TEST_CASE("short batches train and evaluations evaluate as one device does, on one GPU and on several") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F});
    coverage seen;
    const std::vector<std::pair<ts::graph, int>> networks{{ts::describe<test_networks::residual_net::network>(6), 6},
                                                          {ts::describe<test_networks::inception::network>(5), 5},
                                                          {ts::describe<test_networks::mlp::network>(7), 7},
                                                          {ts::describe<test_networks::two_losses::network>(6), 6}};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const auto& [network, batch] = networks[seed % networks.size()];
        const int devices = 1 + static_cast<int>(seed / 2 % 5);
        const ts::strategy s = random_strategy(network.view(), devices, 500 + seed, seen);
        for (const int size : {batch, 1, batch - 2}) {
            CAPTURE(seed);
            CAPTURE(size);
            const ts::graph g = ts::with_batch(network.view(), size);
            const batch_data data(g.view(), 40 + seed);
            emulated_backend backend(how, gpu_placement(devices, static_cast<int>(seed % 3)));
            ts::workers threads(devices);
            ts::session<emulated_backend> session(network.view(), s, devices, how, {.seed = 3}, backend, threads);
            ts::reference::network oracle(g.view());
            oracle.initialize(3);
            ts::run_state run;
            run.seed = 3;
            run.learning_rate = static_cast<double>(how.learning_rate);
            for (int i = 0; i < 2; ++i) {
                set_all(oracle, data);
                run.step = static_cast<std::uint64_t>(i);
                const double expected = oracle.train_step(run, how);
                CHECK(session.step(data.inputs) == doctest::Approx(expected).epsilon(1e-5));
                set_all(oracle, data);
                const double loss = oracle.evaluate();
                const ts::evaluation e = session.evaluate(data.inputs);
                CHECK(e.loss == doctest::Approx(loss).epsilon(1e-5));
                CHECK(e.correct == correct_of(oracle, g));
            }
            for (std::size_t p = 0; p < oracle.parameters.size(); ++p) {
                const std::vector<float> f = session.parameter(static_cast<int>(p));
                CHECK(relative(std::vector<double>(f.begin(), f.end()), oracle.parameters[p], 1e-3) < 1e-4);
            }
        }
    }
}

TEST_CASE("the largest logits of random pieces are those of the whole, of equal ones the first") {
    test_support::random pick{77};
    for (int round = 0; round < 200; ++round) {
        ts::box all;
        all.rank = 2 + pick(3);
        for (int d = 0; d < all.rank; ++d) {
            all.dim[d] = {0, 1 + pick(d == ts::op::channel_dimension(all.rank) ? 200 : 6)};
        }
        const ts::element type = pick(2) == 0 ? ts::element::f32 : ts::element::bf16;
        std::vector<float> logits(ts::to_size(all.volume()));
        const int levels = 1 + pick(40); // few, so that many are equal
        for (float& x : logits) {
            x = static_cast<float>(pick(levels) - levels / 2) / 4;
        }
        const ts::logit_rows rows(all);
        std::vector<std::int32_t> expected(ts::to_size(rows.count()));
        for (ts::index_t r = 0; r < rows.count(); ++r) { // by the definition
            ts::index_t best = 0;
            const auto at = [&](ts::index_t c) {
                return logits[ts::to_size((r / rows.plane * rows.classes + c) * rows.plane + r % rows.plane)];
            };
            for (ts::index_t c = 1; c < rows.classes; ++c) {
                best = at(c) > at(best) ? c : best;
            }
            expected[ts::to_size(r)] = static_cast<std::int32_t>(best);
        }
        const auto agrees = [&](const std::vector<ts::row_leader>& found) {
            return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                              [](const ts::row_leader& a, std::int32_t b) { return a.number == b; });
        };
        CHECK(agrees(ts::detail::leaders_of(rows, logits)));

        std::vector<ts::box> pieces{all}; // cut at random, several times
        for (int cut = 0; cut < 5; ++cut) {
            const int d = pick(all.rank);
            std::vector<ts::box> next;
            for (const ts::box& b : pieces) {
                const ts::index_t at = b.dim[d].begin + pick(static_cast<int>(b.dim[d].size()));
                for (const ts::interval part : {ts::interval{b.dim[d].begin, at}, ts::interval{at, b.dim[d].end}}) {
                    ts::box x = b;
                    x.dim[d] = part;
                    if (x.volume() > 0) {
                        next.push_back(x);
                    }
                }
            }
            pieces = next;
        }
        std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(static_cast<std::uint64_t>(round)));
        const emulated_backend backend({}, {0});
        std::vector<ts::row_leader> merged(expected.size());
        for (const ts::box& b : pieces) {
            std::vector<float> own(ts::to_size(b.volume()));
            ts::box_copy(b, all, b).apply(logits.data(), own.data(), true, ts::reducer::sum);
            ts::tile t;
            t.region = b;
            t.elements = b.volume();
            t.type = type;
            std::vector<std::byte> memory(own.size() * ts::to_size(ts::bytes_of(type)));
            ts::store_numbers(type, own.data(), t.elements, memory.data());
            ts::detail::merge_leaders(all, b, backend.leaders(t, memory.data()), merged);
        }
        CHECK(agrees(merged));
    }
}

TEST_CASE("an evaluation copies 8 bytes of a row's logits to the host, not all of its classes") {
    on_emulated_gpus([](emulated_backend& backend, auto& session, const batch_data& data) {
        backend.copied = 0;
        CHECK(session.evaluate(data.inputs).rows == 64);
        CHECK(backend.copied <= 64 * 8 + 64 * 4); // and the losses
        CHECK(backend.copied >= 64 * 8);
    });
}

TEST_CASE("a training step copies every row's loss to the host once") {
    on_emulated_gpus([](emulated_backend& backend, auto& session, const batch_data& data) {
        for (int step = 0; step < 3; ++step) {
            backend.copied = 0;
            const double loss = session.step(data.inputs);
            CHECK(backend.copied == 64 * 4);
            CHECK(session.loss_of(1) == loss);
        }
    });
}
