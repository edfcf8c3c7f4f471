// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_residuals.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_residuals.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string residual_name(const graph_view& g, const residual_key& r) {
    std::string name = residual_prefix + std::to_string(r.device) + "/";
    for (int d = 0; d < r.region.rank; ++d) {
        name += (d > 0 ? "." : "") + std::to_string(r.region.dim[d].begin);
    }
    return name + "/" + parameter_path_of(g, r.parameter);
}

TESSERA_INLINE void whole_sink::put(const box& what, const float* numbers) {
    box_copy(what, what, all_).apply(numbers, numbers_.data(), true, reducer::sum);
}

TESSERA_INLINE std::vector<float> numbers_in(const tensor_files& file, const std::string& name, const box& region) {
    box all = region;
    for (int d = 0; d < all.rank; ++d) {
        all.dim[d] = {0, region.dim[d].size()};
    }
    whole_sink sink(all);
    file.pour(name, sink);
    return sink.numbers();
}

TESSERA_INLINE std::vector<std::pair<std::string, residual_key>> residuals_in(const graph_view& g,
                                                                              const tensor_files& file) {
    std::map<std::string, int> parameters;
    for (int p = 0; p < g.parameter_count; ++p) {
        parameters[parameter_path_of(g, p)] = p;
    }
    std::vector<std::pair<std::string, residual_key>> all;
    for (const std::string& name : file.names()) {
        if (!names_residual(name)) {
            continue;
        }
        const auto refuse = [&] {
            throw error("tessera: the checkpoint '" + file.called() + "' has a tensor " + name +
                        ", which is of no parameter of the network");
        };
        const char* at = name.data() + std::string(residual_prefix).size();
        const char* const end = name.data() + name.size();
        const auto number = [&](char after) {
            index_t x = 0;
            const auto [next, code] = std::from_chars(at, end, x);
            if (code != std::errc{} || next == end || x < 0 || (*next != after && *next != '/')) {
                refuse();
            }
            at = next;
            return x;
        };
        residual_key r;
        r.device = static_cast<int>(number('/'));
        std::vector<index_t> begins;
        do {
            ++at;
            begins.push_back(number('.'));
        } while (*at == '.');
        const auto found = parameters.find(std::string(at + 1, end));
        const std::vector<std::int64_t>& extents = *file.extents_of(name);
        if (found == parameters.end()) {
            refuse();
        }
        r.parameter = found->second;
        const box whole_parameter = whole(g.parameters[r.parameter].extents);
        if (begins.size() != extents.size() || static_cast<int>(begins.size()) != whole_parameter.rank) {
            refuse();
        }
        r.region.rank = whole_parameter.rank;
        for (int d = 0; d < r.region.rank; ++d) {
            const auto k = to_size(d);
            r.region.dim[d] = {begins[k], begins[k] + extents[k]};
        }
        if (!whole_parameter.contains(r.region)) {
            refuse();
        }
        all.emplace_back(name, r);
    }
    return all;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
