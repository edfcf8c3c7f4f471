// SPDX-License-Identifier: Apache-2.0
// What is done with a file that could be read: the strategy is planned and simulated.
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/simulate/simulate.hpp"

void use(const tessera::graph_view& g, const tessera::strategy& s, int devices, const tessera::cluster& on);

void use(const tessera::graph_view& g, const tessera::strategy& s, int devices, const tessera::cluster& on) {
    tessera::plan p = tessera::lower(g, s.view(), devices);
    if (p.tasks.size() > 2000) {
        return; // verification and memory take the square of what is in flight
    }
    tessera::finish(g, p);
    (void)tessera::simulation::simulate(g, p, on);
}
