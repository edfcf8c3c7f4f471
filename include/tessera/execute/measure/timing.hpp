// SPDX-License-Identifier: Apache-2.0
// How long something takes: it is run until the median is known well enough, or the time is over.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/strategy/described.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tessera {

struct timing_options {
    int warm_up = 3;         ///< runs before anything is measured
    int least = 10;          ///< samples, unless the time is over before
    int most = 100'000;      ///< samples
    double precision = 0.01; ///< enough: the half-width of the median's 95 % interval, as a share of the median
    double seconds = 1;      ///< after which no sample begins, warm-up included
    double sample_seconds =
        2e-5; ///< what takes less is run several times for one sample, so that the clock's own time does not count
};

/// Seconds that one run took.
struct timing {
    double least = 0;
    double lower_quartile = 0; ///< a quarter of the samples were less
    double median = 0;
    double upper_quartile = 0;
    double precision = std::numeric_limits<double>::infinity(); ///< that was reached, see timing_options
    int samples = 0;
    int runs = 1; ///< in each sample, which is their mean

    friend bool operator==(const timing& a, const timing& b) { return same_fields(a, b); }
    template <class See>
    static constexpr void each_field(See&& see) {
        see("least", &timing::least, field_facts{});
        see("lower_quartile", &timing::lower_quartile, field_facts{});
        see("median", &timing::median, field_facts{});
        see("upper_quartile", &timing::upper_quartile, field_facts{});
        see("precision", &timing::precision, field_facts{});
        see("samples", &timing::samples, field_facts{});
        see("runs", &timing::runs, field_facts{});
    }
};

/// Nanoseconds that only grow: what a clock of time_interleaved() gives.
struct machine_clock {
    std::int64_t operator()() const { return nanoseconds_now(); }
};

namespace detail {

/// The place, from either end of n ordered samples, between which two the median lies with a probability of 95 %,
/// whatever the samples' distribution is: by the binomial distribution, approximated by the normal one with its
/// continuity correction. -1: there are too few.
int median_place(int n);

/// Of ordered samples.
timing timing_of(const std::vector<double>& ordered);

/// Samples of one thing, with room for all of them and for a sorted copy before the first is taken.
class sample_list {
public:
    explicit sample_list(int most);
    void add(double seconds) { all_.push_back(seconds); }
    timing so_far();

private:
    std::vector<double> all_;
    std::vector<double> sorted_;
};

} // namespace detail

/// The timing of samples that were taken elsewhere, in seconds.
timing timing_of(std::vector<double> samples);

/// Runs several things in turns, so that slow moments of the machine meet all of them, until every median is known well
/// enough or the time is over; then `precision` says how well. At least one sample is taken of each. Nothing is
/// allocated from the warm-up on, so that what runs meets its own caches.
template <class Clock, class... Whats>
std::array<timing, sizeof...(Whats)> time_interleaved(const timing_options& o, Clock&& clock, Whats&&... whats) {
    constexpr std::size_t count = sizeof...(Whats);
    static_assert(count > 0, "tessera: time_interleaved() takes what is to be timed, at least one");
    const int most = o.most < 1 ? 1 : o.most;
    std::array<detail::sample_list, count> samples{(static_cast<void>(whats), detail::sample_list(most))...};
    std::array<int, count> runs{};
    const auto limit = static_cast<std::int64_t>(o.seconds * 1e9);
    const std::int64_t begin = clock();
    const auto is_over = [&] { return clock() - begin >= limit; };
    // The last run of the warm-up says how often each is run for a sample.
    const auto warm_up = [&](std::size_t k, auto& what) {
        std::int64_t took = 0;
        for (int i = 0; i < (o.warm_up < 1 ? 1 : o.warm_up) && (i == 0 || !is_over()); ++i) {
            const std::int64_t before = clock();
            what();
            took = clock() - before;
        }
        const double wanted = o.sample_seconds * 1e9 / static_cast<double>(took < 1 ? 1 : took);
        runs[k] = wanted <= 1 ? 1 : wanted >= 1e6 ? 1'000'000 : static_cast<int>(std::ceil(wanted));
    };
    const auto take = [&](std::size_t k, auto& what) {
        const std::int64_t before = clock();
        for (int i = 0; i < runs[k]; ++i) {
            what();
        }
        const std::int64_t took = clock() - before;
        samples[k].add(static_cast<double>(took) * 1e-9 / runs[k]);
    };
    const auto for_each = [&](const auto& step) {
        std::size_t k = 0;
        (step(k++, whats), ...);
    };
    std::array<timing, count> known{};
    const auto look = [&] {
        bool enough = true;
        for (std::size_t k = 0; k < count; ++k) {
            known[k] = samples[k].so_far();
            known[k].runs = runs[k];
            enough = enough && known[k].precision <= o.precision;
        }
        return enough;
    };
    for_each(warm_up);
    int next_look = o.least < 1 ? 1 : o.least;
    for (int taken = 1;; ++taken) {
        for_each(take);
        if (taken >= most || is_over()) {
            look();
            break;
        }
        if (taken >= next_look) {
            if (look()) {
                break;
            }
            next_look = taken + 1 + taken / 4; // sorting takes time too
        }
    }
    return known;
}

/// How long a call of `what` takes on this machine's clock.
template <class What>
timing time_runs(What&& what, const timing_options& o = {}) {
    return time_interleaved(o, machine_clock{}, what)[0];
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/measure/timing.inl"
#endif

#include "tessera/base/end_header.inl"
