// SPDX-License-Identifier: Apache-2.0
// Other people's files of weights (io/files/load_weights.hpp, io/files/weight_names.hpp): PyTorch's and torchvision's
// names by patterns, running mean and variance, transposed layers, parts of fused ones, shards with an index. The
// oracle is the parameter, number by number, that was written.
#include "tessera/io/files/load_weights.hpp"

#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/predictor.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/dag.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using test_support::contains;
using test_support::message_of;

struct folder_of_test {
    folder_of_test() {
        char name[] = "/tmp/tessera-foreign-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~folder_of_test() { fs::remove_all(path); }
    std::string operator/(const std::string& name) const { return path + "/" + name; }
    std::string path;
};

/// ResNet's beginnings, with the names of somebody who did not think of torchvision.
struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct stem_norm : ts::batch_norm<> {};
struct first : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct first_norm : ts::batch_norm<> {};
struct head : ts::linear<5> {};
struct net : ts::sequential<ts::image<3, 4, 4>, stem, stem_norm, ts::relu, ts::repeat<2, first, first_norm, ts::relu>,
                            ts::flatten, head, ts::cross_entropy> {};
using trainer = ts::trainer<net, ts::reference::backend>;
constexpr int samples = 2;

/// Tensors by name, each number of its own.
class tensors {
public:
    const std::vector<float>& add(const std::string& name, const std::vector<std::int64_t>& extents) {
        std::int64_t n = 1;
        for (const auto e : extents) {
            n *= e;
        }
        std::vector<float>& x = numbers_[name];
        for (std::int64_t i = 0; i < n; ++i) {
            x.push_back(static_cast<float>(++next_) / 64);
        }
        extents_[name] = extents;
        return x;
    }
    void write(const std::string& path, const std::string& beginning = "") const {
        std::vector<ts::io::named_tensor> all;
        for (const auto& [name, x] : numbers_) {
            if (name.starts_with(beginning)) {
                all.push_back({name, extents_.at(name), x, {}});
            }
        }
        ts::io::write_safetensors(path, all);
    }
    const std::vector<float>& operator[](const std::string& name) const { return numbers_.at(name); }

private:
    std::map<std::string, std::vector<float>> numbers_;
    std::map<std::string, std::vector<std::int64_t>> extents_;
    int next_ = 0;
};

/// What torchvision would call them.
tensors torchvision() {
    tensors t;
    const auto norm = [&](const std::string& name) {
        for (const char* const what : {".weight", ".bias", ".running_mean", ".running_var"}) {
            t.add(name + what, {4});
        }
        t.add(name + ".num_batches_tracked", {});
    };
    t.add("conv1.weight", {4, 3, 3, 3});
    norm("bn1");
    for (const char* const b : {"layer1.0", "layer1.1"}) {
        t.add(std::string(b) + ".conv1.weight", {4, 4, 3, 3});
        norm(std::string(b) + ".bn1");
    }
    t.add("fc.weight", {5, 64});
    t.add("fc.bias", {5});
    return t;
}

const std::vector<ts::io::weight_name> to_torchvision{{"stem", "conv1"},
                                                      {"stem_norm", "bn1"},
                                                      {"first.*", "layer1.*.conv1"},
                                                      {"first_norm.*", "layer1.*.bn1"},
                                                      {"head", "fc"}};

std::vector<float> joined(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
}

/// All parameters by path.
template <class Values>
std::map<std::string, std::vector<float>> all_of(Values& values) {
    const ts::graph_view g = values.graph_of();
    const ts::network_paths paths = ts::paths_of(g);
    std::map<std::string, std::vector<float>> all;
    for (int p = 0; p < g.parameter_count; ++p) {
        all[paths.parameter(p)] = values.parameter(p);
    }
    return all;
}

void check_torchvision(const std::map<std::string, std::vector<float>>& found, const tensors& t) {
    CHECK(found.at("stem/weight") == t["conv1.weight"]);
    CHECK(found.at("stem_norm/weight") == t["bn1.weight"]);
    CHECK(found.at("stem_norm/bias") == t["bn1.bias"]);
    CHECK(found.at("stem_norm/statistics") == joined(t["bn1.running_mean"], t["bn1.running_var"]));
    for (const std::string n : {"0", "1"}) {
        CHECK(found.at("first." + n + "/weight") == t["layer1." + n + ".conv1.weight"]);
        CHECK(found.at("first_norm." + n + "/statistics") ==
              joined(t["layer1." + n + ".bn1.running_mean"], t["layer1." + n + ".bn1.running_var"]));
    }
    CHECK(found.at("head/weight") == t["fc.weight"]);
    CHECK(found.at("head/bias") == t["fc.bias"]);
}

} // namespace

TEST_CASE("torchvision's names by patterns, running mean and variance among them") {
    const folder_of_test here;
    const tensors file = torchvision();
    file.write(here / "model.safetensors");
    trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    const ts::io::loaded_weights found = ts::io::load_weights(t, here / "model.safetensors", {.names = to_torchvision});
    CHECK(found.missing.empty());
    CHECK(found.unexpected == std::vector<std::string>{"bn1.num_batches_tracked", "layer1.0.bn1.num_batches_tracked",
                                                       "layer1.1.bn1.num_batches_tracked"});
    CHECK(found.matched.size() == 1 + 4 + 2 * 5 + 2);
    check_torchvision(all_of(t.values()), file);
    // A server takes them too.
    ts::predictor<net, ts::reference::backend> server(samples);
    server.change(
        [&](auto& values) { ts::io::load_weights(values, here / "model.safetensors", {.names = to_torchvision}); });
    const std::vector<float> x(samples * 48, 0.5F);
    using input = ts::feed<ts::image<3, 4, 4>>;
    CHECK(server.predict(input(x)).values == t.predict(input(x)).values);
}

TEST_CASE("shards with an index: those that it names alone, and what is not as it says is refused") {
    const folder_of_test here;
    const tensors file = torchvision();
    file.write(here / "model-00001-of-00003.safetensors", "layer1");
    file.write(here / "model-00002-of-00003.safetensors", "bn1");
    file.write(here / "model-00003-of-00003.safetensors", "conv1");
    file.write(here / "head.safetensors", "fc");
    file.write(here / "consolidated.safetensors"); // all once more, which would be there twice
    const auto index = [&](const std::string& more) {
        std::string text = R"({"metadata": {"total_size": 1}, "weight_map": {)";
        for (const std::string n : {"0", "1"}) {
            for (const char* const what :
                 {"conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"}) {
                text += "\"layer1." + n + "." + what + "\": \"model-00001-of-00003.safetensors\", ";
            }
        }
        for (const char* const what : {"weight", "bias", "running_mean", "running_var"}) {
            text += std::string("\"bn1.") + what + "\": \"model-00002-of-00003.safetensors\", ";
        }
        std::ofstream(here / "model.safetensors.index.json")
            << text << R"("conv1.weight": "model-00003-of-00003.safetensors", "fc.weight": "head.safetensors")" << more
            << "}}";
    };
    const auto load = [&](const std::string& what) {
        trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
        const auto found = ts::io::load_weights(t, what, {.names = to_torchvision});
        CHECK(found.missing.empty());
        check_torchvision(all_of(t.values()), file);
    };
    index(R"(, "fc.bias": "head.safetensors")");
    load(here.path);
    load(here / "model.safetensors.index.json");
    index(R"(, "fc.bias": "head.safetensors", "fc.scale": "head.safetensors")");
    CHECK(contains(message_of([&] { load(here.path); }), "says that fc.scale is in 'head.safetensors'"));
    index(R"(, "fc.bias": "model-00004-of-00003.safetensors")");
    CHECK(contains(message_of([&] { load(here.path); }), "model-00004-of-00003.safetensors', which is not there"));
    index(R"(, "fc.bias": "../head.safetensors")");
    CHECK(contains(message_of([&] { load(here.path); }), "must be a file beside the index"));
    std::ofstream(here / "model.safetensors.index.json") << "{\"metadata\": {}}";
    CHECK(contains(message_of([&] { load(here.path); }), "has no weight_map"));
}

TEST_CASE("transposed layers, parts of fused ones, and one tensor by its whole name") {
    struct query : ts::linear<6> {};
    struct key : ts::linear<6> {};
    struct out : ts::linear<3> {};
    struct small : ts::sequential<ts::features<4>, query, key, out, ts::cross_entropy> {};
    const folder_of_test here;
    tensors file;
    const std::vector<float> fused = file.add("h.0.attn.c_attn.weight", {4, 18}); // [inputs, outputs], as GPT-2 has it
    const std::vector<float> bias = file.add("h.0.attn.c_attn.bias", {18});
    const std::vector<float> second = file.add("h.0.proj.weight", {6, 6});
    file.add("h.0.proj.bias", {6});
    const std::vector<float> last = file.add("W", {3, 6});
    const std::vector<float> last_bias = file.add("b", {3});
    file.write(here / "gpt2.safetensors");
    ts::trainer<small, ts::reference::backend> t(ts::local_devices(1), ts::strategy(ts::describe<small>(2).view()), 2,
                                                 ts::sgd{});
    std::vector<ts::io::weight_name> names{
        {.ours = "query", .theirs = "h.0.attn.c_attn", .transposed = true, .first = 6, .rows = 6},
        {.ours = "key", .theirs = "h.0.proj", .transposed = true},
        {.ours = "out/weight", .theirs = "W"},
        {.ours = "out/bias", .theirs = "b"}};
    const auto found = ts::io::load_weights(t, here / "gpt2.safetensors", {.names = names});
    CHECK(found.missing.empty());
    CHECK(found.unexpected.empty());
    for (std::size_t o = 0; o < 6; ++o) {
        CHECK(t.bias<query>()[o] == bias[6 + o]);
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(t.weights<query>()[o * 4 + i] == fused[i * 18 + 6 + o]);
        }
        for (std::size_t i = 0; i < 6; ++i) {
            CHECK(t.weights<key>()[o * 6 + i] == second[i * 6 + o]);
        }
    }
    CHECK(t.weights<out>() == last);
    CHECK(t.bias<out>() == last_bias);
    // Rows that are not there, and transposed where it is not said.
    const auto refused = [&] {
        return message_of([&] { ts::io::load_weights(t, here / "gpt2.safetensors", {.names = names}); });
    };
    names[0].first = 13;
    CHECK(contains(refused(), "from rows 13 to 18"));
    names[0] = {"query", "h.0.attn.c_attn"};
    CHECK(contains(refused(), "h.0.attn.c_attn.weight is [4, 18], and the network's is [6, 4]"));
    names[0] = {"query*", "h.*.*"};
    CHECK(contains(refused(), "do not go together"));
}

TEST_CASE("weights of which nothing matches are an error with both sides' names, and half a running statistic is one") {
    const folder_of_test here;
    const tensors file = torchvision();
    file.write(here / "model.safetensors");
    trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    const auto before = all_of(t.values());
    const std::string said = message_of([&] { ts::io::load_weights(t, here / "model.safetensors"); });
    CHECK_MESSAGE(contains(said, "0 of its 14 parameters were found, and 20 tensors are of none"), said);
    CHECK_MESSAGE(contains(said, "'stem/weight'"), said);
    CHECK_MESSAGE(contains(said, "'bn1.bias'"), said);
    tensors half;
    half.add("stem_norm.running_mean", {4});
    half.write(here / "half.safetensors");
    const std::string one = message_of([&] { ts::io::load_weights(t, here / "half.safetensors"); });
    CHECK_MESSAGE(contains(one, "one of the running mean and variance of stem_norm/statistics"), one);
    CHECK(all_of(t.values()) == before);
}

TEST_CASE("patterns: stars are what they stand for, in their order") {
    const auto places = [](const std::string& parameter, const ts::io::weight_name& name) {
        return ts::io::detail::places_of(parameter, {name})[0].names;
    };
    CHECK(places("block.3.conv/weight", {"block.*.*", "layer.*.sub_*"})[1] == "layer.3.sub_conv.weight");
    CHECK(places("a.b/bias", {"*", "model.*"})[1] == "model.a.b.bias");
    CHECK(places("a/weight", {"b*", "c*"})[1] == "a.weight");
    CHECK(places("norm/bias", {"norm", "LayerNorm"})[2] == "LayerNorm.beta");
}
