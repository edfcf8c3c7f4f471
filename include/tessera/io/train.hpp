// SPDX-License-Identifier: Apache-2.0
// The loop over epochs, with a progress bar.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/execute/typed_trainer.hpp"
#include "tessera/io/data/batches.hpp"
#include "tessera/io/data/prefetch.hpp"
#include "tessera/io/reports/metrics_log.hpp"
#include "tessera/io/reports/progress.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

/// What one epoch did.
struct epoch_record {
    int epoch = 0;   ///< counted from 1
    double loss = 0; ///< mean over the samples, each before the update of its step
    std::int64_t samples = 0;
    double seconds = 0;
    std::vector<double> losses; ///< of every step

    [[nodiscard]] double samples_per_second() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
};

struct train_options {
    int epochs = 1;
    std::uint64_t shuffle_seed = 1; ///< every epoch has an order of its own
    bool drop_last = false;         ///< leaves out the last batch of an epoch if it is short
    progress_options progress{};    ///< the bar is silent unless it is on a terminal
    std::function<void(const epoch_record&)> after_epoch{};
    std::function<void(const data_position&)> after_step{}; ///< such as to save a checkpoint with this position
    int prefetch = 0; ///< batches that a thread makes ahead, in the same order; 0: none
    /// Takes "loss" and "learning_rate" after every step, "epoch/loss" and "epoch/samples_per_second" after every
    /// epoch, by the number of steps taken. Over ranks one of them hands in a log. Must outlive the training; null: no
    /// log.
    metrics_log* metrics = nullptr;
    std::optional<data_position> resume_at{}; ///< goes on there, with its shuffle seed, to the same last epoch
};

/// Trains for some epochs on anything with `size()` and `batches(batch size, batch_options)`, such as a sample_set.
/// Throws tessera::error for less than one epoch, for a set of another size or contents than the position to go on at
/// has, and what a step throws. A training that goes on takes the batches that it would have taken without the stop;
/// the record of its first epoch is of what was left of it.
template <class Net, class B, class Set>
std::vector<epoch_record> train(trainer<Net, B>& network, const Set& set, const train_options& options = {}) {
    if (options.epochs < 1)
        throw error("tessera: training for " + std::to_string(options.epochs) + " epochs; train for at least 1");
    std::vector<epoch_record> records;
    const auto size = static_cast<std::int64_t>(set.size());
    batch_options order{options.shuffle_seed, 0, options.drop_last};
    if (options.resume_at) {
        order = resume(*options.resume_at, set, options.drop_last);
    } else if (options.after_step) {
        order.set_hash = detail::hash_of_set(set); // for checkpoints
    }
    for (; order.epoch < static_cast<std::uint64_t>(options.epochs); ++order.epoch, order.first_sample = 0) {
        const int epoch = static_cast<int>(order.epoch) + 1;
        epoch_record record{epoch, 0, 0, 0, {}};
        const auto start = std::chrono::steady_clock::now();
        {
            progress_bar bar("epoch " + std::to_string(epoch) + "/" + std::to_string(options.epochs),
                             size - order.first_sample, options.progress);
            const auto go_through = [&](auto&& batches) {
                for (auto&& samples : batches) {
                    const double loss = network.step(samples);
                    record.losses.push_back(loss);
                    if (options.metrics != nullptr) {
                        options.metrics->add("loss", static_cast<std::int64_t>(network.steps()), loss);
                        options.metrics->add("learning_rate", static_cast<std::int64_t>(network.steps()),
                                             network.learning_rate());
                    }
                    record.loss += loss * static_cast<double>(samples.size);
                    record.samples += static_cast<std::int64_t>(samples.size);
                    std::array<char, 32> note{};
                    print_to(note.data(), note.size(), "loss %.4f", loss);
                    bar.advance(static_cast<std::int64_t>(samples.size), note.data());
                    if (options.after_step)
                        options.after_step({order.shuffle_seed, order.epoch, order.first_sample + record.samples, size,
                                            order.set_hash});
                }
            };
            if (options.prefetch == 0) {
                go_through(set.batches(network.batch(), order));
            } else if constexpr (range_of_batches<decltype(set.batches(network.batch(), order))>) {
                go_through(prefetched(set.batches(network.batch(), order), options.prefetch));
            } else {
                throw error("tessera: batches of this set cannot be made ahead, as they are not inputs with labels; "
                            "train with prefetch = 0");
            }
        }
        if (record.samples == 0 && order.first_sample > 0) continue; // only what drop_last leaves out was left
        if (record.samples == 0) throw error("tessera: an epoch without samples; hand in at least one batch");
        record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        record.loss /= static_cast<double>(record.samples);
        if (options.metrics != nullptr) {
            const auto step = static_cast<std::int64_t>(network.steps());
            options.metrics->add("epoch/loss", step, record.loss);
            options.metrics->add("epoch/samples_per_second", step, record.samples_per_second());
            options.metrics->flush();
        }
        if (options.after_epoch) options.after_epoch(record);
        records.push_back(std::move(record));
    }
    return records;
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
