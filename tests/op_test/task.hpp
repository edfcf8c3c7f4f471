// SPDX-License-Identifier: Apache-2.0
// A case of the runner of operators: what is computed, how, and what was found.
#pragma once

#include "op/table.hpp"

#include "tessera/net/precision.hpp"
#include "tessera/op/optimizer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace op_test {

namespace ts = tessera;

enum class part { forward, backward, update };
inline constexpr int parts = 3;
inline constexpr std::array<const char*, parts> part_names{"forward", "backward", "update"};

/// An operator with its inputs, and what updates its parameters.
struct row {
    std::string name{};
    std::string kind{}; ///< the operator's name
    tests::op_case of{};
    ts::optimizer how = ts::sgd{.learning_rate = 0.05F};
    bool is_of_optimizer = false; ///< forward and backward are another row's
    bool is_of_table = false;
    bool sums_many = false; ///< its sums have some hundred terms
    std::string picks{};    ///< options that pick it, as a shell reads them
};

struct task {
    const row* what = nullptr;
    ts::precision math = ts::precision::fp32;
    std::uint64_t seed = 1;
    int devices = 1; ///< 0: the whole operator on one
    std::array<bool, parts> wanted{true, true, true};
    double allowed = 0; ///< differences of plans; 0: by the precision

    bool wants(part p) const { return wanted[static_cast<std::size_t>(p)]; }
};

/// Of one part of a case. It ran where `checks` > 0.
struct finding {
    int checks = 0;
    double error = 0;               ///< the largest, relative to the norm of what it is held against
    std::vector<std::string> wrong; ///< sentences, the first few
};

/// Adds a sentence, unless there are some already.
inline void add_wrong(finding& to, const std::string& sentence) {
    constexpr std::size_t most = 3;
    if (to.wrong.size() < most) {
        to.wrong.push_back(sentence);
    } else if (to.wrong.size() == most) {
        to.wrong.emplace_back("and more");
    }
}

class outcome {
public:
    finding& of(part p) { return all_[static_cast<std::size_t>(p)]; }
    const finding& of(part p) const { return all_[static_cast<std::size_t>(p)]; }
    bool has_run() const;
    bool is_right() const;

private:
    std::array<finding, parts> all_{};
};

inline bool outcome::has_run() const {
    bool ran = false;
    for (const finding& f : all_) {
        ran = ran || f.checks > 0 || !f.wrong.empty();
    }
    return ran;
}
inline bool outcome::is_right() const {
    bool right = true;
    for (const finding& f : all_) {
        right = right && f.wrong.empty();
    }
    return right;
}

} // namespace op_test
