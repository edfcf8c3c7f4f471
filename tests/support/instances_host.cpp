// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class tessera::host::basic_backend<tessera::plan>;
