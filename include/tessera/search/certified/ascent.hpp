// SPDX-License-Identifier: Apache-2.0
// Prices of memory that make the bound large: subgradient steps with momentum, on the worst point of every stretch of
// time that is above the limit. (Steps on all points above it spread one price over thousands of points that mean
// nearly the same, and take twenty times as long.)
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/assignment.hpp"
#include "tessera/search/certified/certify.hpp"

namespace tessera::search::detail {

class price_ascent {
public:
    price_ascent(const reduced_problem& p, const split_graph& g, bool with_messages = true)
        : p_(p), dual_(p, g), g_(g), best_prices_(dual_.prices), momentum_(dual_.prices.size(), 0.0),
          with_messages_(with_messages) {
        double bound = 0;
        for (int i = 0; i < 30; ++i) {
            bound = pass();
        }
        best_ = bound;
        certified_ = certify(p, g, dual_);
        step_ = 0.02 * std::max(1.0, bound) / static_cast<double>(std::max<std::int64_t>(1, p.limit));
    }

    /// Some steps; `seen` is called with the choice that each decodes. Returns false when there is nothing left to
    /// gain.
    template <class Seen>
    bool run(int steps, const Seen& seen) {
        std::vector<int> choice;
        for (int i = 0; i < steps; ++i) {
            dual_.set_prices();
            const double bound = pass();
            dual_.decode(choice);
            seen(choice);
            if (bound > best_ + 1e-9 * std::abs(best_)) {
                best_ = bound;
                best_prices_ = dual_.prices;
                stalled_ = 0;
                if (bound > static_cast<double>(certified_) + 1e-4 * std::abs(bound)) {
                    certified_ = std::max(certified_, certify(p_, g_, dual_));
                }
            } else if (++stalled_ % 30 == 0) {
                step_ *= 0.8;
            }
            if (!step(choice) && stalled_ > 200) {
                return false;
            }
        }
        if (best_ > static_cast<double>(certified_)) { // with the best prices, which a few passes make good
            const std::vector<double> now = dual_.prices;
            dual_.prices = best_prices_;
            dual_.set_prices();
            pass();
            pass();
            certified_ = std::max(certified_, certify(p_, g_, dual_));
            dual_.prices = now;
        }
        return stalled_ < 1500;
    }

    std::int64_t certified() const { return certified_; } ///< the bound
    const std::vector<double>& prices() const { return best_prices_; }
    /// A copy of the dual at its best prices, after some passes.
    dual_ascent settled(int passes) const {
        dual_ascent d = dual_;
        d.prices = best_prices_;
        d.set_prices();
        for (int i = 0; i < passes; ++i) {
            d.pass();
        }
        return d;
    }

private:
    double pass() { return with_messages_ ? dual_.pass() : dual_.bound_without_messages(); }

    bool step(const std::vector<int>& choice) {
        const auto points = at(p_.points);
        std::vector<double> over;
        for (const std::int64_t used : usage_sums(p_, choice)) {
            over.push_back(static_cast<double>(used - p_.limit));
        }
        // Of a stretch above the limit only the worst point counts, and those with a price.
        for (std::size_t t = 0; t < points;) {
            if (over[t] <= 0) {
                over[t] = dual_.prices[t] > 0 ? over[t] : 0;
                ++t;
                continue;
            }
            if (stalled_ / 150 % 2 == 1) { // what the worst points alone do not reach, all together may
                ++t;
                continue;
            }
            const std::size_t first = t;
            std::size_t worst = t;
            for (; t < points && over[t] > 0; ++t) {
                worst = over[t] > over[worst] ? t : worst;
            }
            for (std::size_t i = first; i < t; ++i) {
                over[i] = i == worst || dual_.prices[i] > 0 ? over[i] : 0;
            }
        }
        double length = 0;
        for (std::size_t t = 0; t < points; ++t) {
            momentum_[t] = 0.7 * momentum_[t] + 0.3 * over[t];
            momentum_[t] = dual_.prices[t] > 0 || momentum_[t] > 0 ? momentum_[t] : 0;
            length += momentum_[t] * momentum_[t];
        }
        if (length == 0) {
            return false;
        }
        for (std::size_t t = 0; t < points; ++t) {
            dual_.prices[t] = std::max(0.0, dual_.prices[t] + step_ * momentum_[t] / std::sqrt(length));
        }
        return true;
    }

    const reduced_problem& p_;
    dual_ascent dual_;
    const split_graph& g_;
    std::vector<double> best_prices_, momentum_;
    double best_ = 0, step_ = 0;
    std::int64_t certified_ = 0;
    int stalled_ = 0;
    bool with_messages_;
};

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
