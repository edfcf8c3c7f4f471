// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp" // several of these sources may be compiled as one: declared as extern first

namespace tessera {

template plan lower<lower_options>(const graph_view&, const strategy_view&, int, const lower_options&);
template verdict verify<plan>(const graph_view&, const plan&, index_t, const optimizer*);

} // namespace tessera
