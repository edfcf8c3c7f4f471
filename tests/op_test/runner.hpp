// SPDX-License-Identifier: Apache-2.0
// Runs cases one after the other, shows what was found, and says how to repeat what is wrong.
#pragma once

#include "op_test/backends.hpp"
#include "op_test/options.hpp"

#include <string>
#include <vector>

namespace op_test {

/// What the options ask for, of these backends; `program` is how a shell calls it. The exit code: 0 where all is right.
/// Throws tessera::error where there is nothing of a name.
int run(const options& o, const std::string& program, const std::vector<backend>& all);

} // namespace op_test
