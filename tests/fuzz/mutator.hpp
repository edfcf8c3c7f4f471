// SPDX-License-Identifier: Apache-2.0
// Damages a text at random: letters, words and numbers are changed, parts are taken out, moved, doubled and repeated
// many times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace fuzz {

class mutator {
public:
    explicit mutator(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

    std::string operator()(std::string text, const std::string& other) {
        for (std::size_t k = 1 + below(1 + below(6)); k > 0 && !text.empty(); --k) {
            const std::size_t place = below(text.size());
            switch (below(10)) {
            case 0:
                text[place] = letters[below(letters.size())];
                break;
            case 1:
                text[place] = static_cast<char>(below(256));
                break;
            case 2:
                text.erase(place, 1 + below(20));
                break;
            case 3:
                text.insert(place, 1, letters[below(letters.size())]);
                break;
            case 4:
                text.insert(place, text.substr(below(text.size()), 1 + below(60)));
                break;
            case 5:
                text.insert(place, other.substr(below(other.size()), 1 + below(200)));
                break;
            case 6:
                text.resize(place);
                break;
            case 7:
                text.replace(place, 1 + below(4), words[below(words.size())]);
                break;
            case 8:
                below(16) == 0 ? repeat(text, place) : replace_number(text, place);
                break;
            default:
                replace_number(text, place);
            }
        }
        return text;
    }

private:
    void replace_number(std::string& text, std::size_t from) {
        const std::size_t first = text.find_first_of("0123456789", from);
        if (first != std::string::npos) {
            const std::size_t last = text.find_first_not_of("0123456789", first);
            text.replace(first, (last == std::string::npos ? text.size() : last) - first,
                         numbers[below(numbers.size())]);
        }
    }
    /// A part again and again, with a number in it that counts, so that names differ.
    void repeat(std::string& text, std::size_t place) {
        constexpr std::string_view begins = "{[\"\n";
        constexpr std::string_view ends = "}],\n";
        const std::size_t from = text.find_first_of(begins, place);
        const std::size_t end = from == std::string::npos ? from : text.find_first_of(ends, from + 1);
        if (end == std::string::npos || end - from > 400) {
            return;
        }
        const std::string part = text.substr(from, end + 1 - from);
        const std::size_t letter = below(part.size());
        const std::size_t times = 2 + below(std::size_t{1} << below(11));
        std::string all;
        for (std::size_t k = 0; k < times; ++k) {
            all += part.substr(0, letter) + std::to_string(k) + part.substr(letter);
            all += part.back() == '}' || part.back() == ']' ? "," : "";
        }
        text.insert(from, all);
    }

    static constexpr std::string_view letters = "{}[]\",:0123456789-+.eE\\utrfalsn \n";
    static constexpr std::array<std::string_view, 10> words{"null",     "true",    "{}",       "[]", "\"\"",
                                                            "[[[[[[[[", "\\ud800", "\xff\xfe", ",,", "0x1"};
    static constexpr std::array<std::string_view, 16> numbers{"-1",
                                                              "0",
                                                              "1",
                                                              "2",
                                                              "3",
                                                              "7",
                                                              "64",
                                                              "4096",
                                                              "1048576",
                                                              "2147483647",
                                                              "2147483648",
                                                              "4294967296",
                                                              "9223372036854775807",
                                                              "18446744073709551616",
                                                              "1e308",
                                                              "0.5"};
    std::mt19937_64 random_;
};

} // namespace fuzz
