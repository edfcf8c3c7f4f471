// SPDX-License-Identifier: Apache-2.0
// All rows of the table of operators on the reference, by the runner of tests/op_test: what must catch faults in the
// reference's loops. mutate.py builds it, in one source with the runner.
#include "op_test/checks.cpp"
#include "op_test/options.cpp"
#include "op_test/reference.cpp"
#include "op_test/rows.cpp"
#include "op_test/runner.cpp"

#include <doctest/doctest.h>

TEST_CASE("rows of the table of operators are right on the reference") {
    op_test::options o;
    o.quiet = true;
    CHECK(op_test::run(o, "tessera_op_test", {op_test::reference_backend()}) == 0);
}
