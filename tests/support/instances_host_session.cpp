// SPDX-License-Identifier: Apache-2.0
#ifndef TESSERA_TEST_HOST
#define TESSERA_TEST_HOST
#endif
#include "instances.hpp"

#include "tessera/runtime/host_source.inl" // compiled sessions, for execute/host_runtime.cpp

template class tessera::session<tessera::host::backend>;
