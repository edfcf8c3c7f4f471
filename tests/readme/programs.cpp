// SPDX-License-Identifier: Apache-2.0
// The programs of README.md and of the guides in docs/, word for word (check.cmake holds them against these pages),
// compiled and run: on pictures of our own making, and with the sentence model for its shapes alone, as it is large;
// tests/io/train.cpp trains a small one in the same three ways.

// clang-format off
#include <tessera/host.hpp>
#include <tessera/io/data/fashion_mnist.hpp>
namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1   : ts::linear<50> {};
struct fc2   : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>,
    conv1, ts::max_pool<2>, ts::relu, conv2, ts::max_pool<2>, ts::relu,
    ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

using by_hand = ts::strategy_of<lenet, 2, 64, ts::on<fc1, ts::split<ts::channel, 3>>>;

using found = ts::search::static_optcnn<lenet, 64, ts::machines::host_threads<2>>;
// clang-format on

#include "io/temporary_folder.hpp"

#include <tessera/io/train.hpp>
#include <tessera/net/paths.hpp>
#include <tessera/net/precision.hpp>
#include <tessera/plan/print.hpp>
#include <tessera/schedule/buckets.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

// clang-format off
struct fast : ts::with_precision<ts::bf16, lenet> {};   // or ts::tf32; without it, ts::fp32
// clang-format on

namespace sentences {

struct norm2 : ts::layer_norm<> {};
struct norm3 : ts::layer_norm<> {};
struct key : ts::linear<768> {};
struct value : ts::linear<768> {};
struct merge : ts::linear<768> {};
struct wide : ts::linear<3072> {};
struct narrow : ts::linear<768> {};

// clang-format off
struct words : ts::embedding<50257, 768> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct query : ts::linear<768> {};  // key, value, merge, wide, narrow, norm2, norm3 likewise
struct logits : ts::linear<50257, ts::no_bias> {};
using attention = ts::self_attention<12, query, key, value, merge, ts::softmax<ts::causal>, ts::dropout<10>>;
struct gpt : ts::sequential<ts::tokens<1024>, words, places,
    ts::repeat<12, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
    norm3, ts::tied<logits, words>, ts::cross_entropy> {};
// clang-format on

} // namespace sentences

namespace {

void write_idx(const std::string& path, const std::vector<unsigned char>& extents, int elements) {
    std::ofstream out(path, std::ios::binary);
    out << '\0' << '\0' << '\x08' << static_cast<char>(extents.size());
    for (const unsigned char x : extents) {
        out << '\0' << '\0' << '\0' << static_cast<char>(x);
    }
    for (int i = 0; i < elements; ++i) { // labels, or pixels that tell them: picture i is of kind i % 10
        const int sample = extents.size() == 1 ? i : i / (28 * 28);
        const int pixel = i % (28 * 28);
        out << static_cast<char>(extents.size() == 1 ? sample % 10 : (pixel / 28 / 3 == sample % 10 ? 255 : 0));
    }
}

} // namespace

TEST_CASE("the first program trains") {
    const test::temporary_folder folder;
    write_idx(folder / "train-images-idx3-ubyte", {150, 28, 28}, 150 * 28 * 28);
    write_idx(folder / "train-labels-idx1-ubyte", {150}, 150);
    REQUIRE(setenv("TESSERA_DATA", folder.path().c_str(), 1) == 0);
    // clang-format off
    ts::trainer<lenet> trainer(ts::host::devices(2), found{}, ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
    for (const auto& batch : ts::io::fashion_mnist("train").batches(64)) trainer.step(batch);
    // clang-format on
    CHECK(trainer.steps() == 3);
    const auto before = trainer.evaluate(ts::io::fashion_mnist("train").batches(64));
    ts::io::train(trainer, ts::io::fashion_mnist("train"), {.epochs = 5});
    const auto after = trainer.evaluate(ts::io::fashion_mnist("train").batches(64));
    CHECK(after.rows == 150);
    CHECK(after.loss < before.loss);

    // How gradients are summed, from the section about pipelines.
    const ts::graph graph = ts::describe<lenet>(64);
    const ts::graph_view network = graph.view();
    ts::strategy best(found::view());
    // clang-format off
    best.sync = ts::schedule::buckets(ts::schedule::gradients_of(network));
    // clang-format on
    ts::trainer<lenet> in_buckets(ts::host::devices(2), best, 64, ts::sgd{.learning_rate = 0.02F});
    for (const auto& batch : ts::io::fashion_mnist("train").batches(64)) {
        in_buckets.step(batch);
    }
    CHECK(in_buckets.steps() == 3);
    CHECK(std::is_same_v<ts::default_backend<lenet>, ts::host::backend>);
}

TEST_CASE("the strategy that the compiler finds is the README's") {
    const std::string shown =
        R"(layer          kind           output       splits       replicas  devices
conv1          conv2d         64x10x24x24  sample/2     1         0 1
max_pool.0     max_pool       64x10x12x12  sample/2     1         0 1
relu.0         relu           64x10x12x12  sample/2     1         0 1
conv2          conv2d         64x20x8x8    sample/2     1         0 1
max_pool.1     max_pool       64x20x4x4    sample/2     1         0 1
relu.1         relu           64x20x4x4    channel/2    1         0 1
flatten        flatten        64x320       channel/2    1         0 1
fc1            linear         64x50        reduction/2  1         0 1
relu.2         relu           64x50        channel/2    1         0 1
fc2            linear         64x10        reduction/2  1         0 1
cross_entropy  cross_entropy  64           sample/2     1         0 1
)";
    CHECK(to_text(ts::describe<lenet, 64>(), found::view()) == shown);
}

TEST_CASE("one operator by itself moves what it says") {
    // clang-format off
    ts::sharded<conv2, ts::split<ts::sample, 2>, ts::split<ts::channel, 2>> op{
        ts::host::devices(4), ts::make_shape(64, 10, 12, 12)};
    op.forward();
    op.backward();
    op.moved_bytes();
    // clang-format on
    CHECK(op.moved_bytes() > 0);
}

TEST_CASE("the README's other networks are what it says") {
    const ts::graph bf16 = ts::describe<fast>(2);
    CHECK(bf16.ops[0].attributes.math == ts::precision::bf16);
    const ts::graph gpt = ts::describe<sentences::gpt>(1);
    ts::index_t parameters = 0;
    for (const ts::parameter_node& p : gpt.parameters) {
        parameters += p.extents.volume();
    }
    CHECK(parameters == 124439808); // GPT-2's
    const ts::network_paths paths = ts::paths_of(gpt.view());
    CHECK(paths.ops[2] == "norm1.0");
    CHECK(paths.parameters[0] == "words/weight");
    CHECK(paths.parameters.back() == "norm3/bias");
}
