// SPDX-License-Identifier: Apache-2.0
// Trains a network file or an ONNX model on one batch, again and again, and prints the loss of every step: how a
// network that came from elsewhere is compared with where it came from.
//
//   train_file NETWORK BATCH.safetensors [--weights FILE] [--steps 3] [--learning-rate 0.01] [--momentum 0] [--devices 1] [--seed 0]
//              [--loss cross_entropy] [--predict FILE]
//
// NETWORK is JSON, or an ONNX model, which begins with its own weights; its loss is --loss. --predict writes what the
// network makes of the batch before the first step, as the tensor `result` of a safetensors file; with --steps 0 the
// batch needs no labels.
// The batch has a tensor for every input, by its name; integers are numbers there too. Weights are taken by the paths
// of parameters, and what the file lacks is initialized; which did and did not match is printed.
#include "examples/options.hpp"
#include "examples/output.hpp"
#include "examples/zoo/zoo.hpp"

#include <tessera/execute/local/workers.hpp>
#include <tessera/host.hpp>
#include <tessera/io/exchange/network_file.hpp>
#include <tessera/io/exchange/onnx_network.hpp>
#include <tessera/io/files/load_weights.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;

struct request {
    std::string network, batch;
    std::map<std::string, std::string> given{{"--weights", ""},   {"--steps", "3"},   {"--learning-rate", "0.01"},
                                             {"--momentum", "0"}, {"--devices", "1"}, {"--seed", "0"},
                                             {"--loss", ""},      {"--predict", ""}};
};

request read_arguments(int count, char** arguments) {
    request r;
    std::vector<std::string> files;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        if (word.rfind("--", 0) != 0) {
            files.push_back(word);
        } else if (r.given.count(word) == 0) {
            throw options::usage_error("there is no option '" + word + "'");
        } else if (i + 1 == count) {
            throw options::usage_error(word + " takes a value");
        } else {
            r.given[word] = arguments[++i];
        }
    }
    if (files.size() != 2) {
        throw options::usage_error("say a network file or an ONNX model, and a file with a batch");
    }
    r.network = files[0];
    r.batch = files[1];
    return r;
}

/// The inputs of a batch: numbers and integers, which stay where they are while steps read them.
struct batch {
    std::vector<std::vector<float>> numbers;
    std::vector<std::vector<std::int32_t>> integers;
    std::vector<ts::input_data> inputs;

    /// The inputs of the network, or those of them that the tensor `wanted` needs.
    batch(const ts::graph_view& g, const std::string& path, int wanted = -1) {
        const ts::io::safetensors_file file(path);
        const ts::reduced_network part = ts::reduced_to(g, {std::max(wanted, 0)});
        numbers.reserve(ts::to_size(g.tensor_count));
        integers.reserve(ts::to_size(g.tensor_count));
        for (int t = 0; t < g.tensor_count; ++t) {
            const ts::tensor_node& x = g.tensors[t];
            if (x.producer >= 0 || (wanted >= 0 && part.tensors[ts::to_size(t)] < 0)) {
                continue;
            }
            std::vector<float> all = file.numbers(std::string(x.name));
            if (static_cast<ts::index_t>(all.size()) != x.extents.volume()) {
                throw ts::error("'" + path + "': the tensor " + std::string(x.name) + " has " +
                                std::to_string(all.size()) + " numbers, and the input takes " +
                                std::to_string(x.extents.volume()));
            }
            if (x.type == ts::element::i32) {
                integers.emplace_back(all.begin(), all.end());
                inputs.emplace_back(std::span<const std::int32_t>(integers.back()));
            } else {
                numbers.push_back(std::move(all));
                inputs.emplace_back(std::span<const float>(numbers.back()));
            }
        }
    }
};

/// The network of a file, with as many samples as the batch has where the file leaves it open, and the tensor that is
/// predicted.
struct read_network {
    ts::io::onnx_network all;
    bool is_onnx = false;
    int result = -1;

    explicit read_network(const request& r) : is_onnx(ts::io::is_onnx_file(r.network)) {
        const std::string& loss = r.given.at("--loss");
        if (!is_onnx) {
            if (!loss.empty()) {
                throw options::usage_error("--loss is of ONNX models; a network file says its own");
            }
            all.file = ts::io::read_network(r.network, 0, networks::zoo_operators());
            result = ts::detail::usual_prediction(all.file.network.view());
            return;
        }
        ts::onnx::options how;
        how.loss = loss.empty() ? how.loss : loss;
        const ts::io::safetensors_file batch(r.batch);
        for (const auto& [name, place] : batch.tensors()) {
            how.batch = place.extents.empty() ? how.batch : place.extents[0];
        }
        all = ts::io::read_onnx(r.network, how);
        const ts::graph_view g = all.file.network.view();
        const ts::network_paths paths = ts::paths_of(g);
        for (int op = 0; op < g.op_count; ++op) {
            result = paths.op(op) == all.result ? g.ops[op].output : result;
        }
    }
};

void write_prediction(const std::string& path, const ts::prediction& p) {
    ts::io::named_tensor t{"result", {}, p.values};
    for (int d = 0; d < p.extents.rank; ++d) {
        t.extents.push_back(p.extents[d]);
    }
    ts::io::write_safetensors(path, {&t, 1});
}

void run(const request& r) {
    const auto whole = [&](const char* name) { return options::whole_number<int>(name, r.given.at(name)); };
    const auto number = [&](const char* name) { return static_cast<float>(options::number(name, r.given.at(name))); };
    const read_network read(r);
    const ts::graph_view g = read.all.file.network.view();
    const int devices = whole("--devices");
    if (devices < 1) {
        throw options::usage_error("--devices takes at least 1");
    }
    const ts::optimizer update = ts::sgd{.learning_rate = number("--learning-rate"), .momentum = number("--momentum")};
    ts::host::backend backend(update);
    ts::workers threads(devices);
    ts::session_options session_options;
    session_options.seed = static_cast<std::uint64_t>(whole("--seed"));
    ts::session<ts::host::backend> session(g, ts::search::data_parallel(g, devices), devices, update, session_options,
                                           backend, threads);
    for (const std::string& note : read.all.notes) {
        std::printf("note: %s\n", note.c_str());
    }
    if (read.is_onnx) {
        ts::io::set_weights(session, read.all);
    }
    if (const std::string& weights = r.given.at("--weights"); !weights.empty()) {
        const ts::io::loaded_weights loaded = ts::io::load_weights(session, weights);
        std::printf("weights: %zu matched, %zu missing, %zu unexpected\n", loaded.matched.size(), loaded.missing.size(),
                    loaded.unexpected.size());
        for (const std::string& name : loaded.missing) {
            std::printf("  missing %s\n", name.c_str());
        }
        for (const std::string& name : loaded.unexpected) {
            std::printf("  unexpected %s\n", name.c_str());
        }
    }
    if (const std::string& to = r.given.at("--predict"); !to.empty()) {
        const batch inputs(g, r.batch, read.result);
        write_prediction(to, session.predict(inputs.inputs, {read.result}).at(0));
    }
    if (whole("--steps") < 1) {
        return;
    }
    const batch data(g, r.batch);
    for (int step = 0; step < whole("--steps"); ++step) {
        std::printf("step %d: loss %.9g\n", step, session.step(data.inputs));
    }
}

} // namespace

int main(int count, char** arguments) {
    try {
        run(read_arguments(count, arguments));
        return output::finish("train_file");
    } catch (const options::usage_error& e) {
        std::fprintf(stderr, "train_file: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "train_file: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
