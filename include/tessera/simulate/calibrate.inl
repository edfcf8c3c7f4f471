// SPDX-License-Identifier: Apache-2.0
// Bodies of calibrate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/calibrate.hpp"

#include "tessera/base/nearest.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/simulate/simulate.hpp"

#include <cmath>
#include <cstdio>

namespace tessera::simulation::detail {

/// A number of the model that may be moved.
struct free_number {
    std::string called;
    index_t device_rates::*place = nullptr;
    device_rates::field range;
};

TESSERA_INLINE std::vector<free_number> free_numbers(const std::vector<std::string>& names) {
    std::vector<free_number> found;
    std::vector<std::string> known;
    device_rates::each_field([&](const char* name, index_t device_rates::*place, const device_rates::field& x) {
        known.emplace_back(name);
        const bool named = std::find(names.begin(), names.end(), name) != names.end();
        if (names.empty() ? x.fitted : named) {
            found.push_back({name, place, x});
        }
    });
    for (const std::string& name : names) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw error("tessera: there is no rate '" + name + "' that could be fitted" + did_you_mean(name, known));
        }
    }
    return found;
}

/// The value of a number, moved by a factor, by one at least, within its range.
TESSERA_INLINE index_t moved(const free_number& x, index_t value, double factor) {
    const auto scaled = static_cast<index_t>(std::llround(static_cast<double>(value) * factor));
    const index_t next = scaled != value ? scaled : value + (factor > 1 ? 1 : -1);
    return std::min(std::max(next, x.range.least), x.range.most);
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE double predicted_time(const measured_step& s, const device_rates& rates) {
    device_graph g = s.on;
    for (device_class& c : g.classes) {
        c.rates = rates;
    }
    const cluster on(g);
    double time = 0;
    for (const weighed_plan& p : s.plans) {
        time += p.weight * static_cast<double>(simulate(p.network.view(), p.of, on).makespan);
    }
    return time > 1 ? time : 1;
}

TESSERA_INLINE calibration calibrate(const std::vector<measured_step>& steps, const device_rates& start,
                                     const std::vector<std::string>& numbers) {
    const std::vector<detail::free_number> all = detail::free_numbers(numbers);
    if (steps.size() < all.size()) {
        throw error("tessera: " + std::to_string(steps.size()) + " measured steps cannot say " +
                    std::to_string(all.size()) + " numbers; give as many steps at least, or name fewer numbers");
    }
    calibration c;
    c.rates = start;
    const auto times = [&](const device_rates& r) {
        std::vector<double> t;
        for (const measured_step& s : steps) {
            t.push_back(predicted_time(s, r));
        }
        c.simulated += static_cast<int>(steps.size());
        return t;
    };
    const auto error_of = [&](const std::vector<double>& t) {
        double sum = 0;
        for (std::size_t i = 0; i < t.size(); ++i) {
            const double off = std::log(t[i] / steps[i].nanoseconds);
            sum += off * off;
        }
        return std::sqrt(sum / static_cast<double>(t.size()));
    };
    const std::vector<double> before = times(start);
    std::vector<double> after = before;
    c.error_before = c.error_after = error_of(before);
    for (double step = 1.3; step > 1.01;) {
        bool better = false;
        for (const detail::free_number& x : all) {
            for (const double factor : {step, 1 / step}) {
                device_rates tried = c.rates;
                tried.*x.place = detail::moved(x, c.rates.*x.place, factor);
                std::vector<double> t = times(tried);
                if (const double e = error_of(t); e < c.error_after * 0.9999) {
                    c.error_after = e;
                    c.rates = tried;
                    after.swap(t);
                    better = true;
                    break;
                }
            }
        }
        step = better ? step : std::sqrt(step);
    }
    for (const detail::free_number& x : all) {
        c.numbers.push_back({x.called, start.*x.place, c.rates.*x.place});
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
        c.steps.push_back({steps[i].called, steps[i].nanoseconds, before[i], after[i]});
    }
    return c;
}

TESSERA_INLINE std::string to_text(const calibration& c) {
    char line[300];
    print_to(line, sizeof line, "%-26s %10s %10s\n", "number", "before", "after");
    std::string text = line;
    for (const fitted_number& x : c.numbers) {
        print_to(line, sizeof line, "%-26s %10lld %10lld\n", x.called.c_str(), static_cast<long long>(x.before),
                 static_cast<long long>(x.after));
        text += line;
    }
    print_to(line, sizeof line, "%-44s %12s %10s %8s %10s %8s\n", "step", "measured ms", "before", "off %", "after",
             "off %");
    text += line;
    for (const fitted_step& s : c.steps) {
        print_to(line, sizeof line, "%-44s %12.1f %10.1f %+8.1f %10.1f %+8.1f\n", s.called.c_str(), s.measured * 1e-6,
                 s.before * 1e-6, 100 * (s.before / s.measured - 1), s.after * 1e-6, 100 * (s.after / s.measured - 1));
        text += line;
    }
    print_to(line, sizeof line,
             "root mean square of log(predicted / measured): %.4f before, %.4f after, %d steps simulated\n",
             c.error_before, c.error_after, c.simulated);
    return text + line;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
