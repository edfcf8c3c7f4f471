// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/files/csv.hpp"
#include "support/refusal.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

using namespace tessera::io;

std::string refusal(const std::string& text, const csv_options& options = {}) {
    return test_support::message_of([&] { static_cast<void>(csv_table(text, "t", options)); });
}

} // namespace

TEST_CASE("any table of any texts comes back, written as RFC 4180 says") {
    std::mt19937 random(1);
    constexpr std::string_view letters = "ab1, ;\"\n\r\t\xc3";
    for (int round = 0; round < 400; ++round) {
        csv_options options{.separator = random() % 2 == 0 ? ',' : ';', .header = random() % 2 == 0};
        const std::string end = random() % 2 == 0 ? "\n" : "\r\n";
        const std::size_t columns = 1 + random() % 4;
        const std::size_t rows = 1 + random() % 5;
        std::vector<std::vector<std::string>> table(rows, std::vector<std::string>(columns));
        std::string text = random() % 4 == 0 ? "\xef\xbb\xbf" : "";
        for (std::size_t c = 0; c < columns && options.header; ++c)
            text += "name" + std::to_string(c) + (c + 1 < columns ? std::string(1, options.separator) : end);
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                std::string& field = table[r][c];
                for (std::size_t k = random() % 5; k > 0; --k) field += letters[random() % letters.size()];
                bool quoted = random() % 3 == 0 || (columns == 1 && field.empty());
                std::string inside;
                for (const char x : field) {
                    quoted = quoted || x == '"' || x == '\n' || x == '\r' || x == options.separator;
                    inside += x;
                    if (x == '"') inside += x;
                }
                text += quoted ? "\"" + inside + "\"" : field;
                if (c + 1 < columns) text += options.separator;
            }
            if (r + 1 < rows || random() % 2 == 0) text += end;
        }
        const csv_table read(text, "t", options);
        REQUIRE(read.rows() == static_cast<std::int64_t>(rows));
        REQUIRE(read.columns().size() == columns);
        CHECK(read.columns().back() == (options.header ? "name" : "") + std::to_string(columns - 1));
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) CHECK(read.text(static_cast<std::int64_t>(r), c) == table[r][c]);
    }
}

TEST_CASE("columns are numbers by name, and samples for a network") {
    const test::temporary_folder folder;
    const std::string text = "length,kind,\"width, cm\"\r\n1.5,2,-3e2\r\n0,0,4\r\n";
    test::write_bytes(folder / "t.csv", {text.begin(), text.end()});
    const csv_table t = read_csv(folder / "t.csv");
    CHECK(t.numbers("width, cm") == std::vector<float>{-300, 4});
    CHECK(t.integers("kind") == std::vector<std::int32_t>{2, 0});
    const sample_set set = t.samples({"width, cm", "length"}, "kind", 3);
    CHECK(set.size() == 2);
    CHECK(std::vector<float>(set.inputs().begin(), set.inputs().end()) == std::vector<float>{-300, 1.5F, 4, 0});
    const auto message = [&](auto f) { return test_support::message_of(f); };
    CHECK(message([&] { (void)t.samples({"length"}, "kind", 2); }) ==
          "'" + folder / "t.csv" +
              "' line 2 has \"2\" in column 'kind', which is not a label from 0 to 1; correct the line");
    CHECK(message([&] { (void)t.numbers("depth"); }) ==
          "'" + folder / "t.csv" + "' has no column 'depth'; it has length, kind, width, cm");
    CHECK(test_support::contains(message([&] { (void)t.integers("length"); }), "line 2 has \"1.5\" in column"));
    CHECK_THROWS_AS((void)t.samples({}, "kind", 3), tessera::error);
    CHECK_THROWS_AS((void)read_csv(folder / "none"), tessera::error);
}

TEST_CASE("what is no number is refused with its line") {
    for (const char* field : {"", " 1", "1 ", "+1", "0x1", "1,5", "nan", "inf", "1e999", "1e", "--1", "1\n2", "x"}) {
        const csv_table t("a;b\n\"q\nq\";1\n\"\";\"" + std::string(field) + "\"\n", "t", {.separator = ';'});
        CHECK(test_support::contains(test_support::message_of([&] { (void)t.numbers("b"); }),
                                     "'t' line 4 has \"")); // a field of two lines comes before
    }
}

TEST_CASE("what is no table is refused with its line") {
    CHECK(refusal("") == "'t' has no lines of data; give at least one");
    CHECK(refusal("a,b\n") == "'t' has no lines of data; give at least one");
    CHECK(refusal("a,b\n1,2\n3\n") == "'t' line 3 has 1 fields and the first line 2; correct the line");
    CHECK(refusal("a\n\"x\n") == "'t' line 2 has a quote that does not end; correct the line");
    CHECK(refusal("a\n\"x\"y\n") == "'t' line 2 goes on after the quotes of a field; correct the line");
    CHECK(refusal("a\nx\"y\n") ==
          "'t' line 2 has a quote inside a field that does not begin with one; correct the line");
    CHECK(refusal("a\nx\ry\n") == "'t' line 2 has a carriage return without a line end; correct the line");
    CHECK(refusal("a,a\n1,2\n") == "'t' line 1 names the column 'a' twice; correct the line");
    CHECK(test_support::contains(refusal("a\n1\n", {.separator = '"'}), "name another separator"));
}
