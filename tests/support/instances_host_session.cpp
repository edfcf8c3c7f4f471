// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class tessera::session<tessera::host::backend>;
