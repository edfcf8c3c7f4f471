// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/nearest.hpp"

#include "tessera/op/mask.hpp"

#include <doctest/doctest.h>

namespace ts = tessera;

namespace {

/// The definition, without a table.
std::size_t by_recursion(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) {
        return a.size() + b.size();
    }
    const std::string_view x = a.substr(1);
    const std::string_view y = b.substr(1);
    std::size_t least = std::min(by_recursion(x, b) + 1, by_recursion(a, y) + 1);
    least = std::min(least, by_recursion(x, y) + (a[0] == b[0] ? 0 : 1));
    if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0]) {
        least = std::min(least, by_recursion(a.substr(2), b.substr(2)) + 1);
    }
    return least;
}

} // namespace

TEST_CASE("edit distance: as its definition has it, on random words of three letters") {
    std::uint64_t random = 5;
    for (int i = 0; i < 400; ++i) {
        std::string words[2];
        for (std::string& w : words) {
            random = ts::op::mix(random);
            for (std::uint64_t k = random % 6, x = random >> 8U; k > 0; --k, x /= 3) {
                w += static_cast<char>('a' + x % 3);
            }
        }
        const std::size_t apart = by_recursion(words[0], words[1]);
        for (std::size_t most = 0; most < 12; ++most) {
            CHECK(ts::edit_distance(words[0], words[1], most) == std::min(apart, most + 1));
        }
    }
}

TEST_CASE("did you mean: the nearest names, or those that begin alike, or nothing") {
    const std::vector<std::string> names = {"vgg16", "vgg19", "resnet50", "resnet101", "lenet5", "p100"};
    CHECK(ts::did_you_mean("vgg17", names) == "; did you mean vgg16 or vgg19?");
    CHECK(ts::did_you_mean("vgg15", {"vgg11", "vgg16", "vgg19", "vgg1"}) ==
          "; did you mean vgg11, vgg16 or vgg19?");                           // at most three
    CHECK(ts::did_you_mean("renset50", names) == "; did you mean resnet50?"); // swapped
    CHECK(ts::did_you_mean("resnet", names) == "; did you mean resnet50?");
    CHECK(ts::did_you_mean("res", names) == "; did you mean resnet50 or resnet101?");
    CHECK(ts::did_you_mean("banana", names).empty());
    CHECK(ts::did_you_mean("", names).empty());
    CHECK(ts::did_you_mean("x", {}).empty());
}

TEST_CASE("nothing is suggested for names that nobody types, however many there are") {
    const std::string letters(tessera::most_letters, 'a');
    CHECK(tessera::did_you_mean(letters, {letters + "b"}) == "; did you mean " + letters + "b?");
    CHECK(tessera::did_you_mean(letters + "a", {letters + "b"}).empty());
    // 4 * 10^11 steps if they were compared
    const std::vector<std::string> many(1000, std::string(20'000, 'b'));
    CHECK(tessera::did_you_mean(std::string(20'000, 'a'), many).empty());
    CHECK(tessera::did_you_mean("alpha", many).empty());
}
