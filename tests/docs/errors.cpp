// SPDX-License-Identifier: Apache-2.0
// docs/errors.md is made of the rules: their names and words, in their order, the program of tests/compile_fail that
// shows each as a compile error, and whether values meet it too. A row added to TESSERA_RULES joins the section in
// which it stands.
#include "docs/page.hpp"

#include "tessera/base/rules.hpp"

#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace {

namespace ts = tessera;

template <ts::rule Broken>
constexpr std::string_view name_in_signature() {
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("Broken = "));
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

template <std::size_t... I>
constexpr auto all_names(std::index_sequence<I...>) {
    return std::array<std::string_view, sizeof...(I)>{name_in_signature<static_cast<ts::rule>(I)>()...};
}

struct row {
    std::string name;
    std::string words;
};

std::vector<row> all_rules() {
    static constexpr auto names = all_names(std::make_index_sequence<256>{});
    std::vector<row> rules;
    for (std::size_t i = 1; i < names.size(); ++i) {
        const auto broken = static_cast<ts::rule>(i);
        if (std::string_view(to_text(broken)) == to_text(ts::rule::none)) {
            break;
        }
        rules.push_back({std::string(names[i]), to_text(broken)});
    }
    return rules;
}

struct section {
    std::string first; ///< rule
    std::string title;
    std::string words;
};

const std::vector<section>& sections() {
    static const std::vector<section> all = {
        {"extent_is_zero", "Layers and their inputs",
         "What one layer asks of its settings and of the tensors that it reads."},
        {"layer_used_twice", "Networks", "What a network asks of its parts together."},
        {"unknown_layer", "Strategies: layers, shards and devices",
         "What splits and placements ask of a network and a machine."},
        {"schedule_has_other_micro_batches", "Strategies: batches, steps, parameters and sizes",
         "What holds for all operators of a strategy together, and how large anything may be."},
        {"stage_is_negative", "Strategies: stages and schedules",
         "What a pipeline asks of the stages of its operators and of the order of its steps. `ts::error` names the "
         "step where one is wrong: `[backward of stage 1, micro-batch 0, found 2, needed 1]`."},
        {"no_servers", "Strategies: synchronization",
         "What policies ask of their settings, and messages of the gradients that they hold. `ts::error` names the "
         "parameter."},
        {"layout_has_wrong_rank", "Layouts and redistributions",
         "What a layout that is a type asks of its tensor, a redistribution of its two layouts, and `ts::sharded` of "
         "the layouts of an operator's inputs and output. Dimensions count from 0: `dimension<1>, found<3>, "
         "needed<50>`."},
    };
    return all;
}

struct source {
    std::string path; ///< from the root
    std::string text;
};

std::vector<source> sources(const std::string& folder, const std::vector<std::string>& endings) {
    std::vector<source> all;
    for (const auto& path : test::files_below(folder, endings)) {
        all.push_back({path.lexically_relative(test::project_root()).generic_string(), test::read_text(path)});
    }
    return all;
}

/// True where the text has the word, not as a part of a longer one.
bool names(const std::string& text, const std::string& word) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if (end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 && text[end] != '_')) {
            return true;
        }
    }
    return false;
}

/// The programs whose compile error must have the words of the rule, or enough of them.
std::vector<std::string> shown_by(const row& r, const std::vector<source>& programs) {
    std::vector<std::string> found;
    for (const source& s : programs) {
        std::istringstream lines(s.text);
        const std::string mark = "// expect-error: ";
        for (std::string line; std::getline(lines, line);) {
            const std::string said = line.rfind(mark, 0) == 0 ? line.substr(mark.size()) : "";
            if (said == r.words || (said.size() > 20 && r.words.find(said) != std::string::npos)) {
                found.push_back(s.path);
                break;
            }
        }
    }
    return found;
}

/// Rules that no type can break, and why.
const std::map<std::string, std::string>& of_values_alone() {
    static const std::map<std::string, std::string> all = {
        {"too_many_names", "compilers end such a network at their limit of template depth"},
        {"strategy_has_wrong_size", "a strategy that is a type has a configuration for every operator"},
        {"stages_for_other_operators", "the same"},
        {"stage_outside_schedule", "types make the schedule for the stages that there are"},
        {"devices_for_other_workers", "a type says one number of devices for all workers"},
        {"load_is_negative", "of functions that balance stages"},
        {"times_for_other_stages", "of timetables"},
        {"followers_of_other_stages", "of timetables"},
        {"averages_need_plain_sgd", "optimizers are values"},
        {"compression_without_norms", "optimizers are values"},
        {"staleness_without_norms", "optimizers are values"},
        {"state_on_host_without_state", "optimizers are values"},
    };
    return all;
}

std::string cell(const row& r) {
    std::string text = r.words;
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
        text.insert(at, "\\");
    }
    for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 4) {
        text.replace(at, 1, "&lt;");
    }
    return text;
}

/// In lines of at most 120.
std::string wrapped(const std::string& text) {
    std::string lines;
    std::size_t begin = 0; // of the line
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!lines.empty()) {
            const bool full = lines.size() - begin + 1 + word.size() > 120;
            lines += full ? '\n' : ' ';
            begin = full ? lines.size() : begin;
        }
        lines += word;
    }
    return lines;
}

constexpr const char* head = R"(# Errors

This page is made by [tests/docs/errors.cpp](../tests/docs/errors.cpp) from the list of rules in
[base/rules.hpp](../include/tessera/base/rules.hpp); `TESSERA_UPDATE_GOLDENS=1` writes it anew.

A network or a strategy that breaks a rule is refused before anything is planned. Each rule is written once, and says
the same words in two ways:

- **Types.** A network or a strategy that is a type, with a batch that is a constant, does not compile. The message
  begins with `tessera::refusal<tessera::rule::NAME, ...>`, then come the words of the rule, the layer, the dimension
  and the numbers: `found<3>`, `needed<50>`. The last column links a program that shows it, with its corrected twin.
- **Values.** A network that is described at run time (`ts::describe<net>(batch)`, or built as a value) or a strategy
  that is a value (from a search or a file) throws `ts::error`. Its text has the same words and facts:
  `tessera: <words> [layer fc1, along channel, found 3, needed 50]`.

The second column says which of the two shows a rule. "types" alone: values have no way to break it, or are refused by
an earlier rule. "values" alone: no program of the tests shows it as a compile error.

What is no rule of a network or a strategy is a `ts::error` with a sentence of its own: a plan that does not hold
together ([the verifier](../include/tessera/plan/verify/verify.hpp)), a file that cannot be read (it names file, line
and path), memory that does not suffice, a loss that is not a number, a failed call of a vendor's library.
)";

std::string page() {
    const std::vector<row> rules = all_rules();
    const std::vector<source> programs = sources("tests/compile_fail", {".cpp"});
    const std::vector<source> headers = sources("include/tessera", {".hpp", ".inl"});
    std::string text = head;
    std::size_t next = 0;
    for (const row& r : rules) {
        if (next < sections().size() && sections()[next].first == r.name) {
            text += "\n## " + sections()[next].title + "\n\n" + wrapped(sections()[next].words) +
                    "\n\n| rule | broken by | message | compile error |\n|---|---|---|---|\n";
            ++next;
        }
        bool by_types = false; // in the headers of strategies as types, whose stem begins with typed_
        bool by_values = false;
        for (const source& h : headers) {
            if (h.path.find("base/rules.hpp") == std::string::npos && names(h.text, "rule::" + r.name)) {
                const std::string stem = std::filesystem::path(h.path).stem().string();
                (stem.rfind("typed_", 0) == 0 ? by_types : by_values) = true;
            }
        }
        CHECK_MESSAGE((by_types || by_values), "no header refuses by the rule " << r.name);
        const std::vector<std::string> shown = shown_by(r, programs);
        CHECK_MESSAGE((by_values || !shown.empty()),
                      "no program shows the rule " << r.name << ", which types alone meet");
        const bool values_alone = of_values_alone().count(r.name) == 1;
        CHECK_MESSAGE(shown.empty() == values_alone,
                      "the rule " << r.name
                                  << (shown.empty() ? ": types break it too, or say above why not"
                                                    : " is broken by types after all"));
        const std::string forms = shown.empty() ? "values" : by_values ? "types, values" : "types";
        text += "| `" + r.name + "` | " + forms + " | " + cell(r) + " | ";
        for (std::size_t i = 0; i < shown.size() && i < 1; ++i) {
            text += "[" + std::filesystem::path(shown[i]).stem().string() + "](../" + shown[i] + ")";
        }
        text += shown.empty() ? "|\n" : " |\n";
    }
    CHECK_MESSAGE(next == sections().size(), "a section begins with a rule that is not there, or out of order");
    return text;
}

} // namespace

TEST_CASE("names of rules are read as they are written") {
    const std::vector<row> rules = all_rules();
    REQUIRE(rules.size() > 60);
    CHECK(rules[0].name == "extent_is_zero");
    CHECK(rules[0].words == to_text(ts::rule::extent_is_zero));
    CHECK(rules.size() < 255); // a rule is one byte
}

TEST_CASE("docs/errors.md has every rule with its message") { test::hold_page("errors.md", page()); }
