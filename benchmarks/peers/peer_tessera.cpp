// SPDX-License-Identifier: Apache-2.0
// Tessera's side of the comparison with PyTorch: full training steps on the host backend, at the best settings it has.
//
//     peer_tessera --network small --batch 64 --devices 1 --weights W.bin --data D.bin [--profile FILE]
//
// The protocol and the file formats are described at the top of run.py. Implementations and memory formats are measured
// while the plans are built (and kept in --profile); strategies for two devices race at set-up, in turns, and the fastest
// stays. Between commands the devices sleep.
#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"

#include <tessera/host.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using session = ts::session<ts::host::backend>;

constexpr float learning_rate = 0.01F;

struct arguments {
    std::string network, weights, data, profile;
    ts::index_t batch = 0;
    int devices = 0;
};

int to_number(const std::string& name, const std::string& text) {
    std::size_t used = 0;
    int value = 0;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || value < 1) {
        throw ts::error("peer_tessera: " + name + " takes a number of at least 1, not '" + text + "'");
    }
    return value;
}

arguments parse(int count, char** values) {
    arguments a;
    for (int i = 1; i < count; ++i) {
        const std::string name = values[i];
        if (i + 1 >= count) {
            throw ts::error("peer_tessera: " + name + " lacks its value");
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
            throw ts::error("peer_tessera: there is no option " + name + "; see the protocol at the top of run.py");
        }
    }
    if (a.network.empty() || a.batch == 0 || a.devices == 0 || a.weights.empty() || a.data.empty()) {
        throw ts::error("peer_tessera: --network, --batch, --devices, --weights and --data are needed");
    }
    if (a.devices > 2) {
        throw ts::error("peer_tessera: --devices takes 1 or 2, not " + std::to_string(a.devices));
    }
    return a;
}

ts::graph describe(const arguments& a) {
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
    throw ts::error("peer_tessera: there is no network " + a.network + "; there are small, lenet5, alexnet, mlp");
}

/// A whole file of 4-byte numbers, of which there must be `wanted`.
std::vector<char> read_file(const std::string& path, ts::index_t wanted) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) {
        throw ts::error("peer_tessera: cannot read " + path);
    }
    const auto bytes = static_cast<std::streamoff>(in.tellg());
    if (bytes != 4 * wanted) {
        throw ts::error("peer_tessera: " + path + " has " + std::to_string(bytes) + " bytes and the network needs " +
                        std::to_string(4 * wanted));
    }
    std::vector<char> content(static_cast<std::size_t>(bytes));
    in.seekg(0);
    if (!in.read(content.data(), bytes)) {
        throw ts::error("peer_tessera: cannot read " + path);
    }
    return content;
}

template <class T>
std::vector<T> part_of(const std::vector<char>& content, ts::index_t& at, ts::index_t count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    std::memcpy(out.data(), content.data() + 4 * at, static_cast<std::size_t>(4 * count));
    at += count;
    return out;
}

/// Parameters one after the other in the order of the layers, weight before bias: the graph's own order.
std::vector<std::vector<float>> read_weights(const std::string& path, const ts::graph_view& g) {
    ts::index_t all = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        all += g.parameters[p].extents.volume();
    }
    const std::vector<char> content = read_file(path, all);
    std::vector<std::vector<float>> out;
    ts::index_t at = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        out.push_back(part_of<float>(content, at, g.parameters[p].extents.volume()));
    }
    return out;
}

/// One batch: numbers, then labels.
struct batch_data {
    std::vector<float> numbers;
    std::vector<std::int32_t> labels;
    std::vector<ts::input_data> inputs;

    batch_data(const std::string& path, const ts::graph_view& g) {
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

struct contender {
    std::string name;
    std::unique_ptr<session> runs;
    std::vector<double> ms;
};

class peer {
public:
    explicit peer(const arguments& a)
        : network_(describe(a)), weights_(read_weights(a.weights, network_.view())), data_(a.data, network_.view()),
          update_(ts::sgd{learning_rate}), backend_(update_, options_of(a)), threads_(a.devices) {
        std::vector<std::pair<std::string, ts::strategy>> strategies;
        const ts::graph_view g = network_.view();
        if (a.devices == 1) {
            strategies.emplace_back("one device", ts::search::single_device(g));
        } else {
            strategies.emplace_back("data parallel", ts::search::data_parallel(g, a.devices));
            strategies.emplace_back("one weird trick", ts::search::one_weird_trick(g, a.devices));
        }
        for (const auto& [name, how] : strategies) {
            contenders_.push_back(
                {name,
                 std::make_unique<session>(g, how, a.devices, update_, ts::session_options{}, backend_, threads_),
                 {}});
        }
        race();
        reset();
    }

    void reset() {
        for (contender& c : contenders_) {
            for (std::size_t p = 0; p < weights_.size(); ++p) {
                c.runs->set_parameter(static_cast<int>(p), weights_[p]);
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
    static ts::host::backend_options options_of(const arguments& a) {
        ts::host::backend_options o;
        o.how = ts::host::tuning::measure;
        o.profile_path = a.profile;
        return o;
    }

    double step(session& s, double& loss) {
        return benchmarks::milliseconds([&] { loss = s.step(data_.inputs); });
    }

    /// Strategies in turns; the one with the smallest median stays.
    void race() {
        reset();
        double loss = 0;
        double slowest = 0;
        for (contender& c : contenders_) {
            step(*c.runs, loss);
            slowest = std::max(slowest, step(*c.runs, loss));
        }
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
        const auto median = [](const contender& c) { return benchmarks::median(c.ms); };
        for (contender& c : contenders_) {
            tried_.push_back("\"" + c.name + " ms\": " + std::to_string(median(c)));
        }
        std::size_t best = 0;
        for (std::size_t i = 1; i < contenders_.size(); ++i) {
            best = median(contenders_[i]) < median(contenders_[best]) ? i : best;
        }
        std::swap(contenders_.front(), contenders_[best]);
        contenders_.erase(contenders_.begin() + 1, contenders_.end());
    }

    ts::graph network_;
    std::vector<std::vector<float>> weights_;
    batch_data data_;
    ts::optimizer update_;
    ts::host::backend backend_;
    ts::workers threads_;
    benchmarks::on_first_core pinned_; ///< device 0, which is this thread; the workers, made before, pin the others
    std::vector<contender> contenders_;
    std::vector<std::string> tried_;
};

void answer(const std::string& line) { std::cout << line << std::endl; }

std::string list(const std::vector<double>& values) {
    std::string text = "[";
    char number[40];
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::snprintf(number, sizeof number, "%s%.9g", i > 0 ? ", " : "", values[i]);
        text += number;
    }
    return text + "]";
}

void serve(peer& p) {
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        if (line == "reset") {
            p.reset();
            answer("{\"reset\": true}");
        } else if (line.rfind("steps ", 0) == 0) {
            const auto count = static_cast<std::size_t>(to_number("steps", line.substr(6)));
            std::vector<double> ms(count);
            std::vector<double> losses(count);
            for (std::size_t i = 0; i < count; ++i) {
                ms[i] = p.step(losses[i]);
            }
            answer("{\"ms\": " + list(ms) + ", \"loss\": " + list(losses) + "}");
        } else {
            throw ts::error("peer_tessera: unknown command '" + line + "'; known: steps K, reset, quit");
        }
    }
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c == '\n' ? ' ' : c;
    }
    return out + "\"";
}

} // namespace

int main(int count, char** values) {
    try {
        peer p(parse(count, values));
        answer("{\"ready\": true, \"side\": \"tessera\", \"version\": \"0.1.0\", \"settings\": " + p.settings() + "}");
        serve(p);
        return 0;
    } catch (const std::exception& e) {
        answer("{\"error\": " + quoted(e.what()) + "}");
        std::cerr << e.what() << "\n";
        return 1;
    }
}
