// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths, padded to buckets, in a network of any length: as many plans as buckets, and the loss
// is the mean over what is no padding, sequence by sequence.
#include "tessera/io/data/sequences.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/padded.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ts = tessera;
namespace io = tessera::io;

constexpr int longest = 12;

struct words : ts::embedding<19, 8> {};
struct norm : ts::layer_norm<> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct logits : ts::linear<19> {};
template <class Weights>
struct net : ts::sequential<ts::tokens<ts::up_to<longest>>, words,
                            ts::residual<norm, ts::self_attention<2, query, key, value, merge, Weights>>, logits,
                            ts::masked_cross_entropy<>> {};
using causal = net<ts::softmax<ts::causal>>;
using both_ways = net<ts::with_lengths<ts::padded_softmax<>>>; // which would see the padding

std::vector<std::vector<std::int32_t>> texts() {
    std::vector<std::vector<std::int32_t>> all;
    for (std::uint64_t i = 0; i < 23; ++i) {
        std::vector<std::int32_t> t(2 + ts::op::mix(i) % longest);
        for (std::size_t k = 0; k < t.size(); ++k) {
            t[k] = static_cast<std::int32_t>(ts::op::mix(i * 100 + k) % 19);
        }
        all.push_back(t);
    }
    return all;
}

template <class Net>
auto batch_of(const io::padded_batch& b) {
    if constexpr (std::is_same_v<Net, both_ways>) {
        return ts::named_batch(ts::feed<ts::tokens<ts::up_to<longest>>>(b.inputs, b.length),
                               ts::feed<ts::lengths>(b.lengths), ts::feed<ts::labels>(b.labels, b.length));
    } else {
        return b;
    }
}

template <class Net>
void hold() {
    const auto all = texts();
    const io::sequence_set set = io::sequence_set::of_next_tokens(all);
    const ts::graph g = ts::describe<Net>(6);
    ts::trainer<Net, ts::reference::backend> trainer(ts::local_devices(2), ts::search::data_parallel(g.view(), 2), 6,
                                                     ts::sgd{.learning_rate = 0.3F});
    std::set<std::int64_t> lengths;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        auto batches = set.batches(6, {4, 8, longest}, {.shuffle_seed = 1, .epoch = epoch});
        for (const io::padded_batch& b : batches) {
            lengths.insert(b.length);
            double sum = 0;
            double tokens = 0;
            for (std::size_t i = 0; i < ts::to_size(b.size); ++i) { // each alone, without padding
                const auto first = i * ts::to_size(b.length);
                const auto count = ts::to_size(b.lengths[i]);
                const io::padded_batch one{b.inputs.subspan(first, count), b.labels.subspan(first, count),
                                           b.lengths.subspan(i, 1), 1, b.lengths[i]};
                sum += trainer.evaluate(batch_of<Net>(one)).loss * static_cast<double>(count);
                tokens += static_cast<double>(count);
            }
            const auto evaluated = trainer.evaluate(batch_of<Net>(b));
            CHECK(evaluated.loss == doctest::Approx(sum / tokens).epsilon(1e-4));
            if (b.size == 6) {
                CHECK(trainer.step(batch_of<Net>(b)) == doctest::Approx(sum / tokens).epsilon(1e-4));
            }
        }
    }
    CHECK(lengths.size() == 3);
}

} // namespace

TEST_CASE("padded batches of a causal network cost what their sequences cost") { hold<causal>(); }

TEST_CASE("so they do where attention is told the lengths") { hold<both_ways>(); }
