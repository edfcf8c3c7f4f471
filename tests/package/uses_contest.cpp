// SPDX-License-Identifier: Apache-2.0
// Problems in files of others.
#include <tessera/io/exchange/contest_file.hpp>

int main() {
    try {
        (void)tessera::io::read_contest_problem("/no/such/file");
    } catch (const tessera::error&) {
        return 0;
    }
    return 1;
}
