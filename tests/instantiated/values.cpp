// SPDX-License-Identifier: Apache-2.0
// Where networks are values, a backend has the kernels of all operators.
#include <tessera/host.hpp>

namespace ts = tessera;

ts::host::operator_rows rows() { return ts::host::all_rows(); }
