// SPDX-License-Identifier: Apache-2.0
// host.hpp alone is enough for all of the core.
#include "tessera/host.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct last : ts::linear<3> {};
struct next_word : ts::sequential<ts::sequence<4, 8>, last, ts::cross_entropy> {}; // net/inputs.hpp

} // namespace

TEST_CASE("the host's umbrella header holds the core's: sequences, and searches in constant expressions") {
    constexpr auto found = ts::search::optcnn<next_word, 8>(ts::machines::p100<2>{});
    using search = std::remove_cvref_t<decltype(found)>;
    static_assert(search::ok);
    CHECK(ts::describe<next_word>(8).ops.size() == 2);
}
