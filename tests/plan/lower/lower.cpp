// SPDX-License-Identifier: Apache-2.0
// What lowering makes of simple strategies, by formula.
#include "tessera/plan/lower/lower.hpp"
#include "support/planned.hpp"
#include "tessera/part/experts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::data_parallel;
using test_support::planned;
using ts::loop_name;
using ts::pass;
using ts::task_kind;

struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<6> {};
struct mlp : ts::sequential<ts::features<10>, fc1, ts::relu, fc2, ts::cross_entropy> {};
constexpr ts::index_t weights = 12 * 10 + 12 + 6 * 12 + 6;

struct frozen1 : ts::linear<12, ts::frozen> {};
struct frozen2 : ts::linear<6, ts::frozen> {};
struct frozen_first : ts::sequential<ts::features<10>, frozen1, ts::relu, fc2, ts::cross_entropy> {};
struct frozen_last : ts::sequential<ts::features<10>, fc1, ts::relu, frozen2, ts::cross_entropy> {};

template <ts::index_t Channels>
struct normalized : ts::linear<Channels> {};
template <ts::index_t Channels>
struct norm : ts::batch_norm<> {};
template <ts::index_t Channels>
struct with_norm : ts::sequential<ts::features<10>, normalized<Channels>, norm<Channels>, fc2, ts::cross_entropy> {};

struct before : ts::linear<5> {};
struct gate : ts::linear<4> {};
struct into : ts::expert_linear<4, 6> {};
struct out_of : ts::expert_linear<4, 5> {};
struct experts : ts::sequential<ts::sequence<8, 5>, before, ts::mixture_of_experts<2, 1, gate, into, ts::relu, out_of>,
                                ts::cross_entropy> {};

int count(const ts::plan& p, task_kind kind, pass what, int op = -1) {
    int n = 0;
    for (const ts::task& t : p.tasks) {
        n += t.kind() == kind && t.what == what && (op < 0 || t.op == op) ? 1 : 0;
    }
    return n;
}

/// Bytes that copies move between devices.
ts::index_t copied(const ts::plan& p) {
    ts::index_t bytes = 0;
    for (const ts::task& t : p.tasks) {
        for (const ts::copy_segment& s : t.copy().segments) {
            const ts::tile& from = p.tiles[ts::to_size(s.source)];
            bytes += from.device >= 0 && from.device != t.device ? s.region.volume() * 4 : 0;
        }
    }
    return bytes;
}

} // namespace

TEST_CASE("data parallel: one task for every pass and device, and the gradients' exchange is all that moves") {
    for (const int n : {1, 2, 3, 4}) {
        const ts::graph g = ts::describe<mlp>(12);
        const ts::plan p = planned(g.view(), data_parallel(g.view(), n), n);
        CAPTURE(n);
        CHECK(count(p, task_kind::compute, pass::forward) == 4 * n);
        CHECK(count(p, task_kind::compute, pass::backward) == 2 * n);        // loss, relu
        CHECK(count(p, task_kind::compute, pass::backward_input) == n);      // fc2; nobody wants fc1's
        CHECK(count(p, task_kind::compute, pass::backward_weight) == 2 * n); // weight and bias in one
        CHECK(count(p, task_kind::update, pass::update) == 4 * n);
        CHECK(count(p, task_kind::copy, pass::forward) == 2 * n); // a device's samples and labels
        CHECK(p.tasks.size() == ts::to_size(n) * (4 + 2 + 1 + 2 + 4 + 2));
        CHECK(copied(p) == 0);
        // Reduce-scatter and all-gather: every device gets its slice from the n - 1 others and sends it to them.
        CHECK(p.moved_bytes == 2 * (n - 1) * weights * 4);
        for (const std::vector<int>& list : p.order) {
            CHECK(list.size() == p.tasks.size() / ts::to_size(n));
        }
    }
}

/// Twice, forward and backward, everyone has the sum of what all made: few devices fetch each other's parts, of more
/// each sums a slice and hands it to the others.
template <ts::index_t Channels>
void check_statistics(int n) {
    const ts::graph g = ts::describe<with_norm<Channels>>(24);
    const ts::plan p = planned(g.view(), data_parallel(g.view(), n), n);
    CAPTURE(n);
    CAPTURE(Channels);
    const ts::index_t parameters = 11 * Channels + 2 * Channels + 6 * Channels + 6;
    const ts::index_t statistics = 2 * Channels * 8;
    const ts::index_t exchanged = (n > 4 ? 2 * (n - 1) : n * (n - 1)) * statistics;
    CHECK(p.moved_bytes == 2 * (n - 1) * parameters * 4 + 2 * exchanged);
    const int slices = n > 4 ? static_cast<int>(std::min<ts::index_t>(n, Channels)) : 0;
    CHECK(count(p, task_kind::copy, pass::forward, 1) == (n > 1 ? n + slices : 0));
    CHECK(count(p, task_kind::copy, pass::backward_input, 1) == (n > 1 ? n + slices : 0));
}

TEST_CASE("the statistics of a batch are summed in slices where many devices share them") {
    for (const int n : {1, 2, 4, 5, 6, 12}) {
        check_statistics<12>(n);
        check_statistics<3>(n);
    }
}

TEST_CASE("a sum in slices that lacks one, or has one twice, is refused") {
    const ts::graph g = ts::describe<with_norm<12>>(24);
    const ts::plan sound = planned(g.view(), data_parallel(g.view(), 6), 6);
    int refused = 0;
    for (std::size_t i = 0; i < sound.tasks.size(); ++i) {
        const ts::task& t = sound.tasks[i];
        if (t.kind() != task_kind::copy || t.op != 1 || t.copy().segments.size() < 6) {
            continue;
        }
        for (std::size_t k = 0; k < t.copy().segments.size(); ++k) {
            ts::plan p = sound;
            ts::task& broken = p.tasks[i];
            const std::size_t other = k == 0 ? 1 : 0;
            broken.mutable_copy().segments[k].source =
                broken.copy().segments[other].source; // another device's part, or slice, in its place
            const std::string text = ts::verify(g.view(), p).text;
            CAPTURE(text);
            CHECK(!text.empty());
            ++refused;
        }
    }
    CHECK(refused == 2 * 12 * 6); // of both sums, by slices and of slices
}

TEST_CASE("expert parallel: an all-to-all before and after the experts, whose weights and gradients never move") {
    const ts::index_t batch = 8;
    for (const int n : {2, 4}) {
        const ts::graph g = ts::describe<experts>(batch);
        ts::strategy s = data_parallel(g.view(), n);
        for (int op = 0; op < g.view().op_count; ++op) {
            const ts::op_kind kind = g.view().ops[op].attributes.kind;
            const ts::description d = g.view().describe(op);
            if (kind == ts::op_kind::expert_linear || kind == ts::op_kind::relu) {
                s.ops[ts::to_size(op)].degree[0] = 1;
                s.ops[ts::to_size(op)]
                    .degree[d.find_loop(kind == ts::op_kind::relu ? loop_name::position : loop_name::expert)] = n;
            }
        }
        const ts::plan p = planned(g.view(), s, n);
        CAPTURE(n);
        // Of the experts' rows, which every device had for its own samples, each gets those of its experts from the
        // others; back again after them; and the gradients the same ways.
        const ts::index_t rows = batch * 8 * 5 * 4;
        CHECK(copied(p) == 4 * rows * (n - 1) / n);
        const ts::index_t gates = 4 * 5 + 4 + 5 * 5 + 5; // and the layer before
        CHECK(p.moved_bytes == copied(p) + 2 * (n - 1) * gates * 4);
        // One update for each expert's shard, and one for each slice of the other layers' weights and biases.
        CHECK(count(p, task_kind::update, pass::update) == 2 * n + 4 * n);
        CHECK(count(p, task_kind::compute, pass::backward_weight) == 5 * n); // the softmax's sums among them
    }
}

TEST_CASE("model parallel: weights stay where they are, activations and their gradients move") {
    const ts::index_t batch = 8;
    for (const int n : {2, 3}) {
        const ts::graph g = ts::describe<mlp>(batch);
        ts::strategy s(g.view());
        for (int op = 0; op < 3; ++op) { // by features; the loss on device 0
            s.ops[ts::to_size(op)].degree[1] = n;
        }
        const ts::plan p = planned(g.view(), s, n);
        CAPTURE(n);
        CHECK(count(p, task_kind::compute, pass::forward) == 3 * n + 1);
        CHECK(count(p, task_kind::compute, pass::backward_weight) == 2 * n);
        CHECK(count(p, task_kind::update, pass::update) == 4 * n);
        for (const ts::task& t : p.tasks) {
            CHECK((t.kind() != task_kind::update || t.params().slices == 1));
        }
        // Forward: everyone's hidden features to everyone, the logits to device 0. Backward: the logits' gradient from
        // device 0 to each shard; n whole gradients of the hidden features, of which each shard fetches its slice from
        // the others.
        const ts::index_t hidden = batch * 12 * 4;
        const ts::index_t logits = batch * 6 * 4;
        const ts::index_t forward = (n - 1) * hidden + logits * (n - 1) / n;
        const ts::index_t backward = logits * (n - 1) / n + (n - 1) * hidden;
        CHECK(p.moved_bytes == forward + backward);
        CHECK(copied(p) == p.moved_bytes);
    }
}

TEST_CASE("one device alone moves nothing and has a task for every pass") {
    const ts::graph g = ts::describe<mlp>(5);
    const ts::plan p = planned(g.view(), ts::strategy(g.view()), 1);
    CHECK(p.moved_bytes == 0);
    CHECK(p.tasks.size() == 4 + 2 + 1 + 2 + 4 + 2);
    for (const ts::task& t : p.tasks) {
        CHECK(t.waits.empty());
    }
}

TEST_CASE("a short batch leaves shards out, but no copy of a parameter") {
    const ts::graph g = ts::describe<mlp>(2);
    ts::lower_options o;
    o.allow_empty = true;
    const ts::strategy s = data_parallel(g.view(), 4);
    ts::plan p = ts::lower(g.view(), s.view(), 4, o);
    ts::finish(g.view(), p);
    CHECK(count(p, task_kind::compute, pass::forward) == 4 * 2);
    CHECK(count(p, task_kind::compute, pass::backward_weight) == 2 * 2);
    CHECK(count(p, task_kind::update, pass::update) == 4 * 4);
    // Two devices with gradients; all four copies of the parameters are written, by all four.
    ts::index_t expected = 0;
    for (const ts::index_t size : {120, 12, 72, 6}) {
        for (ts::index_t d = 0; d < 4; ++d) {
            const ts::index_t slice = (d + 1) * size / 4 - d * size / 4;
            const bool has_gradient = d == 1 || d == 3; // samples 0 and 1 of shards [0,0) [0,1) [1,1) [1,2)
            expected += slice * 4 * ((has_gradient ? 1 : 2) + 3);
        }
    }
    CHECK(p.moved_bytes == expected);
}

TEST_CASE("frozen layers have no gradients of weights and no updates, and below the first trained layer nothing goes "
          "backward") {
    for (const int n : {1, 2}) {
        const ts::graph first = ts::describe<frozen_first>(8);
        const ts::plan p = planned(first.view(), data_parallel(first.view(), n), n);
        for (const pass what : {pass::backward, pass::backward_input, pass::backward_weight, pass::update}) {
            for (int op = 0; op < 2; ++op) {
                CHECK(count(p, task_kind::compute, what, op) == 0);
                CHECK(count(p, task_kind::update, what, op) == 0);
            }
        }
        CHECK(count(p, task_kind::compute, pass::backward_input, 2) == 0); // nobody below wants it
        CHECK(count(p, task_kind::compute, pass::backward_weight, 2) == n);
        CHECK(count(p, task_kind::update, pass::update, 2) == 2 * n);

        const ts::graph last = ts::describe<frozen_last>(8);
        const ts::plan q = planned(last.view(), data_parallel(last.view(), n), n);
        CHECK(count(q, task_kind::compute, pass::backward_weight, 2) == 0);
        CHECK(count(q, task_kind::update, pass::update, 2) == 0);
        CHECK(count(q, task_kind::compute, pass::backward_input, 2) == n);
        CHECK(count(q, task_kind::compute, pass::backward_weight, 0) == n);
    }
}

TEST_CASE("clipping adds a reduction for every slice, which every update waits for") {
    for (const int n : {1, 2, 4}) {
        const ts::graph g = ts::describe<mlp>(8);
        ts::lower_options o;
        o.update = ts::optimizer(ts::sgd{}, 1.0F);
        const ts::plan p = planned(g.view(), data_parallel(g.view(), n), n, o);
        CHECK(count(p, task_kind::reduce, pass::update) == 4 * n);
        CHECK(count(p, task_kind::update, pass::update) == 4 * n);
        CHECK(p.moved_bytes == 2 * (n - 1) * weights * 4);
        for (const ts::task& t : p.tasks) {
            if (t.kind() == task_kind::update) {
                CHECK(t.params().norms.size() == ts::to_size(4 * n));
            }
        }
        const ts::plan plain = planned(g.view(), data_parallel(g.view(), n), n);
        CHECK(count(plain, task_kind::reduce, pass::update) == 0);
    }
}

TEST_CASE("the optimizer's state is divided among the copies of a parameter") {
    const ts::graph g = ts::describe<mlp>(8);
    for (const int n : {1, 2, 4}) {
        ts::lower_options o;
        o.update = ts::optimizer(ts::adam{});
        const ts::plan p = planned(g.view(), data_parallel(g.view(), n), n, o);
        ts::index_t state = 0;
        ts::index_t parameters = 0;
        for (const ts::tile& t : p.tiles) {
            state += t.kind == ts::tile_kind::optimizer_state ? t.bytes : 0;
            parameters += t.kind == ts::tile_kind::parameter ? t.bytes : 0;
        }
        CHECK(state == 2 * weights * 4);
        CHECK(parameters == n * weights * 4);
    }
}

TEST_CASE("an evaluation has forward tasks and copies only") {
    const ts::graph g = ts::describe<mlp>(8);
    ts::lower_options o;
    o.kind = ts::run_kind::evaluation;
    const ts::plan p = planned(g.view(), data_parallel(g.view(), 2), 2, o);
    CHECK(count(p, task_kind::compute, pass::evaluate) == 8);
    CHECK(count(p, task_kind::copy, pass::evaluate) == 4);
    CHECK(p.tasks.size() == 12);
    CHECK(p.moved_bytes == 0);
    CHECK(p.results.size() == 4); // losses and logits of both shards
}
