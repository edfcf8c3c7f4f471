// SPDX-License-Identifier: Apache-2.0
// How long the compiler takes to plan AlexNet for 4 devices.
#include "examples/networks.hpp"
#include "tessera/tessera.hpp"

namespace ts = tessera;

using found = ts::search::static_optcnn<networks::alexnet, 128, ts::machines::p100<4>>;
static_assert(found::ok);
