// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/machine_file.hpp"

#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

namespace ts = tessera;
namespace io = tessera::io;

std::string refusal(const std::string& text) {
    try {
        io::machine_from_json(io::parse_json(text));
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    return text.replace(place, from.size(), to);
}

} // namespace

TEST_CASE("machine file: every preset comes back the same") {
    for (const auto& g : {ts::machines::p100_nodes(), ts::machines::k80_nodes(2), ts::machines::v100_nodes(2),
                          ts::machines::a100_nodes(3), ts::machines::h200_nodes(4), ts::machines::heterogeneous(),
                          ts::machines::this_host()}) {
        CHECK(io::machine_from_json(io::parse_json(io::to_text(io::to_json(g)))) == g);
    }
}

TEST_CASE("machine file: what is wrong is named") {
    const std::string good = io::to_text(io::to_json(ts::machines::this_host()));
    CHECK(refusal(good).empty());
    CHECK(refusal(with(good, "\"tessera_machine\": 1", "\"tessera_machine\": 2")).find("has version 2") !=
          std::string::npos);
    CHECK(refusal(with(good, "\"cables\": 1", "\"cable\": 1")).find("link 0 has no \"cables\"") != std::string::npos);
    CHECK(refusal(with(good, "\"cables\": 1", "\"cables\": 1, \"colour\": 3")).find("link 0 has \"colour\"") !=
          std::string::npos);
    CHECK(refusal(with(good, "\"cables\": 1", "\"cables\": 1.5"))
              .find("\"cables\" is a number, but must be a whole number") != std::string::npos);
    CHECK(refusal(with(good, "\"cables\": 1", "\"cables\": 1, \"cables\": 1")).find("comes twice") !=
          std::string::npos);
    CHECK(refusal(with(good, "\"cables\": 1", "\"cables\": 99999999999")).find("out of range") != std::string::npos);
    CHECK(refusal(with(good, "\"megabytes_per_second\": 21000", "\"megabytes_per_second\": 0")).find("bandwidth 0") !=
          std::string::npos);
    CHECK(refusal(with(good, "\"inside\": -1", "\"inside\": 0")).find("lies inside itself") != std::string::npos);
    CHECK(refusal(good + "{}").find("something follows") != std::string::npos);
    CHECK(refusal("[]").find("the file is an array") != std::string::npos);
}

TEST_CASE("json: strict, with line and column") {
    const auto fails = [](const std::string& text, const char* words) {
        try {
            io::parse_json(text);
        } catch (const ts::error& e) {
            return std::string(e.what()).find(words) != std::string::npos;
        }
        return false;
    };
    CHECK(fails("", "line 1, column 1: a value is missing"));
    CHECK(fails("[1,\n 2,]", "line 2, column 4: a value is missing"));
    CHECK(fails("[1 2]", "']' is missing"));
    CHECK(fails("{\"a\":1,\"a\":2}", "the name \"a\" comes twice"));
    CHECK(fails("{a:1}", "the name of a member is missing"));
    CHECK(fails("01", "something follows"));
    CHECK(fails("-", "a digit is missing"));
    CHECK(fails("1.", "a digit is missing"));
    CHECK(fails("1e999", "the number is too large"));
    CHECK(fails("\"a\nb\"", "control character"));
    CHECK(fails("\"\\x\"", "no such escape"));
    CHECK(fails("\"\\ud800x\"", "half of a surrogate pair"));
    CHECK(fails("tru", "a value is missing"));
    CHECK(fails(std::string(200, '['), "more than 100 deep"));
    CHECK(io::parse_json("\"\\u00e4\\ud83d\\ude00\\n\"").text == "\xc3\xa4\xf0\x9f\x98\x80\n");
    CHECK(io::parse_json(" 9223372036854775807 ").integer == INT64_MAX);
    CHECK(io::parse_json("9223372036854775808").kind == io::json::type::number);
    CHECK(io::parse_json("-0.5e1").number == -5);
    CHECK(io::to_text(io::parse_json("{\"a\": [1, true, null, \"\\u0001\\\"\"], \"b\": {\"c\": 0.1}}")) ==
          "{\n  \"a\": [1, true, null, \"\\u0001\\\"\"],\n  \"b\": {\"c\": 0.1}\n}\n");
}

TEST_CASE("machine file: 20,000 mutations are read or refused, never worse") {
    const std::string good = io::to_text(io::to_json(ts::machines::this_host()));
    std::mt19937 random(11);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::string letters = "{}[]\",:0123456789-+.eE\\utrfalsn \n";
    int read = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string text = good;
        for (std::size_t k = 1 + below(4); k > 0 && !text.empty(); --k) {
            const std::size_t place = below(text.size());
            switch (below(4)) {
            case 0:
                text[place] = letters[below(letters.size())];
                break;
            case 1:
                text.erase(place, 1 + below(20));
                break;
            case 2:
                text.insert(place, 1, letters[below(letters.size())]);
                break;
            default:
                text.insert(place, text.substr(below(text.size()), 1 + below(30)));
            }
        }
        try {
            const ts::device_graph g = io::machine_from_json(io::parse_json(text));
            CHECK(io::machine_from_json(io::parse_json(io::to_text(io::to_json(g)))) == g);
            ++read;
        } catch (const ts::error&) {
        }
    }
    CHECK(read > 100);
    CHECK(read < 15'000);
}
