// SPDX-License-Identifier: Apache-2.0
// Schedules of the learning rate: functions from the number of the step, counted from 0, to the rate of that step. Any
// callable of the user's own with that signature serves as well.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/base/owned.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace tessera {

/// The same rate in every step.
struct constant_rate {
    double rate = 0.01;

    double operator()(std::uint64_t) const { return rate; }
};

/// rate * factor^k in the steps [k * every, (k + 1) * every). Throws tessera::error where `every` is 0.
struct step_decay {
    double rate = 0.01;
    double factor = 0.1;
    std::uint64_t every = 1; ///< steps

    double operator()(std::uint64_t step) const;
};

/// Half a cosine from `rate` down to `last` over the steps after the warm-up until `steps`, then `last` (Loshchilov and
/// Hutter, "SGDR", ICLR 2017, without restarts). In the warm-up the rate rises in equal steps, rate * (step + 1) /
/// warm_up (Goyal et al. 2017). Throws tessera::error where the warm-up leaves no steps.
struct cosine_decay {
    double rate = 0.01;
    std::uint64_t steps = 1; ///< of the whole training, warm-up included
    std::uint64_t warm_up = 0;
    double last = 0;

    double operator()(std::uint64_t step) const;
};

/// last + (rate - last) * (1 - step / steps)^power until `steps`, then `last`: a straight line for power 1. Throws
/// tessera::error for 0 steps and a power that is not above 0.
struct polynomial_decay {
    double rate = 0.01;
    std::uint64_t steps = 1;
    double power = 1;
    double last = 0;

    double operator()(std::uint64_t step) const;
};

/// A linear warm-up before any schedule: in step t < steps its first rate times from + (1 - from) * (t + 1) / steps, so
/// that the last step of the warm-up has that rate whole, and from then on the schedule from its beginning:
/// ts::warm_up{500, ts::step_decay{...}}. A schedule is any callable from a step to a rate.
template <class Schedule>
struct warm_up {
    std::uint64_t steps = 0;
    Schedule then{};
    double from = 0; ///< share of the rate

    double operator()(std::uint64_t step) {
        if (step >= steps) {
            return static_cast<double>(then(step - steps));
        }
        const double share = static_cast<double>(step + 1) / static_cast<double>(steps);
        return static_cast<double>(then(std::uint64_t{0})) * (from + (1 - from) * share);
    }
};
template <class Schedule>
warm_up(std::uint64_t, Schedule) -> warm_up<Schedule>;
template <class Schedule>
warm_up(std::uint64_t, Schedule, double) -> warm_up<Schedule>;

/// One schedule for `steps` steps, then another from its beginning: ts::sequential_rates{1000, ts::constant_rate{0.1},
/// ts::cosine_decay{...}}.
template <class First, class Second>
struct sequential_rates {
    std::uint64_t steps = 0;
    First first{};
    Second second{};

    double operator()(std::uint64_t step) {
        return step < steps ? static_cast<double>(first(step)) : static_cast<double>(second(step - steps));
    }
};
template <class First, class Second>
sequential_rates(std::uint64_t, First, Second) -> sequential_rates<First, Second>;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
template <class First, class Second>
struct [[deprecated("since 0.3: use sequential_rates")]] in_turn : sequential_rates<First, Second>{};
template <class First, class Second>
in_turn(std::uint64_t, First, Second) -> in_turn<First, Second>;
#pragma GCC diagnostic pop

/// Any schedule behind one type; empty where there is none. (std::function would do; <functional> costs 0.1 s to
/// include.)
class rate_schedule {
public:
    rate_schedule() = default;
    template <class Schedule>
    explicit rate_schedule(Schedule schedule) : kept_(new holder<Schedule>(std::forward<Schedule>(schedule))) {}

    explicit operator bool() const { return static_cast<bool>(kept_); }
    double operator()(std::uint64_t step) { return kept_->rate(step); }

private:
    struct any_schedule {
        any_schedule() = default;
        any_schedule(const any_schedule&) = delete;
        any_schedule& operator=(const any_schedule&) = delete;
        virtual ~any_schedule() = default;
        virtual double rate(std::uint64_t step) = 0;
    };
    template <class Schedule>
    struct holder final : any_schedule {
        explicit holder(Schedule&& s) : schedule(std::forward<Schedule>(s)) {}
        double rate(std::uint64_t step) override { return static_cast<double>(schedule(step)); }
        Schedule schedule;
    };
    owned<any_schedule> kept_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/learning_rate.inl"
#endif

#include "tessera/base/end_header.inl"
