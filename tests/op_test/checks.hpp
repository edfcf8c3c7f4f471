// SPDX-License-Identifier: Apache-2.0
// Checks that unit tests share are doctest's; here what they say becomes what a case found.
#pragma once

#include "op_test/task.hpp"

namespace op_test {

/// While it lives, checks of doctest that fail are written down in `to`, with what they captured.
class checks_into {
public:
    explicit checks_into(finding& to);
    ~checks_into();
    checks_into(const checks_into&) = delete;
    checks_into& operator=(const checks_into&) = delete;

private:
    finding* before_;
};

/// Runs what checks, and writes down what it throws.
template <class Body>
void check(finding& to, Body&& body);

namespace detail {
void add_thrown(finding& to); ///< the exception that is being handled
}

template <class Body>
void check(finding& to, Body&& body) {
    const checks_into here(to);
    ++to.checks;
    try {
        body();
    } catch (...) {
        detail::add_thrown(to);
    }
}

} // namespace op_test
