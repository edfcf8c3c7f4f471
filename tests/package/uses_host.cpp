// SPDX-License-Identifier: Apache-2.0
// The host backend, which brings oneDNN along.
#include <dnnl.h>
#include <tessera/host.hpp>

int main() { return dnnl_version() == nullptr; }
