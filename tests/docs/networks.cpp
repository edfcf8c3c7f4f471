// SPDX-License-Identifier: Apache-2.0
// The code of docs/networks.md: what the pieces of networks make, which tensors and parameters.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/tessera.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ts = tessera;

// clang-format off
namespace {

namespace first {
struct conv1 : ts::conv2d<16, ts::window<3>, ts::padding<1>> {};
struct conv2 : ts::conv2d<32, ts::window<3>, ts::stride<2>, ts::padding<1>> {};
struct classes : ts::linear<10> {};
struct network : ts::sequential<ts::image<3, 32, 32>,
    conv1, ts::relu, conv2, ts::relu, ts::global_average_pool, classes, ts::cross_entropy> {};
} // namespace first

namespace pieces {
template <int Stage, int Place>
struct conv : ts::conv2d<32, ts::window<3>, ts::padding<1>, ts::no_bias> {};
template <int Stage, int Place>
struct norm : ts::batch_norm<> {};
template <int Stage>
using block = ts::residual<conv<Stage, 0>, norm<Stage, 0>, ts::relu, conv<Stage, 1>, norm<Stage, 1>>;
struct stem : ts::conv2d<32, ts::window<3>, ts::padding<1>> {};
struct narrow : ts::conv2d<8> {};
struct broad : ts::conv2d<24, ts::window<5>, ts::padding<2>> {};
struct classes : ts::linear<10> {};
struct network : ts::sequential<ts::image<3, 32, 32>,
    stem, block<0>, ts::relu, block<1>, ts::relu, ts::repeat<3, block<2>, ts::relu>,
    ts::branches<ts::concat, ts::branch<narrow, ts::relu>, broad, ts::branch<>>,
    ts::global_average_pool, classes, ts::cross_entropy> {};
} // namespace pieces

namespace gated {
struct conv1 : ts::conv2d<32, ts::window<3>, ts::padding<1>> {};
struct fewer : ts::linear<8> {};
struct again : ts::linear<32> {};
struct classes : ts::linear<10> {};
struct seen;
// Squeeze and excitation: a factor for each channel, from the means of all.
struct network : ts::sequential<ts::image<3, 16, 16>,
    conv1, ts::relu, ts::save<seen>,
    ts::global_average_pool, fewer, ts::relu, again, ts::sigmoid, ts::reshape<32, 1, 1>,
    ts::tap<ts::multiply, seen>,
    ts::global_average_pool, classes, ts::cross_entropy> {};
} // namespace gated

namespace graphs {
struct picture;
struct words;
struct answer;
struct seen;
struct read;
struct both;
struct scores;
struct loss;
struct conv1 : ts::conv2d<16, ts::window<3>, ts::stride<2>, ts::padding<1>> {};
struct table : ts::embedding<1000, 16> {};
struct wide : ts::linear<32> {};
struct answers : ts::linear<20> {};

struct network : ts::dag<
    ts::input<picture, ts::image<3, 16, 16>>,
    ts::input<words, ts::tokens<12>>,
    ts::input<answer, ts::labels>,
    ts::chain<seen, picture, conv1, ts::relu, ts::global_average_pool>,
    ts::chain<read, words, table, ts::mean_over<1>>,
    ts::node<both, ts::concat, seen, read>,
    ts::chain<scores, both, wide, ts::relu, answers>,
    ts::node<loss, ts::cross_entropy, scores, answer>> {};
} // namespace graphs

namespace two_losses {
struct x;
struct kind;
struct body;
struct scores;
struct back;
struct kind_loss;
struct fc1 : ts::linear<16> {};
struct fc2 : ts::linear<4> {};
struct fc3 : ts::linear<12> {};
struct back_loss : ts::weighted_loss<ts::mse_loss, ts::weight<3, 10>> {}; // times 0.3

struct network : ts::dag<
    ts::input<x, ts::features<12>>, ts::input<kind, ts::labels>,
    ts::chain<body, x, fc1, ts::relu>,
    ts::chain<scores, body, fc2>,
    ts::chain<back, body, fc3>,
    ts::node<kind_loss, ts::cross_entropy, scores, kind>,
    ts::node<back_loss, back_loss, back, x>> {};
} // namespace two_losses

namespace sharing {
struct words : ts::embedding<100, 16> {};
struct fc : ts::linear<16> {};
struct logits : ts::linear<100, ts::no_bias> {};
struct network : ts::sequential<ts::tokens<6>,
    words, ts::shared<fc>, ts::gelu, ts::shared<fc>, ts::tied<logits, words>, ts::cross_entropy> {};
} // namespace sharing

namespace normed {
struct conv1 : ts::conv2d<16, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm1 : ts::batch_norm<> {};
struct classes : ts::linear<10> {};
struct network : ts::sequential<ts::image<3, 8, 8>,
    conv1, norm1, ts::relu, ts::global_average_pool, classes, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 16, ts::others<ts::split<ts::sample, 2>, ts::with_reduction>>;
using by_name = ts::strategy_of<network, 2, 16,
    ts::on<norm1, ts::split<ts::sample, 2>, ts::with_reduction>, ts::others<ts::split<ts::sample, 2>>>;
using by_channels = ts::strategy_of<network, 2, 16,
    ts::on<norm1, ts::split<ts::channel, 2>>, ts::others<ts::split<ts::sample, 2>>>;
} // namespace normed

namespace kept {
struct conv1 : ts::conv2d<16, ts::window<3>, ts::frozen> {};
struct norm1 : ts::batch_norm<ts::frozen> {};
struct classes : ts::linear<10, ts::initial_weights<ts::initial::normal<1, 100>>,
                            ts::initial_bias<ts::initial::zeros>> {};
struct network : ts::sequential<ts::image<3, 8, 8>,
    conv1, norm1, ts::relu, ts::flatten, classes, ts::cross_entropy> {};
} // namespace kept

namespace pictures_in_patches {
struct patches : ts::conv2d<24, ts::window<8>, ts::stride<8>> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct query : ts::linear<24> {};
struct key : ts::linear<24> {};
struct value : ts::linear<24> {};
struct merge : ts::linear<24> {};
struct classes : ts::linear<10> {};
// [N,24,4,4] -> [N,24,16] -> [N,16,24] -> [N,17,24], of which the first row is classified.
struct network : ts::sequential<ts::image<3, 32, 32>,
    patches, ts::reshape<24, 16>, ts::permute<0, 2, 1>, ts::pad<ts::margin<1, 1, 0>>, places,
    ts::residual<norm1, ts::self_attention<4, query, key, value, merge, ts::softmax<>>>,
    ts::slice<0, 1, ts::axis<1>>, ts::flatten, classes, ts::cross_entropy> {};
} // namespace pictures_in_patches

struct fast : ts::with_precision<ts::bf16, first::network> {};

} // namespace
// clang-format on

TEST_CASE("shapes follow from one layer to the next") {
    using namespace first;
    const ts::graph g = ts::describe<network>(64);
    const std::string text = to_text(g.view(), ts::strategy_of<network, 1, 64>::view());
    CHECK(text == R"(layer                kind                 output       splits  replicas  devices
conv1                conv2d               64x16x32x32  -       1         0
relu.0               relu                 64x16x32x32  -       1         0
conv2                conv2d               64x32x16x16  -       1         0
relu.1               relu                 64x32x16x16  -       1         0
global_average_pool  global_average_pool  64x32        -       1         0
classes              linear               64x10        -       1         0
cross_entropy        cross_entropy        64           -       1         0
)");
    CHECK(ts::describe<fast>(64).view().op_count == 7);
}

TEST_CASE("blocks, branches and repetitions") {
    using namespace pieces;
    const ts::graph g = ts::describe<network>(8);
    int convolutions = 0;
    for (const ts::op_node& op : g.ops) {
        convolutions += op.attributes.kind == ts::op_kind::conv2d ? 1 : 0;
    }
    CHECK(convolutions == 1 + 5 * 2 + 2);
    const ts::op_node& pool = g.ops[g.ops.size() - 3];
    CHECK(g.view().tensors[pool.inputs[0]].extents == ts::make_shape(8, 8 + 24 + 32, 32, 32));
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(1), ts::strategy_of<network, 1, 2>{},
                                                         ts::sgd{});
    CHECK(trainer.weights<ts::instance<conv<2, 0>, 2>>().size() == 32 * 32 * 9);
}

TEST_CASE("a saved tensor is read again") {
    const ts::graph g = ts::describe<gated::network>(8);
    int products = 0;
    for (const ts::op_node& op : g.ops) {
        products += op.attributes.kind == ts::op_kind::multiply ? 1 : 0;
    }
    CHECK(products == 1);
}

TEST_CASE("inputs are fed by their names") {
    using namespace graphs;
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(1), ts::strategy_of<network, 1, 4>{},
                                                         ts::sgd{.learning_rate = 0.1F});
    const std::vector<float> pictures(4 * 3 * 16 * 16, 0.5F);
    const std::vector<std::int32_t> questions(4 * 12, 7);
    const std::vector<std::int32_t> answers(4, 3);
    const double first =
        trainer.step(ts::feed<picture>(pictures), ts::feed<words>(questions), ts::feed<answer>(answers));
    CHECK(trainer.step(ts::feed<picture>(pictures), ts::feed<words>(questions), ts::feed<answer>(answers)) < first);
}

TEST_CASE("losses are added up by their weights") {
    using namespace two_losses;
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(1), ts::strategy_of<network, 1, 4>{},
                                                         ts::sgd{});
    const std::vector<float> points(4 * 12, 0.25F);
    const std::vector<std::int32_t> kinds = {0, 1, 2, 3};
    const double total = trainer.step(ts::feed<x>(points), ts::feed<kind>(kinds));
    const double kinds_alone = trainer.loss<kind_loss>();
    const double back_alone = trainer.loss<back_loss>(); // without its weight
    CHECK(total == doctest::Approx(kinds_alone + 0.3 * back_alone));
    const ts::prediction rebuilt = trainer.predict<back>(ts::feed<x>(points));
    CHECK(rebuilt.extents == ts::make_shape(4, 12));
}

TEST_CASE("shared and tied layers have one set of parameters") {
    CHECK(ts::describe<sharing::network>(4).view().parameter_count == 3); // the table, and weight and bias of fc
}

TEST_CASE("batch norm on two devices has the numbers of one") {
    using namespace normed;
    const auto losses = [](auto strategy, int devices) {
        ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(devices), strategy,
                                                             ts::sgd{.learning_rate = 0.1F});
        struct {
            std::vector<float> inputs = std::vector<float>(16 * 3 * 8 * 8);
            std::vector<std::int32_t> labels = std::vector<std::int32_t>(16);
            int size = 16;
        } batch;
        for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
            batch.inputs[i] = static_cast<float>((i * 7919) % 101) * 0.01F;
        }
        for (std::size_t i = 0; i < batch.labels.size(); ++i) {
            batch.labels[i] = static_cast<std::int32_t>(i % 10);
        }
        trainer.step(batch);
        return static_cast<double>(trainer.step(batch));
    };
    const double one = losses(ts::strategy_of<network, 1, 16>{}, 1);
    CHECK(losses(halves{}, 2) == doctest::Approx(one).epsilon(1e-5));
    CHECK(losses(by_name{}, 2) == doctest::Approx(one).epsilon(1e-5));
    CHECK(losses(by_channels{}, 2) == doctest::Approx(one).epsilon(1e-5));
}

TEST_CASE("frozen parameters keep their values, and initial values are those that were said") {
    using namespace kept;
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(1), ts::strategy_of<network, 1, 4>{},
                                                         ts::sgd{.learning_rate = 0.1F});
    CHECK(trainer.bias<classes>() == std::vector<float>(10, 0.0F));
    const std::vector<float> convolution = trainer.weights<conv1>();
    const std::vector<float> gamma = trainer.weights<norm1>();
    struct {
        std::vector<float> inputs = std::vector<float>(4 * 3 * 8 * 8, 0.5F);
        std::vector<std::int32_t> labels = {1, 2, 3, 4};
        int size = 4;
    } batch;
    batch.inputs[5] = 3;
    trainer.step(batch);
    CHECK(trainer.weights<conv1>() == convolution);
    CHECK(trainer.weights<norm1>() == gamma);
    CHECK(trainer.bias<classes>() != std::vector<float>(10, 0.0F));
}

TEST_CASE("a class token is a row of zeros to which the table of positions adds its first row") {
    using namespace pictures_in_patches;
    ts::trainer<network, ts::reference::backend> trainer(ts::local_devices(1), ts::strategy_of<network, 1, 2>{},
                                                         ts::sgd{.learning_rate = 0.1F});
    struct {
        std::vector<float> inputs = std::vector<float>(2 * 3 * 32 * 32, 0.5F);
        std::vector<std::int32_t> labels = {1, 2};
        int size = 2;
    } batch;
    const std::vector<float> before = trainer.weights<places>();
    REQUIRE(before.size() == 17 * 24);
    const std::vector<float> rows = trainer.predict<places>(batch).values;
    CHECK(std::vector<float>(rows.begin(), rows.begin() + 24) ==
          std::vector<float>(before.begin(), before.begin() + 24));
    trainer.step(batch);
    const std::vector<float> after = trainer.weights<places>();
    CHECK(!std::equal(after.begin(), after.begin() + 24, before.begin())); // it is learned
}
