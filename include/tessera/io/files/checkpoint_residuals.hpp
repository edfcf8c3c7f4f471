// SPDX-License-Identifier: Apache-2.0
// What devices have left out of compressed gradients, in checkpoints: a tensor for each device and region.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/copy_box.hpp"
#include "tessera/execute/local/residuals.hpp"
#include "tessera/io/files/checkpoint_files.hpp"
#include "tessera/net/paths.hpp"

#include <charconv>
#include <map>
#include <string>
#include <vector>

namespace tessera::io::detail {

inline constexpr const char* residual_prefix = "left_out/";

/// The name of a residual in a checkpoint: which device has left it out, where the region begins, and of which
/// parameter it is.
std::string residual_name(const graph_view& g, const residual_key& r);
inline bool names_residual(const std::string& name) { return name.starts_with(residual_prefix); }

/// Takes all numbers of a tensor, whatever boxes they come in.
class whole_sink final : public state_sink {
public:
    explicit whole_sink(const box& all) : all_(all), numbers_(to_size(all.volume())) {}
    bool wants(const box&) const override { return true; }
    void put(const box& what, const float* numbers) override;
    const std::vector<float>& numbers() const { return numbers_; }

private:
    box all_;
    std::vector<float> numbers_;
};

std::vector<float> numbers_in(const tensor_files& file, const std::string& name, const box& region);

/// The residuals that a checkpoint holds of a network: names and regions. Throws tessera::error for a name or extents
/// that are of no region of a parameter.
std::vector<std::pair<std::string, residual_key>> residuals_in(const graph_view& g, const tensor_files& file);

/// Sets a session's residuals: under the same plan each device's own; under another one the sum of what all devices had
/// left out, each element of it on the first device that compresses it. What no device compresses is left out for good.
template <class Session>
void take_residuals(Session& s, const tensor_files& file, bool same_plan) {
    const std::vector<residual_key> mine = s.residuals();
    if (mine.empty()) {
        return;
    }
    const graph_view g = s.graph_of();
    const auto saved = residuals_in(g, file);
    if (same_plan) {
        for (const auto& [name, r] : saved) {
            s.set_residual(r, numbers_in(file, name, r.region));
        }
        return;
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const box all = whole(g.parameters[p].extents);
        std::vector<float> sum(to_size(all.volume()), 0.0F);
        for (const auto& [name, r] : saved) {
            if (r.parameter == p) {
                box_copy(r.region, r.region, all)
                    .apply(numbers_in(file, name, r.region).data(), sum.data(), false, reducer::sum);
            }
        }
        for (const residual_key& r : mine) {
            if (r.parameter == p) { // an element that is given is not there for the next device
                std::vector<float> part(to_size(r.region.volume()));
                box_copy(r.region, all, r.region).apply(sum.data(), part.data(), true, reducer::sum);
                const std::vector<float> none(part.size(), 0.0F);
                box_copy(r.region, r.region, all).apply(none.data(), sum.data(), true, reducer::sum);
                s.set_residual(r, part);
            }
        }
    }
}

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_residuals.inl"
#endif

#include "tessera/base/end_header.inl"
