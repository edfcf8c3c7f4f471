// SPDX-License-Identifier: Apache-2.0
// A reader that fuzz_files tries: what good inputs look like, and what is done with any.
#pragma once

#include "tessera/base/function_ref.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {

/// An input of any size: of so many layers, names, rows or letters.
struct large_input {
    int count = 0; ///< the most that is tried; a quarter of it is, too
    std::function<std::string(int count)> of;
};

/// `read` says whether the input was read rightly: what is read comes back the same when it is written and read again.
/// It throws tessera::error for what is refused.
struct target {
    const char* name;
    std::vector<std::string> good{};
    std::vector<large_input>
        large{}; ///< what would take long if time grew with the square of the size; read or refused
    bool (*read)(const std::string& text) = nullptr;
};

/// The reading itself, whose time and memory are counted. (Defined beside main.)
void counted_work(tessera::function_ref<void()> work);

template <class Read>
auto counted(Read&& read) {
    std::optional<decltype(read())> result; // for what has no default
    counted_work([&] { result.emplace(read()); });
    return std::move(*result);
}

/// A path of this process's own, for readers of files; removed at the end. (Defined beside main.)
std::string path_for(const std::string& name);
void put(const std::string& path, const std::string& text);

std::vector<target> data_targets();
std::vector<target> json_targets();
std::vector<target> network_targets();
std::vector<target> onnx_targets();
std::vector<target> placement_targets();
std::vector<target> strategy_targets();
std::vector<target> profile_targets();
std::vector<target> gpu_targets();

} // namespace fuzz
