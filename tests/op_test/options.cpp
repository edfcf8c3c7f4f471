// SPDX-License-Identifier: Apache-2.0
#include "op_test/options.hpp"

#include "tessera/base/error.hpp"
#include "tessera/base/nearest.hpp"

#include <charconv>

namespace op_test {

namespace {

std::uint64_t number_of(const std::string& option, std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || wrong != std::errc() || end != text.data() + text.size()) {
        throw ts::error(option + " takes a whole number that is not below 0, not '" + std::string(text) + "'");
    }
    return value;
}

numbers numbers_of(const std::string& option, const std::string& text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos) {
        const std::uint64_t one = number_of(option, text);
        return {one, one};
    }
    const numbers n{number_of(option, std::string_view(text).substr(0, dash)),
                    number_of(option, std::string_view(text).substr(dash + 1))};
    if (n.first > n.last) {
        throw ts::error(option + " takes a number, or the first and the last as in 1-20, not '" + text + "'");
    }
    return n;
}

std::vector<std::string> listed(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        all.push_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return all;
}

/// The place of a word among those that an option takes.
template <std::size_t Count>
std::size_t place_of(const std::string& option, const std::string& word, const std::array<const char*, Count>& names) {
    std::string known;
    for (std::size_t i = 0; i < Count; ++i) {
        if (word == names[i]) {
            return i;
        }
        known += (i == 0 ? "" : i + 1 == Count ? " and " : ", ") + std::string(names[i]);
    }
    throw ts::error(option + ": there is no " + word + ts::did_you_mean(word, {names.begin(), names.end()}) +
                    "; there are " + known);
}

constexpr std::array<const char*, 3> precision_names{"fp32", "tf32", "bf16"}; // in the order of ts::precision
constexpr std::array<const char*, 10> with_value{"--backend",   "--op",   "--seed",    "--networks", "--windows",
                                                 "--precision", "--pass", "--devices", "--seconds",  "--seeds"};
constexpr std::array<const char*, 5> alone{"--whole", "--list", "--quiet", "--wrong-row", "--help"};

template <std::size_t Count>
bool is_among(const std::string& word, const std::array<const char*, Count>& names) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

void set(options& o, const std::string& option, const std::string& value) {
    if (option == "--backend") {
        for (const std::string& name : listed(value)) {
            o.backends.push_back(name);
        }
    } else if (option == "--op") {
        o.ops.push_back(value);
    } else if (option == "--seed" || option == "--seeds") {
        o.seeds = numbers_of(option, value);
    } else if (option == "--networks") {
        o.networks = numbers_of(option, value);
    } else if (option == "--windows") {
        o.windows = numbers_of(option, value);
    } else if (option == "--precision") {
        for (const std::string& name : listed(value)) {
            o.precisions.push_back(static_cast<ts::precision>(place_of(option, name, precision_names)));
        }
    } else if (option == "--pass") {
        o.wanted = {};
        for (const std::string& name : listed(value)) {
            o.wanted[place_of(option, name, part_names)] = true;
        }
    } else if (option == "--seconds") {
        o.seconds = static_cast<double>(number_of(option, value));
    } else {
        const std::uint64_t devices = number_of(option, value);
        if (devices < 1 || devices > 64) {
            throw ts::error("--devices takes a number from 1 to 64, not " + value);
        }
        o.devices = static_cast<int>(devices);
    }
}

} // namespace

options read_options(const std::vector<std::string>& words) {
    options o;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (is_among(word, alone)) {
            o.lists = o.lists || word == "--list";
            o.helps = o.helps || word == "--help";
            o.quiet = o.quiet || word == "--quiet";
            o.wrong_row = o.wrong_row || word == "--wrong-row";
            o.devices = word == "--whole" ? 0 : o.devices;
        } else if (!is_among(word, with_value)) {
            std::vector<std::string> all(with_value.begin(), with_value.end());
            all.insert(all.end(), alone.begin(), alone.end());
            throw ts::error("there is no option " + word + ts::did_you_mean(word, all) + "; --help shows all");
        } else if (i + 1 == words.size()) {
            throw ts::error("there is no value behind " + word + "; --help shows what it takes");
        } else {
            set(o, word, words[++i]);
        }
    }
    return o;
}

std::string help() {
    return R"(usage: tessera_op_test [options]
Runs operators of the table on backends, in random shards, against the reference. Exit code: 0 all right, 1 something
is wrong, 2 the options are, 77 the backend cannot run here.

  --backend NAME,...    backends, see --list; without: all that can run here
  --op PATTERN          rows, by their name or operator, * for any letters; may come several times; without: all
  --seed N, --seeds A-B draws of numbers and shards; without: 1
  --pass NAME,...       of forward, backward and update; without: all
  --precision NAME,...  of fp32, tf32 and bf16; without: all that the backend takes
  --devices N           in random shards on N devices, or N random shards; without: 3, 5, 7 or whole, by the seed
  --whole               not in shards
  --networks A-B        operators of random networks in place of the table
  --windows A-B         random convolutions in place of the table
  --seconds S           after which no further case of a backend begins
  --list                shows backends and rows, and runs nothing
  --quiet               shows wrong cases and sums alone
  --wrong-row           one operator, wrong on purpose on every backend: the run must fail
  --help                shows this
)";
}

} // namespace op_test
