// SPDX-License-Identifier: Apache-2.0
// What people read of strategies and plans.
#include "tessera/plan/print.hpp"

#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"

#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_strategy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::planned;

struct fc1 : ts::linear<6> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<3>, fc1, ts::relu, fc2, ts::relu, ts::cross_entropy> {};

int count(const std::string& text, const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++n;
    }
    return n;
}

} // namespace

TEST_CASE("a strategy is a table") {
    const ts::graph g = ts::describe<network>(8);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    s.ops[0].degree[1] = 2;
    s.ops[1].start = 3;
    s.ops[1].stride = -1;
    s.ops[1].replicate = 2;
    s.cut(2, 0, {3, 5});
    s.place(2, {2, 0, 1});
    CHECK(ts::to_text(g.view(), s.view()) ==
          "layer          kind           output  splits              replicas  devices\n"
          "fc1            linear         8x6     sample/2 channel/2  1         0 1 2 3\n"
          "relu.0         relu           8x6     -                   2         3 2\n"
          "fc2            linear         8x4     sample/3@3,5        1         2 0 1\n"
          "relu.1         relu           8x4     -                   1         0\n"
          "cross_entropy  cross_entropy  8       -                   1         0\n");
}

TEST_CASE("a plan is a list for every device") {
    const ts::graph g = ts::describe<network>(4);
    ts::strategy s(g.view());
    for (int op = 0; op < 3; ++op) {
        s.ops[ts::to_size(op)].degree[0] = 2;
    }
    const ts::plan p = planned(g.view(), s, 2);
    const std::string text = ts::to_text(g.view(), p);
    CAPTURE(text);
    CHECK(text.rfind("plan ", 0) == 0);
    CHECK(text.find(": training, 2 devices, " + std::to_string(p.tasks.size()) + " tasks, " +
                    std::to_string(p.moved_bytes) + " bytes move\n") != std::string::npos);
    for (int d = 0; d < 2; ++d) {
        const auto k = ts::to_size(d);
        CHECK(text.find("device " + std::to_string(d) + ": " + std::to_string(p.order[k].size()) + " tasks, arena " +
                        std::to_string(p.arena_bytes[k]) + " bytes, persistent " +
                        std::to_string(p.persistent_bytes[k]) + " bytes\n") != std::string::npos);
    }
    CHECK(count(text, "\n") == 3 + static_cast<int>(p.tasks.size()));
    CHECK(text.find("fc1 forward 1.0: t") != std::string::npos);
    CHECK(text.find(" activation fc1 [2:4,0:6] <- t") != std::string::npos);
    CHECK(text.find("copy for relu.1 forward 0.0: t") != std::string::npos);
    CHECK(text.find(" gradient fc2 [0:2,0:4]") != std::string::npos);
    CHECK(text.find("fc1 update 1.0: ") != std::string::npos);
    CHECK(text.find(", slice 1/2, after device 0 task ") != std::string::npos);
    CHECK(text.find("format") == std::string::npos);
    ts::plan other = p;
    other.tiles[ts::to_size(other.tasks[0].writes[0])].format = 7;
    CHECK(ts::to_text(g.view(), other).find("] format 7") != std::string::npos);
}
