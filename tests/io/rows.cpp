// SPDX-License-Identifier: Apache-2.0
// Rows of described values as CSV and JSON: whatever they hold comes back.
#include "support/refusal.hpp"
#include "temporary_folder.hpp"
#include "tessera/execute/measure/operator_timing.hpp"
#include "tessera/io/files/rows_json.hpp"
#include "tessera/strategy/synchronization.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace {

namespace ts = tessera;
using test_support::message_of;

struct inner {
    double ratio = 0;
    std::string word;
    friend bool operator==(const inner&, const inner&) = default;
    template <class See>
    static constexpr void each_field(See&& see) {
        see("ratio", &inner::ratio, ts::field_facts{});
        see("word", &inner::word, ts::field_facts{});
    }
};

struct row {
    std::string name;
    int count = 0;
    std::int64_t large = 0;
    bool flag = false;
    ts::sync_time when = ts::sync_time::ready;
    inner first;
    inner second;
    friend bool operator==(const row&, const row&) = default;
    template <class See>
    static constexpr void each_field(See&& see) {
        see("name", &row::name, ts::field_facts{});
        see("count", &row::count, ts::field_facts{});
        see("large", &row::large, ts::field_facts{});
        see("flag", &row::flag, ts::field_facts{});
        see("when", &row::when, ts::field_facts{});
        see("first", &row::first, ts::field_facts{});
        see("second", &row::second, ts::field_facts{});
    }
};

/// Texts that want to be misread, and numbers of every size.
class drawn {
public:
    explicit drawn(unsigned seed) : random_(seed) {}
    std::string text(bool utf8) {
        static constexpr std::string_view letters[] = {"a",    "1",  ",", ";",  "\"",       "\n",
                                                       "\r\n", "\t", " ", "\\", "\xc3\xa4", "\xff"};
        std::string s;
        for (std::size_t n = random_() % 6; n > 0; --n) {
            s += letters[random_() % (std::size(letters) - (utf8 ? 1 : 0))];
        }
        return s;
    }
    double number() {
        static constexpr double odd[] = {0.0,
                                         0.1,
                                         1e-300,
                                         -1e300,
                                         5e-324,
                                         std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity()};
        const std::uint64_t bits = (std::uint64_t{random_()} << 32U) | random_();
        double x = 0;
        std::memcpy(&x, &bits, sizeof x);
        return random_() % 3 == 0 || !std::isfinite(x) ? odd[random_() % std::size(odd)] : x;
    }
    row one(bool utf8) {
        return {text(utf8),
                static_cast<int>(random_()),
                static_cast<std::int64_t>((std::uint64_t{random_()} << 32U) | random_()),
                random_() % 2 == 0,
                random_() % 2 == 0 ? ts::sync_time::ready : ts::sync_time::after_backward,
                {number(), text(utf8)},
                {number(), text(utf8)}};
    }
    std::size_t below(std::size_t n) { return random_() % n; }

private:
    std::mt19937 random_;
};

TEST_CASE("any rows come back from CSV and from JSON") {
    drawn random(3);
    const test::temporary_folder folder;
    for (int round = 0; round < 300; ++round) {
        std::vector<row> rows;
        std::vector<row> printable;
        for (std::size_t n = 1 + random.below(4); n > 0; --n) {
            rows.push_back(random.one(false));
            printable.push_back(random.one(true)); // JSON is UTF-8
        }
        CHECK(ts::io::rows_of<row>(ts::io::csv_table(ts::io::to_csv(rows), "t")) == rows);
        CHECK(ts::io::rows_of<row>(ts::io::json_document(ts::io::to_json(printable), "t")) == printable);
    }
    const std::vector<row> rows{random.one(true), random.one(true)};
    ts::io::write_csv(folder / "t.csv", rows);
    ts::io::write_json(folder / "t.json", rows);
    CHECK(ts::io::rows_of<row>(ts::io::read_csv(folder / "t.csv")) == rows);
    CHECK(ts::io::rows_of<row>(ts::io::json_document(ts::io::read_file(folder / "t.json"), "t")) == rows);
    CHECK_THROWS_AS(ts::io::write_csv(folder / "missing/t.csv", rows), ts::error);
}

TEST_CASE("columns have the names of the fields, and what needs quotes has them") {
    row r;
    r.name = "conv, \"large\"\nand slow";
    r.count = -3;
    r.flag = true;
    r.first = {0.25, "a b"};
    CHECK(ts::io::to_csv(std::vector<row>{r}) ==
          "name,count,large,flag,when,first_ratio,first_word,second_ratio,second_word\n"
          "\"conv, \"\"large\"\"\nand slow\",-3,0,1,ready,0.25,a b,0,\"\"\n");
    CHECK(ts::io::to_csv(std::vector<row>{}) ==
          "name,count,large,flag,when,first_ratio,first_word,second_ratio,second_word\n");
    CHECK(ts::io::to_json(std::vector<row>{}) == "[]\n");
    CHECK(ts::io::to_json(std::vector<row>{r}).find(R"("first": {"ratio": 0.25, "word": "a b"})") != std::string::npos);
}

TEST_CASE("what is no such row is refused with its place") {
    const auto csv = [](const std::string& text) {
        return message_of([&] { static_cast<void>(ts::io::rows_of<inner>(ts::io::csv_table(text, "t"))); });
    };
    CHECK(csv("ratio,word\n1,a\n") == "accepted");
    CHECK(csv("other,word,ratio\n7,a,1\n") == "accepted");
    CHECK(csv("ratio,word\n1,a\n1 m,b\n").find("row 2 of the table has \"1 m\" in column 'ratio'") !=
          std::string::npos);
    CHECK(csv("word\na\n").find("has no column 'ratio'") != std::string::npos);
    const auto json = [](const std::string& text) {
        return message_of([&] { static_cast<void>(ts::io::rows_of<inner>(ts::io::json_document(text, "t"))); });
    };
    CHECK(json(R"([{"ratio": 1, "word": "a"}])") == "accepted");
    CHECK(json(R"([{"ratio": 1, "word": "a"}, {"ratio": "1", "word": "a"}])").find("/1/ratio") != std::string::npos);
    CHECK(json(R"([{"ratio": 1}])").find("has no \"word\"") != std::string::npos);
    CHECK(json(R"([{"ratio": 1, "word": "a", "more": 2}])").find("means nothing here") != std::string::npos);
    CHECK(json(R"({"ratio": 1, "word": "a"})").find("must be an array") != std::string::npos);
}

TEST_CASE("a table of micro-benchmarks comes back with everything that it says") {
    ts::operator_timing t;
    int number = 1;
    // Every field another value, so that one that is forgotten is missed.
    ts::io::detail::each_column(t, "", [&](const std::string& name, auto& value) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
            value = name + ", " + std::to_string(number++);
        } else {
            value = static_cast<std::remove_cvref_t<decltype(value)>>(number++);
        }
    });
    CHECK(number == 13 + 2 * 7 + 1);
    const std::vector<ts::operator_timing> rows{t, ts::operator_timing()};
    CHECK(ts::io::rows_of<ts::operator_timing>(ts::io::csv_table(ts::io::to_csv(rows), "t")) == rows);
    CHECK(ts::io::rows_of<ts::operator_timing>(ts::io::json_document(ts::io::to_json(rows), "t")) == rows);
    const std::string text = ts::io::to_csv(rows);
    CHECK(text.find("forward_median") != std::string::npos);
    CHECK(text.find("predicted_backward") != std::string::npos);
}

} // namespace
