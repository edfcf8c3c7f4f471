// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/network_file.hpp"

#include "examples/networks.hpp"
#include "support/random_network.hpp"
#include "support/refusal.hpp"
#include "support/replaced.hpp"
#include "support/same_network.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/net/network_hash.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string_view>

namespace {

using namespace test_support;
namespace ts = tessera;
namespace io = tessera::io;

std::string text_of(const ts::graph& g) { return io::to_text(io::to_json(g.view(), "net")); }

struct words {};
struct next {};
struct table : ts::embedding<50, 8> {};
struct hidden : ts::linear<8, ts::initial_weights<ts::initial::normal<1, 50>>, ts::initial_bias<ts::initial::ones>> {};
struct out : ts::linear<50, ts::no_bias> {};
struct kept : ts::linear<8, ts::frozen> {};
struct loss : ts::weighted_loss<ts::cross_entropy, ts::weight<1, 3>> {};
struct twice : ts::linear<8> {};
/// Ties, a shared layer, a frozen one, initial values, a weighted loss and shorter sequences.
struct language
    : ts::sequential<ts::tokens<ts::up_to<6>>, table, hidden, ts::gelu, ts::shared<twice>, ts::shared<twice>, kept,
                     ts::repeat<2, ts::layer_norm<>, ts::gelu>, ts::tied<out, table>, loss> {};
struct fast : ts::with_precision<ts::bf16, networks::lenet5> {};

struct doubled : ts::elementwise<doubled> {
    static constexpr const char* name = "doubled_here";
    static constexpr auto of(auto x) { return x + x; }
};

} // namespace

TEST_CASE("network file: what is written comes back the same, names, ties, values and all") {
    for (const ts::graph& g : {ts::describe<networks::lenet5>(12), ts::describe<language>(3), ts::describe<fast>(4)}) {
        const std::string text = text_of(g);
        const io::network_file back = io::network_from_text(text);
        CHECK(back.name == "net");
        CHECK(difference_of(g.view(), back.network.view()) == "");
        CHECK(ts::network_hash(g.view()) == ts::network_hash(back.network.view()));
        CHECK(text_of(back.network) == text);
    }
}

TEST_CASE("network file: random networks come back the same") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        const ts::graph g = random_network(seed);
        const std::string text = text_of(g);
        CHECK(difference_of(g.view(), io::network_from_text(text).network.view()) == "");
    }
}

TEST_CASE("network file: the number of samples is the reader's") {
    const std::string text = text_of(ts::describe<language>(3));
    CHECK(difference_of(ts::describe<language>(7).view(), io::network_from_text(text, 7).network.view()) == "");
}

TEST_CASE("network file: names outlive the text and are shared by copies") {
    ts::graph copy;
    auto texts = [&] {
        const io::network_file f = io::network_from_text(text_of(ts::describe<language>(2)));
        copy = f.network;
        return f.texts;
    }();
    CHECK(ts::paths_of(copy.view()).op(1) == "hidden");
    CHECK(texts.use_count() == 1);
}

TEST_CASE("network file: operators of one layer are counted, and their parameters with them") {
    const io::network_file file = io::network_from_text(text_of(ts::describe<language>(2)));
    std::map<std::string_view, int> seen;
    int again = 0;
    for (const ts::op_node& o : file.network.ops) {
        const int number = seen[o.name]++;
        CHECK(o.instance == number);
        again += number > 0 ? 1 : 0;
        for (const int p : o.parameters) {
            const ts::parameter_node& x = file.network.parameters[ts::to_size(p)];
            CHECK((x.layer != o.name || x.instance <= number));
            CHECK((o.name != "layer_norm" || x.instance == number));
        }
    }
    CHECK(again >= 3);
}

TEST_CASE("network file: every operator of the library lists its attributes") {
    for (const ts::op_record* r : ts::library_operators) {
        CAPTURE(std::string(r->name));
        const bool may_have_none =
            std::string_view(r->name) == "flatten" || std::string_view(r->name) == "gather_rows" ||
            std::string_view(r->name) == "dispatch_tokens" || std::string_view(r->name) == "combine_tokens" ||
            std::string_view(r->name) == "global_average_pool" || std::string_view(r->name) == "cross_entropy";
        CHECK((r->own != nullptr) != may_have_none);
    }
}

TEST_CASE("network file: an operator of one's own is read where its record is given, and refused by name elsewhere") {
    using net = ts::sequential<ts::features<4>, doubled, ts::cross_entropy>;
    const ts::graph g = ts::describe<net>(2);
    const std::string text = text_of(g);
    CHECK(contains(message_of([&] { io::network_from_text(text); }), "/kind is 'doubled_here', which is no operator"));
    CHECK(difference_of(g.view(),
                        io::network_from_text(text, 0, "x", {doubled::attributes.kind.record}).network.view()) == "");
}

TEST_CASE("network file: what is wrong is named with its line, its place and the rule") {
    const std::string good = text_of(ts::describe<language>(3));
    const std::string images = text_of(ts::describe<networks::lenet5>(12));
    const auto refused = [](const std::string& text, const char* from, const char* to, const char* words) {
        const std::string changed = replaced(text, from, to);
        const std::string said = message_of([&] { io::network_from_text(changed, 0, "file"); });
        CHECK_MESSAGE(contains(said, words), said);
        CHECK(contains(said, "file, line "));
    };
    refused(good, "\"tessera_network\": 2", "\"tessera_network\": 3", "is version 3, but this reads versions 1 to 2");
    refused(good, "\"batch\": 3", "\"batch\": 0", "/batch is 0, but must be a whole number from 1 to");
    refused(good, "\"kind\": \"gelu\"", "\"kind\": \"gely\"", "is 'gely', which is no operator; did you mean");
    refused(good, "\"kind\": \"gelu\"", "\"kind\": \"gelu\", \"colour\": 1", "/colour means nothing here");
    refused(good, "\"reads\": [\"hidden\"]", "\"reads\": [\"hiden\"]", "is 'hiden', which is no node before 'gelu.0'");
    refused(good, "\"reads\": [\"hidden\"]", "\"reads\": [\"gelu.0\"]",
            "is 'gelu.0', which is no node before 'gelu.0'");
    refused(good, "\"reads\": [\"hidden\"]", "\"reads\": []", "has 0 names, but an operator reads 1 to");
    refused(good, "\"name\": \"hidden\"", "\"name\": \"table\"", "is 'table', as another node before it");
    refused(good, "\"out\": 8", "\"out\": 0", "must be a whole number from 1 to");
    refused(good, "\"out\": 8", "\"our\": 8", "means nothing here");
    refused(good, "\"bias\": false", "\"bias\": 1", "must be true or false");
    refused(good, "\"parameters_of\": \"table\"", "\"parameters_of\": \"gelu.0\"",
            "is 'gelu.0', which has no parameters");
    refused(good, "\"parameters_of\": \"table\"", "\"parameters_of\": \"hidden\"", "breaks a rule: ");
    refused(good, "\"parameters_of\": \"table\"", "\"parameters_of\": \"out\"", "which is no operator before 'out'");
    refused(good, "\"how\": \"normal\"", "\"how\": \"norma\"", "is no way to draw values; did you mean");
    refused(good, "\"any_length\": true", "\"any_length\": 3", "must be true or false");
    refused(images, "\"window\": [5, 5]", "\"window\": [5]", "has 1 numbers, but must have 2");
    refused(images, "\"window\": [5, 5]", "\"window\": [50, 5]", "breaks a rule: ");
    refused(images, "\"type\": \"f32\"", "\"type\": \"f16\"", "is 'f16', which is no type of an input");
    refused(images, "\"sample\": [1, 28, 28]", "\"sample\": [1, 2147483647, 2147483647]", "breaks a rule: ");
    refused(images, "    {\"input\": \"labels\"",
            "    {\"input\": \"unread\", \"sample\": [2147483647, 2147483647, 2], \"type\": \"f32\"},\n    {\"input\": "
            "\"labels\"",
            "/sample breaks a rule: ");
    refused(images, "\"kind\": \"cross_entropy\"", "\"kind\": \"add\"", "breaks a rule: ");
    refused(images, "\"reads\": [\"conv1\"]", "\"reads\": [\"labels\"]", "is no node before");
}

TEST_CASE("network file: a network without a loss is refused") {
    std::string text = text_of(ts::describe<networks::lenet5>(12));
    const std::size_t labels = text.find("    {\"input\": \"labels\"");
    REQUIRE(labels != std::string::npos);
    text = text.substr(0, text.rfind(',', labels)) + "]}";
    CHECK(contains(message_of([&] { io::network_from_text(text); }), ts::to_text(ts::rule::network_has_no_loss)));
}
