// SPDX-License-Identifier: Apache-2.0
// Profiles as PipeDream's profiler writes them: a line for every layer, then one for every edge, which begins with a
// tab.
//
//     node4 -- Conv2d(3, 64) -- forward_compute_time=1.5, backward_compute_time=3.0, activation_size=64.0,
//         parameter_size=16.0
//             node3 -- node4
//
// Times are ms, sizes bytes. A size of several tensors is a list, [64.0; 16.0]. What its planner has given a stage ends
// with " -- stage_id=2".
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/search/placement/layer_profile.hpp"

#include <charconv>
#include <map>
#include <set>
#include <string_view>

namespace tessera::io {

namespace detail {

/// Reads a profile line by line.
class profile_reader {
public:
    profile_reader(std::string_view text, const std::string& called) : text_(text) { profile_.name = called; }

    search::placement::layer_profile read();

private:
    [[noreturn]] void refuse(const std::string& what) const;
    static std::string shown(std::string_view text);

    bool next_line();

    std::string id(std::string_view text) const;
    double number(std::string_view text, const char* what) const;
    /// Takes "name=value" off the front of what is left of a line, up to a comma or to the end.
    std::string_view field(std::string_view& rest, const std::string& name, bool last) const;

    void layer();

    std::vector<double> sizes(std::string_view text) const;

    void edge();
    int known(const std::string& name) const;

    std::string_view text_;
    std::string_view line_;
    std::size_t at_ = 0;
    std::size_t number_ = 0;
    std::map<std::string, int> numbers_;
    std::set<std::pair<int, int>> edges_;
    search::placement::layer_profile profile_;
};

std::string profile_number(double x);

} // namespace detail

/// The profile that a text holds, its edges as they come. Throws tessera::error, with the line, for what is no such
/// text, names that come twice, edges to nothing or that come twice, layers without an edge, numbers that are negative
/// or not finite, and cycles.
search::placement::layer_profile profile_from_text(std::string_view text, const std::string& called = "profile");
search::placement::layer_profile read_layer_profile(const std::string& path);

/// The same as a text, numbers as short as they can be and read back the same.
std::string profile_text(const search::placement::layer_profile& p);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/layer_profile_file.inl"
#endif

#include "tessera/base/end_header.inl"
