// SPDX-License-Identifier: Apache-2.0
// Rules by which operators recompute, as values and as types, and what they leave of a step's memory and time.
#include "tessera/search/by_hand/recomputed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include "examples/zoo/unet.hpp"
#include "support/networks.hpp"
#include "support/refusal.hpp"
#include "support/small_gpt.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;
using ts::recompute_rule;

const recompute_rule selective{recompute_rule::kind::selective};
recompute_rule every(int k) { return {recompute_rule::kind::blocks, k}; }

ts::strategy with(const ts::graph_view& g, ts::strategy s, const recompute_rule& how) {
    search::recompute(s, g, how);
    return s;
}

/// Names of layers, without numbers, some of whose operators recompute.
std::set<std::string> recomputed(const ts::graph_view& g, const ts::strategy& s) {
    std::set<std::string> all;
    for (int op = 0; op < g.op_count; ++op) {
        if (s.ops[ts::to_size(op)].recompute) {
            const std::string path = ts::path_of(g, op);
            all.insert(path.substr(0, path.find('.')));
        }
    }
    return all;
}

/// Logits that are small beside a block.
template <int Layers>
struct few_words : networks::gpt_parts<Layers, 256, 8, 64, 512>::network {};

struct step {
    index_t ns = 0;
    index_t peak = 0;
};
step step_of(const ts::graph_view& g, const ts::cluster& on, const ts::strategy& s) {
    const search::finished_step x = search::simulate_finished(g, on, s);
    return {x.makespan, *std::max_element(x.peak_bytes.begin(), x.peak_bytes.end())};
}

struct wide : ts::linear<32> {};
struct narrow : ts::linear<8> {};
struct chain : ts::sequential<ts::features<8>, ts::repeat<4, wide, ts::gelu, narrow, ts::tanh>, ts::cross_entropy> {};
template <class... Entries>
using typed = ts::strategy_of<chain, 1, 16, Entries...>;

} // namespace

TEST_CASE("rules of recomputation are read as they are printed") {
    for (const recompute_rule& x : {recompute_rule{}, selective, every(1), every(2), every(16)}) {
        CHECK(search::recompute_rule_of(search::to_text(x)) == x);
    }
    CHECK(search::to_text(every(1)) == "full");
    for (const char* wrong : {"", "all", "every", "every:", "every:0", "every:-1", "every:2x", "every:99999999"}) {
        CAPTURE(wrong);
        CHECK(test_support::contains(test_support::message_of([&] { (void)search::recompute_rule_of(wrong); }),
                                     "every:4 for every fourth block"));
    }
    const ts::graph g = ts::describe<chain>(16);
    ts::strategy s(g.view());
    CHECK(test_support::message_of([&] { search::recompute(s, g.view(), every(0)); }) ==
          test_support::text_of_rule(ts::rule::recomputed_blocks_are_none, "(the network itself)", "", 0, 1));
}

TEST_CASE("as a type a rule is what it is as a value, and layers are those that are named") {
    const ts::graph network = ts::describe<chain>(16);
    const ts::graph_view g = network.view();
    const auto same = [&](const ts::strategy_view& a, const ts::strategy& b) { return ts::strategy(a) == b; };
    const ts::strategy none(g);
    CHECK(same(typed<ts::recomputes_selectively>::view(), with(g, none, selective)));
    CHECK(same(typed<ts::recomputes_blocks<>>::view(), with(g, none, every(1))));
    CHECK(same(typed<ts::recomputes_blocks<2>>::view(), with(g, none, every(2))));
    static_assert(typed<ts::recomputes_blocks<>>::configurations().ops[2].recompute);
    static_assert(!typed<ts::recomputes_blocks<>>::configurations().ops[3].recompute);
    ts::strategy named(g);
    for (int op = 0; op < 16; op += 4) {
        named.ops[ts::to_size(op + 1)].recompute = true;
    }
    CHECK(same(typed<ts::recomputes<ts::gelu>>::view(), named));
    CHECK(same(typed<ts::on<ts::gelu, ts::recompute>>::view(), named));
    named.ops[7].recompute = true;
    CHECK(same(typed<ts::recomputes<ts::gelu, ts::instance<ts::tanh, 1>>>::view(), named));
    named.ops[15].recompute = true;
    CHECK(same(typed<ts::on<ts::instance<ts::tanh, 3>, ts::recompute>,
                     ts::recomputes<ts::gelu, ts::instance<ts::tanh, 1>>>::view(),
               named));
}

TEST_CASE("selectively: what is cheap is made again from what is kept anyway") {
    using words = std::set<std::string>;
    const ts::graph gpt = ts::describe<test_networks::small_gpt<2>>(4);
    // Attention computes its weights anew by itself. Dropout behind a product reads nothing of it backward, and the
    // sums lead from block to block.
    CHECK(recomputed(gpt.view(), with(gpt.view(), ts::strategy(gpt.view()), selective)) ==
          words{"norm<0>", "norm<1>", "gelu", "last_norm"});
    const ts::graph g = ts::describe<test_networks::lenet5::network>(4);
    const words lenet = recomputed(g.view(), with(g.view(), ts::strategy(g.view()), selective));
    CHECK(lenet.count("conv1") == 0);
    // A relu reads what it has made: its input would be kept in its place.
    CHECK(lenet.count("relu") == 0);
    const ts::graph residual = ts::describe<test_networks::residual_net::network>(4);
    const words all = recomputed(residual.view(), with(residual.view(), ts::strategy(residual.view()), selective));
    CHECK(all.count("norm") == 1); // it reads its input, which is kept
    CHECK(all.count("relu") == 1); // behind one
    CHECK(all.count("conv") == 0);
}

TEST_CASE("GPT: memory falls by what blocks do not keep, and the step rises by their forward once more") {
    const ts::cluster on(ts::machines::a100_nodes());
    constexpr index_t width = 256, context = 64, samples = 128, heads = 8;
    constexpr index_t tile = samples * context * width * 4; // on the one device that computes
    std::map<std::string, std::map<int, step>> seen;
    for (const int layers : {4, 8}) {
        const ts::graph network =
            layers == 4 ? ts::describe<few_words<4>>(samples) : ts::describe<few_words<8>>(samples);
        const ts::graph_view g = network.view();
        for (const recompute_rule& how : {recompute_rule{}, selective, every(1), every(2)}) {
            seen[search::to_text(how)][layers] = step_of(g, on, with(g, ts::strategy(g), how));
        }
    }
    // What four more blocks need: 12 width^2 parameters with as many gradients (and what plain SGD keeps: nothing), and
    // of the tensors those that backward reads.
    constexpr index_t weights = 4 * (12 * width * width + 13 * width) * 4;
    const auto more = [&](const char* how) { return seen[how][8].peak - seen[how][4].peak; };
    constexpr index_t rows = samples * heads * context * 4;
    CHECK(more("full") >= 4 * tile + weights);
    CHECK(more("full") <= 4 * tile + 2 * weights + tile);
    CHECK(more("every:2") >= 2 * tile + weights);
    CHECK(more("every:2") <= 2 * tile + 2 * weights + tile);
    // Everything: two norms' inputs and outputs, query, key, value, their mixture, wide and gelu (four each), and the
    // maximum and the sum of attention's rows.
    CHECK(more("none") >= 4 * (16 * tile + 2 * rows) + weights);
    // Selectively: two norms' inputs, query, key, value, the product before gelu (four), and what the last product reads.
    CHECK(more("selective") <= 4 * (10 * tile) + 2 * weights + tile);
    CHECK(seen["full"][8].peak < seen["every:2"][8].peak);
    CHECK(seen["every:2"][8].peak < seen["none"][8].peak);
    CHECK(seen["selective"][8].peak < seen["none"][8].peak);
    // Backward takes twice forward: at most a third more.
    for (const std::string how : {"full", "every:2"}) {
        CAPTURE(how);
        const double rise = static_cast<double>(seen[how][8].ns) / static_cast<double>(seen["none"][8].ns) - 1;
        CHECK(rise > 0.15);
        CHECK(rise < 0.36);
    }
    const double rise = static_cast<double>(seen["selective"][8].ns) / static_cast<double>(seen["none"][8].ns) - 1;
    CHECK(rise > 0);
    CHECK(rise < 0.25);
    for (const auto& [how, steps] : seen) {
        MESSAGE(how << ": " << steps.at(8).ns / 1000 << " us, " << steps.at(8).peak / 1000000 << " MB");
    }
}

TEST_CASE("a U-Net, which repeats nothing, is cut by its products; skips are kept") {
    using unet = networks::padded_unet<64, 1, 2, 16, 3>;
    const ts::graph network = ts::describe<unet>(8);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::a100_nodes());
    const step kept = step_of(g, on, ts::strategy(g));
    const step full = step_of(g, on, with(g, ts::strategy(g), every(1)));
    CHECK(full.peak < kept.peak);
    CHECK(full.ns > kept.ns);
    CHECK(full.ns < kept.ns * 4 / 3 + kept.ns / 20);
    MESSAGE("none: " << kept.ns / 1000 << " us, " << kept.peak / 1000 << " kB; full: " << full.ns / 1000 << " us, "
                     << full.peak / 1000 << " kB");
}
