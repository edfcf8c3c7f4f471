// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of operators and of chains of them in shards, over a table of operators and splits: time of a
// forward and of a backward run (which includes the reduction of the parameters' gradients), rate of the operator's own
// arithmetic, bytes moved between devices.
//
//   sharded [--filter=conv] [--seconds=1] [--precision=0.01] [--predict] [--tasks] [--csv=FILE] [--json=FILE]
//
// --predict measures every kind of task by itself and simulates the runs from that; --tasks prints every task, too.
#include "tessera/backend/host/measure/predict_operator.hpp"
#include "tessera/io/files/rows_json.hpp"

#include <tessera/host.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace ts = tessera;

namespace {

struct conv5x5 : ts::conv2d<20, ts::window<5>> {};
struct conv3x3 : ts::conv2d<64, ts::window<3>, ts::padding<1>> {};
struct pool2 : ts::max_pool<2> {};
struct norm : ts::batch_norm<> {};
struct fc : ts::linear<1024> {};

struct first : ts::linear<4096> {};
struct second : ts::linear<1024> {};

struct options {
    std::string filter, csv, json;
    ts::timing_options timing;
    bool predict = false;
    bool tasks = false;
};
options given;
std::vector<ts::operator_timing> rows;

template <class Op, class... Options>
void add_row(const std::string& name, int devices, const std::vector<ts::shape>& inputs) {
    if (name.find(given.filter) == std::string::npos) {
        return;
    }
    std::fprintf(stderr, "%s\n", name.c_str());
    ts::sharded<Op, Options...> op(ts::host::devices(devices), inputs);
    ts::operator_timing row = ts::time_operator(op, given.timing);
    row.name = name;
    ts::operator_prediction predicted;
    if (given.predict) {
        predicted = ts::host::predict_operator(op);
        row.add(predicted);
    }
    rows.push_back(row);
    if (given.tasks) {
        std::printf("%s\n", name.c_str());
        ts::timing_options o = given.timing;
        o.most = 200;
        std::printf("%s", to_text(ts::time_tasks(op, o, given.predict ? &predicted : nullptr)).c_str());
    }
}

template <class Op>
void add_rows(const std::string& name, const std::vector<ts::shape>& inputs) {
    using ts::split;
    add_row<Op>(name + " whole", 1, inputs);
    add_row<Op, split<ts::sample, 2>>(name + " sample/2", 2, inputs);
    add_row<Op, split<ts::channel, 2>>(name + " channel/2", 2, inputs);
}

void add_table() {
    using ts::make_shape;
    using ts::split;
    add_rows<conv5x5>("conv5x5 64x10x12x12", {make_shape(64, 10, 12, 12)});
    add_row<conv5x5, split<ts::sample, 2>, split<ts::channel, 2>>("conv5x5 64x10x12x12 sample/2 channel/2", 4,
                                                                  {make_shape(64, 10, 12, 12)});
    add_rows<conv3x3>("conv3x3 32x64x28x28", {make_shape(32, 64, 28, 28)});
    add_row<conv3x3, split<ts::height, 2>>("conv3x3 32x64x28x28 height/2", 2, {make_shape(32, 64, 28, 28)});
    add_row<conv3x3, split<ts::reduction, 2>>("conv3x3 32x64x28x28 reduction/2", 2, {make_shape(32, 64, 28, 28)});
    add_rows<fc>("linear 64x1024", {make_shape(64, 1024)});
    add_row<fc, split<ts::reduction, 2>>("linear 64x1024 reduction/2", 2, {make_shape(64, 1024)});
    add_rows<pool2>("max_pool2 64x20x24x24", {make_shape(64, 20, 24, 24)});
    add_rows<ts::relu>("relu 64x20x24x24", {make_shape(64, 20, 24, 24)});
    add_row<norm>("batch_norm 64x20x24x24 whole", 1, {make_shape(64, 20, 24, 24)});
    add_row<norm, split<ts::sample, 2>, ts::with_reduction>("batch_norm 64x20x24x24 sample/2", 2,
                                                            {make_shape(64, 20, 24, 24)});
    add_rows<ts::add>("add 64x20x24x24", {make_shape(64, 20, 24, 24), make_shape(64, 20, 24, 24)});
    add_row<ts::cross_entropy>("cross_entropy 64x1000 whole", 1, {make_shape(64, 1000)});
    add_row<ts::cross_entropy, split<ts::sample, 2>>("cross_entropy 64x1000 sample/2", 2, {make_shape(64, 1000)});
    add_row<ts::cross_entropy, split<ts::channel, 2>, ts::with_reduction>("cross_entropy 64x1000 channel/2", 2,
                                                                          {make_shape(64, 1000)});
    // Chains: between two operators that are split differently lies a redistribution.
    using picture = ts::sequential<conv3x3, ts::relu, pool2>;
    add_row<picture>("conv3x3, relu, max_pool2 32x64x28x28 whole", 1, {make_shape(32, 64, 28, 28)});
    add_row<picture, ts::others<split<ts::sample, 2>>>("conv3x3, relu, max_pool2 32x64x28x28 sample/2", 2,
                                                       {make_shape(32, 64, 28, 28)});
    add_row<picture, ts::on<conv3x3, split<ts::channel, 2>>, ts::others<split<ts::sample, 2>>>(
        "conv3x3, relu, max_pool2 32x64x28x28 channel/2 then sample/2", 2, {make_shape(32, 64, 28, 28)});
    using layers = ts::sequential<first, ts::gelu, second>;
    add_row<layers>("linear, gelu, linear 64x1024 whole", 1, {make_shape(64, 1024)});
    add_row<layers, ts::others<split<ts::sample, 2>>>("linear, gelu, linear 64x1024 sample/2", 2,
                                                      {make_shape(64, 1024)});
    add_row<layers, ts::on<first, split<ts::channel, 2>>, ts::on<ts::gelu, split<ts::channel, 2>>,
            ts::on<second, split<ts::reduction, 2>>>("linear, gelu, linear 64x1024 channel/2 then reduction/2", 2,
                                                     {make_shape(64, 1024)});
}

void read(int count, char** arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string_view a = arguments[i];
        const auto value = [&](std::string_view name, auto take) {
            if (a.substr(0, name.size()) == name) {
                take(std::string(a.substr(name.size())));
                return true;
            }
            return false;
        };
        const auto number = [](const std::string& text, double& to) {
            char* end = nullptr;
            to = std::strtod(text.c_str(), &end);
            if (text.empty() || *end != 0 || !(to > 0)) {
                throw ts::error("'" + text + "' is to be a number above 0");
            }
        };
        const bool known = value("--filter=", [](const std::string& x) { given.filter = x; }) ||
                           value("--csv=", [](const std::string& x) { given.csv = x; }) ||
                           value("--json=", [](const std::string& x) { given.json = x; }) ||
                           value("--seconds=", [&](const std::string& x) { number(x, given.timing.seconds); }) ||
                           value("--precision=", [&](const std::string& x) { number(x, given.timing.precision); });
        given.predict = given.predict || a == "--predict";
        given.tasks = given.tasks || a == "--tasks";
        if (!known && a != "--predict" && a != "--tasks") {
            throw ts::error("'" + std::string(a) + "' is no option; see the head of benchmarks/ops/sharded.cpp");
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    try {
        read(count, arguments);
        add_table();
        std::printf("%s", to_text(rows).c_str());
        if (!given.csv.empty()) ts::io::write_csv(given.csv, rows);
        if (!given.json.empty()) ts::io::write_json(given.json, rows);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "sharded: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
