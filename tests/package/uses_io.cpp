// SPDX-License-Identifier: Apache-2.0
// Data files, which bring zlib along.
#include <tessera/io/data/idx.hpp>

int main() {
    try {
        (void)tessera::io::read_idx("/no/such/file", 1);
    } catch (const tessera::error&) {
        return 0;
    }
    return 1;
}
