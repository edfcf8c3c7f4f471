// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/files/json_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

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

/// As people read it, by its definition: the text of a value on one line, made anew at each level.
std::string line_of(const io::json& j) {
    if (!j.is_structured()) {
        return io::text_of_json(j);
    }
    std::string text;
    for (const auto& member : j.items()) {
        text += text.empty() ? "" : ", ";
        text += (j.is_object() ? io::text_of_json(member.key()) + ": " : "") + line_of(member.value());
    }
    return j.is_object() ? "{" + text + "}" : "[" + text + "]";
}
std::string lines_of(const io::json& j, std::size_t indent) {
    bool list = false;
    for (const io::json& inside : j) {
        list = list || (j.is_array() && inside.is_object());
    }
    const std::string line = line_of(j);
    if (!j.is_structured() || j.empty() || (indent > 0 && !list && indent + line.size() <= 140)) {
        return line;
    }
    std::string text(1, j.is_object() ? '{' : '[');
    bool first = true;
    for (const auto& member : j.items()) {
        text += (first ? "\n" : ",\n") + std::string(indent + 2, ' ');
        text += j.is_object() ? io::text_of_json(member.key()) + ": " : "";
        text += lines_of(member.value(), indent + 2);
        first = false;
    }
    return text + "\n" + std::string(indent, ' ') + (j.is_object() ? '}' : ']');
}

io::json drawn(std::mt19937& random, int deep) {
    const std::string some[] = {"", "a", "\xff", "\xc2\x85\n", std::string(random() % 150, 'x'), "\xf0\x9f\x98"};
    const std::string word = some[random() % 6];
    switch (deep == 0 ? random() % 4 : 4 + random() % 4) {
    case 0:
        return io::json(word);
    case 1:
        return io::json(static_cast<int>(random() % 100'000));
    case 2:
        return io::json(random() % 2 == 0);
    case 3:
        return io::json();
    default:
        const bool object = random() % 2 == 0;
        io::json all = object ? io::json::object() : io::json::array();
        for (std::uint_fast32_t i = random() % 7; i > 0; --i) {
            io::json inside = drawn(random, deep - 1 - static_cast<int>(random() % 2) * (deep - 1));
            if (object) {
                all[word + std::to_string(i)] = inside;
            } else {
                all.push_back(inside);
            }
        }
        return all;
    }
}

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

TEST_CASE("json: text that people read is as its definition has it, on random values") {
    std::mt19937 random(7);
    int on_one_line = 0;
    for (int i = 0; i < 400; ++i) {
        const io::json j = drawn(random, 1 + i % 5);
        const std::string text = io::to_text(j);
        CHECK(text == lines_of(j, 0) + "\n");
        for (std::size_t most = 130; most < 150; ++most) { // none is said to be longer than it is, or shorter
            std::string line;
            const bool fits = io::detail::add_line(line, j, most);
            CHECK(fits == (line_of(j).size() <= most));
            CHECK((!fits || line == line_of(j)));
            on_one_line += fits ? 1 : 0;
        }
    }
    CHECK(on_one_line > 500);
    CHECK(on_one_line < 7500);
}

TEST_CASE("json: a line is tried no further than it may go, so that writing takes time in proportion to the text") {
    io::json j = std::vector<int>(20'000, 1);
    for (int i = 0; i < 90; ++i) { // each level tries whether what it holds fits
        j = {{"a", std::move(j)}, {"b", 0}};
    }
    io::json text = std::string(200'000, 'x');
    io::json name = {{std::string(200'000, 'x'), 1}};
    for (const io::json& one : {j, text, name}) {
        std::string tried;
        CHECK(!io::detail::add_line(tried, one, 140));
        CHECK(tried.size() <= 160);
        CHECK(tried.capacity() <= 320); // and was no longer before
    }
}
