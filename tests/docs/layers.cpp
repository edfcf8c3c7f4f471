// SPDX-License-Identifier: Apache-2.0
// docs/layers.md is made here: every layer and part with its template arguments, its shapes and an example, whose
// shapes are inferred. No operator, and no layer, part, option or input that a header declares, is without a row.
#include "docs/layer_rows_of_elements.hpp"
#include "docs/layer_rows_of_images.hpp"
#include "docs/layer_rows_of_parts.hpp"
#include "docs/page.hpp"

#include "tessera/op/known_operators.hpp"

#include <map>
#include <regex>
#include <set>

namespace {

namespace ts = tessera;
using docs_support::layer_row;

struct section {
    const char* title;
    const char* words;
    std::vector<layer_row> rows;
};

std::vector<section> sections() {
    using namespace docs_support;
    return {
        {"Convolutions and pools", "", convolutions()},
        {"Linear layers, tables, softmax and experts", "", linear_layers()},
        {"Normalization", "", normalizations()},
        {"Activations and other functions of one number",
         "Numbers as template arguments may have a point: `ts::leaky_relu<0.2>`. [A formula of your\n"
         "own](adding_an_operator.md) is a layer, too.\n\n",
         activations()},
        {"Of two tensors and more",
         "They stand in `branches`, in `tap` or as a node of a `dag`. What is element by element broadcasts as NumPy "
         "does,\n"
         "behind the samples: an extent of 1 goes with any.\n\n",
         of_two()},
        {"Dropout",
         "Which numbers are dropped is a function of seed, step and index: the same under every strategy.\n\n",
         droppers()},
        {"Shape and order", "", changes_of_shape()},
        {"Losses",
         "The last layer of a sequential network, or nodes of a `dag`. What each computes, and means over what, is in\n"
         "[Training](training.md#losses).\n\n",
         losses()},
        {"Parts", "What is made of layers. The examples are made of these:\n\n```cpp\n%parts%```\n\n", parts()},
    };
}

struct named {
    const char* name;
    const char* words;
};

constexpr named inputs[] = {
    {"image<Channels, Height, Width>", "[N,Channels,Height,Width] of numbers"},
    {"volume<Channels, Depth, Height, Width>", "[N,Channels,Depth,Height,Width] of numbers"},
    {"features<Count>", "[N,Count] of numbers"},
    {"sequence<Length, Channels>", "[N,Length,Channels] of numbers; `ts::up_to<Length>`: of any length up to that"},
    {"tokens<Length>", "[N,Length] of integers, also `ts::up_to<Length>`; labels of a sequence, too"},
    {"scalars", "[N] of numbers, such as weights of rows"},
    {"labels", "[N] of integers"},
    {"lengths", "[N] of integers: how long each padded sequence is"},
    {"place_mask", "[N,S] of integers: 1 of places that attention sees, else 0; `with_mask` makes this input"},
    {"label_map<Height, Width>", "[N,Height,Width] of integers, a label for each pixel"},
    {"label_volume<Depth, Height, Width>", "[N,Depth,Height,Width] of integers"},
};

constexpr named options[] = {
    {"window<H, W>", "of convolutions and pools; one number for all dimensions, or one for each"},
    {"stride<H, W>", "likewise: how far the window moves; 1 in convolutions, the window in pools"},
    {"padding<H, W>", "likewise: zeros on each side (minus infinity in a max pool)"},
    {"dilation<H, W>", "likewise: how far the window's elements are apart"},
    {"groups<Count>", "of channels that are convolved apart; as many as channels: a depthwise convolution"},
    {"no_bias", "no bias is added"},
    {"frozen", "the layer's parameters keep their values; of any layer with parameters"},
    {"initial_weights<How>", "what weights hold before training: [Initial values](networks.md#initial-values)"},
    {"initial_bias<How>", "the same of a bias"},
    {"count_padding", "an average pool divides by the whole window at the border, too"},
    {"percent<P>", "of dropout, in a layer of your own"},
    {"weight<Numerator, Denominator>", "the factor of a loss in the total; the denominator is 1 unless said otherwise"},
    {"heads<Count>", "of attention, side by side in the channels"},
    {"epsilon<Added>",
     "of normalizations: what is added to a variance or a mean of squares, 1e-5 unless said otherwise"},
    {"rotary_base<Base>",
     "of `rotary`: a pair turns by its position times a power of this, 10000 unless said otherwise"},
    {"halves", "of `rotary`: pairs are a head's first and second half"},
    {"rotary_scale<Factor, Original, Low, High>",
     "of `rotary`: slow pairs turn Factor times slower than for the Original positions, as in LLaMA 3.1"},
    {"transpose_first", "rows and columns of the first matrix change places"},
    {"transpose_second", "those of the second"},
    {"key_heads<Count>", "of attention: heads of keys and values, each for as many heads of queries in a row"},
    {"sliding_window<Places>", "of attention: a query sees keys less than so many places away"},
    {"score_scale<Factor>", "of attention: what query times key is multiplied by, instead of 1 / sqrt(W)"},
    {"softcap<Cap>", "of attention: scores z become Cap * tanh(z / Cap)"},
    {"alibi", "of attention: scores fall with the distance of query and key, in each head by another slope"},
    {"position_buckets<Count, MaxDistance>",
     "of attention: a trained number for each bucket of distances and each head is added to scores, as in T5"},
    {"with_mask<L>",
     "a padded attention L in a `self_attention` that a mask tells which keys it sees; the mask becomes an input"},
    {"scaled", "a product is divided by the root of what it sums over"},
    {"causal", "a softmax's row sees the columns up to its own number"},
    {"top<Count>", "the experts that a token is sent to"},
    {"capacity<Slots>", "the tokens of a sample that an expert takes"},
    {"capacity_factor<Factor>", "the same as a multiple of the even share, rounded up"},
    {"no_drop", "an expert takes all tokens of a sample that choose it"},
    {"normalized", "what `keep_top` keeps is divided by its sum"},
    {"rows<Count>", "of a table of positions"},
    {"axis<D>", "the dimension that is sliced or concatenated; 1 is the position in [N,T,C]"},
    {"margin<D, Before, After>", "of `pad`"},
    {"keep<D, Begin, Count>", "of `crop`"},
    {"shift<D, Count>", "of `roll`"},
    {"ignore<Label>", "rows with this label do not count"},
    {"label_smoothing<Smoothing>", "of the losses in which rows may not count"},
};

/// "conv2d" of "conv2d<64, window<3>>".
std::string name_of(const std::string& written) { return written.substr(0, written.find('<')); }

/// The lines of a source from the one that begins so to the last before `until`, without what formats them.
std::string lines_between(const std::string& text, const std::string& from, const std::string& until) {
    const std::size_t begin = text.find(from);
    const std::size_t end = text.find(until, begin);
    REQUIRE((begin != std::string::npos && end != std::string::npos));
    return text.substr(begin, end - begin);
}

/// Types that the headers of layers declare in the namespace tessera, with the header.
std::map<std::string, std::string> declared() {
    std::map<std::string, std::string> names;
    std::vector<std::filesystem::path> headers{test::project_root() / "include/tessera/net/inputs.hpp",
                                               test::project_root() / "include/tessera/net/network.hpp",
                                               test::project_root() / "include/tessera/op/expression/loss.hpp"};
    for (const char* const folder : {"include/tessera/op", "include/tessera/part"}) {
        for (const auto& entry : std::filesystem::directory_iterator(test::project_root() / folder)) {
            if (entry.is_regular_file()) {
                headers.push_back(entry.path());
            }
        }
    }
    const std::regex type(R"(^(?:requires.*\) )?struct (\w+)(?:$|[^\w;].*[^;]$|[^\w;].*\{.*\};$))");
    const std::regex reduction(R"(^TESSERA_REDUCTION\((\w+),)");
    for (const auto& path : headers) {
        std::istringstream file(test::read_text(path));
        std::vector<std::string> scopes;
        std::smatch found;
        bool in_body = false; // of a function or type that begins at the left
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("namespace ") && line.ends_with('{')) {
                scopes.push_back(line.substr(10, line.find(' ', 10) - 10));
            } else if (line.starts_with("} // namespace") || (line == "}" && !in_body)) {
                scopes.pop_back();
            } else if (scopes == std::vector<std::string>{"tessera"} &&
                       (std::regex_search(line, found, type) || std::regex_search(line, found, reduction))) {
                names.emplace(found[1], path.lexically_relative(test::project_root() / "include").string());
            }
            in_body = (in_body || (line.ends_with('{') && !line.starts_with("namespace "))) &&
                      !(line.starts_with('}') && !line.ends_with('{'));
        }
        CHECK_MESSAGE(scopes.empty(), path.string());
    }
    return names;
}

/// A header and what it includes, as paths below include/.
void include_all(const std::string& header, std::set<std::string>& seen) {
    if (!seen.insert(header).second) {
        return;
    }
    std::istringstream file(test::read_text(test::project_root() / "include" / header));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#include \"tessera/")) {
            include_all(line.substr(10, line.find('"', 10) - 10), seen);
        }
    }
}

/// What has to be included for a layer besides tessera.hpp, or "".
std::string besides(const layer_row& row) {
    static const std::map<std::string, std::string> all = declared();
    static const std::set<std::string> core = [] {
        std::set<std::string> seen;
        include_all("tessera/tessera.hpp", seen);
        return seen;
    }();
    const std::string name = name_of(row.written);
    const auto at = all.find(name);
    REQUIRE_MESSAGE((at != all.end()), name);
    return core.contains(at->second) ? "" : "; `#include <" + at->second + ">`";
}

std::string table(const std::vector<layer_row>& rows) {
    std::string text = "| layer | computes | shapes | example |\n|---|---|---|---|\n";
    for (const layer_row& r : rows) {
        text += "| `" + r.written + "` | " + r.computes + besides(r) + " | " + r.shapes + " | `" + r.example + "`<br>" +
                r.made + (r.parameters.empty() ? "" : "<br>parameters " + r.parameters) + " |\n";
    }
    return text;
}

template <std::size_t Count>
std::string table(const char* head, const named (&all)[Count]) {
    std::string text = std::string("| ") + head + " | |\n|---|---|\n";
    for (const named& x : all) {
        text += std::string("| `") + x.name + "` | " + x.words + " |\n";
    }
    return text;
}

std::string page() {
    std::string text = R"(# Layers

Every layer that a network may be made of, with its template arguments, its shapes and one example. All are in the
namespace `ts`; [Building networks](networks.md) says how they are put together. N are the samples of a batch, C
channels or features, T positions of a sequence. Arguments that end in `<>` are [options](#options), in any order, and
may be left out. A layer with parameters becomes a type of its own by inheritance:
`struct conv1 : ts::conv2d<64, ts::window<3>> {};`.

This page is made by [tests/docs/layers.cpp](../tests/docs/layers.cpp), which infers the shapes of the examples and
holds that no operator is missing; `TESSERA_UPDATE_GOLDENS=1` writes it anew. Which backend computes what is in
[Operators](operators.md). Where no header is named, `tessera/host.hpp` and
`tessera/tessera.hpp` have the layer.

## Inputs

)";
    text += table("input", inputs);
    for (const section& s : sections()) {
        std::string words = s.words;
        if (const std::size_t at = words.find("%parts%"); at != std::string::npos) {
            words.replace(at, 7,
                          lines_between(test::read_text(test::project_root() / "tests/docs/layer_rows_of_parts.hpp"),
                                        "struct conv :", "// clang-format on"));
        }
        text += std::string("\n## ") + s.title + "\n\n" + words + table(s.rows);
    }
    text += "\n## Options\n\n" + table("option", options);
    return text;
}

/// What these headers declare besides: values that describe operators, optimizers, and the bases of what a program
/// adds.
const std::set<std::string> no_layers = {"affine",
                                         "attribute_defaults",
                                         "attribute_field",
                                         "attribute_list",
                                         "attribute_numbers",
                                         "description",
                                         "diagonal_band",
                                         "flag",
                                         "initial_rule",
                                         "known_operator",
                                         "label_tensor",
                                         "loop",
                                         "loop_ranges",
                                         "nest",
                                         "number",
                                         "op_attributes",
                                         "op_facts",
                                         "piecewise_use",
                                         "product_shape",
                                         "op_kind",
                                         "op_record",
                                         "operand",
                                         "sgd",
                                         "adam",
                                         "adamw",
                                         "rmsprop",
                                         "lars",
                                         "lamb",
                                         "update_rule",
                                         "parameter_group",
                                         "optimizer",
                                         "row_loss",
                                         "sequential",
                                         "inferred",
                                         "window_loops",
                                         "windows",
                                         "has_length",
                                         "problem",
                                         "loss_rows",
                                         "group",
                                         "own_row",
                                         "group_at",
                                         "biases_and_norms",
                                         "elementwise",
                                         "operation"};

} // namespace

TEST_CASE("docs/layers.md is what the layers say of themselves") { test::hold_page("layers.md", page()); }

TEST_CASE("every operator, layer, part, option and input has a row in docs/layers.md") {
    std::set<std::string> written;
    std::set<std::string> records;
    for (const section& s : sections()) {
        for (const layer_row& r : s.rows) {
            const std::string name = name_of(r.written);
            CHECK_MESSAGE(written.insert(name).second, name, " stands twice");
            CHECK_MESSAGE((r.example.find("ts::" + name) != std::string::npos), r.example, " is no ", name);
            if (r.op != nullptr) {
                std::string of = r.op->name; // mean_over_2_3: of the dimensions 2 and 3
                while (of.size() > 2 && of[of.size() - 2] == '_' && of.back() >= '0' && of.back() <= '9') {
                    of.resize(of.size() - 2);
                }
                records.insert(of);
            }
        }
    }
    for (const named& x : inputs) {
        written.insert(name_of(x.name));
    }
    for (const named& x : options) {
        written.insert(name_of(x.name));
    }
    for (const ts::known_operator& k : ts::known_operators()) {
        std::string of = k.record->name;
        while (of.size() > 2 && of[of.size() - 2] == '_' && of.back() >= '0' && of.back() <= '9') {
            of.resize(of.size() - 2);
        }
        if (k.record != &ts::op::opaque_record) { // of network files alone
            CHECK_MESSAGE(records.contains(of), "no row has the operator ", of,
                          ": add one to a tests/docs/layer_rows_*.hpp");
        }
    }
    const std::map<std::string, std::string> all = declared();
    CHECK(all.size() > 120);
    for (const auto& entry : all) { // no structured binding: doctest's macros capture
        const std::string& name = entry.first;
        const std::string& header = entry.second;
        const bool said = written.contains(name) || no_layers.contains(name) ||
                          (name.ends_with("_cell") && written.contains(name.substr(0, name.size() - 5)));
        CHECK_MESSAGE(said, header, ": no row has ", name,
                      ": add one to a tests/docs/layer_rows_*.hpp, or to the options or inputs here");
    }
    for (const std::string& name : written) {
        CHECK_MESSAGE((all.contains(name) || records.contains(name)), "no header declares ", name);
    }
}
