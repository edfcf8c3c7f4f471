// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/measured_runs.hpp"

#include "tessera/io/files/csv.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/by_hand/recomputed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/fit/policies.hpp"

#include <algorithm>
#include <charconv>

namespace networks {

namespace ts = tessera;
using ts::index_t;

namespace {

/// A table's fields by row and column, with what is wrong about one.
class run_table {
public:
    run_table(std::string_view text, const std::string& called) : called_(called), table_(text, called) {}

    std::int64_t rows() const { return table_.rows(); }
    bool has(const char* column) const {
        const auto& all = table_.columns();
        return std::find(all.begin(), all.end(), column) != all.end();
    }
    const std::string& text(std::int64_t row, const char* column) const {
        return table_.text(row, table_.column(column));
    }
    index_t whole(std::int64_t row, const char* column, index_t most = 1'000'000'000'000) const {
        index_t x = 0;
        read(row, column, "a whole number from 1 to " + std::to_string(most), x, [&] { return x >= 1 && x <= most; });
        return x;
    }
    double positive(std::int64_t row, const char* column, const char* unit) const {
        double x = 0;
        read(row, column, std::string("a number of ") + unit + " above 0, without the unit", x,
             [&] { return x > 0 && x < 1e15; });
        return x;
    }
    /// The place of a field's text among those that are known.
    template <std::size_t N>
    std::size_t one_of(std::int64_t row, const char* column, const char* const (&known)[N]) const {
        std::string all;
        for (std::size_t i = 0; i < N; ++i) {
            if (text(row, column) == known[i]) {
                return i;
            }
            all += (i > 0 ? ", " : "") + std::string(known[i]);
        }
        refuse(row, column, "one of " + all);
    }

private:
    template <class T, class Fits>
    void read(std::int64_t row, const char* column, const std::string& wanted, T& x, Fits fits) const {
        const std::string& field = text(row, column);
        const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), x);
        if (code != std::errc{} || end != field.data() + field.size() || !fits()) {
            refuse(row, column, wanted);
        }
    }
    [[noreturn]] void refuse(std::int64_t row, const char* column, const std::string& wanted) const {
        throw ts::error("tessera: " + called_ + ", run " + std::to_string(row + 1) + ": column '" + column + "' is \"" +
                        text(row, column).substr(0, 40) + "\", but must be " + wanted);
    }

    std::string called_;
    ts::io::csv_table table_;
};

measured_run run_in(const run_table& t, std::int64_t row) {
    constexpr index_t many = 1'000'000;
    measured_run r;
    r.model = t.text(row, "model");
    family_sizes& n = r.network;
    n.form = family::gpt;
    n.layers = static_cast<int>(t.whole(row, "layers", 10'000));
    n.width = t.whole(row, "width", many);
    n.heads = t.whole(row, "heads", many);
    n.vocabulary = t.whole(row, "vocab", 100'000'000);
    n.hidden = t.whole(row, "ffn", many);
    n.sequence = t.whole(row, "seq", 100'000'000);
    r.gpu = t.has("gpu") ? t.text(row, "gpu") : "";
    r.gpus = static_cast<int>(t.whole(row, "gpus", 16384));
    constexpr const char* precisions[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
    const std::size_t math = t.one_of(row, "precision", precisions);
    r.precision = precisions[math];
    n.math = static_cast<ts::precision>(math);
    r.micro = t.whole(row, "micro_batch", many);
    r.times = t.whole(row, "accumulation", many);
    r.zero = t.one_of(row, "sharding", {"FULL_SHARD", "SHARD_GRAD_OP"}) == 0 ? 3 : 2;
    r.recomputes = t.one_of(row, "recompute", {"none", "full"}) == 1;
    r.parameters = t.has("params") ? t.whole(row, "params") : 0;
    if (t.has("step_ms")) {
        r.nanoseconds = t.positive(row, "step_ms", "milliseconds") * 1e6;
    } else {
        const double rate = t.positive(row, "tokens_per_s_gpu", "tokens per second and device");
        r.nanoseconds = static_cast<double>(r.micro * r.times * n.sequence) / rate * 1e9;
    }
    return r;
}

/// Plans of fewer layers and micro-batches, and how often each counts.
struct part {
    int layers;
    index_t times;
    double weight;
};
std::vector<part> parts_of(const measured_run& r, bool whole) {
    if (whole || r.network.layers < 5) {
        return {{r.network.layers, r.times, 1}};
    }
    const double blocks = (r.network.layers - 2) / 2.0;
    if (r.times == 1) {
        return {{2, 1, 1 - blocks}, {4, 1, blocks}};
    }
    const auto again = static_cast<double>(r.times - 1);
    return {{2, 1, (1 - blocks) * (1 - again)},
            {4, 1, blocks * (1 - again)},
            {2, 2, (1 - blocks) * again},
            {4, 2, blocks * again}};
}

ts::plan bound(const run_plan& x, int devices) {
    ts::lower_options lowering;
    lowering.update = ts::optimizer(ts::adamw{});
    return ts::search::bound_plan(x.network.view(), x.how, devices, lowering);
}

} // namespace

std::vector<measured_run> runs_from_text(std::string_view text, const std::string& called) {
    const run_table t(text, called);
    for (const char* column : {"model", "layers", "width", "heads", "vocab", "ffn", "seq", "gpus", "precision",
                               "micro_batch", "accumulation", "sharding", "recompute"}) {
        if (!t.has(column)) {
            throw ts::error("tessera: " + called + " has no column '" + column + "'; a table of runs needs it");
        }
    }
    if (!t.has("tokens_per_s_gpu") && !t.has("step_ms")) {
        throw ts::error("tessera: " + called +
                        " says no times; give a column 'step_ms' (milliseconds of a step) or "
                        "'tokens_per_s_gpu' (tokens per second and device)");
    }
    std::vector<measured_run> all;
    for (std::int64_t row = 0; row < t.rows(); ++row) {
        all.push_back(run_in(t, row));
    }
    return all;
}

std::vector<measured_run> read_runs(const std::string& path) { return runs_from_text(ts::io::read_file(path), path); }

std::string to_text(const measured_run& r) {
    return r.model + ", " + std::to_string(r.network.sequence) + " positions, " + std::to_string(r.gpus) + " x " +
           (r.gpu.empty() ? "device" : r.gpu) + ", " + std::to_string(r.micro) + " x " + std::to_string(r.times);
}

run_plan plan_of(const measured_run& r, int layers, index_t times) {
    family_sizes sizes = r.network;
    sizes.layers = layers;
    run_plan x{describe(sizes, r.micro * times * r.gpus), {}};
    const ts::graph_view g = x.network.view();
    x.how = ts::search::data_parallel(g, r.gpus);
    x.how.micro_batches = static_cast<int>(times);
    if (r.recomputes) {
        ts::search::recompute(x.how, g, {ts::recompute_rule::kind::blocks, 1});
    }
    x.how.sync = ts::search::synchronization_of(
        g, r.gpus, {}, r.zero == 3 ? ts::schedule::zero_3_record : ts::schedule::zero_2_record);
    return x;
}

ts::simulation::measured_step step_of(const measured_run& r, const ts::device_graph& on, bool whole) {
    ts::simulation::measured_step s;
    s.called = to_text(r);
    s.on = on;
    s.nanoseconds = r.nanoseconds;
    for (const part& x : parts_of(r, whole)) {
        run_plan p = plan_of(r, x.layers, x.times);
        ts::plan of = bound(p, r.gpus);
        s.plans.push_back({std::move(p.network), std::move(of), x.weight});
    }
    return s;
}

index_t memory_of(const measured_run& r, const ts::device_graph& on, bool whole) {
    const auto most = [&](int layers, index_t times) {
        ts::plan p = bound(plan_of(r, layers, times), on.device_count());
        ts::plan_memory(p);
        index_t bytes = 0;
        for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
            bytes = std::max(bytes, p.arena_bytes[d] + p.persistent_bytes[d]);
        }
        return bytes;
    };
    const index_t times = std::min<index_t>(r.times, 2);
    if (whole || r.network.layers < 5) {
        return most(r.network.layers, whole ? r.times : times);
    }
    const index_t two = most(2, times);
    return two + (most(4, times) - two) / 2 * (r.network.layers - 2);
}

} // namespace networks
