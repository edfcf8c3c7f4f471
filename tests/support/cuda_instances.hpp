// SPDX-License-Identifier: Apache-2.0
// As instances.hpp, for the CUDA backend whose calls the processor interprets.
#pragma once

#include "cuda_emulated_backend.hpp"

extern template class tessera::session<test_support::emulated_backend>;
