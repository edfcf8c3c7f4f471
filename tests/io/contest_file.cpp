// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/contest_file.hpp"
#include "support/replaced.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <random>

namespace {

namespace io = tessera::io;
namespace search = tessera::search;

const std::string good = R"({"problem": {"name": "small", "usage_limit": 50,
  "nodes": {"intervals": [[0, 7], [4, 4]], "costs": [[15, 1000000000000000000], [55, 65, 7]], "usages": [[10, 0], [25, 20, 9]]},
  "edges": {"nodes": [[0, 1]], "costs": [[1, 2, 3, 4, 5, 1000000000000000000]]}}}
)";

class written {
public:
    explicit written(const std::string& text) : path_(folder_ / "problem.json") {
        std::ofstream(path_, std::ios::binary) << text;
    }
    io::contest_problem read() const { return io::read_contest_problem(path_); }
    std::string refused() const {
        try {
            read();
        } catch (const tessera::error& e) {
            return e.what();
        }
        return {};
    }

private:
    test::temporary_folder folder_;
    std::string path_;
};

std::string with(const std::string& what, const std::string& instead) {
    return test_support::replaced(good, what, instead);
}

bool is_in(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a file of the contest becomes the problem that it states") {
    const io::contest_problem read = written(good).read();
    const search::choice_problem& p = read.problem;
    CHECK(read.name == "small");
    CHECK(p.limit == 50);
    REQUIRE(p.nodes() == 2);
    CHECK(p.costs(0)[0] == 15);
    CHECK(p.costs(0)[1] == search::forbidden);
    CHECK(p.usages(1)[2] == 9);
    CHECK(p.live(0) == search::live_range{0, 7});
    CHECK(p.live(1).is_empty());
    REQUIRE(p.edges() == 1);
    CHECK(p.table(0)[3] == 4);
    CHECK(p.table(0)[5] == search::forbidden);
}

TEST_CASE("what is no file of the contest is refused in words") {
    CHECK(is_in(written("").refused(), "needs '{'"));
    CHECK(is_in(written(good.substr(0, 200)).refused(), "(byte "));
    CHECK(is_in(written(good + "{}").refused(), "something after its end"));
    CHECK(is_in(written(with("\"usage_limit\"", "\"limit\"")).refused(), "\"limit\", which means nothing here"));
    CHECK(is_in(written(with("\"usage_limit\": 50,", "")).refused(), "lacks one of"));
    CHECK(is_in(written(with("[1, 2, 3", "[1, 2")).refused(), "has 5 entries but needs 6"));
    CHECK(is_in(written(with("[[0, 1]]", "[[0, 2]]")).refused(), "a node that it does not have"));
    CHECK(is_in(written(with("[[0, 1]]", "[[0]]")).refused(), "1 numbers for the nodes of edge 0"));
    CHECK(is_in(written(with("[[0, 1]]", "[[1, 1]]")).refused(), "joins a node to itself"));
    CHECK(is_in(written(with("[4, 4]]", "[4, 4], [1, 2]]")).refused(), "intervals of 3 nodes, costs of 2"));
    CHECK(is_in(written(with("[10, 0]", "[10]")).refused(), "2 costs but 1 usages"));
    CHECK(is_in(written(with("[15,", "[-15,")).refused(), "negative"));
    CHECK(is_in(written(with("[15,", "[1.5,")).refused(), "not whole"));
    CHECK(is_in(written(with("[15,", "[015,")).refused(), "starts with 0"));
    CHECK(is_in(written(with("[15,", "[99999999999999999999,")).refused(), "above 9e18"));
    CHECK(is_in(written(with("\"name\": \"small\"", "\"name\": \"small\", \"name\": \"x\"")).refused(), "twice"));
    CHECK_THROWS_AS(io::read_contest_problem("/nowhere/problem.json"), tessera::error);
}

TEST_CASE("damaged files are refused or state another problem, and never do harm") {
    std::mt19937 random(3);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string text = good;
        for (std::size_t k = 1 + random() % 3; k > 0; --k) {
            const std::size_t place = random() % text.size();
            if (random() % 3 == 0) {
                text.erase(place, 1 + random() % 9);
            } else {
                text[place] = static_cast<char>(random() % 3 == 0 ? random() % 256 : good[random() % good.size()]);
            }
        }
        refused += written(text).refused().empty() ? 0 : 1;
    }
    CHECK(refused > 1000);
    CHECK(refused < 2000); // some digits only say something else
}
