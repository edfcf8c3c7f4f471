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
    price_ascent(const reduced_problem& p, const split_graph& g, bool with_messages = true);

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
    dual_ascent settled(int passes) const;

private:
    double pass() { return with_messages_ ? dual_.pass() : dual_.bound_without_messages(); }

    bool step(const std::vector<int>& choice);

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

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/ascent.inl"
#endif

#include "tessera/base/end_header.inl"
