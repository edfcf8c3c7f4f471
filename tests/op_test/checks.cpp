// SPDX-License-Identifier: Apache-2.0
#include "op_test/checks.hpp"

#include <doctest/doctest.h>

#include <exception>
#include <sstream>

namespace op_test {

namespace {

finding* current = nullptr;

void take(const doctest::AssertData& failed) {
    std::ostringstream text;
    text << failed.m_expr;
    if (failed.m_decomp.size() > 0) {
        text << " is " << failed.m_decomp.c_str();
    }
    text << " (" << doctest::skipPathFromFilename(failed.m_file) << ":" << failed.m_line;
    const int count = doctest::IReporter::get_num_active_contexts();
    const doctest::IContextScope* const* const contexts = doctest::IReporter::get_active_contexts();
    for (int i = 0; i < count; ++i) {
        text << (i == 0 ? "; " : ", ");
        contexts[i]->stringify(&text);
    }
    text << ")";
    if (current != nullptr) {
        add_wrong(*current, text.str());
    }
}

/// doctest outside of test cases.
struct out_of_tests {
    doctest::Context context;

    out_of_tests() {
        context.setOption("no-breaks", true);
        context.setAssertHandler(take);
        context.setAsDefaultForAssertsOutOfTestCases();
    }
};

} // namespace

checks_into::checks_into(finding& to) : before_(current) {
    if (!doctest::is_running_in_test) { // where it is, doctest counts
        static out_of_tests once;
    }
    current = &to;
}
checks_into::~checks_into() { current = before_; }

namespace detail {

void add_thrown(finding& to) {
    try {
        throw;
    } catch (const std::exception& e) {
        add_wrong(to, e.what());
    } catch (...) { // doctest's, of a REQUIRE, which has been written down
        if (to.wrong.empty()) {
            add_wrong(to, "an exception that is no std::exception");
        }
    }
}

} // namespace detail

} // namespace op_test
