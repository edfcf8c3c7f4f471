// SPDX-License-Identifier: Apache-2.0
// A strategy that is a type says everything that a value says: stages, recomputation, micro-batches, schedule,
// statistics, synchronization, overlap, period and precision. The value is the one that the functions of values make,
// and so is the plan.
#include "tessera/layout/typed_redistribution.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/schedule/typed_actions.hpp"
#include "tessera/schedule/typed_messages.hpp"
#include "tessera/search/pipeline.hpp"
#include "tessera/strategy/typed_layout_of.hpp"

#include "support/canonical_plan.hpp"
#include "support/planned.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
using ts::index_t;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct mlp : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};
struct conv1 : ts::conv2d<4, ts::window<3>> {};
struct norm1 : ts::batch_norm<> {};
struct normalized : ts::sequential<ts::image<1, 6, 6>, conv1, norm1, ts::relu, ts::flatten, fc3, ts::cross_entropy> {};
constexpr index_t batch = 16;

template <class Net, int Devices, class... Entries>
using typed = ts::strategy_of<Net, Devices, batch, Entries...>;

/// The typed strategy is this value, and has its plan.
template <class S>
void check_same(const ts::strategy& wanted) {
    static_assert(S::ok);
    const ts::graph g = ts::describe<typename S::network>(batch);
    const ts::strategy found(S::view());
    CHECK((found == wanted));
    CHECK((ts::strategy(S::view()) == found)); // whenever it is asked for
    ts::lower_options o;
    o.update = ts::sgd{.momentum = wanted.state_on_host ? 0.9F : 0.0F}; // which then has a state
    const ts::plan a = test_support::planned(g.view(), found, S::devices, o);
    const ts::plan b = test_support::planned(g.view(), wanted, S::devices, o);
    CHECK(test_support::canonical_plan(a).text() == test_support::canonical_plan(b).text());
}

/// A pipeline of the network's stages that begin at these operators.
template <class Net>
ts::strategy pipeline(const std::vector<int>& first, const ts::pipeline_schedule& order,
                      const ts::search::pipeline_options& how = {}) {
    const ts::graph g = ts::describe<Net>(batch);
    return ts::search::pipeline(g.view(), schedule::stages_from(g.view(), first), order, how);
}

template <class Order, int MicroBatches, class... More>
using in_two = typed<mlp, 2, ts::stages_from<fc1, fc3>, ts::micro_batches<MicroBatches>, ts::others<ts::uneven>,
                     ts::pipeline<Order>, More...>;
template <class Order, int MicroBatches, class... More>
using in_four = typed<mlp, 2, ts::stages_from<fc1, fc2, ts::instance<ts::relu, 1>, fc3>,
                      ts::micro_batches<MicroBatches>, ts::others<ts::uneven>, ts::pipeline<Order>, More...>;
const std::vector<int> two{0, 4};
const std::vector<int> four{0, 2, 3, 4};

} // namespace

TEST_CASE("every schedule as a type is that of its function") {
    check_same<in_two<ts::gpipe, 4>>(pipeline<mlp>(two, schedule::gpipe(2, 4)));
    static_assert(ts::configurations_of<in_two<ts::gpipe, 4>>().ops[4].stage == 1);
    using halves = typed<mlp, 4, ts::stages_from<fc1, fc3>, ts::micro_batches<4>, ts::others<ts::split<ts::sample, 2>>,
                         ts::pipeline<ts::gpipe, ts::devices_each<2>>>;
    static_assert(ts::redistribution<ts::layout_of<mlp, halves, fc1>,
                                     ts::input_layout_of<mlp, halves, fc3>>::bytes == // to other devices
                  ts::index_t{batch} * 8 * 4);
    check_same<in_two<ts::fill_drain, 4>>(pipeline<mlp>(two, schedule::fill_drain(2, 4)));
    check_same<in_two<ts::one_forward_one_backward, 8>>(pipeline<mlp>(two, schedule::one_forward_one_backward(2, 8)));
    check_same<in_four<ts::interleaved<2>, 4>>(pipeline<mlp>(four, schedule::interleaved(2, 2, 4)));
    check_same<in_two<ts::zero_bubble_h1<>, 4>>(pipeline<mlp>(two, schedule::zero_bubble_h1(2, 4)));
    check_same<in_two<ts::zero_bubble_h1<ts::action_takes<1, 2, 3, 1>>, 1>>(
        pipeline<mlp>(two, schedule::zero_bubble_h1(2, 1, {1, 2, 3, 1})));
    check_same<in_four<ts::zero_bubble_v, 5>>(pipeline<mlp>(four, schedule::zero_bubble_v(2, 5)));
    check_same<in_two<ts::chimera<>, 4>>(pipeline<mlp>(two, schedule::chimera(2, 4)));
    check_same<in_two<ts::chimera<ts::action_takes<1, 3>>, 6>>(pipeline<mlp>(two, schedule::chimera(2, 6, {1, 3})));
    check_same<in_two<ts::gems<>, 4>>(pipeline<mlp>(two, schedule::gems(2, 4)));
    check_same<in_two<ts::gems<2>, 8>>(pipeline<mlp>(two, schedule::gems(2, 4, 2)));
}

TEST_CASE("stages of several devices, recomputation and layers apart") {
    using wide = typed<mlp, 4, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
                       ts::pipeline<ts::gpipe, ts::devices_each<2>>, ts::others<ts::split<ts::sample, 2>, ts::uneven>>;
    check_same<wide>(pipeline<mlp>(two, schedule::gpipe(2, 4), {.width = 2}));
    using again =
        typed<mlp, 2, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
              ts::pipeline<ts::one_forward_one_backward, ts::rematerialized<schedule::rematerialize::except_last>>,
              ts::others<ts::uneven, ts::recompute>>;
    check_same<again>(
        pipeline<mlp>(two, schedule::one_forward_one_backward(2, 4), {.again = schedule::rematerialize::except_last}));
    // Without a schedule; a layer says its stage, device and recomputation itself, whatever the order of what is said.
    using apart = typed<mlp, 3, ts::micro_batches<2>, ts::others<ts::uneven>,
                        ts::on<fc2, ts::split<ts::sample, 2>, ts::recompute, ts::from_device<1>>,
                        ts::stages_from<fc1, fc3>, ts::on<ts::cross_entropy, ts::stage<2>, ts::place<0>>>;
    const ts::graph g = ts::describe<mlp>(batch);
    ts::strategy s(g.view());
    s.micro_batches = 2;
    for (std::size_t op = 0; op < 6; ++op) {
        s.ops[op].uneven = op != 2 && op != 5;
        s.ops[op].stage = op < 4 ? 0 : op == 4 ? 1 : 2;
    }
    s.ops[2].degree[0] = 2;
    s.ops[2].recompute = true;
    s.ops[2].start = 1;
    s.ops[4].start = 1;
    s.place(5, {0});
    s.ops[5].devices = 0;
    check_same<apart>(s);
    using waiting = typed<mlp, 2, ts::on<fc2, ts::offload>>;
    ts::strategy out(g.view());
    out.ops[2].offload = true;
    check_same<waiting>(out);
    using there = typed<mlp, 2, ts::state_on_host>;
    ts::strategy on_host(g.view());
    on_host.state_on_host = true;
    check_same<there>(on_host);
}

TEST_CASE("a schedule written action by action is the one that is made") {
    using by_hand = typed<
        mlp, 2, ts::stages_from<fc1, fc3>, ts::micro_batches<2>, ts::others<ts::uneven>,
        ts::actions<
            ts::worker<ts::forward_of<0, 0>, ts::forward_of<0, 1>, ts::backward_of<0, 0>, ts::backward_of<0, 1>>,
            ts::worker<ts::forward_of<1, 0>, ts::backward_of<1, 0>, ts::forward_of<1, 1>, ts::backward_of<1, 1>>>>;
    check_same<by_hand>(pipeline<mlp>(two, schedule::one_forward_one_backward(2, 2)));
    using opposite =
        typed<mlp, 2, ts::stages_from<fc1, fc3>, ts::micro_batches<2>, ts::others<ts::uneven>,
              ts::actions<
                  ts::worker<ts::forward_of<0, 0>, ts::forward_of<1, 1>, ts::recompute_of<0, 0>, ts::backward_of<1, 1>,
                             ts::backward_input_of<0, 0>, ts::backward_weight_of<0, 0>>,
                  ts::worker<ts::forward_of<0, 1>, ts::forward_of<1, 0>, ts::backward_of<1, 0>, ts::backward_of<0, 1>>,
                  ts::mirrored<1>, ts::results_kept<0>>>;
    ts::pipeline_schedule s = schedule::empty_schedule(2, 2, 2);
    using ts::action_kind;
    s.workers[0] = {{0, 0, action_kind::forward},        {1, 1, action_kind::forward},
                    {0, 0, action_kind::recompute},      {1, 1, action_kind::backward},
                    {0, 0, action_kind::backward_input}, {0, 0, action_kind::backward_weight}};
    s.workers[1] = {{0, 1, action_kind::forward},
                    {1, 0, action_kind::forward},
                    {1, 0, action_kind::backward},
                    {0, 1, action_kind::backward}};
    s.mirrored = {0, 1};
    s.keeps = {1, 0};
    check_same<opposite>(pipeline<mlp>(two, s));
}

namespace {

template <class Policy, class... More>
using halves = typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<Policy>, ts::overlap, More...>;

ts::strategy halved(const ts::synchronization& sync) {
    const ts::graph g = ts::describe<mlp>(batch);
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    s.overlap = true;
    s.sync = sync;
    return s;
}

/// A policy's type, the value that its function makes, and what the rules ask of both.
template <class Policy>
void check_policy(const ts::synchronization& wanted) {
    check_same<halves<Policy>>(halved(wanted));
    CHECK((Policy::modes() == ts::modes_of(wanted)));
    CHECK_FALSE(Policy::check());
}

} // namespace

TEST_CASE("every synchronization policy as a type is that of its function") {
    const ts::graph g = ts::describe<mlp>(batch);
    const std::vector<schedule::ready_gradient> all = schedule::gradients_of(g.view());
    check_policy<ts::blocking_all_reduce>(schedule::blocking_all_reduce(all));
    check_policy<ts::ring_all_reduce>(schedule::ring_all_reduce(all));
    check_policy<ts::tensor_fusion<>>(schedule::tensor_fusion(all));
    check_policy<ts::tensor_fusion<100, 10>>(schedule::tensor_fusion(all, {100, 10}));
    check_policy<ts::buckets<>>(schedule::buckets(all));
    check_policy<ts::buckets<200, 100>>(schedule::buckets(all, {200, 100}));
    check_policy<ts::parameter_server<2, 40>>(schedule::parameter_server(all, {2, 40}));
    check_policy<ts::p3<2>>(schedule::p3(all, {2}));
    check_policy<ts::p3<2, 10>>(schedule::p3(all, {2, 10}));
    check_policy<ts::byte_scheduler<ts::exchange::all_reduce, 1, 20, 50>>(
        schedule::byte_scheduler(all, {ts::exchange::all_reduce, 1, 20, 50}));
    check_policy<ts::byte_scheduler<ts::exchange::server, 2>>(schedule::byte_scheduler(all, {ts::exchange::server, 2}));
    check_policy<ts::zero<1, 40>>(schedule::zero(all, 1, 40));
    check_policy<ts::zero<2>>(schedule::zero(all, 2));
    check_policy<ts::zero<3>>(schedule::zero(all, 3));
    check_policy<ts::parameter_average<1>>(schedule::parameter_average(1));
    check_policy<ts::eight_bit_gradients<>>(schedule::eight_bit_gradients(all));
    check_policy<ts::eight_bit_gradients<32, 200, 100>>(schedule::eight_bit_gradients(all, 32, {200, 100}));
    check_policy<ts::one_bit_gradients<64>>(schedule::one_bit_gradients(all, 64));
    check_policy<ts::top_k_gradients<>>(schedule::top_k_gradients(all));
    check_policy<ts::top_k_gradients<7, 200, 100>>(schedule::top_k_gradients(all, 7, {200, 100}));
    // For a slow link, and for two workers, the order of P3's slices is another.
    ts::strategy s = halved(schedule::p3(schedule::gradients_of(g.view(), {1, 0.001}, 2), {2, 10, {1, 0.001}}));
    check_same<typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>, ts::overlap,
                     ts::synchronize<ts::p3<2, 10>, ts::predicted_for<1, 1, 2>>>>(s);
    s = halved(schedule::parameter_average(2));
    s.steps_per_plan = 4;
    check_same<halves<ts::parameter_average<2>, ts::steps_per_plan<4>>>(s);
    s = halved(schedule::stale_gradients(all, 2, {200, 100}));
    s.steps_per_plan = 4;
    check_same<halves<ts::stale_gradients<2, 200, 100>, ts::steps_per_plan<4>>>(s);
}

TEST_CASE("messages written by hand are those of a value") {
    using by_hand = typed<
        mlp, 2, ts::others<ts::split<ts::sample, 2>>,
        ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc3>, ts::bias_of<fc3>>,
                     ts::send<ts::exchange::ring, ts::gradient_slice_of<ts::weight_of<fc2>, 1, 2>, ts::bias_of<fc2>>,
                     ts::send_to_server<1, ts::gradient_slice_of<ts::weight_of<fc2>, 0, 2>>,
                     ts::send<ts::exchange::sliced, ts::weight_of<fc1>, ts::bias_of<fc1>>, ts::sum_after_backward,
                     ts::update_after_backward, ts::urgent_first>>;
    const ts::graph g = ts::describe<mlp>(batch);
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    s.sync.messages = {{ts::exchange::all_reduce, 0, {{4, 0, 1}, {5, 0, 1}}},
                       {ts::exchange::ring, 0, {{2, 1, 2}, {3, 0, 1}}},
                       {ts::exchange::server, 1, {{2, 0, 2}}},
                       {ts::exchange::sliced, 0, {{0, 0, 1}, {1, 0, 1}}}};
    s.sync.sum_at = s.sync.update_at = ts::sync_time::after_backward;
    s.sync.urgent_first = true;
    check_same<by_hand>(s);
    using stored =
        typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>,
              ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc3>, ts::bias_of<fc3>, ts::weight_of<fc2>,
                                    ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                           ts::shards_parameters>>;
    s.sync = {};
    s.sync.shards_parameters = true;
    s.sync.messages = {{ts::exchange::sliced, 0, {{4, 0, 1}, {5, 0, 1}, {2, 0, 1}, {3, 0, 1}, {0, 0, 1}, {1, 0, 1}}}};
    check_same<stored>(s);
    using smaller =
        typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>,
              ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc3>, ts::bias_of<fc3>, ts::weight_of<fc2>,
                                    ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                           ts::compress_gradients<ts::compression::one_bit, 32>>>;
    s.sync = {};
    s.sync.messages = {
        {ts::exchange::all_reduce, 0, {{4, 0, 1}, {5, 0, 1}, {2, 0, 1}, {3, 0, 1}, {0, 0, 1}, {1, 0, 1}}}};
    s.sync.compress = ts::compression::one_bit;
    s.sync.compress_block = 32;
    check_same<smaller>(s);
    using largest =
        typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>,
              ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc3>, ts::bias_of<fc3>, ts::weight_of<fc2>,
                                    ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                           ts::compress_gradients<ts::compression::top_k, 9>>>;
    s.sync.compress = ts::compression::top_k;
    s.sync.compress_block = ts::usual_block;
    s.sync.keep_one_in = 9;
    check_same<largest>(s);
    using late =
        typed<mlp, 2, ts::others<ts::split<ts::sample, 2>>,
              ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc3>, ts::bias_of<fc3>, ts::weight_of<fc2>,
                                    ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                           ts::update_after_backward, ts::bounded_staleness<2>>,
              ts::steps_per_plan<4>>;
    s.sync.compress = ts::compression::none;
    s.sync.keep_one_in = ts::usual_keep_one_in;
    s.sync.update_at = ts::sync_time::after_backward;
    s.sync.staleness = 2;
    s.steps_per_plan = 4;
    check_same<late>(s);
}

TEST_CASE("statistics, parameters on one device and the precision") {
    using joint = typed<normalized, 2, ts::stages_from<conv1, fc3>, ts::micro_batches<4>, ts::others<ts::uneven>,
                        ts::pipeline<ts::gpipe>, ts::statistics<ts::statistics_over::mini_batch>>;
    ts::strategy s = pipeline<normalized>(two, schedule::gpipe(2, 4));
    s.statistics = ts::statistics_over::mini_batch;
    check_same<joint>(s);
    using central = typed<mlp, 2, ts::parameters_on<1>, ts::others<ts::split<ts::sample, 2>>>;
    const ts::graph g = ts::describe<mlp>(batch);
    s = ts::search::data_parallel(g.view(), 2);
    s.parameters_on = 1;
    check_same<central>(s);

    using half = typed<mlp, 2, ts::compute_in<ts::bf16>, ts::others<ts::split<ts::sample, 2>>>;
    static_assert(std::is_same_v<half::network, ts::with_precision<ts::bf16, mlp>>);
    static_assert(std::is_same_v<central::network, mlp>);
    check_same<half>(ts::search::data_parallel(g.view(), 2));
    ts::graph in_bf16 = g;
    ts::set_precision(in_bf16, ts::precision::bf16);
    const ts::graph of_type = ts::describe<half::network>(batch);
    const auto text = [](const ts::graph& of) {
        return test_support::canonical_plan(test_support::planned(of.view(), ts::strategy(half::view()), 2)).text();
    };
    CHECK(text(of_type) == text(in_bf16));
    CHECK(text(of_type) != text(g));
}

namespace {

/// What a schedule's type says of every size is so of the schedule that it makes, and what it refuses the function
/// refuses in the same words.
template <class Order>
int check_sizes() {
    int made = 0;
    for (int stages = 1; stages <= 6; ++stages) {
        for (int m = 0; m <= 8; ++m) {
            CAPTURE(stages);
            CAPTURE(m);
            if (const ts::problem p = Order::check(stages, m)) {
                CHECK(test_support::message_of([&] { (void)Order::make(stages, m); }) == ts::to_text(p));
                continue;
            }
            const ts::pipeline_schedule s = Order::make(stages, m);
            CHECK_FALSE(ts::check_schedule(s));
            CHECK((ts::facts_of(s) == Order::facts(stages, m)));
            const std::vector<int> home = schedule::workers_of_stages(s);
            for (int i = 0; i < stages && s.stages == stages; ++i) {
                CHECK(home[ts::to_size(i)] == Order::worker_of(i, stages));
            }
            ++made;
        }
    }
    return made;
}

} // namespace

TEST_CASE("what a schedule's type says of itself is what the schedule is") {
    CHECK(check_sizes<ts::gpipe>() == 48);
    CHECK(check_sizes<ts::fill_drain>() == 48);
    CHECK(check_sizes<ts::one_forward_one_backward>() == 48);
    CHECK(check_sizes<ts::interleaved<1>>() == 18);
    CHECK(check_sizes<ts::interleaved<2>>() == 26);
    CHECK(check_sizes<ts::zero_bubble_h1<>>() == 48);
    CHECK(check_sizes<ts::zero_bubble_v>() == 40);
    CHECK(check_sizes<ts::chimera<>>() == 12);
    CHECK(check_sizes<ts::gems<>>() == 48);
    CHECK(check_sizes<ts::gems<2>>() == 24);
    CHECK(ts::interleaved<0>::check(4, 4).broken == ts::rule::pipeline_is_empty);
}
