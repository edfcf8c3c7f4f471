// SPDX-License-Identifier: Apache-2.0
// The executor and the reference backend, without any vendor library.
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/session.hpp>

int main() { return 0; }
