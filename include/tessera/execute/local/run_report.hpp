// SPDX-License-Identifier: Apache-2.0
// What the tasks of a run find besides their results: losses and parameters that are no finite numbers.
#pragma once
#include "tessera/base/begin_header.inl"

#include <atomic>
#include <cstdint>

namespace tessera {

/// Filled while a plan runs, by several threads; the same in every run of the same plan on the same numbers. (A
/// run_state points to it.)
class run_report {
public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// Before a run: of the one before, what has not been told stays.
    void begin() { refused_.store(none, std::memory_order_release); }

    /// A loss of a step is not finite: this step and later ones change no parameters.
    void refuse(std::uint64_t step) { lower(refused_, step); }
    bool refuses(std::uint64_t step) const { return step >= refused_.load(std::memory_order_acquire); }
    /// The first such step, or none.
    std::uint64_t refused() const { return refused_.load(std::memory_order_acquire); }

    /// An update of a parameter is not finite. Of several the first step's counts, of that the lowest number.
    void lose(std::uint64_t step, int parameter);
    bool has_lost() const { return lost_.load(std::memory_order_acquire) != none; }
    std::uint64_t lost_step() const { return lost_.load(std::memory_order_acquire) / parameters; }
    int lost_parameter() const { return static_cast<int>(lost_.load(std::memory_order_acquire) % parameters); }

    void forget_lost() { lost_.store(none, std::memory_order_release); }

    /// What it has found, to be sent to another node, whose report takes it in.
    struct findings {
        std::uint64_t refused = none;
        std::uint64_t lost = none;
    };
    findings found() const { return {refused_.load(std::memory_order_acquire), lost_.load(std::memory_order_acquire)}; }
    void take(const findings& others);

private:
    static constexpr std::uint64_t parameters = 1 << 20;

    static void lower(std::atomic<std::uint64_t>& least, std::uint64_t value);

    std::atomic<std::uint64_t> refused_{none};
    std::atomic<std::uint64_t> lost_{none};
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/run_report.inl"
#endif

#include "tessera/base/end_header.inl"
