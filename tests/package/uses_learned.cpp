// SPDX-License-Identifier: Apache-2.0
// Learned placements: a graph of the families that policies learn from.
#include <tessera/learned/families.hpp>

int main() {
    namespace learned = tessera::learned;
    return learned::member(learned::family::translation, 3).count() > 0 ? 0 : 1;
}
