// SPDX-License-Identifier: Apache-2.0
// Programs of docs/network_programs.md, word for word: a transformer encoder, an LSTM language model, a mixture of
// experts, a recommender of two inputs, and a siamese network with two losses.
#include "docs/programs.hpp"

namespace ts = tessera;
using docs_support::integers;
using docs_support::numbers;

// clang-format off
namespace {
namespace encoder {

struct words : ts::embedding<100, 32> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct norm3 : ts::layer_norm<> {};
struct query : ts::linear<32> {};
struct key : ts::linear<32> {};
struct value : ts::linear<32> {};
struct merge : ts::linear<32> {};
struct wide : ts::linear<64> {};
struct narrow : ts::linear<32> {};
struct classes : ts::linear<4> {};

using attention = ts::self_attention<4, query, key, value, merge, ts::with_lengths<ts::padded_softmax<>>>;

struct network : ts::sequential<ts::tokens<12>, words, places,
    ts::repeat<2, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
    norm3, ts::slice<0, 1, ts::axis<1>>, ts::flatten, classes, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

} // namespace encoder

namespace language {

constexpr int steps = 6;
struct words : ts::embedding<50, 24> {};
template <int Layer>
struct from_input : ts::linear<96> {}; // four gates of 24
template <int Layer>
struct from_hidden : ts::linear<96, ts::no_bias> {};
template <int Layer>
using cell = ts::lstm_cell<24, from_input<Layer>, from_hidden<Layer>>;
struct logits : ts::linear<50> {};

struct network : ts::sequential<ts::tokens<steps>, words, ts::lstm<steps, cell<0>, cell<1>>,
    ts::tied<logits, words>, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 4, ts::others<ts::split<ts::sample, 2>>>;

struct texts {
    std::vector<std::int32_t> inputs = integers(4 * steps, 50);
    std::vector<std::int32_t> labels = integers(4 * steps, 50); // the words that come next
    int size = 4;
};

} // namespace language

namespace sent_tokens { // docs/sequences.md

struct words : ts::embedding<50, 256> {};
struct norm1 : ts::layer_norm<> {};
struct logits : ts::linear<50> {};

struct gate : ts::linear<8, ts::no_bias> {};                             // 8 experts
struct slots : ts::token_slots<ts::top<2>, ts::capacity_factor<1.25>> {};
struct left : ts::routed_linear<512> {};
struct right : ts::routed_linear<512> {};
struct down : ts::routed_linear<256> {};
using router = ts::branch<gate, ts::aside<ts::router_z_loss<ts::weight<1, 1000>>>, ts::softmax<>,
    ts::aside<ts::load_balance<2, ts::weight<1, 100>>>, ts::keep_top<ts::top<2>, ts::normalized>>;
using mixture = ts::routed_experts<slots, router,
    ts::branches<ts::multiply, ts::branch<ts::with_slots<left>, ts::silu>, ts::with_slots<right>>,
    ts::with_slots<down>>;

struct network : ts::sequential<ts::tokens<8>, words, ts::residual<norm1, mixture>, logits, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 4, ts::others<ts::split<ts::sample, 2>>>;

struct texts {
    std::vector<std::int32_t> inputs = integers(4 * 8, 50);
    std::vector<std::int32_t> labels = integers(4 * 8, 50);
    int size = 4;
};

} // namespace sent_tokens

namespace experts {

struct words : ts::embedding<50, 16> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct gate : ts::linear<4, ts::no_bias> {};
struct wide : ts::expert_linear<4, 32> {};
struct narrow : ts::expert_linear<4, 16> {};
struct logits : ts::linear<50> {};

// 4 experts, each with 6 slots for the 8 tokens of a sample, of which each goes to 2.
struct network : ts::sequential<ts::tokens<8>, words,
    ts::residual<norm1, ts::mixture_of_experts<6, 2, gate, wide, ts::gelu, narrow>>,
    norm2, logits, ts::cross_entropy> {};

using halves = ts::strategy_of<network, 2, 4, ts::others<ts::split<ts::sample, 2>>>;

struct texts {
    std::vector<std::int32_t> inputs = integers(4 * 8, 50);
    std::vector<std::int32_t> labels = integers(4 * 8, 50);
    int size = 4;
};

using by_experts = ts::strategy_of<network, 2, 4,
    ts::on<wide, ts::split<ts::loop_name::expert, 2>>, ts::on<narrow, ts::split<ts::loop_name::expert, 2>>,
    ts::others<ts::split<ts::sample, 2>>>;

} // namespace experts

namespace recommender {

struct user;
struct item;
struct rating;
struct user_vector;
struct item_vector;
struct both;
struct predicted;
struct error;
struct users : ts::embedding<1000, 16> {};
struct user1 : ts::linear<32> {};
struct item1 : ts::linear<32> {};
struct wide : ts::linear<32> {};
struct one : ts::linear<1> {};

struct network : ts::dag<
    ts::input<user, ts::labels>, ts::input<item, ts::features<20>>, ts::input<rating, ts::features<1>>,
    ts::chain<user_vector, user, users, user1, ts::relu>,
    ts::chain<item_vector, item, item1, ts::relu>,
    ts::node<both, ts::concat, user_vector, item_vector>,
    ts::chain<predicted, both, wide, ts::relu, one>,
    ts::node<error, ts::mse_loss, predicted, rating>> {};

using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

} // namespace recommender

namespace siamese {

struct left;
struct right;
struct same;
struct kind;
struct left_vector;
struct right_vector;
struct apart;
struct distance;
struct same_loss;
struct scores;
struct kind_loss;
struct fc1 : ts::linear<32> {};
struct fc2 : ts::linear<16> {};
struct how_far : ts::linear<1> {};
struct kinds : ts::linear<5> {};

// Both sides through the same layers: shared<> gives all uses of a layer one set of parameters.
struct network : ts::dag<
    ts::input<left, ts::features<20>>, ts::input<right, ts::features<20>>,
    ts::input<same, ts::features<1>>, ts::input<kind, ts::labels>,
    ts::chain<left_vector, left, ts::shared<fc1>, ts::relu, ts::shared<fc2>>,
    ts::chain<right_vector, right, ts::shared<fc1>, ts::relu, ts::shared<fc2>>,
    ts::node<apart, ts::subtract, left_vector, right_vector>,
    ts::chain<distance, apart, ts::abs, how_far>,
    ts::chain<scores, left_vector, kinds>,
    ts::node<same_loss, ts::bce_with_logits, distance, same>,
    ts::node<kind_loss, ts::weighted_cross_entropy<ts::weight<1, 2>>, scores, kind>> {};

using halves = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>>;

} // namespace siamese
} // namespace
// clang-format on

TEST_CASE("a transformer encoder of padded texts") {
    using namespace encoder;
    const std::vector<std::int32_t> texts = integers(8 * 12, 100);
    const std::vector<std::int32_t> lengths = {12, 3, 7, 9, 1, 12, 5, 4};
    const std::vector<std::int32_t> kinds = integers(8, 4);
    docs_support::for_training<network, halves, 8>([&](auto& trainer) {
        return trainer.step(ts::feed<ts::tokens<12>>(texts), ts::feed<ts::lengths>(lengths),
                            ts::feed<ts::labels>(kinds));
    });
}

TEST_CASE("an LSTM language model") {
    using namespace language;
    docs_support::for_training<network, halves, 4>([](auto& trainer) { return trainer.step(texts{}); });
}

TEST_CASE("a mixture of experts") {
    using namespace experts;
    docs_support::for_training<network, halves, 4>([](auto& trainer) { return trainer.step(texts{}); });
    docs_support::for_training<network, by_experts, 4>([](auto& trainer) { return trainer.step(texts{}); });
}

TEST_CASE("a mixture of experts whose tokens are sent") {
    using namespace sent_tokens;
    docs_support::for_training<network, halves, 4>([](auto& trainer) { return trainer.step(texts{}); });
}

TEST_CASE("a recommender of two inputs") {
    using namespace recommender;
    const std::vector<std::int32_t> who = integers(8, 1000);
    const std::vector<float> what = numbers(8 * 20);
    const std::vector<float> stars = numbers(8);
    docs_support::for_training<network, halves, 8>([&](auto& trainer) {
        return trainer.step(ts::feed<user>(who), ts::feed<item>(what), ts::feed<rating>(stars));
    });
}

TEST_CASE("a siamese network with two losses") {
    using namespace siamese;
    const std::vector<float> first = numbers(8 * 20);
    const std::vector<float> second(first.rbegin(), first.rend());
    const std::vector<float> alike = {0, 1, 1, 0, 0, 1, 0, 1};
    const std::vector<std::int32_t> which = integers(8, 5);
    CHECK(ts::describe<network>(8).view().parameter_count == 8); // of four layers, weight and bias each
    docs_support::for_training<network, halves, 8>([&](auto& trainer) {
        const double loss =
            trainer.step(ts::feed<left>(first), ts::feed<right>(second), ts::feed<same>(alike), ts::feed<kind>(which));
        CHECK(loss == doctest::Approx(trainer.template loss<same_loss>() + trainer.template loss<kind_loss>() / 2));
        return loss;
    });
}
