// SPDX-License-Identifier: Apache-2.0
// Names that end literals, elements, fields and lines, through every exporter: what is written is parsed by the
// language's own parser (Python's ast, its parsers of HTML and XML, of JSON and CSV; a C++ compiler), and says the
// names again.
#include "support/hostile_names.hpp"

#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"
#include "tessera/io/data/vocabulary.hpp"
#include "tessera/io/exchange/machine_file.hpp"
#include "tessera/io/exchange/network_cpp.hpp"
#include "tessera/io/exchange/strategy_file.hpp"
#include "tessera/io/exchange/torch_export.hpp"
#include "tessera/io/files/rows_json.hpp"
#include "tessera/io/reports/learning_curve.hpp"
#include "tessera/io/reports/metrics_log.hpp"
#include "tessera/io/reports/report.hpp"
#include "tessera/io/reports/svg_scatter.hpp"
#include "tessera/io/reports/trace.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

namespace ts = tessera;
namespace io = tessera::io;
using test_support::hostile_names;

const io::network_file& network() {
    static const io::network_file file = io::network_from_text(test_support::hostile_network());
    return file;
}

struct row {
    std::string name;
    int number = 0;
    template <class See>
    static constexpr void each_field(See&& see) {
        see("name", &row::name, ts::field_facts{});
        see("number", &row::number, ts::field_facts{});
    }
};

std::vector<row> rows() {
    std::vector<row> all;
    for (const std::string& name : hostile_names()) {
        all.push_back({name, static_cast<int>(all.size())});
    }
    return all;
}

std::filesystem::path tests_folder() { return std::filesystem::path(__FILE__).parent_path().parent_path(); }

/// Whether a command is there; a test that needs it says so otherwise.
bool is_there(const std::string& command) {
    const bool there = std::system(("command -v " + command + " >/dev/null 2>&1").c_str()) == 0;
    if (!there) {
        MESSAGE(command << " is not there: what it would read is left out");
    }
    return there;
}

} // namespace

TEST_CASE("hostile names: Python, HTML, SVG, JSON and CSV say them again to the parsers of Python") {
    const test::temporary_folder folder;
    const ts::graph_view g = network().network.view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    const ts::strategy s = ts::search::one_weird_trick(g, on.devices());
    const std::string title = network().name;

    io::json expected{{"names", hostile_names()}, {"title", title}, {"inputs", {g.tensors[0].name, g.tensors[1].name}}};
    io::write_file_atomically(folder / "expected.json", expected.dump());

    io::export_torch(folder / "torch", g, s.view(), on.devices(), ts::sgd{.learning_rate = 0.1F}, {.title = title});
    io::shown_run run = io::simulated_run(g, s, on);
    std::string notes;
    for (const std::string& name : hostile_names()) {
        notes += name + "\n";
    }
    io::write_report(folder / "report.html", run, {.title = title, .about = hostile_names()[22], .notes = notes});
    io::write_trace(folder / "trace.json", run);
    io::line_chart lines{title, hostile_names()[21], hostile_names()[7], {}, 4000, 4000};
    io::scatter_chart points{title, hostile_names()[21], hostile_names()[7], {}, 4000, 4000};
    for (const std::string& name : hostile_names()) {
        lines.series.push_back({name, {1, 2}, {1, 2}});
        points.series.push_back({name, {1, 2}, {1, 2}});
    }
    io::write_file_atomically(folder / "lines.svg", io::to_svg(lines));
    io::write_file_atomically(folder / "points.svg", io::scatter_svg(points));
    io::write_network(folder / "network.json", g, title);
    io::write_strategy(folder / "strategy.json", g, s, on.devices());
    ts::device_graph machine = ts::machines::this_host(2);
    machine.name = title;
    io::write_machine(folder / "machine.json", machine);
    io::write_csv(folder / "rows.csv", rows());
    io::write_json(folder / "rows.json", rows());
    {
        io::metrics_log log(folder / "log", {.csv = true, .events = false});
        for (const std::string& name : hostile_names()) {
            if (name.find('\0') == std::string::npos) {
                log.add({name, 1, 0.5, 2});
            }
        }
    }
    if (is_there("python3")) {
        const std::string command =
            "python3 '" + (tests_folder() / "io/hostile_names.py").string() + "' '" + folder.path() + "'";
        CHECK(std::system(command.c_str()) == 0);
    }

    // The same by the library's own readers, nlohmann's among them.
    CHECK(io::json_document(test::read_text(folder / "network.json"), "x").value()["name"] == title);
    const io::network_file back = io::read_network(folder / "network.json");
    CHECK(ts::paths_of(back.network.view()).ops == ts::paths_of(g).ops);
    CHECK(io::read_strategy(g, folder / "strategy.json").value == s);
    CHECK(io::read_machine(folder / "machine.json") == machine);
    CHECK(io::to_csv(io::rows_of<row>(io::read_csv(folder / "rows.csv"))) == io::to_csv(rows()));
    CHECK(io::to_csv(io::rows_of<row>(io::json_document(test::read_text(folder / "rows.json"), "x"))) ==
          io::to_csv(rows()));
    const io::safetensors_file weights(folder / "torch/weights.safetensors");
    for (const std::string& name : hostile_names()) {
        CHECK(weights.tensors().count(name + "/weight") == 1);
    }
    std::size_t logged = 0;
    const std::vector<std::string> all = hostile_names();
    for (const io::scalar& x : io::read_metrics(folder / "log/metrics.csv")) {
        CHECK(std::find(all.begin(), all.end(), x.tag) != all.end());
        ++logged;
    }
    CHECK(logged + 1 == all.size()); // without the one that has a zero byte, which a log refuses
}

TEST_CASE("hostile names: a list of tokens has a line for each, in printable ASCII") {
    const io::vocabulary v(hostile_names());
    const std::string text = v.to_text();
    CHECK(std::count(text.begin(), text.end(), '\n') == 1 + static_cast<std::ptrdiff_t>(v.tokens().size()));
    for (const char c : text) {
        CHECK((c == '\n' || (c >= ' ' && c <= '~')));
    }
    CHECK(io::vocabulary_from_text(text, "x") == v);
}

TEST_CASE("hostile names: a header of C++ compiles, and its paths are the names") {
    const test::temporary_folder folder;
    const std::string header = io::to_cpp(network().network.view(), network().name);
    io::write_file_atomically(folder / "network.hpp", header);
    for (const char c : header) { // no control character but the line's end
        CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    }
    CHECK(header.find('\x7f') == std::string::npos);
    // A program that has the bytes of every name by their numbers.
    std::string text = "#include \"network.hpp\"\n#include <tessera/net/describe.hpp>\n#include "
                       "<tessera/net/paths.hpp>\n#include <cstdio>\n";
    const std::size_t at = header.rfind("using ") + 6;
    const std::string type = header.substr(header.rfind("::") + 2, header.rfind(';') - header.rfind("::") - 2);
    REQUIRE(at > 6);
    text += "int main() {\n    const auto g = tessera::describe<" + type +
            ">(8);\n    const auto paths = tessera::paths_of(g.view());\n    bool same = true;\n";
    const std::vector<std::string> paths = ts::paths_of(network().network.view()).ops;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        std::string bytes;
        for (const char c : paths[i]) {
            bytes += (bytes.empty() ? "" : ", ") + std::to_string(static_cast<int>(static_cast<signed char>(c)));
        }
        text += "    { const signed char b[] = {" + bytes + "}; same = same && paths.ops[" + std::to_string(i) +
                "] == std::string(reinterpret_cast<const char*>(b), sizeof b); }\n";
    }
    text += "    return same && paths.ops.size() == " + std::to_string(paths.size()) + " ? 0 : 1;\n}\n";
    io::write_file_atomically(folder / "main.cpp", text);
    for (const char* compiler : {"g++", "clang++-14"}) {
        if (is_there(compiler)) {
            const std::string command = std::string(compiler) + " -std=c++20 -O0 -Wall -Wextra -Werror -I'" +
                                        (tests_folder().parent_path() / "include").string() + "' '" + folder.path() +
                                        "/main.cpp' -o '" + folder.path() + "/main' && '" + folder.path() + "/main'";
            CHECK(std::system(command.c_str()) == 0);
        }
    }
}

TEST_CASE("hostile names: a name that is no UTF-8 is refused where it could not be read again") {
    const test::temporary_folder folder;
    for (const char* name : {"a\xff", "\xc3", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf"}) {
        const std::vector<float> one(1);
        const std::vector<io::named_tensor> tensors{{name, {1}, one}};
        CHECK(test_support::contains(test_support::message_of([&] { io::write_safetensors(folder / "x", tensors); }),
                                     "which is no UTF-8"));
    }
    CHECK(folder.files() == 0);
}

TEST_CASE("an export to PyTorch refuses a parameter that no memory holds, before anything is written") {
    const test::temporary_folder folder;
    const io::network_file large = io::network_from_text(R"({"tessera_network": 1, "name": "n", "batch": 4, "nodes": [
{"input": "x", "sample": [3], "type": "i32"}, {"input": "y", "sample": [3], "type": "i32"},
{"name": "table", "kind": "embedding", "attributes": {"vocabulary": 2000000000, "out": 8}, "reads": ["x"]},
{"name": "out", "kind": "linear", "attributes": {"out": 5}, "reads": ["table"]},
{"name": "loss", "kind": "cross_entropy", "reads": ["out", "y"]}]})");
    const ts::graph_view g = large.network.view();
    const std::string said = test_support::message_of([&] {
        io::export_torch(folder / "torch", g, ts::search::single_device(g).view(), 1, ts::sgd{.learning_rate = 0.1F});
    });
    CHECK(test_support::contains(
        said, "the parameter table/weight has 16000000000 elements, and one that is exported has at most 1073741824"));
    CHECK(folder.files() == 0);
}
