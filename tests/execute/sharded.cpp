// SPDX-License-Identifier: Apache-2.0
// One operator in shards against the reference kernels on the whole operator, in double.
#include "tessera/execute/measure/sharded.hpp"
#include "op/harness.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace tests;

struct conv : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct grouped : ts::conv2d<8, ts::window<3>, ts::stride<2>, ts::groups<2>, ts::no_bias> {};
struct fc : ts::linear<10> {};
struct pool : ts::max_pool<3, ts::stride<2>> {};
struct norm : ts::batch_norm<> {};
struct drop : ts::channel_dropout<40> {};

template <class Op, class... Options>
using plain_sharded = ts::sharded_on<ts::reference::backend, Op, Options...>;

double difference(const std::vector<float>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double apart = 0;
    double size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        apart += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
        size += b[i] * b[i];
    }
    REQUIRE(size > 0);
    return std::sqrt(apart / size);
}

void copy(const std::vector<double>& from, std::span<float> to) {
    REQUIRE(from.size() == to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = static_cast<float>(from[i]);
    }
}

/// Runs forward twice, then backward three times: the last results must still be those of one run.
template <class Op, class... Options>
ts::index_t check(int devices, const std::vector<ts::shape>& inputs) {
    op_case row{"", Op::attributes, inputs};
    plain_sharded<Op, Options...> op{ts::local_devices(devices), inputs};
    if (Op::attributes.kind == ts::op_kind::cross_entropy) {
        row.inputs.push_back(ts::make_shape(inputs[0][0]));
    }
    op_instance whole(row);
    whole.loss_scale = 1.0 / static_cast<double>(inputs[0][0]);
    for (int o = 0; o < whole.d.operands.size(); ++o) {
        const ts::operand& x = whole.d.operands[o];
        const tile& t = whole.value[ts::to_size(o)];
        if (x.kind == ts::operand_kind::input && x.type == ts::element::i32) {
            std::copy(t.integers.begin(), t.integers.end(), op.labels().begin());
        } else if (x.kind == ts::operand_kind::input) {
            copy(t.numbers, op.input(x.slot));
        } else if (x.kind == ts::operand_kind::parameter || x.kind == ts::operand_kind::state) {
            std::vector<float> values(t.numbers.size());
            copy(t.numbers, values);
            op.set_parameter(x.slot, values);
        }
    }
    if (!whole.is_loss()) {
        copy(whole.gradient[ts::to_size(whole.d.output())].numbers, op.output_gradient());
    }
    op.forward();
    op.forward();
    op.backward();
    op.backward();
    op.backward();
    whole.forward();
    whole.backward();
    CHECK(difference(op.output(), whole.value[ts::to_size(whole.d.output())].numbers) < 1e-6);
    for (int o = 0; o < whole.d.operands.size(); ++o) {
        const ts::operand& x = whole.d.operands[o];
        CAPTURE(o);
        if (x.kind == ts::operand_kind::input && x.type == ts::element::f32) {
            CHECK(difference(op.input_gradient(x.slot), whole.gradient[ts::to_size(o)].numbers) < 2e-5);
        } else if (x.kind == ts::operand_kind::parameter) {
            CHECK(difference(op.gradient(x.slot), whole.gradient[ts::to_size(o)].numbers) < 2e-5);
        }
    }
    return op.moved_bytes();
}

TEST_CASE("a convolution in shards computes what the whole convolution computes") {
    using ts::split;
    const std::vector<ts::shape> x{ts::make_shape(4, 4, 6, 8)};
    CHECK(check<conv>(1, x) == 0);
    const ts::index_t weights = (6 * 4 * 3 * 3 + 6) * 4;           // bytes
    CHECK(check<conv, split<ts::sample, 2>>(2, x) == 2 * weights); // a half of the gradient and of the weights each way
    // The output channels share nothing but the sum of the inputs' gradients, and nobody asks for that sum.
    CHECK(check<conv, split<ts::channel, 2>>(2, x) == 0);
    check<conv, split<ts::sample, 2>, split<ts::channel, 2>>(4, x);
    check<conv, split<ts::height, 3>>(3, x);
    check<conv, split<ts::width, 4>, ts::replicate<2>>(8, x);
    check<conv, split<ts::reduction, 2>, split<ts::sample, 2>>(4, x);
    check<grouped, ts::cut<ts::sample, 1>, split<ts::height, 2>, ts::uneven>(4, {ts::make_shape(4, 4, 7, 9)});
}

TEST_CASE("other operators in shards compute what the whole operators compute") {
    using ts::split;
    check<fc, split<ts::reduction, 3>, ts::uneven>(3, {ts::make_shape(6, 8)});
    check<fc, split<ts::channel, 2>, split<ts::sample, 3>>(6, {ts::make_shape(6, 8)});
    check<pool, split<ts::height, 3>>(3, {ts::make_shape(2, 3, 7, 7)});
    check<ts::gelu, split<ts::channel, 2>>(2, {ts::make_shape(4, 6)});
    check<norm, split<ts::sample, 2>, ts::with_reduction>(2, {ts::make_shape(4, 3, 3, 2)});
    check<ts::multiply, split<ts::sample, 2>>(2, {ts::make_shape(4, 5), ts::make_shape(4, 5)});
    check<ts::concat, split<ts::sample, 2>>(2, {ts::make_shape(4, 3), ts::make_shape(4, 2)});
    check<ts::flatten, split<ts::sample, 2>>(2, {ts::make_shape(4, 3, 2, 2)});
    check<ts::cross_entropy, split<ts::channel, 2>, ts::with_reduction>(2, {ts::make_shape(4, 6)});
}

TEST_CASE("layouts of the inputs and of the output say how an operator is split") {
    using ts::dims;
    using ts::extents;
    using ts::layout;
    using ts::partial;
    using ts::replicate;
    using ts::shards;
    // A linear layer: rows by samples and columns by channels on four devices; and a split of the sum, whose output are
    // summands.
    using mesh = plain_sharded<fc, layout<extents<6, 8>, dims<shards<2>, shards<1>>, replicate<2>>,
                               layout<extents<6, 10>, dims<shards<2>, shards<2>>>>;
    mesh op{ts::local_devices(4)};
    plain_sharded<fc, ts::split<ts::sample, 2>, ts::split<ts::channel, 2>> same{ts::local_devices(4),
                                                                                ts::make_shape(6, 8)};
    CHECK(op.bound().hash == same.bound().hash);
    op.forward();
    same.forward();
    CHECK(op.output() == same.output());
    op.backward();
    same.backward();
    CHECK(op.gradient(0) == same.gradient(0));
    CHECK(op.moved_bytes() == same.moved_bytes());

    plain_sharded<fc, layout<extents<6, 8>, dims<shards<1>, shards<2>>>,
                  layout<extents<6, 10>, dims<shards<1>, shards<1>>, replicate<1>, partial<2>>>
        sums{ts::local_devices(2)};
    plain_sharded<fc, ts::split<ts::reduction, 2>> same_sums{ts::local_devices(2), ts::make_shape(6, 8)};
    CHECK(sums.bound().hash == same_sums.bound().hash);

    // Rows of images without the borders that the window reads, cut unevenly, the second shard on the first device.
    using rows = ts::shards_at<2>;
    plain_sharded<conv,
                  layout<extents<4, 4, 6, 8>, dims<shards<1>, shards<1>, rows, shards<1>>, replicate<1>, partial<1>,
                         ts::place<1, 0>>,
                  layout<extents<4, 6, 6, 8>, dims<shards<1>, shards<1>, rows, shards<1>>, replicate<1>, partial<1>,
                         ts::place<1, 0>>>
        cut{ts::local_devices(2)};
    plain_sharded<conv, ts::cut<ts::height, 2>, ts::place<1, 0>> same_cut{ts::local_devices(2),
                                                                          ts::make_shape(4, 4, 6, 8)};
    CHECK(cut.bound().hash == same_cut.bound().hash);

    // Two inputs, and every shard twice.
    using half = layout<extents<4, 5>, dims<shards<2>, shards<1>>, replicate<2>>;
    plain_sharded<ts::multiply, half, half, half> twice{ts::local_devices(4)};
    plain_sharded<ts::multiply, ts::split<ts::sample, 2>, ts::replicate<2>> same_twice{
        ts::local_devices(4), std::vector<ts::shape>{ts::make_shape(4, 5), ts::make_shape(4, 5)}};
    CHECK(twice.bound().hash == same_twice.bound().hash);

    // A loss with its labels.
    using logits = layout<extents<4, 6>, dims<shards<2>, shards<1>>>;
    using label = layout<extents<4>, dims<shards<2>>>;
    plain_sharded<ts::cross_entropy, logits, label, label> loss{ts::local_devices(2)};
    plain_sharded<ts::cross_entropy, ts::split<ts::sample, 2>> same_loss{ts::local_devices(2), ts::make_shape(4, 6)};
    CHECK(loss.bound().hash == same_loss.bound().hash);
}

TEST_CASE("a dropout drops the same channels however it is split") {
    const ts::shape x = ts::make_shape(4, 6, 3, 3);
    plain_sharded<drop> whole{ts::local_devices(1), x};
    plain_sharded<drop, ts::split<ts::sample, 2>, ts::split<ts::height, 3>> parts{ts::local_devices(6), x};
    std::vector<std::vector<float>> outputs;
    for (std::uint64_t step = 0; step < 3; ++step) {
        whole.state().step = parts.state().step = step;
        whole.forward();
        parts.forward();
        CHECK(whole.output() == parts.output());
        outputs.push_back(whole.output());
    }
    CHECK(outputs[0] != outputs[1]);
}

TEST_CASE("floating-point operations are those of the whole operator") {
    const plain_sharded<conv, ts::split<ts::height, 2>> op{ts::local_devices(2), ts::make_shape(4, 4, 6, 8)};
    const ts::index_t multiply_adds = 4 * 6 * 6 * 8 * 4 * 3 * 3;
    CHECK(op.forward_flops() == 2 * multiply_adds);
    CHECK(op.backward_flops() == 2 * op.forward_flops());
}

TEST_CASE("a split that breaks a rule is refused with the rule's words") {
    const ts::shape x = ts::make_shape(4, 4, 6, 8);
    const auto make = [&](auto* what, int devices, const ts::shape& input) {
        using type = std::remove_pointer_t<decltype(what)>;
        type op{ts::local_devices(devices), input};
    };
    plain_sharded<conv, ts::split<ts::channel, 4>>* uneven = nullptr;
    CHECK_THROWS_WITH_AS(
        make(uneven, 4, x),
        "tessera: the degree does not divide the extent; say uneven if uneven shards are meant [layer conv, along "
        "channel, found 4, needed 6]",
        ts::error);
    plain_sharded<conv, ts::split<ts::channel, 3>>* three = nullptr;
    CHECK_THROWS_AS(make(three, 2, x), ts::error);
    CHECK_THROWS_AS(make(three, 3, ts::make_shape(4, 4)), ts::error);
    plain_sharded<norm, ts::split<ts::sample, 2>>* coupled = nullptr;
    CHECK_THROWS_AS(make(coupled, 2, x), ts::error);
    plain_sharded<conv, ts::split<ts::sample, 2>, ts::place<0, 1, 2>>* placed = nullptr;
    CHECK_THROWS_AS(make(placed, 3, x), ts::error);
}

TEST_CASE("backward leaves what forward made, and forward what backward made") {
    plain_sharded<conv, ts::split<ts::sample, 2>> op{ts::local_devices(2), ts::make_shape(4, 4, 6, 8)};
    op.forward();
    const std::vector<float> output = op.output();
    std::fill(op.input().begin(), op.input().end(), 0.0F);
    op.backward();
    CHECK(op.output() == output); // of the input that forward has read
    const std::vector<float> gradient = op.gradient(0);
    op.forward();
    CHECK(op.output() != output);
    CHECK(op.gradient(0) == gradient);
    op.backward();
    CHECK(op.gradient(0) != gradient); // now of an input of zeros
}

TEST_CASE("a plan of several steps does not run in parts") {
    struct network : ts::sequential<ts::features<8>, fc, ts::cross_entropy> {};
    const ts::graph g = ts::describe<network>(4);
    ts::strategy s(g.view());
    s.steps_per_plan = 2;
    ts::plan p = ts::lower(g.view(), s.view(), 1, {});
    ts::reference::backend backend{ts::optimizer()};
    backend.bind(p, g.view(), nullptr);
    ts::finish(g.view(), p);
    ts::workers threads(1);
    const ts::parameter_store store(p);
    ts::executor<ts::reference::backend> whole(backend, threads, g.view(), p, store);
    CHECK_THROWS_WITH_AS(whole.run_tasks({}, 0, 1),
                         "tessera: a plan of several steps, with queues or over nodes runs whole and not in parts",
                         ts::error);
}

} // namespace
