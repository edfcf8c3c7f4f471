// SPDX-License-Identifier: Apache-2.0
// What moves where tokens are sent to experts: known before any token is, by formula.
#include "tessera/part/routing.hpp"
#include "support/planned.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using test_support::data_parallel;
using test_support::planned;
using ts::loop_name;
using ts::op_kind;

constexpr ts::index_t batch = 8;
constexpr ts::index_t width = 5;
constexpr ts::index_t experts = 4;
constexpr ts::index_t slots = 3;

struct before : ts::linear<width> {};
struct gate : ts::linear<experts> {};
struct up : ts::routed_linear<6> {};
struct down : ts::routed_linear<width> {};
struct most : ts::token_slots<ts::top<2>, ts::capacity<slots>> {};
struct network
    : ts::sequential<
          ts::sequence<7, width>, before,
          ts::routed_experts<most, ts::branch<gate, ts::softmax<>>, ts::with_slots<up>, ts::relu, ts::with_slots<down>>,
          ts::cross_entropy> {};

/// By samples, and what works on the rows of experts by experts.
ts::strategy expert_parallel(const ts::graph_view& g, int devices) {
    ts::strategy s = data_parallel(g, devices);
    for (int op = 0; op < g.op_count; ++op) {
        const op_kind kind = g.ops[op].attributes.kind;
        if (kind == op_kind::routed_linear || kind == op_kind::relu) {
            ts::configuration& c = s.ops[ts::to_size(op)];
            c.degree[0] = 1;
            c.degree[g.describe(op).find_loop(kind == op_kind::relu ? loop_name::position : loop_name::expert)] =
                devices;
        }
    }
    return s;
}

/// Bytes that copies bring from other devices, of one tensor and what its gradient is.
ts::index_t copied(const ts::plan& p, int tensor) {
    ts::index_t bytes = 0;
    for (const ts::task& t : p.tasks) {
        for (const ts::copy_segment& s : t.copy().segments) {
            const ts::tile& from = p.tiles[ts::to_size(s.source)];
            const bool moves = from.device >= 0 && from.device != t.device && from.tensor == tensor &&
                               (from.kind == ts::tile_kind::activation || from.kind == ts::tile_kind::gradient);
            bytes += moves ? s.region.volume() * ts::bytes_of(from.type) : 0;
        }
    }
    return bytes;
}

int op_of(const ts::graph_view& g, op_kind kind) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].attributes.kind == kind) {
            return op;
        }
    }
    return -1;
}

} // namespace

TEST_CASE("expert parallel: an all-to-all of N E S C (p - 1) / p elements to the experts, and one back") {
    const ts::graph g = ts::describe<network>(batch);
    for (const int p : {2, 4}) {
        const ts::plan plan = planned(g.view(), expert_parallel(g.view(), p), p);
        CAPTURE(p);
        const auto share = [&](ts::index_t elements) { return elements * (p - 1) / p; };
        const int sent = g.view().ops[op_of(g.view(), op_kind::dispatch_tokens)].output;
        const int combine = op_of(g.view(), op_kind::combine_tokens);
        const int made = g.view().ops[combine].inputs[2];
        const int table = g.view().ops[combine].inputs[1];
        // Forward and, of the gradients, backward.
        CHECK(copied(plan, sent) == 2 * share(batch * experts * slots * width) * 4);
        CHECK(copied(plan, made) == 2 * share(batch * experts * slots * width) * 4);
        CHECK(copied(plan, table) == share(batch * experts * slots) * 4); // once, for both products and both passes
        ts::index_t rest = 0;
        for (int t = 0; t < g.view().tensor_count; ++t) {
            rest += t == sent || t == made || t == table ? 0 : copied(plan, t);
        }
        CHECK(rest == 0);
        const ts::index_t whole = width * width + width + experts * width + experts; // what all devices have
        CHECK(plan.moved_bytes ==
              copied(plan, sent) + copied(plan, made) + copied(plan, table) + 2 * (p - 1) * whole * 4);
    }
}

TEST_CASE("where what experts made is combined by experts, partial sums move in place of rows") {
    const ts::graph g = ts::describe<network>(batch);
    const int combine = op_of(g.view(), op_kind::combine_tokens);
    ts::strategy s = expert_parallel(g.view(), 2);
    ts::configuration& c = s.ops[ts::to_size(combine)];
    c.degree[0] = 1;
    c.degree[g.view().describe(combine).find_loop(loop_name::expert)] = 2;
    const ts::plan plan = planned(g.view(), s, 2);
    CHECK(copied(plan, g.view().ops[combine].inputs[2]) == 0);
    // Each device sends half of its sums of all tokens, and gets the gradient of the other half.
    CHECK(copied(plan, g.view().ops[combine].output) == 2 * batch * 7 * width * 4);
}
