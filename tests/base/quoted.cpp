// SPDX-License-Identifier: Apache-2.0
// Texts inside a language. (That its parsers read them back: io/hostile_names.cpp.)
#include "tessera/base/quoted.hpp"
#include "tessera/base/box.hpp"

#include "tessera/base/free_names.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace quoted = tessera::quoted;

TEST_CASE("quoted: UTF-8 by RFC 3629") {
    for (const char* good : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                             "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        CHECK(quoted::is_utf8(good));
        CHECK(quoted::is_utf8(std::string(good) + "z"));
    }
    for (const char* bad :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
          "\xe2\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xf0\x90\x80"}) {
        CHECK_FALSE(quoted::is_utf8(bad));
        CHECK_FALSE(quoted::is_utf8("a" + std::string(bad)));
        // Every byte of it is one character that says so.
        CHECK(quoted::html(bad) != bad);
        CHECK(quoted::is_utf8(quoted::html(bad)));
        CHECK(quoted::is_utf8(quoted::json(bad)));
        CHECK(quoted::is_utf8(quoted::python(bad)));
        CHECK(quoted::is_utf8(quoted::cpp(bad)));
        CHECK(quoted::is_utf8(quoted::tsv(bad)));
        CHECK(quoted::is_utf8(quoted::line(bad)));
    }
}

TEST_CASE("quoted: each language") {
    const std::string text =
        std::string("a\"b\\\n\r\t\0\x1b\x7f", 10) + "\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf\xc3\xa4<&>'?,";
    CHECK(quoted::python(text) == "\"a\\\"b\\\\\\n\\x0d\\x09\\x00\\x1b\\x7f\\x85\\u2028\\u202e\\ufeff\xc3\xa4<&>'?,\"");
    CHECK(quoted::cpp(text) ==
          "\"a\\\"b\\\\\\012\\015\\011\\000\\033\\177\\302\\205\\342\\200\\250\\342\\200\\256\\357\\273\\277"
          "\xc3\xa4<&>'\\077,\"");
    CHECK(quoted::html(text) == "a&quot;b\\\xe2\x90\x8a\xe2\x90\x8d\xe2\x90\x89\xe2\x90\x80\xe2\x90\x9b\xe2\x90\xa1"
                                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4&lt;&amp;&gt;&#39;?,");
    CHECK(quoted::json(text) ==
          "\"a\\\"b\\\\\\u000a\\u000d\\u0009\\u0000\\u001b\\u007f\\u0085\\u2028\\u202e\\ufeff\xc3\xa4<&>'?,\"");
    CHECK(quoted::json_in_script("[\"</script><!--&\"]") == "[\"\\u003c/script\\u003e\\u003c!--\\u0026\"]");
    CHECK(quoted::tsv(text) ==
          "a\"b\\\\\\n\\r\\t\\x00\\x1b\\x7f\\xc2\\x85\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xef\\xbb\\xbf\xc3\xa4<&>'?,");
    CHECK(quoted::tsv("a \xc3\xa4", true) == "a\\x20\\xc3\\xa4");
    CHECK(quoted::line("a\\\nb\r") == "a/\xe2\x90\x8a"
                                      "b\xe2\x90\x8d");
    CHECK(quoted::csv("plain text") == "plain text");
    for (const char* in_quotes : {"", " a", "a ", "a,b", "a\nb", "a\rb", "a\x01", "a\x7f", "\xef\xbb\xbfx"}) {
        CHECK(quoted::csv(in_quotes) == "\"" + std::string(in_quotes) + "\"");
    }
    CHECK(quoted::csv("a\"b") == "\"a\"\"b\"");
    CHECK(quoted::python_inside("\"\"\"") == "\\\"\\\"\\\"");
    CHECK(quoted::json_controls("\"\xf0\x9f\xbf\xbe\"") == "\"\\ud83f\\udffe\""); // U+1FFFE, no character
}

TEST_CASE("quoted: long names are cut in messages, between characters") {
    CHECK(quoted::shown("short") == "short");
    CHECK(quoted::shown(std::string(100, 'a')) == std::string(100, 'a'));
    CHECK(quoted::shown(std::string(101, 'a')) == std::string(100, 'a') + "... (101 bytes)");
    CHECK(quoted::shown(std::string(99, 'a') + "\xc3\xa4z") == std::string(99, 'a') + "... (102 bytes)");
}

TEST_CASE("free names: 20,000 texts without a letter have 20,000 names, soon") {
    const std::set<std::string> words{"class"};
    tessera::free_names names(words, {"node_7"});
    std::set<std::string> all;
    for (int i = 0; i < 20'000; ++i) { // a minute where each counts from 1 again
        all.insert(names.next(std::string(tessera::to_size(i % 50 + 1), '-')));
    }
    CHECK(all.size() == 20'000);
    CHECK(all.count("node") == 1);
    CHECK(all.count("node_7") == 0);
    CHECK(all.count("node_20000") == 1);
    CHECK(names.next("class") == "class_");
    CHECK(names.next("class") == "class_1");
}
