// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/reports/report.hpp"

#include "run_fixture.hpp"

#include <doctest/doctest.h>

namespace {

using namespace run_of_lenet;

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) {
        ++n;
    }
    return n;
}

/// The object that the page's script draws.
io::json data_of(const std::string& page) {
    const std::size_t first = page.find("const D = ") + 10;
    const std::size_t last = page.find(";\n(function", first);
    REQUIRE(last != std::string::npos);
    return io::json_document(page.substr(first, last - first), "data").value();
}

} // namespace

TEST_CASE("report: it needs nothing from elsewhere and has everything in it") {
    run_fixture f(ts::machines::p100_nodes(1));
    io::report_options o;
    o.title = "A <b>title</b> & more";
    o.notes = "</script><script>alert(1)</script>\nsecond line";
    const std::string page = io::to_html(f.run, o);
    for (const char* fetches : {"src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("}) {
        CHECK(page.find(fetches) == std::string::npos);
    }
    CHECK(page.find("<b>title") == std::string::npos);
    CHECK(count_of(page, "<script>") == 1);
    CHECK(count_of(page, "</script>") == 1);
    CHECK(page.find("&lt;/script&gt;") != std::string::npos);
    CHECK(page.find("alert(1)&lt;/script&gt;\nsecond line") != std::string::npos);
    const io::json data = data_of(page);
    CHECK(data["end"].get<ts::index_t>() == f.run.simulated.makespan);
    std::size_t spans = 0;
    for (const io::json& row : data["rows"]) {
        spans += row["spans"].size() / 4;
        for (std::size_t i = 4; i < row["spans"].size(); i += 4) {
            CHECK(row["spans"][i].get<ts::index_t>() >= row["spans"][i - 3].get<ts::index_t>());
        }
    }
    CHECK(spans == f.run.activities.spans.size());
    CHECK(data["memory"].size() == 4);
    CHECK(count_of(page, "<rect class=\"op\"") == ts::to_size(f.network.view().op_count));
    // An arrow for every tensor that one operator reads from another; red ones where something moves.
    CHECK(count_of(page, "<path class=") == ts::to_size(f.network.view().op_count) - 1);
    CHECK(count_of(page, "<path class=\"moves\"") > 0);
    CHECK(count_of(page, "<tr><td>") == count_of(page, "class=\"bar\""));
}

TEST_CASE("report: bytes per link add up to what the plan moves, where every transfer passes one link") {
    run_fixture f(ts::fully_linked(ts::machines::p100_cluster(4)), true);
    ts::index_t carried = 0;
    for (const ts::index_t bytes : f.run.activities.lane_bytes(f.on)) {
        carried += bytes;
    }
    // 20 GB/s: less than 20 bytes are lost for each message.
    const auto moved = static_cast<double>(f.run.plan.moved_bytes);
    REQUIRE(moved > 0);
    CHECK(static_cast<double>(carried) <= moved);
    CHECK(static_cast<double>(carried) >= moved - 20.0 * static_cast<double>(f.run.activities.spans.size()));
}

TEST_CASE("report: devices that copy in turn have one row each; a measured one comes below") {
    run_fixture f(ts::machines::this_host(2));
    f.run.measured = f.run.simulated;
    f.run.measured->makespan *= 2;
    const std::string page = io::to_html(f.run);
    const io::json data = data_of(page);
    REQUIRE(data["rows"].size() >= 4);
    CHECK(data["rows"][0]["name"] == "device 0");
    CHECK(data["rows"][1]["name"] == "measured");
    CHECK(data["rows"][2]["name"] == "device 1");
    CHECK(data["end"].get<ts::index_t>() == f.run.measured->makespan);
    CHECK(page.find("<b>0.5</b><span>simulated over measured") != std::string::npos);
    for (const std::size_t row : {std::size_t{0}, std::size_t{2}}) {
        CHECK(data["rows"][row]["spans"] == data["rows"][row + 1]["spans"]);
    }
}

TEST_CASE("report: every operator has a place of its own, below what it reads") {
    const ts::graph network = ts::describe<networks::resnet50>(2);
    const ts::graph_view g = network.view();
    const io::detail::network_places p = io::detail::places_of(g);
    CHECK(p.taken.size() == ts::to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            const int producer = g.tensors[t].producer;
            CHECK((producer < 0 || p.row[ts::to_size(producer)] < p.row[ts::to_size(op)]));
        }
    }
    CHECK(p.rows <= g.op_count);
    CHECK(p.columns >= 2);
}
