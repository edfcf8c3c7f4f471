// SPDX-License-Identifier: Apache-2.0
// Figures of README.md are those of the newest files in benchmarks/results: every row of its tables that links one has
// its bold words and all its numbers in one line there.
#include "docs/page.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// Whether it stands in the line by itself: 0.94 neither in 10.94 nor in 0.945, VGG-1 not in VGG-16.
bool has(const std::string& line, const std::string& word) {
    const auto joins = [&](std::size_t at) {
        const char c = at < line.size() ? line[at] : ' ';
        const bool decimal =
            c == '.' && at + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[at + 1])) != 0;
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || decimal;
    };
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
        const bool begins = at == 0 || (!joins(at - 1) && line[at - 1] != '.');
        if (begins && !joins(at + word.size())) {
            return true;
        }
    }
    return false;
}

struct figures {
    std::string row;
    std::string file;
    std::vector<std::string> words; ///< bold, and numbers of the cells between the first and the last
};

/// The rows of tables that link results.
std::vector<figures> rows_of(const std::string& readme) {
    const std::regex link(R"(\]\((benchmarks/results/[^)]+)\))");
    const std::regex bold(R"(\*\*([^*]+)\*\*)");
    const std::regex number(R"([0-9][0-9.]*(?:e[+-][0-9]+)?)");
    std::vector<figures> rows;
    for (const std::string& line : lines_of(readme)) {
        std::smatch found;
        if (!line.starts_with("| ") || !std::regex_search(line, found, link)) {
            continue;
        }
        figures row{line, found[1], {}};
        const std::size_t second = line.find(" | ");
        const std::size_t last = line.rfind(" | ");
        const std::string first = line.substr(0, second);
        const std::regex between(", ");
        for (std::sregex_iterator at(first.begin(), first.end(), bold), end; at != end; ++at) {
            const std::string named = (*at)[1];
            row.words.insert(row.words.end(), std::sregex_token_iterator(named.begin(), named.end(), between, -1), {});
        }
        REQUIRE_MESSAGE(!row.words.empty(), line);
        const std::size_t names = row.words.size();
        const std::string cells = line.substr(second, last - second);
        for (std::sregex_iterator at(cells.begin(), cells.end(), number), end; at != end; ++at) {
            row.words.push_back(at->str());
        }
        REQUIRE_MESSAGE(row.words.size() >= names + 2, line);
        rows.push_back(row);
    }
    return rows;
}

/// What is wrong with a row, or "".
std::string problem_of(const figures& row) {
    const std::filesystem::path path = test::project_root() / row.file;
    if (!std::filesystem::exists(path)) {
        return row.file + " is not there";
    }
    const std::regex dated(R"((.+-)(\d{4}-\d{2}-\d{2})\.md)");
    std::smatch own;
    std::smatch other;
    const std::string name = path.filename().string();
    REQUIRE(std::regex_match(name, own, dated));
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
        const std::string beside = entry.path().filename().string();
        if (std::regex_match(beside, other, dated) && other[1] == own[1] && other[2].str() > own[2].str()) {
            return beside + " is newer than " + name;
        }
    }
    const std::vector<std::string> lines = lines_of(test::read_text(path));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string line = lines[i];
        if (!line.starts_with('|') && i + 1 < lines.size()) { // what programs printed is broken in two
            line += " " + lines[i + 1];
        }
        bool all = true;
        for (const std::string& word : row.words) {
            all = all && has(line, word);
        }
        if (all) {
            return "";
        }
    }
    return "no line of " + name + " has all that stands here";
}

} // namespace

TEST_CASE("the README's figures are those of the newest results") {
    const std::vector<figures> rows = rows_of(test::read_text(test::project_root() / "README.md"));
    CHECK(rows.size() >= 8);
    std::size_t kinds[4] = {};
    const char* const files[4] = {"/host-", "/gpu-", "/papers-", "/contest-"};
    for (const figures& row : rows) {
        CHECK_MESSAGE(problem_of(row).empty(), row.row, "\n", problem_of(row));
        for (std::size_t k = 0; k < 4; ++k) {
            kinds[k] += row.file.find(files[k]) != std::string::npos ? 1U : 0U;
        }
    }
    for (const std::size_t count : kinds) {
        CHECK(count > 0);
    }
}

TEST_CASE("any other figure, name or older file is noticed") {
    int changed = 0;
    for (const figures& row : rows_of(test::read_text(test::project_root() / "README.md"))) {
        for (std::size_t w = 0; w < row.words.size(); ++w) {
            figures other = row;
            char& digit = other.words[w].back(); // a name that ends in a letter is another by it, too
            digit = digit == '9' ? '1' : digit == '7' ? '3' : static_cast<char>(digit + 1);
            CHECK_MESSAGE(!problem_of(other).empty(), other.words[w], " in place of ", row.words[w], ": ", row.row);
            ++changed;
        }
        figures elsewhere = row;
        elsewhere.file = "benchmarks/results/from-torch-2026-11-25.md"; // which a newer one follows
        CHECK(problem_of(elsewhere).find("newer") != std::string::npos);
    }
    CHECK(changed > 30);
}
