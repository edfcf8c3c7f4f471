// SPDX-License-Identifier: Apache-2.0
// ONNX models.
#include <tessera/io/exchange/onnx_file.hpp>

int main() {
    try {
        (void)tessera::io::read_onnx_file("/no/such/file");
    } catch (const tessera::error&) {
        return 0;
    }
    return 1;
}
