// SPDX-License-Identifier: Apache-2.0
// docs/limits.md is made of the constants that the code has; limits that stand inside a function are tried from both
// sides.
#include "docs/page.hpp"

#include "fuzz/bounds.hpp"

#include "tessera/base/file.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/io/data/idx.hpp"
#include "tessera/io/exchange/network_reader.hpp"
#include "tessera/io/exchange/torch_export.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/part/onnx/convert.hpp"
#include "tessera/search/budget.hpp"
#include "tessera/search/explain/explain.hpp"
#include "tessera/search/optcnn/cluster.hpp"
#include "tessera/tessera.hpp"

#include <iterator>

namespace {

namespace ts = tessera;

struct tiny : ts::linear<4> {};
struct network : ts::sequential<ts::features<8>, tiny, ts::cross_entropy> {};

template <class X>
std::string number(X x) { // 20 000 000
    std::string text = std::to_string(x);
    for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
        text.insert(ts::to_size(at), " ");
    }
    return text;
}

/// The exponent of a power of two.
template <class X>
std::string power(X x) {
    int exponent = 0;
    while ((X{1} << exponent) < x) {
        ++exponent;
    }
    CHECK((X{1} << exponent) == x);
    return "2^" + std::to_string(exponent);
}

/// The largest value for which `fits` holds, of those from 1 on.
template <class Fits>
ts::index_t largest(Fits fits, ts::index_t low = 1, ts::index_t high = ts::index_t{1} << 62) {
    CHECK(fits(low));
    CHECK_FALSE(fits(high));
    while (low + 1 < high) {
        const ts::index_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

ts::description product_of(ts::index_t points) { // as one loop after the other, of no more than 2^20
    ts::description d;
    for (; points > 1; points >>= 20U) {
        d.loops.push_back(ts::loop{ts::loop_name::sample, points < (1 << 20) ? points : 1 << 20, false});
    }
    return d;
}

struct table {
    std::string text;

    void section(const std::string& title, const std::string& words) {
        text += "\n## " + title + "\n\n" + words + "\n\n| what | at most | said by |\n|---|---|---|\n";
    }
    /// `name`: a constant, a function of an argument ("is_too_large(const shape&") or, with ' ' before it, a rule.
    void row(const std::string& what, const std::string& most, const std::string& name) {
        if (name[0] == ' ') {
            text += "| " + what + " | " + most + " | rule [`" + name.substr(1) + "`](errors.md) |\n";
            return;
        }
        const std::string found = header_of(name);
        text += "| " + what + " | " + most + " | `" + name.substr(0, name.find('(')) + "` in [" + found +
                "](../include/tessera/" + found + ") |\n";
    }

    /// The one header that defines it.
    static std::string header_of(const std::string& name) {
        std::string found;
        for (const auto& path : test::files_below("include/tessera", {".hpp"})) {
            std::istringstream lines(test::read_text(path));
            for (std::string line; std::getline(lines, line);) {
                const std::size_t at = line.find(" " + name + (name.find('(') == std::string::npos ? " =" : ""));
                if (at != std::string::npos && line.rfind("constexpr", at) != std::string::npos) {
                    CHECK_MESSAGE(found.empty(), name << " in " << found << " and in " << path.string());
                    found = path.lexically_relative(test::project_root() / "include/tessera").generic_string();
                }
            }
        }
        REQUIRE_MESSAGE(!found.empty(), name << " is defined nowhere");
        return found;
    }
};

std::string page() {
    table t;
    t.text = R"(# Limits

What the code takes at most. This page is made by [tests/docs/limits.cpp](../tests/docs/limits.cpp) from the constants
themselves; `TESSERA_UPDATE_GOLDENS=1` writes it anew. Whatever goes beyond a limit is refused by a
[rule](errors.md) or by a `ts::error` that says so; nothing is cut off in silence.
)";
    t.section("Operators and tensors", "Room in the values that describe them. Your own operators have to fit, too.");
    t.row("dimensions of a tensor", number(ts::max_rank), "max_rank");
    const ts::index_t extent = largest([](ts::index_t x) { return !is_too_large(ts::make_shape(x)); });
    t.row("an extent", power(extent + 1) + " - 1", "is_too_large(const shape&");
    const ts::index_t rows = largest([](ts::index_t x) { return !is_too_large(ts::make_shape(1 << 30, x)); });
    t.row("elements of a tensor", power(rows << 30U), "is_too_large(const shape&");
    t.row("loops of an operator", number(ts::max_loops), "max_loops");
    t.row("operands of an operator, parameters and what lies between its nests included", number(ts::max_operands),
          "max_operands");
    t.row("loop nests of an operator", number(ts::max_nests), "max_nests");
    t.row("inputs of an operator", number(ts::max_inputs), "max_inputs");
    ts::index_t points = 1;
    while (!is_too_large(product_of(points))) {
        points *= 2;
    }
    t.row("multiply-adds of an operator", power(points / 2), "is_too_large(const description&");

    t.section("Networks",
              "The number of operators has no limit of its own; memory and time of the compiler are what ends.");
    t.row("inputs and nodes of a `dag`, and saved tensors, with a name each", number(ts::graph_builder::max_taps),
          "max_taps");

    const ts::graph g = ts::describe<network>(64);
    t.section("Strategies and plans", "Checked before anything is lowered.");
    t.row("devices, stages, micro-batches or copies that a strategy file may name", power(ts::largest_count),
          "largest_count");
    const auto micro_batches = largest(
        [&](ts::index_t x) {
            ts::strategy s(g.view());
            s.micro_batches = static_cast<int>(x);
            return !check_strategy(g.view(), s.view(), 1);
        },
        1, 1 << 20);
    CHECK(micro_batches == 64);
    t.row("micro-batches of a batch", "its samples", " micro_batches_out_of_range");
    const auto steps = largest(
        [&](ts::index_t x) {
            ts::strategy s(g.view());
            s.steps_per_plan = static_cast<int>(x);
            return !check_strategy(g.view(), s.view(), 1);
        },
        1, 1 << 20);
    t.row("steps of a plan (`period`)", number(steps), " period_out_of_range");
    const ts::graph wide = ts::describe<network>(1 << 29);
    const auto pairs = largest(
        [&](ts::index_t x) { // two operators, a forward and a backward task each
            ts::strategy s(wide.view());
            s.micro_batches = static_cast<int>(x);
            return !check_strategy(wide.view(), s.view(), 1);
        },
        1, 1 << 29);
    t.row("tasks of a plan, counted as shards forward and backward x micro-batches x steps", power(pairs * 4),
          " plan_is_too_large");

    t.section("Machines", "A machine is a graph of devices, switches and links.");
    t.row("devices of one process", number(ts::max_local_devices), "max_local_devices");
    t.row("rate of a device, in GFLOP/s, and bandwidth of a memory or link, in MB/s", number(ts::largest_rate),
          "largest_rate");
    t.row("latency of a link or launch of a task, in nanoseconds", number(ts::largest_latency), "largest_latency");
    t.row("memory of a device, in bytes", power(ts::largest_memory), "largest_memory");
    t.row("cables of one link", number(ts::most_cables), "most_cables");
    t.row("links between two devices", number(ts::route::max_lanes), "max_lanes");

    t.section("Searches", "Budgets are defaults; a caller may give others.");
    t.row("configurations of one operator", number(ts::search::max_configurations), "max_configurations");
    t.row("relaxations of a search in a constant expression", number(ts::search::default_static_budget),
          "default_static_budget");
    t.row("relaxations of a search at run time", number(ts::search::default_budget), "default_budget");
    t.row("devices whose graph OptCNN prices link by link; of more it prices a uniform machine",
          number(ts::search::most_priced_devices), "most_priced_devices");
    t.row("devices for which an explanation lists the time of transfers", number(ts::search::most_compared),
          "most_compared");

    t.section("Sessions and files", "");
    t.row("plans that a session keeps ready besides that for training on full batches", number(ts::most_ready_plans),
          "most_ready_plans");
    t.row("bytes that are read of a file, unless a reader says less", power(ts::files::most_bytes), "most_bytes");
    t.row("elements of an IDX file", power(ts::io::idx_element_limit), "idx_element_limit");
    t.row("nodes of a network file", number(ts::io::detail::most_network_nodes), "most_network_nodes");
    t.row("nodes of an ONNX model", number(ts::onnx::most_foreign_nodes), "most_foreign_nodes");
    t.row("letters of a name for which another is suggested", number(ts::most_letters), "most_letters");
    t.row("elements of one parameter that is exported to PyTorch", power(ts::io::most_exported_elements),
          "most_exported_elements");
    t.text += R"(
Time and memory for reading grow with the size of a file, whatever is in it. Of these bounds
[fuzz_files](../tests/fuzz/fuzz_files.cpp) holds readers to each, for every file that it damages: memory at its peak,
and processor time in a build without optimization under the address and undefined-behaviour sanitizers, where an
optimized one takes a tenth or less. Waiting for a processor that others use does not count. Of large files it reads
a quarter, too: the whole takes at most seven times as long, and seven times as much memory.

| read | memory | and for each byte | time | and for each byte |
|---|---|---|---|---|
)";
    for (const fuzz::bound& b : fuzz::bounds) {
        t.text += "| " + std::string(b.files) + " | " + number(static_cast<long long>(b.bytes / (1 << 20))) +
                  " MiB | " + number(static_cast<long long>(b.bytes_per_byte)) + " B | " +
                  number(static_cast<long long>(b.milliseconds)) + " ms | " +
                  number(static_cast<long long>(b.microseconds_per_byte)) + " us |\n";
    }
    std::size_t empty = 0;
    while ((empty = t.text.find("\n\n\n\n", empty)) != std::string::npos) { // a section without words
        t.text.erase(empty, 2);
    }

    t.text += R"(
## What backends do not do

| backend | does not |
|---|---|
| reference | run fast: plain loops, made to be compared with; it computes TF32 as fp32 |
| host | run bf16 (refused); it runs TF32 as fp32 |
| CUDA | averages of parameters, compressed gradients and plans of several steps (refused); communication streams and urgent-first queues are left out: what exchanges data has a stream of its own there |
)";
    return t.text;
}

} // namespace

TEST_CASE("docs/limits.md has the limits of the code") { test::hold_page("limits.md", page()); }
