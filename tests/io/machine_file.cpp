// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/exchange/machine_file.hpp"

#include "support/replaced.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace {

namespace ts = tessera;
namespace io = tessera::io;

std::string refusal(const std::string& text) {
    try {
        io::machine_from_text(text);
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("machine file: every preset comes back the same") {
    for (const auto& g : {ts::machines::p100_nodes(), ts::machines::k80_nodes(2), ts::machines::v100_nodes(2),
                          ts::machines::a100_nodes(3), ts::machines::h200_nodes(4), ts::machines::heterogeneous(),
                          ts::machines::b200_nodes(2), ts::machines::gb200_nvl72(), ts::machines::mi300x_nodes(2),
                          ts::machines::tpu_v5p(2), ts::machines::this_host()}) {
        CHECK(io::machine_from_text(io::to_text(io::to_json(g))) == g);
    }
}

TEST_CASE("machine file: rates in fp16 and fp8 are those of a file, and may be left out") {
    ts::device_graph g = ts::machines::h100_nodes();
    const std::string text = io::to_text(io::to_json(g));
    CHECK(text.find("\"gigaflops_matrix_product_fp8\": 1979000") != std::string::npos);
    for (const char* name : {"fp16", "fp8"}) {
        for (const char* kind : {"convolution", "matrix_product"}) {
            const std::string line = std::string("\"gigaflops_") + kind + "_" + name + "\"";
            CHECK(
                refusal(test_support::replaced(text, line.c_str(), "\"gigaflops_other\"")).find("means nothing here") !=
                std::string::npos);
        }
    }
    for (ts::device_class& c : g.classes) {
        std::fill(std::begin(c.fp16_gigaflops), std::end(c.fp16_gigaflops), 0);
        std::fill(std::begin(c.fp8_gigaflops), std::end(c.fp8_gigaflops), 0);
    }
    const std::string old = io::to_text(io::to_json(g));
    CHECK(old.find("fp8") == std::string::npos);
    CHECK(io::machine_from_text(old) == g);
}

TEST_CASE("machine file: one of more devices than are read is refused at once") {
    ts::device_graph g;
    g.name = "large";
    g.add_class(ts::machines::this_host().classes[0]);
    const int center = g.add_switch("center");
    for (int i = 0; i < 100'000; ++i) {
        g.add_link(g.add_device(0, "d", -1), center, 100, 100);
    }
    const std::string text = io::to_text(io::to_json(g));
    const auto start = std::chrono::steady_clock::now();
    CHECK(refusal(text).find("/components has 100000 devices; at most 65536 are read") != std::string::npos);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10)); // one, on a machine that does no more
}

TEST_CASE("machine file: what is wrong is named with its line and path") {
    const std::string good = io::to_text(io::to_json(ts::machines::this_host()));
    const auto says = [&](const char* from, const char* to, const char* words) {
        return refusal(test_support::replaced(good, from, to)).find(words) != std::string::npos;
    };
    CHECK(refusal(good).empty());
    CHECK(says("\"tessera_machine\": 1", "\"tessera_machine\": 2",
               "/tessera_machine is version 2, but this reads version 1"));
    CHECK(says("\"cables\": 1", "\"cable\": 1", "/links/0 has no \"cables\""));
    CHECK(says("\"cables\": 1", "\"cables\": 1, \"colour\": 3", "/links/0/colour means nothing here"));
    CHECK(
        says("\"cables\": 1", "\"cables\": 1.5", "/links/0/cables is 1.5, but must be a whole number from 1 to 4096"));
    CHECK(says("\"cables\": 1", "\"cables\": \"1\"", "/links/0/cables is a text"));
    CHECK(says("\"cables\": 1", "\"cables\": 1, \"cables\": 1", "comes twice"));
    CHECK(says("\"cables\": 1", "\"cables\": 99999999999", "is 99999999999"));
    CHECK(says("\"cables\": 1", "\"cables\": 18446744073709551615", "is 18446744073709551615"));
    CHECK(says("\"megabytes_per_second\": 21000", "\"megabytes_per_second\": 0", "/links/0/megabytes_per_second is 0"));
    CHECK(says("\"inside\": -1", "\"inside\": 0", "lies inside itself"));
    CHECK(says("\"to\": 0", "\"to\": 77", "to 77 joins a component that does not exist"));
    CHECK(refusal(good + "{}").find("expected end of input") != std::string::npos);
    CHECK(refusal("[]").find("line 1: the file is an array, but must be an object") != std::string::npos);
    // The line is that of the value: the first link stands where the array begins, and one line further down.
    const std::size_t place = good.find("\"links\"");
    const auto line =
        std::to_string(2 + std::count(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
    CHECK(says("\"cables\": 1", "\"cables\": 0", ("machine file, line " + line + ": /links/0/cables is 0").c_str()));
}

TEST_CASE("machine file: rates in other precisions are optional members, as strict as the others") {
    ts::device_graph g = ts::machines::this_host();
    const std::string plain = io::to_text(io::to_json(g));
    CHECK(plain.find("_bf16") == std::string::npos);
    CHECK(plain.find("_tf32") == std::string::npos);
    g.classes[0].bf16_gigaflops[1] = 700;
    g.classes[0].tf32_gigaflops[0] = 300;
    const std::string text = io::to_text(io::to_json(g));
    const ts::device_graph back = io::machine_from_text(text);
    CHECK(back == g);
    CHECK(back.classes[0].rate(ts::work_kind::matrix_product, ts::precision::bf16) == 700);
    CHECK(back.classes[0].rate(ts::work_kind::convolution, ts::precision::tf32) == 300);
    CHECK(back.classes[0].rate(ts::work_kind::convolution, ts::precision::bf16) == 118);
    const auto says = [&](const char* from, const char* to, const char* words) {
        return refusal(test_support::replaced(text, from, to)).find(words) != std::string::npos;
    };
    CHECK(says("\"gigaflops_matrix_product_bf16\": 700", "\"gigaflops_matrix_product_bf16\": 0",
               "/classes/0/gigaflops_matrix_product_bf16 is 0"));
    CHECK(says("\"gigaflops_matrix_product_bf16\": 700", "\"gigaflops_matrix_product_bf16\": \"fast\"",
               "/classes/0/gigaflops_matrix_product_bf16 is a text"));
    CHECK(says("gigaflops_matrix_product_bf16", "gigaflops_matrix_product_fp4", "means nothing here"));
    g.classes[0].bf16_gigaflops[2] = -1; // a value that no file can say is refused as well
    CHECK_THROWS_WITH_AS(ts::require(g), doctest::Contains("negative rate in tf32, bf16, fp16 or fp8 (elementwise)"),
                         ts::error);
    g.classes[0].bf16_gigaflops[2] = ts::largest_rate + 1;
    CHECK_THROWS_WITH_AS(ts::require(g), doctest::Contains("beyond any device"), ts::error);
}

TEST_CASE("machine file: rates by size are an optional member, all or none, each in its range") {
    ts::device_graph g = ts::machines::h100_nodes();
    const std::string text = io::to_text(io::to_json(g));
    CHECK(g.classes[0].rates.known());
    CHECK(io::machine_from_text(text).classes[0].rates == g.classes[0].rates);
    CHECK(io::to_text(io::to_json(ts::machines::p100_nodes())).find("rates") == std::string::npos);
    const auto says = [&](const char* from, const char* to, const char* words) {
        return refusal(test_support::replaced(text, from, to)).find(words) != std::string::npos;
    };
    CHECK(says("\"tile_rows\": 128", "\"tile_row\": 128", "/classes/0/rates has no \"tile_rows\""));
    CHECK(says("\"tile_rows\": 128", "\"tile_rows\": 0", "/classes/0/rates/tile_rows is 0"));
    CHECK(says("\"tile_rows\": 128", "\"tile_rows\": 128, \"clock\": 1", "/classes/0/rates/clock means nothing here"));
    g.classes[0].rates.link_share = 1001; // a value that no file can say is refused as well
    CHECK_THROWS_WITH_AS(ts::require(g), doctest::Contains("link_share 1001; give a number from 1 to 1000"), ts::error);
}

TEST_CASE("machine file: graphs that fall apart or go round in circles") {
    ts::device_graph apart = ts::machines::this_host();
    apart.links.pop_back();
    const auto refused = [](const ts::device_graph& g, const char* words) {
        return refusal(io::to_text(io::to_json(g))).find(words) != std::string::npos;
    };
    CHECK(refused(apart, "no way leads from device 0 'core 0' to device 1 'core 1'"));
    ts::device_graph circle = ts::machines::k80_nodes(1);
    circle.components[0].inside = 1;
    circle.components[1].inside = 0;
    CHECK(refused(circle, "lies inside itself by way of others"));
    ts::device_graph loop = ts::machines::this_host();
    loop.links[0].to = loop.links[0].from;
    CHECK(refused(loop, "joins a component to itself"));
    ts::device_graph fast = ts::machines::this_host();
    fast.links[0].megabytes = ts::largest_rate + 1; // a value that no file can say is refused as well
    CHECK_THROWS_WITH_AS(ts::require(fast), doctest::Contains("beyond any link"), ts::error);
}
