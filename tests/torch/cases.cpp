// SPDX-License-Identifier: Apache-2.0
// Exports plans of every kind to PyTorch, and trains each here: cases FOLDER [steps] [first] [every]
//
// Below FOLDER every case has a folder: the program, samples.safetensors, and of Tessera's own training of the same
// plan on the same samples in the same order losses.txt and gradients.safetensors, those of the first step.
// tests/torch/train.py trains the programs and compares. What cannot be exported is printed with why, and no case.
#include "cases.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/local/workers.hpp"
#include "tessera/host.hpp"
#include "tessera/io/data/shuffle.hpp"
#include "tessera/io/exchange/torch_export.hpp"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <list>

namespace {

using namespace torch_cases;
namespace fs = std::filesystem;

constexpr std::uint64_t seed = 11;
constexpr std::uint64_t shuffle = 3;

/// Five batches of samples.
struct samples {
    std::vector<std::vector<float>> numbers;
    std::vector<std::string> names;
    std::vector<ts::shape> extents;

    explicit samples(const ts::graph_view& g) {
        std::uint64_t at = 1;
        for (int t = 0; t < g.tensor_count; ++t) {
            const ts::tensor_node& x = g.tensors[t];
            if (x.producer >= 0) {
                continue;
            }
            names.emplace_back(x.name);
            ts::shape all = x.extents;
            all.extent[0] *= 5;
            extents.push_back(all);
            std::vector<float>& to = numbers.emplace_back();
            for (ts::index_t i = 0; i < all.volume(); ++i) {
                const std::uint64_t draw = ts::op::mix(at++);
                to.push_back(x.type == ts::element::i32
                                 ? static_cast<float>(draw % static_cast<std::uint64_t>(g.integers_in(t)))
                                 : static_cast<float>(draw % 2001) / 1000.0F - 1.0F);
            }
        }
    }
    void write(const std::string& path) const {
        std::vector<ts::io::named_tensor> all;
        for (std::size_t i = 0; i < names.size(); ++i) {
            all.push_back({names[i], {extents[i].extent, extents[i].extent + extents[i].rank}, numbers[i]});
        }
        ts::io::write_safetensors(path, all);
    }
};

/// The losses of steps with the samples in the order of an epoch, then of the next. Writes the first step's gradients.
template <class Session, class Backend>
std::vector<double> train_on(const one_case& c, const samples& data, int steps, const std::string& gradients) {
    Backend backend(c.update);
    ts::workers threads(c.ranks);
    ts::session_options options;
    options.seed = seed;
    options.keep_gradients = true;
    Session session(c.g, c.how, c.ranks, c.update, options, backend, threads);
    const ts::index_t batch = c.g.tensors[0].extents[0];
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        const auto order = ts::io::shuffled_order(5 * batch, shuffle, static_cast<std::uint64_t>(step / 5));
        std::vector<std::vector<float>> numbers;
        std::vector<std::vector<std::int32_t>> integers;
        std::vector<ts::input_data> inputs;
        numbers.reserve(data.names.size());
        integers.reserve(data.names.size());
        std::size_t k = 0;
        for (int t = 0; t < c.g.tensor_count; ++t) {
            if (c.g.tensors[t].producer >= 0) {
                continue;
            }
            const ts::index_t row = c.g.tensors[t].extents.volume() / batch;
            std::vector<float> all;
            for (ts::index_t i = 0; i < batch; ++i) {
                const auto from = data.numbers[k].begin() + order[ts::to_size(step % 5 * batch + i)] * row;
                all.insert(all.end(), from, from + row);
            }
            if (c.g.tensors[t].type == ts::element::i32) {
                integers.emplace_back(all.begin(), all.end());
                inputs.emplace_back(std::span<const std::int32_t>(integers.back()));
            } else {
                numbers.push_back(std::move(all));
                inputs.emplace_back(std::span<const float>(numbers.back()));
            }
            ++k;
        }
        losses.push_back(session.step(inputs));
        if (step > 0) {
            continue;
        }
        std::vector<ts::io::named_tensor> all;
        std::list<std::vector<float>> values; // which `all` refers to
        const ts::network_paths paths = ts::paths_of(c.g);
        for (int p = 0; p < c.g.parameter_count; ++p) {
            const ts::shape& e = c.g.parameters[p].extents;
            if (c.g.parameters[p].trained) {
                values.push_back(session.gradient(p));
                all.push_back({paths.parameter(p), {e.extent, e.extent + e.rank}, values.back()});
            }
        }
        ts::io::write_safetensors(gradients, all);
    }
    return losses;
}

std::vector<double> train_here(const one_case& c, const samples& data, int steps, const std::string& gradients) {
    using ts::reference::backend;
    return c.g.ops[0].attributes.math == ts::precision::bf16 // which the host does not compute in
               ? train_on<ts::session<backend>, backend>(c, data, steps, gradients)
               : train_on<ts::session<ts::host::backend>, ts::host::backend>(c, data, steps, gradients);
}

/// How the shards of an operator hold a tensor: "R", all of it on each; "S1", even parts of dimension 1, in the order
/// of the ranks; "-" otherwise.
std::string layout_of(const one_case& c, int op, int operand) {
    const ts::description d = c.g.describe(op);
    const ts::configuration& how = c.how.ops[ts::to_size(op)];
    if (how.shards() != c.ranks || how.partial > 1) {
        return "-";
    }
    std::vector<ts::box> all;
    const ts::strategy_view v = c.how.view();
    for (int i = 0; i < c.ranks; ++i) {
        const ts::shard s = ts::shard_at(how, v.pool, d, i);
        if (s.device != i) {
            return "-";
        }
        all.push_back(ts::region(d, operand, s.ranges));
    }
    int split = -1;
    for (int k = 0; k < all[0].rank; ++k) {
        const ts::index_t extent = d.operands[operand].extents[k];
        bool even = true;
        bool same = true;
        for (int i = 0; i < c.ranks; ++i) {
            even = even && all[ts::to_size(i)].dim[k] == ts::even_part(extent, c.ranks, i);
            same = same && all[ts::to_size(i)].dim[k] == all[0].dim[k];
        }
        if (!same && (!even || extent % c.ranks != 0 || split >= 0)) {
            return split < 0 && operand < c.g.ops[op].inputs.size() ? "halo" + std::to_string(k) : "-";
        }
        split = same ? split : k;
    }
    return split < 0 ? "R" : "S" + std::to_string(split);
}

/// One line for each operator: its path, and the layouts of its output, its inputs and its parameters; for
/// tests/torch/dtensor.py.
std::string layouts_of(const one_case& c) {
    std::string text;
    const ts::network_paths paths = ts::paths_of(c.g);
    for (int op = 0; op < c.g.op_count; ++op) {
        const ts::description d = c.g.describe(op);
        text += paths.op(op) + " " + layout_of(c, op, d.output());
        for (int o = 0; o < d.operands.size(); ++o) {
            if (d.operands[o].kind == ts::operand_kind::input) {
                const int from = c.g.tensors[c.g.ops[op].inputs[d.operands[o].slot]].producer;
                text += " " + (from < 0 ? std::string("input") : paths.op(from)) + "=" + layout_of(c, op, o);
            }
            if (d.operands[o].kind == ts::operand_kind::parameter) {
                text += " " + paths.parameter(c.g.ops[op].parameters[d.operands[o].slot]) + "=" + layout_of(c, op, o);
            }
        }
        text += "\n";
    }
    return text;
}

/// Of one network every kind of strategy, on two and on four ranks.
void add_cases(std::vector<one_case>& all, const std::string& name, const ts::graph_view& g) {
    namespace schedule = ts::schedule;
    const auto add = [&](const std::string& what, int ranks, const ts::strategy& s,
                         const ts::optimizer& update = ts::sgd{.learning_rate = 0.05F}) {
        all.push_back({name + "-" + what + "-" + std::to_string(ranks), g, s, ranks, update});
    };
    const bool is_sequence = g.tensors[0].extents.rank == 2;
    add("single", 1, ts::strategy(g));
    for (const int ranks : {2, 4}) {
        add("data", ranks, ts::search::data_parallel(g, ranks));
        add("channel", ranks, ts::search::model_parallel(g, ranks), ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
        add("reduction", ranks, along(g, ts::loop_name::reduction, ranks, true));
        if (is_sequence) {
            add("position", ranks, along(g, ts::loop_name::position, ranks, true));
        } else {
            add("height", ranks, along(g, ts::loop_name::height, ranks, true));
            add("width", ranks, along(g, ts::loop_name::width, ranks, false));
        }
        add("replicated", ranks, replicated(g, ranks));
        add("placed", ranks, placed(g, ranks), ts::adam{.learning_rate = 1e-3F});
    }
    add("uneven", 2, uneven(g, 3));
    add("gpipe", 2, piped(g, schedule::gpipe_record, 2, 4));
    add("1f1b", 4, piped(g, schedule::one_forward_one_backward_record, 4, 4));
    add("1f1b-wide", 4, piped(g, schedule::one_forward_one_backward_record, 2, 2, 2),
        ts::optimizer(ts::sgd{.learning_rate = 0.05F}, 1.0F));
    add("gpipe-again", 2, piped(g, schedule::gpipe_record, 2, 2, 1, schedule::rematerialize::all));
    add("interleaved", 2, piped(g, schedule::interleaved_record, 2, 2));
    add("fused", 2, with_policy(g, ts::search::data_parallel(g, 2), 2, schedule::tensor_fusion_record));
    add("server", 2, with_policy(g, ts::search::data_parallel(g, 2), 2, schedule::parameter_server_record),
        ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .weight_decay = 0.01F});
    add("zero3", 2, with_policy(g, ts::search::data_parallel(g, 2), 2, schedule::zero_3_record),
        ts::adam{.learning_rate = 1e-3F});
    add("zero3-clipped", 4, with_policy(g, ts::search::data_parallel(g, 4), 4, schedule::zero_3_record),
        ts::optimizer(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F}, 0.5F));
    ts::strategy cut = with_policy(g, ts::search::data_parallel(g, 2), 2, schedule::zero_3_record);
    cut.micro_batches = 2;
    add("zero3-cut", 2, cut);
    add("zero3-1f1b", 4,
        with_policy(g, piped(g, schedule::one_forward_one_backward_record, 2, 2, 2), 2, schedule::zero_3_record));
    ts::strategy urgent = ts::search::data_parallel(g, 2);
    urgent.sync = schedule::p3(schedule::gradients_of(g), {.servers = 2, .slice = 50});
    add("p3", 2, urgent, ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    urgent.sync = schedule::p3(schedule::gradients_of(g), {.servers = 1, .slice = 70});
    add("p3-clipped", 2, urgent, ts::optimizer(ts::sgd{.learning_rate = 0.05F}, 0.5F));
    add("bytes", 4, with_policy(g, ts::search::data_parallel(g, 4), 4, schedule::byte_scheduler_record));
    add("byte-slices", 2, with_policy(g, ts::search::data_parallel(g, 2), 2, schedule::byte_scheduler_slices_record));
    add("zero-bubble", 2, piped(g, schedule::zero_bubble_h1_record, 2, 4));
    add("zero-bubble-v", 2, piped(g, schedule::zero_bubble_v_record, 2, 4));
    add("zero-bubble-wide", 4, piped(g, schedule::zero_bubble_h1_record, 2, 2, 2), ts::adam{.learning_rate = 1e-3F});
    test_support::coverage seen;
    for (std::uint64_t draw = 1; draw <= 8; ++draw) {
        const int ranks = draw % 2 == 0 ? 4 : 2;
        ts::strategy s = test_support::random_strategy(g, ranks, 100 * draw + name.size(), seen);
        s.micro_batches = draw % 4 == 0 ? 2 : 1;
        add("random" + std::to_string(draw), ranks, s);
    }
}

int run(const std::string& folder, int steps, int first, int every) {
    const auto lenet = ts::describe<test_networks::lenet5::network>(8);
    const auto alexnet_ = ts::describe<alexnet::network>(8);
    const auto residual = ts::describe<test_networks::residual_net::network>(8);
    const auto unet_ = ts::describe<torch_cases::unet::network>(8);
    const auto transformer = ts::describe<test_networks::transformer::network>(8);
    const auto biased_ = ts::describe<test_networks::biased_attention::network>(8);
    const auto nests_ = ts::describe<torch_cases::nests::network>(8);
    const auto report_ = ts::describe<report::network>(8);
    const auto experts_ = ts::describe<torch_cases::experts>(8);
    const auto rounded_images_ = ts::describe<torch_cases::rounded_images>(8);
    const auto rounded_words_ = ts::describe<torch_cases::rounded_words>(8);
    std::vector<one_case> all;
    all.push_back({"report-single-1", report_.view(), ts::strategy(report_.view()), 1});
    all.push_back({"report-2", report_.view(), of_report(report_.view()), 2});
    add_cases(all, "lenet5", lenet.view());
    add_cases(all, "alexnet", alexnet_.view());
    add_cases(all, "residual", residual.view());
    add_cases(all, "unet", unet_.view());
    add_cases(all, "transformer", transformer.view());
    add_cases(all, "nests", nests_.view());
    add_cases(all, "experts", experts_.view());
    for (const int ranks : {2, 4}) {
        for (const auto& [name, g] : {std::pair{"experts", experts_.view()}}) {
            all.push_back({name + std::string("-expert-") + std::to_string(ranks), g,
                           along(g, ts::loop_name::expert, ranks, true), ranks});
        }
    }
    for (const auto& [name, g] : {std::pair{"transformer", transformer.view()}, {"biased", biased_.view()}}) {
        for (const int ranks : {2, 4}) {
            all.push_back({name + std::string("-keys-") + std::to_string(ranks), g,
                           along(g, ts::loop_name::key_position, ranks, true), ranks});
        }
    }
    add_cases(all, "biased", biased_.view());
    add_cases(all, "bf16-images", rounded_images_.view());
    add_cases(all, "bf16-words", rounded_words_.view());
    int exported = 0;
    for (std::size_t i = ts::to_size(first); i < all.size(); i += ts::to_size(every)) {
        const one_case& c = all[i];
        const std::string place = folder + "/" + c.name;
        try {
            ts::io::export_torch(place, c.g, c.how.view(), c.ranks, c.update, {.title = c.name, .seed = seed});
        } catch (const ts::error& e) {
            std::printf("%s: %s\n", c.name.c_str(), e.what());
            continue;
        }
        const samples data(c.g);
        data.write(place + "/samples.safetensors");
        std::string text;
        for (const double loss : train_here(c, data, steps, place + "/gradients.safetensors")) {
            char line[40];
            std::snprintf(line, sizeof line, "%.9g\n", loss);
            text += line;
        }
        ts::io::write_file_atomically(place + "/losses.txt", text);
        ts::io::write_file_atomically(place + "/layouts.txt", layouts_of(c));
        ++exported;
    }
    std::printf("%d of %zu cases exported\n", exported, all.size());
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "cases FOLDER [steps] [first] [every]\n");
        return 2;
    }
    const auto number = [&](int i, int usual) { return count > i ? std::atoi(arguments[i]) : usual; };
    try {
        return run(arguments[1], number(2, 20), number(3, 0), number(4, 1));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cases: %s\n", e.what());
        return 1;
    }
}
