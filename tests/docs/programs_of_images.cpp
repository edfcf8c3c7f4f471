// SPDX-License-Identifier: Apache-2.0
// Programs of docs/network_programs.md, word for word: an image classifier, a U-Net, an autoencoder, a net with two
// tasks, and fine-tuning.
#include "docs/programs.hpp"

namespace ts = tessera;
using docs_support::integers;
using docs_support::numbers;

// clang-format off
namespace {
namespace classifier {

template <int Stage, int Place, ts::index_t Channels, int Stride = 1>
struct conv : ts::conv2d<Channels, ts::window<3>, ts::stride<Stride>, ts::padding<1>, ts::no_bias> {};
template <int Stage, int Place>
struct norm : ts::batch_norm<> {};
template <int Stage, ts::index_t Channels>
struct shortcut : ts::conv2d<Channels, ts::stride<2>, ts::no_bias> {};
struct classes : ts::linear<10> {};

// Two convolutions and a way around them.
template <int Stage, ts::index_t Channels>
using block = ts::branch<
    ts::residual<conv<Stage, 0, Channels>, norm<Stage, 0>, ts::relu, conv<Stage, 1, Channels>, norm<Stage, 1>>,
    ts::relu>;
// The same where the picture becomes smaller: the way around is a convolution, too.
template <int Stage, ts::index_t Channels>
using smaller = ts::branch<
    ts::branches<ts::add,
        ts::branch<conv<Stage, 2, Channels, 2>, norm<Stage, 2>, ts::relu, conv<Stage, 3, Channels>, norm<Stage, 3>>,
        ts::branch<shortcut<Stage, Channels>, norm<Stage, 4>>>,
    ts::relu>;

struct network : ts::sequential<ts::image<3, 8, 8>,
    conv<0, 2, 16>, norm<0, 2>, ts::relu, ts::repeat<2, block<0, 16>>,
    smaller<1, 32>, block<1, 32>,
    ts::global_average_pool, classes, ts::cross_entropy> {};

// Batch norm takes its statistics over the whole batch, which is on two devices: their sums cross, and one says so.
using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>, ts::with_reduction>>;

struct pictures {
    std::vector<float> inputs = numbers(8 * 3 * 8 * 8);
    std::vector<std::int32_t> labels = integers(8, 10);
    int size = 8;
};

} // namespace classifier

namespace unet {

template <int Level, int Place>
struct conv : ts::conv2d<(8 << Level), ts::window<3>, ts::padding<1>, ts::no_bias> {};
template <int Level, int Place>
struct norm : ts::batch_norm<> {};
template <int Level>
struct up : ts::transposed_conv2d<(8 << Level), ts::window<2>, ts::stride<2>> {};
struct scores : ts::conv2d<3> {}; // three kinds of pixels
struct fine;
struct middle;

template <int Level, int Place>
using step = ts::branch<conv<Level, Place>, norm<Level, Place>, ts::relu>;

struct network : ts::sequential<ts::image<1, 8, 8>,
    step<0, 0>, step<0, 1>, ts::save<fine>, ts::max_pool<2>,
    step<1, 0>, step<1, 1>, ts::save<middle>, ts::max_pool<2>,
    step<2, 0>, step<2, 1>,
    up<1>, ts::tap<ts::concat, middle>, step<1, 2>, step<1, 3>,
    up<0>, ts::tap<ts::concat, fine>, step<0, 2>, step<0, 3>,
    scores, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 4, ts::others<ts::split<ts::sample, 2>, ts::with_reduction>>;

} // namespace unet

namespace autoencoder {

struct picture;
struct code;
struct decoded;
struct difference;
struct down1 : ts::conv2d<8, ts::window<4>, ts::stride<2>, ts::padding<1>> {};
struct down2 : ts::conv2d<16, ts::window<4>, ts::stride<2>, ts::padding<1>> {};
struct squeeze : ts::linear<12> {};
struct widen : ts::linear<256> {};
struct up2 : ts::transposed_conv2d<8, ts::window<4>, ts::stride<2>, ts::padding<1>> {};
struct up1 : ts::transposed_conv2d<1, ts::window<4>, ts::stride<2>, ts::padding<1>> {};

struct network : ts::dag<
    ts::input<picture, ts::image<1, 16, 16>>,
    ts::chain<code, picture, down1, ts::relu, down2, ts::relu, ts::flatten, squeeze>,
    ts::chain<decoded, code, widen, ts::relu, ts::reshape<16, 4, 4>, up2, ts::relu, up1, ts::sigmoid>,
    ts::node<difference, ts::mse_loss, decoded, picture>> {};

using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

} // namespace autoencoder

namespace two_tasks {

struct picture;
struct kind;
struct box;
struct seen;
struct scores;
struct corners;
struct kind_loss;
struct conv1 : ts::conv2d<8, ts::window<3>, ts::padding<1>> {};
struct conv2 : ts::conv2d<16, ts::window<3>, ts::padding<1>> {};
struct kinds : ts::linear<5> {};
struct wide : ts::linear<32> {};
struct four : ts::linear<4> {};
struct box_loss : ts::weighted_loss<ts::huber_loss<>, ts::weight<1, 2>> {};

struct network : ts::dag<
    ts::input<picture, ts::image<3, 16, 16>>, ts::input<kind, ts::labels>, ts::input<box, ts::features<4>>,
    ts::chain<seen, picture, conv1, ts::relu, ts::max_pool<2>, conv2, ts::relu, ts::max_pool<2>, ts::flatten>,
    ts::chain<scores, seen, kinds>,
    ts::chain<corners, seen, wide, ts::relu, four>,
    ts::node<kind_loss, ts::cross_entropy, scores, kind>,
    ts::node<box_loss, box_loss, corners, box>> {};

using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

} // namespace two_tasks

namespace tuning {

template <class... How>
struct conv1 : ts::conv2d<8, ts::window<3>, ts::padding<1>, How...> {};
template <class... How>
struct conv2 : ts::conv2d<16, ts::window<3>, ts::padding<1>, How...> {};
template <ts::index_t Classes>
struct classes : ts::linear<Classes> {};
template <ts::index_t Classes, class... How>
struct network : ts::sequential<ts::image<3, 8, 8>,
    conv1<How...>, ts::relu, ts::max_pool<2>, conv2<How...>, ts::relu, ts::global_average_pool,
    classes<Classes>, ts::cross_entropy> {};

using before = network<20>;           // was trained on 20 classes
using tuned = network<3, ts::frozen>; // its convolutions stay as they are, 3 classes are learned anew
using halves = ts::strategy_of<tuned, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

struct pictures {
    std::vector<float> inputs = numbers(8 * 3 * 8 * 8);
    std::vector<std::int32_t> labels = integers(8, 3);
    int size = 8;
};

} // namespace tuning
} // namespace
// clang-format on

TEST_CASE("an image classifier with residual blocks and batch norm") {
    using namespace classifier;
    CHECK(ts::describe<network>(8).view().parameter_count > 40);
    docs_support::for_training<network, halves, 8>([](auto& trainer) { return trainer.step(pictures{}); });
}

TEST_CASE("a U-Net") {
    using namespace unet;
    const std::vector<float> pictures = numbers(4 * 8 * 8);
    const std::vector<std::int32_t> kinds = integers(4 * 8 * 8, 3);
    docs_support::for_training<network, halves, 4>([&](auto& trainer) {
        return trainer.step(ts::feed<ts::image<1, 8, 8>>(pictures), ts::feed<ts::labels>(kinds));
    });
}

TEST_CASE("an autoencoder with transposed convolutions") {
    using namespace autoencoder;
    std::vector<float> pictures = numbers(8 * 16 * 16);
    for (float& x : pictures) {
        x = x / 2 + 0.5F;
    }
    docs_support::for_training<network, halves, 8>(
        [&](auto& trainer) { return trainer.step(ts::feed<picture>(pictures)); });
}

TEST_CASE("a net with two tasks") {
    using namespace two_tasks;
    const std::vector<float> pictures = numbers(8 * 3 * 16 * 16);
    const std::vector<std::int32_t> shown = integers(8, 5);
    const std::vector<float> where = numbers(8 * 4);
    docs_support::for_training<network, halves, 8>([&](auto& trainer) {
        const double loss = trainer.step(ts::feed<picture>(pictures), ts::feed<kind>(shown), ts::feed<box>(where));
        CHECK(loss == doctest::Approx(trainer.template loss<kind_loss>() + trainer.template loss<box_loss>() / 2));
        return loss;
    });
}

TEST_CASE("fine-tuning with frozen layers") {
    using namespace tuning;
    ts::trainer<before, ts::reference::backend> old(ts::local_devices(1), ts::strategy_of<before, 1, 8>{}, ts::sgd{});
    ts::trainer<tuned, ts::reference::backend> trainer(ts::local_devices(2), halves{}, ts::sgd{.learning_rate = 0.1F});
    trainer.set_weights<conv1<ts::frozen>>(old.weights<conv1<>>());
    trainer.set_bias<conv1<ts::frozen>>(old.bias<conv1<>>());
    trainer.set_weights<conv2<ts::frozen>>(old.weights<conv2<>>());
    trainer.set_bias<conv2<ts::frozen>>(old.bias<conv2<>>());
    const std::vector<float> head = trainer.weights<classes<3>>();
    const double first = trainer.step(pictures{});
    CHECK(trainer.step(pictures{}) < first);
    CHECK(trainer.weights<conv2<ts::frozen>>() == old.weights<conv2<>>());
    CHECK(trainer.weights<classes<3>>() != head);
}
