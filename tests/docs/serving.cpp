// SPDX-License-Identifier: Apache-2.0
// The blocks of docs/training.md about serving, generation and other people's weights, word for word, in programs that
// run.
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/generator.hpp>
#include <tessera/execute/predictor.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/io/files/load_weights.hpp>
#include <tessera/op/embedding.hpp>
#include <tessera/op/rotary.hpp>
#include <tessera/part/attention.hpp>

#include "io/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

namespace ts = tessera;

namespace {

struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct stem_norm : ts::batch_norm<> {};
struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm : ts::fixed_batch_norm<> {};
struct head : ts::linear<2> {};
struct network : ts::sequential<ts::image<3, 8, 8>, stem, stem_norm, ts::relu, ts::repeat<2, conv, norm, ts::relu>,
                                ts::flatten, head, ts::cross_entropy> {};
template <int Place>
struct trunk : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias, ts::frozen> {};
template <int Place>
struct fixed : ts::fixed_batch_norm<ts::frozen> {};
struct kinds : ts::linear<3> {};
struct tuned : ts::sequential<ts::image<4, 8, 8>, trunk<0>, fixed<0>, ts::relu, trunk<1>, fixed<1>, ts::relu,
                              ts::global_average_pool, kinds, ts::cross_entropy> {};
using trainer_of_page = ts::trainer<network, ts::reference::backend>;

struct words : ts::embedding<16, 8> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct next_word : ts::linear<16> {};
struct texts : ts::sequential<
                   ts::tokens<16>, words,
                   ts::self_attention<2, ts::branch<query, ts::rotary<ts::heads<2>>>,
                                      ts::branch<key, ts::rotary<ts::heads<2>>>, value, merge, ts::softmax<ts::causal>>,
                   next_word, ts::cross_entropy> {};

trainer_of_page make(const ts::trainer_options& options = {}) {
    return {ts::local_devices(1), ts::strategy(ts::describe<network>(4).view()), 4, ts::sgd{}, options};
}

/// Every line of the page's block that begins so stands in this file, indented by four.
void check_block(const char* begin) {
    const std::string root = std::string(__FILE__).substr(0, std::string(__FILE__).rfind("tests/docs/"));
    const std::string page = test::read_text(root + "docs/training.md");
    const std::string own = test::read_text(std::string(__FILE__));
    std::size_t at = page.find(begin);
    REQUIRE(at != std::string::npos);
    for (const std::size_t end = page.find("\n```", at); at < end;) {
        const std::size_t stop = page.find('\n', at);
        const std::string line = page.substr(at, stop - at);
        CHECK_MESSAGE(own.find("    " + line + "\n") != std::string::npos, line);
        at = stop + 1;
    }
}

/// What torchvision would write of the network.
void write_torchvision(const std::string& path) {
    std::vector<ts::io::named_tensor> all;
    static const std::vector<float> numbers(1000, 0.25F);
    const auto add = [&](const std::string& name, const std::vector<std::int64_t>& extents) {
        ts::io::named_tensor t{name, extents, {}, {}};
        t.numbers = std::span<const float>(numbers).first(ts::to_size(t.elements()));
        all.push_back(t);
    };
    const auto add_norm = [&](const std::string& name) {
        for (const char* const what : {".weight", ".bias", ".running_mean", ".running_var"}) {
            add(name + what, {4});
        }
    };
    add("conv1.weight", {4, 3, 3, 3});
    add_norm("bn1");
    for (const char* const b : {"layer1.0", "layer1.1"}) {
        add(std::string(b) + ".conv1.weight", {4, 4, 3, 3});
        add_norm(std::string(b) + ".bn1");
    }
    add("fc.weight", {2, 256});
    add("fc.bias", {2});
    ts::io::write_safetensors(path, all);
}

} // namespace

TEST_CASE("the page's server answers many threads as the trainer would") {
    check_block("ts::predictor server(trainer, ");
    trainer_of_page trainer = make();
    std::vector<std::vector<float>> requests;
    std::vector<ts::prediction> answers(8);
    for (int i = 0; i < 8; ++i) {
        requests.emplace_back(ts::to_size(192 * (1 + i % 3)), static_cast<float>(i) / 8);
    }
    ts::predictor server(trainer, {.lanes = 4}); // the trainer's weights, copied
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] { answers[i] = server.predict(ts::feed<ts::image<3, 8, 8>>(requests[i])); });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(answers[i].values == trainer.predict(ts::feed<ts::image<3, 8, 8>>(requests[i])).values);
    }
}

TEST_CASE("the page's generator goes on with prompts, further than its network's own length") {
    check_block("ts::generator writer(trainer, ");
    ts::trainer<texts, ts::reference::backend> trainer(ts::local_devices(1),
                                                       ts::strategy(ts::describe<texts>(2).view()), 2, ts::sgd{});
    ts::generator writer(trainer, {.max_length = 24, .piece = 8}); // copies of the trainer's weights
    std::vector<ts::token_list> prompts{{5, 3, 11}, {7}};          // of any lengths, as many as you like
    std::vector<ts::token_list> likeliest = writer.generate(prompts, {.new_tokens = 10});
    const ts::sampling how{.temperature = 0.8, .top_k = 40, .top_p = 0.95, .seed = 7};
    std::vector<ts::token_list> drawn = writer.generate(prompts, {.new_tokens = 10, .how = how, .stop_token = 0});
    CHECK(likeliest[0].size() == 10);
    CHECK(likeliest == trainer.generate(prompts, {.new_tokens = 10}));
    CHECK((drawn[1].size() == 10 || drawn[1].back() == 0));
    CHECK(writer.generate({ts::token_list(14, 3)}, {.new_tokens = 10})[0].size() == 10);
}

TEST_CASE("the page's names load torchvision's file") {
    // clang-format off
    check_block("const ts::io::loaded_weights found =");
    const test::temporary_folder here;
    const std::string folder = here.path();
    write_torchvision(folder + "/model.safetensors");
    trainer_of_page trainer = make({.for_training = false});
    const ts::io::loaded_weights found =
        ts::io::load_weights(trainer, folder + "/model.safetensors", {.names = {{"stem", "conv1"},
                                                                                {"stem_norm", "bn1"},
                                                                                {"conv.*", "layer1.*.conv1"},
                                                                                {"norm.*", "layer1.*.bn1"},
                                                                                {"head", "fc"}}});
    // clang-format on
    CHECK(found.missing.empty());
    CHECK(found.unexpected.empty());
    CHECK(trainer.weights<head>() == std::vector<float>(512, 0.25F));
}

TEST_CASE("the page's trunk comes from a file and stays, and its head learns") {
    const test::temporary_folder here;
    const std::string folder = here.path();
    write_torchvision(folder + "/model.safetensors");
    ts::trainer<tuned, ts::reference::backend> tuning(ts::local_devices(1), ts::strategy_of<tuned, 1, 4>{},
                                                      ts::sgd{.learning_rate = 0.1F});
    // clang-format off
    const ts::io::loaded_weights taken =
        ts::io::load_weights(tuning, folder + "/model.safetensors",
                             {.names = {{"trunk<*>", "layer1.*.conv1"}, {"fixed<*>", "layer1.*.bn1"}}});
    // clang-format on
    CHECK(taken.missing == std::vector<std::string>{"kinds/weight", "kinds/bias"});
    CHECK(tuning.weights<trunk<1>>() == std::vector<float>(4 * 4 * 9, 0.25F));
    struct {
        std::vector<float> inputs = std::vector<float>(4 * 4 * 8 * 8, 0.5F);
        std::vector<std::int32_t> labels = {0, 1, 2, 0};
        int size = 4;
    } batch;
    const std::vector<float> new_head = tuning.bias<kinds>();
    tuning.step(batch);
    CHECK(tuning.bias<kinds>() != new_head);
    CHECK(tuning.weights<trunk<1>>() == std::vector<float>(4 * 4 * 9, 0.25F));
    CHECK(tuning.bias<fixed<0>>() == std::vector<float>(4, 0.25F));
}
