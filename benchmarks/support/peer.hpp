// SPDX-License-Identifier: Apache-2.0
// Tessera's side of comparisons with PyTorch, of one process or of ranks: training steps of networks whose weights and
// batch come from files, as commands ask for them. The protocol is described at the top of benchmarks/peers/run.py.
#pragma once

#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"

#include <tessera/base/quoted.hpp>
#include <tessera/host.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace benchmarks {

namespace ts = tessera;

inline constexpr float learning_rate = 0.01F;

struct peer_arguments {
    std::string network, weights, data, profile;
    ts::index_t batch = 0;
    int devices = 0;
};

inline int to_number(const std::string& name, const std::string& text) {
    std::size_t used = 0;
    int value = 0;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || value < 1) {
        throw ts::error("tessera: " + name + " takes a number of at least 1, not '" + text + "'");
    }
    return value;
}

inline peer_arguments parse_peer(int count, char** values) {
    peer_arguments a;
    for (int i = 1; i < count; ++i) {
        const std::string name = values[i];
        if (i + 1 >= count) {
            throw ts::error("tessera: " + name + " lacks its value");
        }
        const std::string value = values[++i];
        if (name == "--network") {
            a.network = value;
        } else if (name == "--batch") {
            a.batch = to_number(name, value);
        } else if (name == "--devices") {
            a.devices = to_number(name, value);
        } else if (name == "--weights") {
            a.weights = value;
        } else if (name == "--data") {
            a.data = value;
        } else if (name == "--profile") {
            a.profile = value;
        } else {
            throw ts::error("tessera: there is no option " + name + "; see the protocol at the top of run.py");
        }
    }
    if (a.network.empty() || a.batch == 0 || a.devices == 0 || a.weights.empty() || a.data.empty()) {
        throw ts::error("tessera: --network, --batch, --devices, --weights and --data are needed");
    }
    if (a.devices > 2) {
        throw ts::error("tessera: --devices takes 1 or 2, not " + std::to_string(a.devices));
    }
    return a;
}

inline ts::graph describe(const peer_arguments& a) {
    if (a.network == "small") {
        return ts::describe<networks::small_convnet>(a.batch);
    }
    if (a.network == "lenet5") {
        return ts::describe<networks::lenet5>(a.batch);
    }
    if (a.network == "alexnet") {
        return ts::describe<networks::alexnet_without_dropout>(a.batch);
    }
    if (a.network == "mlp") {
        return ts::describe<networks::mlp>(a.batch);
    }
    if (a.network == "resnet50") {
        return ts::describe<networks::resnet50>(a.batch);
    }
    throw ts::error("tessera: there is no network " + a.network + "; there are small, lenet5, alexnet, mlp, resnet50");
}

/// A whole file of 4-byte numbers, of which there must be `wanted`.
inline std::vector<char> read_file(const std::string& path, ts::index_t wanted) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) {
        throw ts::error("tessera: cannot read " + path);
    }
    const auto bytes = static_cast<std::streamoff>(in.tellg());
    if (bytes != 4 * wanted) {
        throw ts::error("tessera: " + path + " has " + std::to_string(bytes) + " bytes and the network needs " +
                        std::to_string(4 * wanted));
    }
    std::vector<char> content(ts::to_size(bytes));
    in.seekg(0);
    if (!in.read(content.data(), bytes)) {
        throw ts::error("tessera: cannot read " + path);
    }
    return content;
}

template <class T>
std::vector<T> part_of(const std::vector<char>& content, ts::index_t& at, ts::index_t count) {
    std::vector<T> out(ts::to_size(count));
    std::memcpy(out.data(), content.data() + 4 * at, ts::to_size(4 * count));
    at += count;
    return out;
}

/// Trained parameters one after the other in the order of the layers, weight before bias: the graph's own order. Of
/// others nothing.
inline std::vector<std::vector<float>> read_weights(const std::string& path, const ts::graph_view& g) {
    const auto elements = [&](int p) { return g.parameters[p].trained ? g.parameters[p].extents.volume() : 0; };
    ts::index_t all = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        all += elements(p);
    }
    const std::vector<char> content = read_file(path, all);
    std::vector<std::vector<float>> out;
    ts::index_t at = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        out.push_back(part_of<float>(content, at, elements(p)));
    }
    return out;
}

/// One batch: numbers, then labels.
struct peer_batch {
    std::vector<float> numbers;
    std::vector<std::int32_t> labels;
    std::vector<ts::input_data> inputs;

    peer_batch(const std::string& path, const ts::graph_view& g) {
        std::vector<int> tensors;
        ts::index_t all = 0;
        ts::index_t floats = 0;
        for (int t = 0; t < g.tensor_count; ++t) {
            if (g.tensors[t].producer < 0) {
                tensors.push_back(t);
                const ts::index_t n = g.tensors[t].extents.volume();
                all += n;
                floats += g.tensors[t].type == ts::element::f32 ? n : 0;
            }
        }
        const std::vector<char> content = read_file(path, all);
        ts::index_t at = 0;
        numbers = part_of<float>(content, at, floats);
        labels = part_of<std::int32_t>(content, at, all - floats);
        for (int t : tensors) {
            inputs.push_back(g.tensors[t].type == ts::element::f32
                                 ? ts::input_data(std::span<const float>(numbers))
                                 : ts::input_data(std::span<const std::int32_t>(labels)));
        }
    }
};

/// Strategies race at set-up, in turns, and the fastest stays. In a group of ranks all make it, and give it the same
/// commands.
class peer {
public:
    /// On the devices of `threads`, `devices` in all.
    peer(const peer_arguments& a, ts::workers& threads, int devices)
        : network_(describe(a)), weights_(read_weights(a.weights, network_.view())), data_(a.data, network_.view()),
          update_(ts::sgd{learning_rate}), backend_(update_, options_of(a)), group_(threads.group()) {
        std::vector<std::pair<std::string, ts::strategy>> strategies;
        const ts::graph_view g = network_.view();
        if (devices == 1) {
            strategies.emplace_back("one device", ts::search::single_device(g));
        } else {
            strategies.emplace_back("data parallel", ts::search::data_parallel(g, devices));
            strategies.emplace_back("one weird trick", ts::search::one_weird_trick(g, devices));
        }
        for (auto& [name, how] : strategies) {
            how.statistics = ts::statistics_over::replica; // as DistributedDataParallel
            contenders_.push_back({name,
                                   std::make_unique<ts::session<ts::host::backend>>(
                                       g, how, devices, update_, ts::session_options{}, backend_, threads),
                                   {}});
        }
        race();
        reset();
    }

    void reset() {
        for (contender& c : contenders_) {
            for (std::size_t p = 0; p < weights_.size(); ++p) {
                if (!weights_[p].empty()) {
                    c.runs->set_parameter(static_cast<int>(p), weights_[p]);
                }
            }
        }
    }

    /// Wall time of one step in ms.
    double step(double& loss) { return step(*contenders_.front().runs, loss); }

    std::string settings() const {
        std::string tried;
        for (const std::string& line : tried_) {
            tried += (tried.empty() ? "" : ", ") + line;
        }
        return "{\"strategy\": \"" + contenders_.front().name + "\", \"tried\": {" + tried +
               "}, \"implementations\": \"measured\", \"tasks\": " +
               std::to_string(contenders_.front().runs->training_plan().tasks.size()) + "}";
    }

private:
    struct contender {
        std::string name;
        std::unique_ptr<ts::session<ts::host::backend>> runs;
        std::vector<double> ms;
    };

    static ts::host::backend_options options_of(const peer_arguments& a) {
        ts::host::backend_options o;
        o.how = ts::host::tuning::measure;
        o.profile_path = a.profile;
        return o;
    }

    double step(ts::session<ts::host::backend>& s, double& loss) {
        return milliseconds([&] { loss = s.step(data_.inputs); });
    }
    /// Of all ranks the longest.
    double agreed(double ms) {
        if (group_ != nullptr) {
            group_->agree_on_most({&ms, 1});
        }
        return ms;
    }

    void race() {
        reset();
        double loss = 0;
        double slowest = 0;
        for (contender& c : contenders_) {
            step(*c.runs, loss);
            slowest = std::max(slowest, step(*c.runs, loss));
        }
        slowest = agreed(slowest);
        constexpr int turns = 5;
        const int each = std::clamp(static_cast<int>(200.0 / slowest), 1, 200);
        for (int turn = 0; turn < turns && contenders_.size() > 1; ++turn) {
            for (contender& c : contenders_) {
                reset(); // of all: none is to meet weights that no longer train
                for (int i = 0; i < each; ++i) {
                    c.ms.push_back(step(*c.runs, loss));
                }
            }
        }
        std::vector<double> medians;
        for (contender& c : contenders_) {
            medians.push_back(agreed(median(c.ms)));
            tried_.push_back("\"" + c.name + " ms\": " + std::to_string(medians.back()));
        }
        const auto best = std::min_element(medians.begin(), medians.end()) - medians.begin();
        std::swap(contenders_.front(), contenders_[ts::to_size(best)]);
        contenders_.erase(contenders_.begin() + 1, contenders_.end());
    }

    ts::graph network_;
    std::vector<std::vector<float>> weights_;
    peer_batch data_;
    ts::optimizer update_;
    ts::host::backend backend_;
    ts::process_group* group_;
    std::vector<contender> contenders_;
    std::vector<std::string> tried_;
};

inline void answer(const std::string& line) { std::cout << line << std::endl; }

inline std::string quoted(const std::string& text) { return ts::quoted::json(text); }

inline std::string list_of(const std::vector<double>& values) {
    std::string text = "[";
    char number[40];
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::snprintf(number, sizeof number, "%s%.9g", i > 0 ? ", " : "", values[i]);
        text += number;
    }
    return text + "]";
}

/// Does what `next(line)` gives, until it gives nothing or "quit"; `answers`: whether this process says what came of
/// it.
template <class Next>
void serve(peer& p, bool answers, Next&& next) {
    if (answers) {
        answer("{\"ready\": true, \"side\": \"tessera\", \"version\": \"0.2.0\", \"settings\": " + p.settings() + "}");
    }
    for (std::string line; next(line) && line != "quit";) {
        if (line == "reset") {
            p.reset();
            if (answers) {
                answer("{\"reset\": true}");
            }
        } else if (line.rfind("steps ", 0) == 0) {
            const auto count = ts::to_size(to_number("steps", line.substr(6)));
            std::vector<double> ms(count);
            std::vector<double> losses(count);
            for (std::size_t i = 0; i < count; ++i) {
                ms[i] = p.step(losses[i]);
            }
            if (answers) {
                answer("{\"ms\": " + list_of(ms) + ", \"loss\": " + list_of(losses) + "}");
            }
        } else {
            throw ts::error("tessera: unknown command '" + line + "'; known: steps K, reset, quit");
        }
    }
}

} // namespace benchmarks
