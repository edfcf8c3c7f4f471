// SPDX-License-Identifier: Apache-2.0
// The loop over epochs, with a progress bar.
#pragma once

#include "tessera/execute/trainer.hpp"
#include "tessera/io/batches.hpp"
#include "tessera/io/progress.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
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
};

/// Trains for some epochs on anything with `size()` and `batches(batch size, batch_options)`, such as a sample_set. Throws
/// tessera::error for less than one epoch, and what a step throws.
template <class Net, class B, class Set>
std::vector<epoch_record> train(trainer<Net, B>& network, const Set& set, const train_options& options = {}) {
    if (options.epochs < 1)
        throw error("tessera: training for " + std::to_string(options.epochs) + " epochs; train for at least 1");
    std::vector<epoch_record> records;
    for (int epoch = 1; epoch <= options.epochs; ++epoch) {
        epoch_record record{epoch, 0, 0, 0, {}};
        const auto start = std::chrono::steady_clock::now();
        {
            progress_bar bar("epoch " + std::to_string(epoch) + "/" + std::to_string(options.epochs),
                             static_cast<std::int64_t>(set.size()), options.progress);
            const batch_options order{options.shuffle_seed, static_cast<std::uint64_t>(epoch - 1), options.drop_last};
            for (auto&& samples : set.batches(network.batch(), order)) {
                const double loss = network.step(samples);
                record.losses.push_back(loss);
                record.loss += loss * static_cast<double>(samples.size);
                record.samples += static_cast<std::int64_t>(samples.size);
                std::array<char, 32> note{};
                std::snprintf(note.data(), note.size(), "loss %.4f", loss);
                bar.advance(static_cast<std::int64_t>(samples.size), note.data());
            }
        }
        if (record.samples == 0) throw error("tessera: an epoch without samples; hand in at least one batch");
        record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        record.loss /= static_cast<double>(record.samples);
        if (options.after_epoch) options.after_epoch(record);
        records.push_back(std::move(record));
    }
    return records;
}

} // namespace tessera::io
