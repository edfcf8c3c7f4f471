// SPDX-License-Identifier: Apache-2.0
// What is written under another locale is, byte for byte, what is written under "C", and is read alike: numbers by
// themselves, and files of every kind that has numbers with fractions or grew out of a stream. (That no reader and no
// writer asks the locale is what tests/locale_free looks for.)
#include "support/networks.hpp"
#include "support/other_locale.hpp"
#include "support/refusal.hpp"

#include "tessera/backend/cuda/kernels/expression.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/execute/ranks/field_lines.hpp"
#include "tessera/io/exchange/layer_profile_file.hpp"
#include "tessera/io/exchange/machine_file.hpp"
#include "tessera/io/exchange/network_file.hpp"
#include "tessera/io/exchange/search_file.hpp"
#include "tessera/io/exchange/split_problem_file.hpp"
#include "tessera/io/files/checkpoint_state.hpp"
#include "tessera/io/files/rows_json.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/learned/placeto_progress.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/op/optimizer_rules.hpp"
#include "tessera/plan/fuse.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/by_hand/side_by_side.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace {

namespace ts = tessera;
using test_support::other_locale;

struct fractions : ts::sequential<ts::image<3, 6, 6>, ts::conv2d<4, ts::window<3>>, ts::leaky_relu<0.03>, ts::gelu,
                                  ts::flatten, ts::linear<5>, ts::cross_entropy> {};

struct row {
    std::string name = "a";
    double time = 1234567.25;
    std::int64_t count = 7654321;
    template <class See>
    static constexpr void each_field(See&& see) {
        see("name", &row::name, ts::field_facts{});
        see("time", &row::time, ts::field_facts{});
        see("count", &row::count, ts::field_facts{});
    }
};

std::vector<double> some_numbers() {
    std::vector<double> all{0,
                            -0.0,
                            1,
                            -1.5,
                            0.1,
                            1e-7,
                            2e-7,
                            1234567.125,
                            1e15,
                            1e300,
                            -1e-300,
                            std::numeric_limits<double>::denorm_min(),
                            std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
    std::mt19937_64 random(5);
    while (all.size() < 2000) {
        const double x = std::bit_cast<double>(random());
        if (!std::isnan(x)) {
            all.push_back(x);
        }
    }
    return all;
}

ts::learned::placeto_progress some_placeto() {
    ts::learned::placeto_progress p{12345678901234567890ULL, 1234567, {}};
    p.graphs.resize(2);
    p.graphs[0].returns = {{0.1, -1234567.5, 1e-7}, {3, 4, 5}};
    p.graphs[0].best.where = {0, 1, 1, 0};
    p.graphs[0].best.step = 7654321;
    return p;
}

ts::io::checkpoint_state some_state() {
    ts::io::checkpoint_state s;
    s.step = 1234567;
    s.learning_rate = 0.1;
    s.training.add("rate", 1e-7);
    return s;
}

/// Everything that is written, by name.
std::map<std::string, std::string> written() {
    std::map<std::string, std::string> all;
    const ts::graph g = ts::describe<fractions>(1234);
    const ts::cluster on(ts::machines::this_host(2));
    for (const double x : some_numbers()) {
        all["numbers"] += ts::fixed_text(x) + ' ' + ts::general_text(x, 9) + ' ' + ts::shortest_text(x) + ' ' +
                          ts::exact_text(x) + '\n';
        char line[600];
        ts::print_to(line, sizeof line, "%12.3f %s %.17g %a %d\n", x, "word", x, x, 1234567);
        all["printed"] += line;
        all["device code"] += ts::cuda::detail::float_literal(x) + '\n';
    }
    ts::search::mcmc_options o;
    o.temperature = 1e-7;
    ts::search::search_state state;
    state.round = 1234567;
    all["search"] = ts::io::to_text(state, g.view(), on, o);
    all["placeto"] = ts::learned::to_text(some_placeto());
    ts::learned::learning_progress learner{99, 1234567, {}};
    learner.graphs.push_back({{0.1, 1234567}, {1, 0}, 7654321, 0});
    all["learner"] = ts::learned::to_text(learner);
    all["checkpoint"] = ts::io::detail::json_of(some_state(), {}).dump(2);
    all["network"] = ts::io::to_json(g.view(), "n").dump(2);
    all["machine"] = ts::io::to_json(on.graph()).dump(2);
    all["rows"] = ts::io::to_csv(std::vector<row>(2)) + ts::io::to_json(std::vector<row>(2));
    ts::search::placement::layer_profile profile;
    profile.layers.push_back({});
    profile.layers[0].id = "node1";
    profile.layers[0].kind = "Conv2d(3)";
    profile.layers[0].forward_ms = 1234.5;
    profile.layers[0].output_bytes = {1234567.5};
    all["profile"] = ts::io::profile_text(profile);
    all["plot"] = ts::io::to_svg({.title = "t", .series = {{"s", {0, 0.5, 1234567}, {1e-7, 0.25, 7654321.5}}}});
    const ts::fused_network fused = ts::fuse(g.view(), ts::search::data_parallel(g.view(), 2), {}, true);
    for (const ts::op_node& op : fused.network.ops) {
        all["fused operators"] += std::string(ts::record_of(op.attributes).name) + '\n';
    }
    all["message"] = test_support::message_of([] { ts::require(ts::optimizer(ts::sgd{.momentum = 1234567.5F})); });
    return all;
}

} // namespace

TEST_CASE("locale: the other one is another") {
    const other_locale while_it_lives;
    std::ostringstream text;
    text << 1234567 << ' ' << 1.5;
    CHECK(text.str() == "1.234.567 1,5");
    if (!while_it_lives.is_c_other()) {
        MESSAGE("there is no localedef with de_DE, so that C's functions stay in \"C\"; install the package locales");
    } else {
        CHECK(std::to_string(1.5) == "1,500000");
        CHECK(std::strtod("1.5", nullptr) < 1.25); // reads the 1
    }
}

TEST_CASE("locale: what is written is the same") {
    const std::map<std::string, std::string> expected = written();
    const other_locale while_it_lives;
    const std::map<std::string, std::string> found = written();
    REQUIRE(expected.size() == found.size());
    for (const auto& [name, text] : expected) {
        const std::string& which = name;
        INFO(which);
        CHECK(text.size() > 10);
        CHECK((found.at(name) == text));
    }
}

TEST_CASE("locale: numbers are those of printf in the C locale") {
    for (const double x : some_numbers()) {
        char text[600];
        std::snprintf(text, sizeof text, "%.6f", x);
        CHECK(ts::fixed_text(x) == text);
        std::snprintf(text, sizeof text, "%.9g", x);
        CHECK(ts::general_text(x, 9) == text);
        std::snprintf(text, sizeof text, "%a", x);
        double back = 0;
        CHECK(ts::is_number_text(text, back)); // of either
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(x));
        CHECK(ts::is_number_text(ts::exact_text(x), back));
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(x));
        CHECK(ts::is_number_text(ts::shortest_text(x), back));
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(x));
    }
    double x = 7;
    for (const char* const bad : {"", "-", "+-1", "--1", "1,5", "1.5x", "0x", "0x-1", "x", " 1", "1 ", "1e999"}) {
        INFO(bad);
        CHECK(!ts::is_number_text(bad, x));
    }
    CHECK(ts::read_number("1.5 name", x) == 3);
    CHECK(x == 1.5);
}

TEST_CASE("locale: what was written is read under the other one") {
    const std::map<std::string, std::string> files = written();
    const ts::graph g = ts::describe<fractions>(1234);
    const ts::cluster on(ts::machines::this_host(2));
    const other_locale while_it_lives;
    for (const double x : some_numbers()) {
        double back = 0;
        CHECK(ts::is_number_text(ts::exact_text(x), back));
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(x));
    }
    ts::search::mcmc_options o;
    o.temperature = 1e-7;
    CHECK(ts::io::search_from_text(files.at("search"), g.view(), on, o).round == 1234567);
    CHECK(ts::learned::to_text(ts::learned::placeto_progress_of(files.at("placeto"))) == files.at("placeto"));
    CHECK(ts::learned::placeto_progress_of(files.at("placeto")).graphs[0].returns == some_placeto().graphs[0].returns);
    CHECK(ts::learned::to_text(ts::learned::progress_of(files.at("learner"))) == files.at("learner"));
    CHECK(ts::io::to_json(ts::io::network_from_text(files.at("network")).network.view(), "n").dump(2) ==
          files.at("network"));
    CHECK(ts::io::machine_from_text(files.at("machine")) == on.graph());
    CHECK(ts::io::profile_text(ts::io::profile_from_text(files.at("profile"), "p")) == files.at("profile"));
    const ts::io::json_document state("{\"rate\": \"0.1\"}", "state");
    ts::io::json_object o2(state.root());
    CHECK(ts::io::detail::real_number(o2.get("rate")) == 0.1);
    const std::string problem = R"({"maxSizePerFPGA": 100.5, "maxFPGAs": 1, "maxCPUs": 1, "nodes": [
        {"name": "a", "id": 5, "supportedOnFpga": 1, "cpuLatency": 10.25, "fpgaLatency": 1.5, "isBackwardNode": 0, "size": 8.5}],
        "edges": []})";
    CHECK(ts::io::split_problem_from_text(problem, "p").memory == 100.5);
}

TEST_CASE("searches: every digit of what they are tells them apart") {
    const ts::graph g = ts::describe<fractions>(8);
    const ts::cluster on(ts::machines::this_host(2));
    ts::search::mcmc_options o;
    o.temperature = 1e-7;
    const std::string text = ts::io::to_text(ts::search::search_state{}, g.view(), on, o);
    CHECK_NOTHROW(ts::io::search_from_text(text, g.view(), on, o));
    const auto refused = [&](const ts::graph_view& of, const ts::search::mcmc_options& options) {
        return test_support::contains(
            test_support::message_of([&] { ts::io::search_from_text(text, of, on, options); }),
            "it belongs to another");
    };
    ts::search::mcmc_options other = o;
    other.temperature = 2e-7;
    CHECK(refused(g.view(), other));
    other = o;
    other.milliseconds_per_gigabyte = 1e-9;
    CHECK(refused(g.view(), other));
    other = o;
    other.least_gain = std::nextafter(o.least_gain, 1);
    CHECK(refused(g.view(), other));
    other = o;
    other.lowering.update.momentum = 0.5F;
    CHECK(refused(g.view(), other));
    other = o;
    other.proposals.devices = 1;
    CHECK(refused(g.view(), other));
    struct steeper : ts::sequential<ts::image<3, 6, 6>, ts::conv2d<4, ts::window<3>>, ts::leaky_relu<0.04>, ts::gelu,
                                    ts::flatten, ts::linear<5>, ts::cross_entropy> {};
    const ts::graph another = ts::describe<steeper>(8);
    CHECK(refused(another.view(), o));
    ts::device_graph machine = ts::machines::this_host(2);
    machine.links[0].megabytes += 1;
    CHECK(test_support::contains(
        test_support::message_of([&] { ts::io::search_from_text(text, g.view(), ts::cluster(machine), o); }),
        "it belongs to another"));
}
