// SPDX-License-Identifier: Apache-2.0
// Bodies of call_timer.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/call_timer.hpp"

namespace tessera::cuda {

TESSERA_INLINE index_t call_timer::time(const plan& p, const graph_view& g, const call& c) {
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

TESSERA_INLINE double call_timer::milliseconds(prepared_call& c, int repeats) {
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

TESSERA_INLINE std::vector<void*> call_timer::places_for(const plan& p, const graph_view& g, const call& c) {
    constexpr index_t apart = 512;
    std::vector<std::pair<int, index_t>> tiles; // and their offsets
    index_t total = 0;
    for (const memory_use& m : c.memory) {
        const int root = p.root(m.tile);
        if (std::none_of(tiles.begin(), tiles.end(), [&](const auto& t) { return t.first == root; })) {
            tiles.push_back({root, total});
            total += (p.tiles[to_size(root)].bytes + apart - 1) / apart * apart;
        }
    }
    if (total > size_) {
        memory_ = {}; // before there is more
        memory_ = make_device_memory(total);
        size_ = total;
    }
    auto* const start = static_cast<std::byte*>(memory_.get());
    for (const auto& [root, offset] : tiles) {
        fill(start + offset, p.tiles[to_size(root)], g);
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

TESSERA_INLINE void call_timer::fill(std::byte* to, const tile& t, const graph_view& g) {
    if (t.type == element::i32) {
        std::vector<std::int32_t> rows(to_size(t.elements));
        const auto count = static_cast<std::uint64_t>(std::max<index_t>(1, g.integers_in(t.tensor)));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = static_cast<std::int32_t>(op::mix(i) % count);
        }
        check(cudaMemcpy(to, rows.data(), rows.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice), "cudaMemcpy");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        return;
    }
    const auto piece = static_cast<index_t>(pattern().size() * sizeof(std::uint32_t));
    for (index_t done = 0; done < t.bytes;) {
        const index_t now = std::min(done == 0 ? piece : done, t.bytes - done); // doubles what is there
        check(done == 0 ? cudaMemcpy(to, pattern().data(), to_size(now), cudaMemcpyHostToDevice)
                        : cudaMemcpy(to + done, to, to_size(now), cudaMemcpyDeviceToDevice),
              "cudaMemcpy");
        done += now;
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

TESSERA_INLINE const std::vector<std::uint32_t>& call_timer::pattern() {
    static const std::vector<std::uint32_t> words = make_pattern();
    return words;
}

TESSERA_INLINE std::vector<std::uint32_t> call_timer::make_pattern() {
    std::vector<std::uint32_t> made(65536);
    std::uint64_t state = 1;
    for (std::uint32_t& w : made) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL; // Knuth's generator
        const auto random = static_cast<std::uint32_t>(state >> 32U);
        w = (random & 0x80ff80ffU) | 0x3e003e00U; // 0.125 to 0.5, either sign, as bfloat16 twice
    }
    return made;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
