// SPDX-License-Identifier: Apache-2.0
#include "cuda_instances.hpp"

#include "instances.hpp"

template class tessera::session<test_support::emulated_backend>;
