// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/json_text.hpp"

#include <doctest/doctest.h>

namespace {

namespace io = tessera::io;

bool fails(const std::string& text, const char* words) {
    try {
        const io::json_document read(text, "x.json");
    } catch (const tessera::error& e) {
        const bool found = std::string(e.what()).find(words) != std::string::npos;
        CHECK_MESSAGE(found, e.what());
        return found;
    }
    return false;
}

io::json parsed(const std::string& text) { return io::json_document(text, "x.json").value(); }

} // namespace

TEST_CASE("json: what is no JSON is refused with line and column") {
    CHECK(fails("", "tessera: x.json, line 1, column 1: syntax error"));
    CHECK(fails("[1,\n 2,]", "line 2, column 4: syntax error"));
    CHECK(fails("[1 2]", "line 1, column 4: syntax error"));
    CHECK(fails("{\"a\":1,\n\"a\":2}", "line 2, column 4: the name \"a\" comes twice"));
    CHECK(fails("{a:1}", "line 1, column 2: syntax error"));
    CHECK(fails("01", "line 1, column 2: syntax error"));
    CHECK(fails("1e999", "number overflow"));
    CHECK(fails("\"a\nb\"", "control character"));
    CHECK(fails("\"\\ud800x\"", "surrogate"));
    CHECK(fails("\"\xff\"", "UTF-8"));
    CHECK(fails("[NaN]", "syntax error"));
    CHECK(fails("/* no comments */ 1", "syntax error"));
    CHECK(fails("1 1", "syntax error"));
    CHECK(fails(std::string(1000000, '['), "more than 100 deep"));
    CHECK(parsed("\"\\u00e4\\ud83d\\ude00\\n\"").get<std::string>() == "\xc3\xa4\xf0\x9f\x98\x80\n");
    CHECK(parsed("{\"b\": 1, \"a\": {\"b\": 2}}").dump() == "{\"b\":1,\"a\":{\"b\":2}}"); // in the file's order
}

TEST_CASE("json: values know their lines, and members must be asked for") {
    const io::json_document read("{\n\"a\": [1,\n{\"b\": true}],\n\"c\": \"x\"}", "x.json");
    io::json_object top(read.root());
    const auto list = top.get("a").items();
    REQUIRE(list.size() == 2);
    CHECK(list[0].integer(1, 1) == 1);
    CHECK_THROWS_WITH_AS((void)list[0].integer(2, 3),
                         "tessera: x.json, line 2: /a/0 is 1, but must be a whole number from 2 to 3", tessera::error);
    CHECK_THROWS_WITH_AS((void)list[1].items(), "tessera: x.json, line 3: /a/1 is an object, but must be an array",
                         tessera::error);
    CHECK_THROWS_WITH_AS(top.finish(), "tessera: x.json, line 4: /c means nothing here; remove or correct it",
                         tessera::error);
    CHECK(top.find("d") == nullptr);
    CHECK_THROWS_WITH_AS((void)top.get("d"), "tessera: x.json, line 1: the file has no \"d\"", tessera::error);
    CHECK(top.get("c").text() == "x");
    top.finish();
    CHECK_THROWS_AS((void)top.get("c").boolean(), tessera::error);
    const io::json_document large("[9223372036854775807, 9223372036854775808, -9223372036854775808, 1.0]", "x.json");
    const auto numbers = large.root().items();
    CHECK(numbers[0].integer(0, INT64_MAX) == INT64_MAX);
    CHECK_THROWS_AS((void)numbers[1].integer(INT64_MIN, INT64_MAX), tessera::error);
    CHECK(numbers[2].integer(INT64_MIN, 0) == INT64_MIN);
    CHECK_THROWS_AS((void)numbers[3].integer(0, 2), tessera::error);
    CHECK_THROWS_AS((void)numbers[0].small(), tessera::error);
}

TEST_CASE("json: text that people read") {
    const std::string text = "{\n  \"a\": [1, true, null, \"\\u0001\\\"\"],\n  \"b\": {\"c\": 0.1},\n  \"d\": {}\n}\n";
    CHECK(io::to_text(parsed(text)) == text);
    io::json wide = io::json::array();
    for (int i = 0; i < 100; ++i) {
        wide.push_back({{"number", i}, {"name", "a name"}});
    }
    const std::string lines = io::to_text({{"wide", wide}});
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 104);
    CHECK(parsed(lines)["wide"] == wide);
    CHECK(io::to_text(io::json("\xff")) == "\"\xef\xbf\xbd\"\n"); // what is no UTF-8 is replaced
}
