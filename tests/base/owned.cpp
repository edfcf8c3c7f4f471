// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/owned.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace {

int destroyed = 0;

struct counted {
    int value = 0;
    ~counted() { ++destroyed; }
};

struct to_zero {
    static void destroy(int* p) { *p = 0; }
};

using owner = tessera::owned<counted>;

} // namespace

TEST_CASE("an owner destroys what it points to once, wherever it moved") {
    destroyed = 0;
    {
        std::vector<owner> all;
        for (int i = 0; i < 20; ++i) { // the vector grows, so owners move
            all.emplace_back(new counted{i});
        }
        CHECK(destroyed == 0);
        owner first = std::move(all[0]);
        CHECK(!all[0]);
        CHECK(first->value == 0);
        first = std::move(all[1]); // destroys what it had
        CHECK(destroyed == 1);
        CHECK((*first).value == 1);
    }
    CHECK(destroyed == 20);
}

TEST_CASE("an owner that lets go, or is given what it has, destroys nothing") {
    destroyed = 0;
    owner a(new counted);
    a.reset(a.get());
    CHECK(destroyed == 0);
    delete a.release();
    CHECK(destroyed == 1);
    CHECK(a.get() == nullptr);
    a.reset();
    CHECK(destroyed == 1);
    const owner none = nullptr;
    CHECK(!none);
}

TEST_CASE("an owner destroys in the way that it is told, and does not copy") {
    int x = 7;
    { const tessera::owned<int, to_zero> how(&x); }
    CHECK(x == 0);
    CHECK(!std::is_copy_constructible_v<owner>);
    CHECK(!std::is_copy_assignable_v<owner>);
    CHECK(std::is_nothrow_move_constructible_v<owner>);
}
