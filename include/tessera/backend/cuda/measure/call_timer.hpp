// SPDX-License-Identifier: Apache-2.0
// Times single calls of a plan on a GPU, in memory of their own: the plan need not fit, nor the GPUs that it is for be there.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepare.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/op/mask.hpp"

#include <algorithm>

namespace tessera::cuda {

class call_timer {
public:
    /// `tools`: of a device; its GPU must be current whenever the timer is used.
    explicit call_timer(const device_tools& tools) : tools_(tools), before_(make_timer()), after_(make_timer()) {}

    /// Nanoseconds that a call takes on the GPU when it is issued again and again: the median of three such runs of at least a
    /// millisecond. Not for NCCL calls and uploads.
    index_t time(const plan& p, const graph_view& g, const call& c) {
        const std::unique_ptr<prepared_call> ready = prepare_call_at(c, places_for(p, g, c), tools_);
        (void)milliseconds(*ready, 1); // what libraries load at first use
        const double once = std::max(milliseconds(*ready, 3) / 3, 1e-4);
        const int repeats = static_cast<int>(std::clamp(1 / once, 3.0, 200.0));
        double runs[3];
        for (double& r : runs) {
            r = milliseconds(*ready, repeats) / repeats;
        }
        std::sort(runs, runs + 3);
        return std::max<index_t>(1, static_cast<index_t>(runs[1] * 1e6));
    }

private:
    double milliseconds(prepared_call& c, int repeats) {
        check(cudaEventRecord(before_.get(), tools_.stream), "cudaEventRecord");
        for (int k = 0; k < repeats; ++k) {
            c.issue({});
        }
        check(cudaEventRecord(after_.get(), tools_.stream), "cudaEventRecord");
        check(cudaEventSynchronize(after_.get()), "cudaEventSynchronize");
        float taken = 0;
        check(cudaEventElapsedTime(&taken, before_.get(), after_.get()), "cudaEventElapsedTime");
        return static_cast<double>(taken);
    }

    /// Every tile gets a place of its own; what shares a tile in the plan shares it here.
    std::vector<void*> places_for(const plan& p, const graph_view& g, const call& c) {
        constexpr index_t apart = 512;
        std::vector<std::pair<int, index_t>> tiles; // and their offsets
        index_t total = 0;
        for (const memory_use& m : c.memory) {
            const int root = p.root(m.tile);
            if (std::none_of(tiles.begin(), tiles.end(), [&](const auto& t) { return t.first == root; })) {
                tiles.push_back({root, total});
                total += (p.tiles[static_cast<std::size_t>(root)].bytes + apart - 1) / apart * apart;
            }
        }
        if (total > size_) {
            memory_ = {}; // before there is more
            memory_ = make_device_memory(total);
            size_ = total;
        }
        auto* const start = static_cast<std::byte*>(memory_.get());
        for (const auto& [root, offset] : tiles) {
            fill(start + offset, p.tiles[static_cast<std::size_t>(root)], g);
        }
        std::vector<void*> at;
        for (const memory_use& m : c.memory) {
            const int root = p.root(m.tile);
            for (const auto& [tile_number, offset] : tiles) {
                if (tile_number == root) {
                    at.push_back(start + offset + m.offset);
                }
            }
        }
        return at;
    }

    /// Numbers of both signs below 1, since arithmetic on zeros takes less power and so less time; indices of all rows alike.
    static void fill(std::byte* to, const tile& t, const graph_view& g) {
        if (t.type == element::i32) {
            std::vector<std::int32_t> rows(static_cast<std::size_t>(t.elements));
            const auto count = static_cast<std::uint64_t>(std::max<index_t>(1, g.integers_in(t.tensor)));
            for (std::size_t i = 0; i < rows.size(); ++i) {
                rows[i] = static_cast<std::int32_t>(op::mix(i) % count);
            }
            check(cudaMemcpy(to, rows.data(), rows.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice),
                  "cudaMemcpy");
            check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            return;
        }
        const auto piece = static_cast<index_t>(pattern().size() * sizeof(std::uint32_t));
        for (index_t done = 0; done < t.bytes;) {
            const index_t now = std::min(done == 0 ? piece : done, t.bytes - done); // doubles what is there
            check(done == 0 ? cudaMemcpy(to, pattern().data(), static_cast<std::size_t>(now), cudaMemcpyHostToDevice)
                            : cudaMemcpy(to + done, to, static_cast<std::size_t>(now), cudaMemcpyDeviceToDevice),
                  "cudaMemcpy");
            done += now;
        }
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }

    /// Words whose halves are numbers of 16 bits, each with a sign and an exponent of its own below 1: also numbers as floats and doubles.
    static const std::vector<std::uint32_t>& pattern() {
        static const std::vector<std::uint32_t> words = make_pattern();
        return words;
    }
    /// No lambda, which would be constexpr: g++ tries at compile time what a static variable starts with, all 65536 words in 0.9 s.
    static std::vector<std::uint32_t> make_pattern() {
        std::vector<std::uint32_t> made(65536);
        std::uint64_t state = 1;
        for (std::uint32_t& w : made) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL; // Knuth's generator
            const auto random = static_cast<std::uint32_t>(state >> 32U);
            w = (random & 0x80ff80ffU) | 0x3e003e00U; // 0.125 to 0.5, either sign, as bfloat16 twice
        }
        return made;
    }

    device_tools tools_;
    event_handle before_;
    event_handle after_;
    device_pointer memory_;
    index_t size_ = 0;
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
