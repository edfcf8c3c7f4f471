// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

#include "tessera/cuda.hpp"

template class tessera::session<tessera::cuda::backend>;
