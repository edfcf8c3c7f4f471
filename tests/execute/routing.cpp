// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts whose tokens are sent: the numbers of the dense masks, and of one device under any strategy.
#include "tessera/part/routing.hpp"
#include "support/same_numbers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/residual.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace {

namespace ts = tessera;

constexpr int tokens = 7;
constexpr int experts = 4;

struct before : ts::linear<6> {};
struct gate : ts::linear<experts> {};
struct classes : ts::linear<5> {};

/// With dense masks: the oracle.
template <ts::index_t Slots, int Top>
struct masked {
    struct up : ts::expert_linear<experts, 9> {};
    struct down : ts::expert_linear<experts, 6> {};
    struct network : ts::sequential<ts::sequence<tokens, 3>, before,
                                    ts::residual<ts::mixture_of_experts<Slots, Top, gate, up, ts::sigmoid, down>>,
                                    classes, ts::cross_entropy> {};
};
/// The same, sent. A sigmoid makes halves of the zeros in empty slots, which nothing may read.
template <class Slots>
struct sent {
    struct up : ts::routed_linear<9> {};
    struct down : ts::routed_linear<6> {};
    struct network
        : ts::sequential<ts::sequence<tokens, 3>, before,
                         ts::residual<ts::routed_experts<Slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<up>,
                                                         ts::sigmoid, ts::with_slots<down>>>,
                         classes, ts::cross_entropy> {};
};
template <ts::index_t Slots, int Top>
struct slots : ts::token_slots<ts::top<Top>, ts::capacity<Slots>> {};
template <int Top>
struct all_slots : ts::token_slots<ts::top<Top>, ts::no_drop> {};

/// As Mixtral has it: gates that add up to 1, three matrices an expert; a shared expert beside; both losses; two layers.
struct mixtral {
    struct logits : ts::linear<experts, ts::no_bias> {};
    struct left : ts::routed_linear<5> {};
    struct right : ts::routed_linear<5> {};
    struct down : ts::routed_linear<6> {};
    struct shared_up : ts::linear<4> {};
    struct shared_down : ts::linear<6> {};
    struct most : ts::token_slots<ts::top<2>, ts::capacity_factor<1.25>> {};
    using router =
        ts::branch<logits, ts::aside<ts::router_z_loss<ts::weight<1, 50>>>, ts::softmax<>,
                   ts::aside<ts::load_balance<2, ts::weight<1, 20>>>, ts::keep_top<ts::top<2>, ts::normalized>>;
    using mixture = ts::routed_experts<
        most, router, ts::branches<ts::multiply, ts::branch<ts::with_slots<left>, ts::silu>, ts::with_slots<right>>,
        ts::with_slots<down>>;
    struct network
        : ts::sequential<
              ts::sequence<tokens, 3>, before,
              ts::repeat<2, ts::residual<ts::branches<ts::add, mixture, ts::branch<shared_up, ts::silu, shared_down>>>>,
              classes, ts::cross_entropy> {};
};

/// As DeepSeek-V3 has it: scores of sigmoids, experts chosen with a bias that learns by their loads.
struct balanced {
    struct logits : ts::linear<experts, ts::no_bias> {};
    struct bias : ts::choice_bias<> {};
    struct up : ts::routed_linear<9> {};
    struct down : ts::routed_linear<6> {};
    using router = ts::branch<logits, ts::sigmoid, ts::bias_balanced<2, bias, ts::weight<1, 2>>>;
    struct network
        : ts::sequential<ts::sequence<tokens, 3>, before,
                         ts::repeat<2, ts::residual<ts::routed_experts<all_slots<2>, router, ts::with_slots<up>,
                                                                       ts::relu, ts::with_slots<down>>>>,
                         classes, ts::cross_entropy> {};
};

/// Losses and gradients of a step of one device in double.
struct step {
    double loss = 0;
    std::vector<std::vector<double>> gradients;
    std::vector<std::int32_t> slots; ///< the first table

    step(const ts::graph& g, std::uint64_t seed) {
        const test_support::batch_data data(g.view(), seed);
        ts::reference::network n(g.view());
        n.initialize(5);
        test_support::set_all(n, data);
        ts::run_state run;
        const ts::optimizer update(ts::sgd{.learning_rate = 0.01F});
        loss = n.train_step(run, update);
        gradients = n.gradients;
        for (int op = 0; op < g.view().op_count && slots.empty(); ++op) {
            if (g.view().ops[op].attributes.kind == ts::op_kind::token_slots) {
                slots = n.labels[ts::to_size(g.view().ops[op].output)];
            }
        }
    }
};

double distance(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        most = std::max(most, test_support::relative(a[i], b[i], 1e-6));
    }
    return most;
}

template <ts::index_t Slots, int Top>
void check_against_masks() {
    const ts::graph dense = ts::describe<typename masked<Slots, Top>::network>(3);
    const ts::graph routed = ts::describe<typename sent<slots<Slots, Top>>::network>(3);
    CAPTURE(Slots);
    CAPTURE(Top);
    for (const std::uint64_t seed : {3U, 4U, 5U}) {
        const step a(routed, seed);
        const step b(dense, seed);
        CHECK(a.loss == doctest::Approx(b.loss).epsilon(1e-13));
        CHECK(distance(a.gradients, b.gradients) < 1e-11);
    }
}

} // namespace

TEST_CASE("what is sent has the numbers of the dense masks, whatever the capacity") {
    check_against_masks<tokens, 1>();
    check_against_masks<tokens, 2>();
    check_against_masks<1, 1>();
    check_against_masks<2, 2>();
    check_against_masks<3, 2>();
    check_against_masks<2, 4>();
}

TEST_CASE("as many slots as tokens are the masks with a capacity of all tokens: nothing is dropped") {
    const ts::graph dense = ts::describe<masked<tokens, 2>::network>(3);
    const ts::graph routed = ts::describe<sent<all_slots<2>>::network>(3);
    const step a(routed, 9);
    const step b(dense, 9);
    CHECK(a.loss == doctest::Approx(b.loss).epsilon(1e-13));
    CHECK(distance(a.gradients, b.gradients) < 1e-11);
    REQUIRE(a.slots.size() == 3 * experts * tokens);
    std::vector<int> times(3 * (tokens + 1), 0);
    for (std::size_t i = 0; i < a.slots.size(); ++i) {
        ++times[i / (experts * tokens) * (tokens + 1) + ts::to_size(a.slots[i])];
    }
    for (std::size_t n = 0; n < 3; ++n) {
        CHECK(times[n * (tokens + 1)] == experts * tokens - 2 * tokens); // empty
        for (std::size_t t = 1; t <= tokens; ++t) {
            CHECK(times[n * (tokens + 1) + t] == 2);
        }
    }
}

namespace {

/// A table of slots by the rule, from gates of one sample.
std::vector<std::int32_t> slots_of(const std::vector<std::vector<double>>& gates, ts::index_t slots, ts::index_t top) {
    const ts::op_attributes a =
        ts::attributes_of(ts::op_kind::token_slots, ts::op::token_slots_attributes{.slots = slots, .top = top});
    const auto count = static_cast<ts::index_t>(gates.size());
    const ts::shape x = ts::make_shape(1, count, static_cast<ts::index_t>(gates[0].size()));
    const ts::description d = ts::describe(a, &x, 1);
    std::vector<double> numbers;
    for (const std::vector<double>& row : gates) {
        numbers.insert(numbers.end(), row.begin(), row.end());
    }
    std::vector<std::int32_t> table(ts::to_size(x[2] * slots), -1);
    ts::compute_call call;
    call.d = &d;
    call.attributes = a;
    const ts::loop_ranges all(d);
    std::copy(all.range, all.range + ts::max_loops, call.ranges);
    call.value[0] = {numbers.data(), ts::whole(x)};
    call.value[1] = {table.data(), ts::whole(d.operands[1].extents)};
    ts::reference::compute<double>(call);
    return table;
}

using table = std::vector<std::int32_t>;

} // namespace

TEST_CASE("slots: first choices first, then by position; of equal gates the lower expert; the rest is dropped") {
    // Experts 1, 1, 0, 2 are the tokens' first choices; 0, 2, 1, 1 their second ones.
    const std::vector<std::vector<double>> gates = {{0.3, 0.6, 0.1}, {0.1, 0.6, 0.3}, {0.5, 0.4, 0.1}, {0.1, 0.4, 0.5}};
    CHECK(slots_of(gates, 4, 1) == table{3, 0, 0, 0, 1, 2, 0, 0, 4, 0, 0, 0});
    CHECK(slots_of(gates, 4, 2) == table{3, 1, 0, 0, 1, 2, 3, 4, 4, 2, 0, 0});
    CHECK(slots_of(gates, 1, 1) == table{3, 1, 4}); // token 2 is dropped: it comes behind token 1
    CHECK(slots_of(gates, 2, 2) == table{3, 1, 1, 2, 4, 2});
    CHECK(slots_of({{0.5, 0.5, 0.5}, {0.2, 0.4, 0.4}}, 2, 1) == table{1, 0, 2, 0, 0, 0});
    CHECK(slots_of({{0.5, 0.5, 0.5}, {0.2, 0.4, 0.4}}, 2, 2) == table{1, 0, 2, 1, 2, 0});
}

TEST_CASE("capacities: a number, a multiple of the even share, or all tokens") {
    using ts::op::slots_of;
    using attributes = ts::op::token_slots_attributes;
    CHECK(slots_of(attributes{.slots = 5}, 8, 4) == 5);
    CHECK(slots_of(attributes{.top = 2, .all = true}, 8, 4) == 8);
    CHECK(slots_of(attributes{.top = 1, .factor = 1}, 8, 4) == 2);
    CHECK(slots_of(attributes{.top = 1, .factor = 1.25}, 8, 4) == 3); // 2.5
    CHECK(slots_of(attributes{.top = 2, .factor = 1.25}, 8, 4) == 5);
    CHECK(slots_of(attributes{.top = 1, .factor = 1}, 3, 8) == 1); // at least one
    CHECK(slots_of(attributes{.top = 2, .factor = 100}, 8, 4) == 8);
    CHECK(slots_of(attributes{}, 8, 4) == 0);
    CHECK(slots_of(attributes{.factor = -1}, 8, 4) == 0);
}

TEST_CASE("losses beside: even choices of even probabilities lose 1; logits of zeros lose log(E) squared") {
    const ts::graph g = ts::describe<mixtral::network>(3);
    int balance = 0;
    int z = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        const std::string_view name = ts::to_text(g.view().ops[op].attributes.kind);
        balance += name == "load_balance_loss" ? 1 : 0;
        z += name == "router_z_loss" ? 1 : 0;
    }
    CHECK(balance == 2);
    CHECK(z == 2);
    CHECK(mixtral::network::op_count == g.view().op_count);

    struct even : ts::sequential<ts::sequence<4, 4>, ts::load_balance<1>> {};
    const ts::graph small = ts::describe<even>(1);
    ts::reference::network n(small.view());
    std::vector<float> rows(16, 0.25F);
    for (std::size_t t = 0; t < 4; ++t) {
        rows[t * 4 + t] += 1e-5F; // token t prefers expert t
    }
    n.set(0, std::span<const float>(rows));
    CHECK(n.evaluate() == doctest::Approx(1).epsilon(1e-4));
    std::fill(rows.begin(), rows.end(), 0.0F);
    for (std::size_t t = 0; t < 4; ++t) {
        rows[t * 4 + 2] = 1; // all of one
    }
    n.set(0, std::span<const float>(rows));
    CHECK(n.evaluate() == doctest::Approx(4));

    struct zeros : ts::sequential<ts::sequence<3, 4>, ts::router_z_loss<ts::weight<1, 2>>> {};
    const ts::graph logits = ts::describe<zeros>(2);
    ts::reference::network of_logits(logits.view());
    of_logits.set(0, std::span<const float>(std::vector<float>(24, 0.0F)));
    CHECK(of_logits.evaluate() == doctest::Approx(std::log(4.0) * std::log(4.0) / 2));
}

namespace {

/// A router alone, whose tokens all prefer expert 0.
struct one_router {
    struct bias : ts::choice_bias<> {};
struct slots : ts::token_slots<ts::top<1>, ts::no_drop> {};
    struct same : ts::routed_linear<experts> {};
    struct network
        : ts::sequential<ts::sequence<tokens, experts>,
                         ts::routed_experts<slots, ts::bias_balanced<1, bias, ts::weight<2>>, ts::with_slots<same>>,
                         ts::cross_entropy> {};
};

} // namespace

TEST_CASE("a bias that enters the choice alone falls where an expert has more than its share") {
    const ts::graph g = ts::describe<one_router::network>(1);
    CHECK(one_router::network::op_count == g.view().op_count);
    REQUIRE(g.view().parameters[0].extents == ts::make_shape(experts));
    ts::reference::network n(g.view());
    n.initialize(1);
    std::vector<float> scores(tokens * experts);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = (i % experts == 0 ? 0.9F : 0.3F) + 0.02F * static_cast<float>(i * 7 % 11);
    }
    n.set(0, std::span<const float>(scores));
    n.set(test_support::batch_data(g.view(), 1).tensors.back(),
          std::span<const std::int32_t>(std::vector<std::int32_t>(tokens, 1)));
    std::fill(n.parameters[1].begin(), n.parameters[1].end(), 0.0); // the experts' matrices
    ts::run_state run;
    run.learning_rate = 0.002;
    const ts::optimizer update(ts::sgd{.learning_rate = 0.002F});
    const double loss = n.train_step(run, update);
    CHECK(loss == doctest::Approx(std::log(static_cast<double>(experts)))); // the bias adds nothing to it
    // All of 7 choices are expert 0's, whose share would be a quarter.
    CHECK(n.gradients[0][0] == doctest::Approx(2 * (1 - 0.25)));
    CHECK(n.gradients[0][3] == doctest::Approx(2 * (0 - 0.25)));
    CHECK(n.parameters[0][0] == doctest::Approx(-0.002 * 1.5));
    int table = 0;
    for (int op = 0; op < g.view().op_count; ++op) {
        table = g.view().ops[op].attributes.kind == ts::op_kind::token_slots ? g.view().ops[op].output : table;
    }
    std::vector<double> loads(experts, 0); // of the last 200 steps, for tokens go back and forth
    for (int i = 0; i < 800; ++i) {
        n.train_step(run, update);
        const std::vector<std::int32_t>& filled = n.labels[ts::to_size(table)];
        for (std::size_t k = 0; k < filled.size() && i >= 600; ++k) {
            loads[k / tokens] += filled[k] > 0 ? 1.0 / 200 : 0;
        }
    }
    for (const double load : loads) {
        CHECK(load == doctest::Approx(tokens / 4.0).epsilon(0.15));
    }
}

namespace {

/// Scores that are balanced before a mixture, and a mixture among the gates of another one that are balanced.
struct balanced_elsewhere {
    struct bias : ts::choice_bias<> {};
    struct own_bias : ts::choice_bias<> {};
    struct most : ts::token_slots<ts::top<1>, ts::no_drop> {};
    struct same : ts::routed_linear<experts> {};
    struct again : ts::routed_linear<experts> {};
    struct last : ts::routed_linear<experts> {};
    using first = ts::routed_experts<most, ts::softmax<>, ts::with_slots<same>>;
    using inner = ts::routed_experts<most, ts::softmax<>, ts::with_slots<again>>;
    struct network
        : ts::sequential<
              ts::sequence<tokens, experts>, ts::bias_balanced<1, bias>, first,
              ts::routed_experts<most, ts::branch<ts::bias_balanced<1, own_bias>, inner>, ts::with_slots<last>>,
              ts::cross_entropy> {};
};

} // namespace

TEST_CASE("a bias steers the mixture whose router it is in, and no other one") {
    const ts::graph g = ts::describe<balanced_elsewhere::network>(1);
    std::vector<std::string_view> chosen_by;
    for (int op = 0; op < g.view().op_count; ++op) {
        if (g.view().ops[op].attributes.kind == ts::op_kind::token_slots) {
            const int producer = g.view().tensors[g.view().ops[op].inputs[0]].producer;
            chosen_by.push_back(ts::to_text(g.view().ops[producer].attributes.kind));
        }
    }
    CHECK(chosen_by == std::vector<std::string_view>{"softmax", "softmax", "choice_bias"});
}

namespace {

/// Whether a strategy splits a loop of an operator of this kind.
bool splits(const ts::graph& g, const ts::strategy& s, ts::op_kind kind, ts::loop_name name) {
    bool any = false;
    for (int op = 0; op < g.view().op_count; ++op) {
        if (g.view().ops[op].attributes.kind == kind) {
            any = any || s.ops[ts::to_size(op)].degree[g.view().describe(op).find_loop(name)] > 1;
        }
    }
    return any;
}

template <class Make>
void hold(const ts::graph& g, int strategies, std::uint64_t first, Make make, double allowed) {
    using namespace test_support;
    const batch_data data(g.view(), 21);
    const ts::optimizer update(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const oracle expected(g.view(), data, update, 3, 5);
    coverage seen;
    int by_experts[4] = {};
    int by_channels = 0;
    int by_sums = 0;
    int by_tokens = 0;
    for (int i = 0; i < strategies; ++i) {
        const int devices = 2 + i % 4;
        const ts::strategy s = random_strategy(g.view(), devices, first + static_cast<std::uint64_t>(i), seen);
        const ts::op_kind kinds[] = {ts::op_kind::token_slots, ts::op_kind::dispatch_tokens, ts::op_kind::routed_linear,
                                     ts::op_kind::combine_tokens};
        for (int k = 0; k < 4; ++k) {
            by_experts[k] += splits(g, s, kinds[k], ts::loop_name::expert) ? 1 : 0;
        }
        by_channels += splits(g, s, ts::op_kind::routed_linear, ts::loop_name::channel) ? 1 : 0;
        by_sums += splits(g, s, ts::op_kind::routed_linear, ts::loop_name::reduction) ? 1 : 0;
        by_tokens += splits(g, s, ts::op_kind::dispatch_tokens, ts::loop_name::reduction) ? 1 : 0;
        auto backend = make(update);
        ts::workers threads(devices);
        ts::session<decltype(backend)> session(g.view(), s, devices, update, {.seed = 5, .keep_gradients = true},
                                               backend, threads);
        const comparison c = compare(session, g.view(), data, expected);
        CAPTURE(i);
        CAPTURE(c.worst);
        CHECK(c.loss < allowed);
        CHECK(c.gradient < allowed);
        CHECK(c.change < allowed);
        CHECK(c.copies_equal);
    }
    for (const int times : by_experts) {
        CHECK(times > 0);
    }
    CHECK(by_channels > 0);
    CHECK(by_sums > 0);
    CHECK(by_tokens > 0);
}

template <class Make>
void hold_all(int strategies, Make make, double allowed) {
    hold(ts::describe<sent<slots<2, 2>>::network>(4), strategies, 100, make, allowed);
    hold(ts::describe<sent<all_slots<2>>::network>(4), strategies, 200, make, allowed);
    hold(ts::describe<mixtral::network>(4), strategies, 300, make, allowed);
    hold(ts::describe<balanced::network>(4), strategies, 400, make, allowed);
}

} // namespace

TEST_CASE("random strategies give the numbers of one device") {
    hold_all(
        12, [](const ts::optimizer& o) { return ts::reference::backend(o); }, 1e-4);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("random strategies give the numbers of one device on the host") {
    hold_all(
        12, [](const ts::optimizer& o) { return ts::host::backend(o); }, 1e-4);
}
#endif
