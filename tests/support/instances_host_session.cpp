// SPDX-License-Identifier: Apache-2.0
#ifndef TESSERA_TEST_HOST
#define TESSERA_TEST_HOST
#endif
#include "instances.hpp"

template class tessera::session<tessera::host::backend>;
