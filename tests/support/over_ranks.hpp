// SPDX-License-Identifier: Apache-2.0
// Trainings of random networks over ranks beside the same in one process.
#pragma once

#include "random_oracle.hpp"
#include "random_pair.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace test_support {

/// What a session shows of a training of a random network under a strategy.
template <class Backend>
training_record record_of(Backend& backend, const random_case& c, const batch_data& data, const random_pair& pair,
                          ts::workers& threads) {
    ts::session_options options;
    options.seed = c.seed;
    options.keep_gradients = true;
    ts::session<Backend> session(c.network.view(), pair.how, pair.devices, c.how, options, backend, threads);
    return train(session, c, data, pair.how.steps_per_plan);
}

/// What differs, bit for bit, or nothing.
inline std::string difference(const training_record& a, const training_record& b) {
    return std::string(a.losses == b.losses ? "" : " losses") + (a.gradients == b.gradients ? "" : " gradients") +
           (a.change == b.change ? "" : " parameters") +
           (a.rows == b.rows && a.least_correct == b.least_correct ? "" : " evaluations");
}

/// How many networks were trained alike, refused alike, and not.
struct ranks_tally {
    int equal = 0;
    int refused = 0;
    int wrong = 0;
};

/// Counts what `train(threads)` gives in one process, then over ranks: the same bits, or an error of the same words.
/// Whether both trained. What differs is said on standard error; an error after which the ranks no longer work
/// together goes on.
template <class Train>
bool trains_alike(std::uint64_t number, const random_pair& pair, ts::workers& one, ts::workers& over_ranks,
                  Train&& train, ranks_tally& all) {
    std::string said[2]; // by one process, and by ranks
    training_record found[2];
    for (int k = 0; k < 2; ++k) {
        try {
            found[k] = train(k == 0 ? one : over_ranks);
        } catch (const std::exception& e) {
            said[k] = e.what();
            if (over_ranks.group()->failed()) {
                throw;
            }
        }
    }
    const std::string differs = difference(found[0], found[1]);
    if (said[0] != said[1] || (said[0].empty() && !differs.empty())) {
        std::fprintf(stderr, "wrong on rank %d: network %llu, %s:%s; '%s' in one process and '%s'\n",
                     over_ranks.group()->rank(), static_cast<unsigned long long>(number), pair.what.c_str(),
                     differs.c_str(), said[0].c_str(), said[1].c_str());
        ++all.wrong;
        return false;
    }
    ++(said[0].empty() ? all.equal : all.refused);
    return said[0].empty();
}

} // namespace test_support
