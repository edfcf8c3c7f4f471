// SPDX-License-Identifier: Apache-2.0
// Plans as programs for torch.distributed: what the text says, what is refused and by which words, that exchanges bring
// every shard all that it reads. (That they train to the same losses is tests/torch/train.py's, which needs torch.)
#include "support/networks.hpp"
#include "support/random_strategy.hpp"

#include "tessera/backend/torch/build.hpp"
#include "tessera/backend/torch/write.hpp"
#include "tessera/base/file.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/roll.hpp"
#include "tessera/op/vocabulary_loss.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/schedule/gradients.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using ts::torch::exchange_table;

const auto lenet = ts::describe<test_networks::lenet5::network>(8);
const auto residual = ts::describe<test_networks::residual_net::network>(8);

namespace own {
struct first : ts::operation<first> {
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto token = w.parameter(zeros, c);
        w.output(n, t, c) = w.input(n, t, c) + select(w.index(t) == 0, token, 0);
    }
};
/// A position and the one behind it.
struct shift : ts::operation<shift> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto t = w.loop(position, w.extent(0, 1));
        w.output(n, t, c) = w.input(n, t + 1, c);
    }
};
struct numbered : ts::operation<numbered> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        w.output(n, c) = w.input(n, c) * w.index(n);
    }
};
struct below : ts::operation<below> {
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        w.output(n, t, c) = x - w.max(t, x);
    }
};
struct words : ts::embedding<5, 4> {};
struct gate : ts::linear<4> {};
struct inner : ts::expert_linear<4, 3> {};
struct mixed : ts::sequential<ts::tokens<6>, words, ts::mixture_of_experts<2, 1, gate, inner>, ts::cross_entropy> {};
struct fc : ts::linear<3> {};
struct nests : ts::sequential<ts::tokens<6>, words, first, below, shift, ts::rms_norm<>, ts::max_over<1>, fc,
                              ts::cross_entropy> {};
struct counting : ts::sequential<ts::features<4>, numbered, fc, ts::cross_entropy> {};
struct shifted : ts::sequential<ts::image<1, 4, 4>, ts::roll<ts::shift<2, 1>>, ts::flatten, fc, ts::cross_entropy> {};
struct last : ts::vocabulary_loss<11> {};
struct without_logits : ts::sequential<ts::tokens<6>, words, last> {};
} // namespace own

std::string text_of(const ts::graph_view& g, const ts::strategy& s, int ranks,
                    const ts::optimizer& update = ts::sgd{}) {
    return ts::torch::to_text(ts::torch::make_program(g, s.view(), ranks, update), "A network", "a test");
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The words of the refusal; empty where it is exported.
std::string refusal_of(const ts::graph_view& g, const ts::strategy& s, int ranks,
                       const ts::optimizer& update = ts::sgd{}) {
    try {
        (void)ts::torch::make_program(g, s.view(), ranks, update);
    } catch (const ts::error& e) {
        return e.what();
    }
    return {};
}

ts::strategy along(const ts::graph_view& g, ts::loop_name loop, int ranks) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[ts::to_size(op)] = ts::search::detail::split_along(g.describe(op), loop, ranks);
    }
    return s;
}

ts::strategy with_policy(const ts::graph_view& g, const ts::schedule::policy_record& r) {
    ts::strategy s = ts::search::data_parallel(g, 2);
    ts::schedule::policy_setting x;
    x.gradients = ts::schedule::gradients_of(g);
    x.members = 2;
    s.sync = ts::schedule::make(r, x);
    return s;
}

ts::strategy piped(const ts::graph_view& g, const ts::schedule::schedule_record& r, int micro_batches) {
    ts::schedule::settings x{&r, 2, micro_batches, {}, ts::schedule::rematerialize::none};
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(op * x.stages() / g.op_count);
    }
    ts::search::pipeline_options how;
    how.inside.assign(ts::to_size(x.stages()), ts::search::baseline::single_device);
    return ts::search::pipeline(g, stage, ts::schedule::make(x), how);
}

std::vector<std::string> kinds_of(const ts::torch::program& p) {
    std::vector<std::string> all;
    for (const exchange_table& x : p.exchanges) {
        all.push_back(x.kind);
    }
    return all;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Layers of which one is called as a second shard of the other might be.
namespace alike {
struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct conv_1 : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct fc : ts::linear<3> {};
struct network
    : ts::sequential<ts::image<4, 6, 6>, ts::residual<conv, ts::relu, conv_1>, ts::flatten, fc, ts::cross_entropy> {};
} // namespace alike

/// Lines that give a variable a second value.
int assigned_again(const ts::torch::program& p) {
    int again = 0;
    for (const auto& stage : p.stages) {
        for (const auto& [rank, lines] : stage) {
            std::set<std::string> seen;
            for (const std::string& line : lines) {
                std::string left = line.substr(0, line.find(" = "));
                left = left.size() < line.size() ? left : std::string();
                for (std::size_t at = 0; at < left.size();) {
                    const std::size_t end = std::min(left.find(", ", at), left.size());
                    const std::string name = left.substr(at, end - at);
                    again += name.empty() || name == "," || seen.insert(name).second ? 0 : 1;
                    at = end + 2;
                }
            }
        }
    }
    return again;
}

} // namespace

TEST_CASE("no variable is another's, whatever layers are called") {
    const auto net = ts::describe<alike::network>(8);
    ts::strategy s(net.view());
    for (int op = 0; op < net.view().op_count; ++op) {
        const ts::description d = net.view().describe(op);
        s.ops[ts::to_size(op)].degree[d.find_loop(ts::loop_name::sample)] = 4;
        s.place(op, {0, 0, 1, 1});
    }
    CHECK(assigned_again(ts::torch::make_program(net.view(), s.view(), 2, ts::sgd{})) == 0);
}

TEST_CASE("ranks with the same lines share a function") {
    const std::string text = text_of(lenet.view(), ts::search::data_parallel(lenet.view(), 2), 2);
    CHECK(has(text, "def forward(r):"));
    CHECK(has(text, "{0: forward, 1: forward}"));
    CHECK(has(text,
              "conv2 = F.conv2d(relu_0, r.parameter(\"conv2/weight\"), r.parameter(\"conv2/bias\"), stride=(1, 1))"));
    CHECK(has(text, "r.loss(cross_entropy, 0.125)"));
    CHECK(!has(text, "r.exchange("));
}

TEST_CASE("docs/torch_export.md has the lines of a program") {
    const std::string text = text_of(lenet.view(), along(lenet.view(), ts::loop_name::height, 2), 2);
    std::string here = __FILE__;
    here.resize(here.rfind("tests/backend/"));
    const std::string page = ts::files::read(here + "docs/torch_export.md");
    const std::size_t begin = page.find("    average_pool = ");
    REQUIRE(begin != std::string::npos);
    CHECK(has(text, page.substr(begin, page.find("```", begin) - begin)));
}

TEST_CASE("exchanges are called what they are") {
    const ts::graph_view g = lenet.view();
    const auto of = [&](const ts::strategy& s, int ranks) {
        return kinds_of(ts::torch::make_program(g, s.view(), ranks, ts::sgd{}));
    };
    CHECK(contains(of(along(g, ts::loop_name::height, 2), 2), "halo"));
    CHECK(contains(of(along(g, ts::loop_name::reduction, 2), 2), "reduce"));
    CHECK(contains(of(ts::search::model_parallel(g, 2), 2), "all-gather"));
    CHECK(contains(of(ts::search::one_weird_trick(g, 2), 2), "all-gather"));
    ts::strategy placed(g);
    for (int op = g.op_count / 2; op < g.op_count; ++op) {
        placed.ops[ts::to_size(op)].start = 1;
    }
    CHECK(contains(of(placed, 2), "broadcast"));
    // Statistics of a batch norm over samples that are split.
    const auto norms =
        ts::torch::make_program(residual.view(), ts::search::data_parallel(residual.view(), 2).view(), 2, ts::sgd{});
    CHECK(contains(kinds_of(norms), "all-reduce"));
}

TEST_CASE("the optimizer is said in the words of torch.optim") {
    const ts::strategy s = ts::search::data_parallel(lenet.view(), 2);
    CHECK(has(text_of(lenet.view(), s, 2, ts::adamw{.learning_rate = 0.5F, .weight_decay = 0.25F}),
              "dict(kind=\"adamw\", lr=0.5, betas="));
    CHECK(has(text_of(lenet.view(), s, 2, ts::adamw{.weight_decay = 0.25F}), "decay=0.25"));
    CHECK(has(text_of(lenet.view(), s, 2, ts::sgd{.learning_rate = 0.5F, .momentum = 0.5F, .nesterov = true}),
              "dict(kind=\"sgd\", lr=0.5, momentum=0.5, nesterov=True)"));
    CHECK(has(text_of(lenet.view(), s, 2, ts::optimizer(ts::sgd{}, 2.0F)), "clip_norm=2.0"));
    CHECK(has(text_of(lenet.view(), s, 2, ts::rmsprop{.centered = true}), "centered=True"));
}

TEST_CASE("what has no counterpart is refused by name, everything at once") {
    namespace schedule = ts::schedule;
    const ts::graph_view g = lenet.view();
    const auto refused = [&](const ts::strategy& s) { return refusal_of(g, s, 2); };
    CHECK(has(refused(with_policy(g, schedule::eight_bit_gradients_record)), "compresses gradients"));
    CHECK(has(refused(with_policy(g, schedule::parameter_average_record)), "averages copies of parameters every"));
    CHECK(has(refused(piped(g, schedule::gems_record, 2)), "mirrored replica"));
    ts::strategy s = ts::search::data_parallel(g, 2);
    CHECK(has(refusal_of(g, s, 2, ts::lamb{}), "LARS, LAMB"));
    CHECK(has(refusal_of(g, s, 2, ts::optimizer(ts::sgd{}).averaging(0.9F)), "moving averages"));
    CHECK(has(refusal_of(g, s, 2, ts::optimizer(ts::sgd{}).pruning()), "prunes weights"));
    s.parameters_on = 1;
    s.micro_batches = 3;
    const std::string both = refused(s);
    CHECK(has(both, "stored on device 1 alone"));
    CHECK(has(both, "3 micro-batches of different sizes, for 8 samples"));
    CHECK(has(both, "nothing was written"));
    ts::strategy joint = piped(residual.view(), schedule::gpipe_record, 2);
    joint.statistics = ts::statistics_over::mini_batch;
    CHECK(has(refusal_of(residual.view(), joint, 2), "statistics over all micro-batches together"));
    joint.statistics = ts::statistics_over::micro_batch;
    CHECK(refusal_of(residual.view(), joint, 2).empty());
    CHECK(refused(with_policy(g, schedule::tensor_fusion_record)).empty());
    CHECK(refused(piped(g, schedule::one_forward_one_backward_record, 4)).empty());
    const auto transformer = ts::describe<test_networks::transformer::network>(8);
    ts::strategy tied = ts::search::data_parallel(transformer.view(), 2); // the table and, split otherwise, the logits
    const ts::optimizer clipping(ts::sgd{}, 1.0F);
    CHECK(refusal_of(transformer.view(), tied, 2, clipping).empty());
    for (int op = 0; op < transformer.view().op_count; ++op) {
        if (transformer.view().ops[op].attributes.kind == ts::op_kind::linear) {
            tied.ops[ts::to_size(op)] =
                ts::search::detail::split_along(transformer.view().describe(op), ts::loop_name::reduction, 2);
        }
    }
    CHECK(has(refusal_of(transformer.view(), tied, 2, clipping), "the users of words/weight split it differently"));
    CHECK(refusal_of(transformer.view(), tied, 2).empty());
    const auto shifted = ts::describe<own::shifted>(4);
    CHECK(has(refusal_of(shifted.view(), ts::strategy(shifted.view()), 1),
              "roll: the operator has no lines for PyTorch"));
    const auto words = ts::describe<own::without_logits>(4);
    CHECK(has(refusal_of(words.view(), ts::strategy(words.view()), 1), "the operator has no lines for PyTorch"));
}

TEST_CASE("ZeRO 3, P3 and zero bubble: slices, messages in the order of layers, and gradients taken apart") {
    namespace schedule = ts::schedule;
    const ts::graph_view g = lenet.view();
    const std::string sharded = text_of(g, with_policy(g, schedule::zero_3_record), 2);
    CHECK(has(sharded, "gathers=[\n        [\"conv1/weight\", \"conv1/bias\", "));
    CHECK(!has(text_of(g, with_policy(g, schedule::zero_2_record), 2), "gathers="));
    ts::strategy urgent = ts::search::data_parallel(g, 2);
    urgent.sync = schedule::p3(schedule::gradients_of(g), {.servers = 2, .slice = 1000});
    const ts::torch::program p = ts::torch::make_program(g, urgent.view(), 2, ts::sgd{});
    CHECK(p.buckets.size() == urgent.sync.messages.size());
    CHECK(p.buckets.front().parts.front().parameter.substr(0, 5) == "conv1");
    int sliced = 0;
    for (const ts::torch::bucket_table& b : p.buckets) {
        for (const ts::torch::bucket_part& x : b.parts) {
            sliced += x.slices > 1 ? 1 : 0;
        }
    }
    CHECK(sliced > 2);
    CHECK(has(text_of(g, urgent, 2), "(\"fc1/weight\", 0, "));
    const std::string apart = text_of(g, piped(g, schedule::zero_bubble_h1_record, 4), 2);
    CHECK(has(apart, "(\"backward-input\", 1, 0)"));
    CHECK(has(apart, "(\"backward-weight\", 1, 0)"));
}

TEST_CASE("bf16: what is stored is rounded, and products take their parameters rounded") {
    const auto rounded = ts::describe<ts::with_precision<ts::bf16, test_networks::lenet5::network>>(8);
    const std::string text = text_of(rounded.view(), ts::search::data_parallel(rounded.view(), 2), 2);
    CHECK(has(text, "conv1 = F.conv2d(conv1_in__bf16, rt.bf16_weight(r.parameter(\"conv1/weight\")), "));
    CHECK(has(text, "conv1__bf16 = rt.bf16(conv1)"));
    CHECK(!has(text, "rt.bf16(cross_entropy)"));
    CHECK(!has(text_of(lenet.view(), ts::search::data_parallel(lenet.view(), 2), 2), "bf16"));
}

TEST_CASE("mixtures of experts: each shard has its tokens' slots of its own experts") {
    const auto network = ts::describe<own::mixed>(8);
    const ts::graph_view g = network.view();
    const std::string text = text_of(g, along(g, ts::loop_name::expert, 2), 2);
    CHECK(has(text, "rt.route(softmax"));
    CHECK(has(text, ", 2, 1, False, (0, 6), (0, 2))"));
    CHECK(has(text, ", 2, 1, True, (0, 6), (2, 4))"));
    CHECK(has(text, "rt.expert_linear("));
}

TEST_CASE("what the first steps were is written, or why it is not known") {
    ts::torch::program p = ts::torch::make_program(lenet.view(), ts::strategy(lenet.view()).view(), 1, ts::sgd{});
    CHECK(!has(ts::torch::to_text(p, "A network", "a test"), "CHECK"));
    p.unchecked = "too long";
    CHECK(has(ts::torch::to_text(p, "A network", "a test"), "unchecked=\"too long\""));
    p.check.push_back({2.5, {{"conv1/weight", 0.25}}});
    p.weights_crc = 7;
    const std::string text = ts::torch::to_text(p, "A network", "a test");
    CHECK(has(text,
              "CHECK = [\n    (\n        2.5,\n        {\n            \"conv1/weight\": 0.25,\n        },\n    ),\n]"));
    CHECK(has(text, "check=CHECK,\n    within=1e-04,\n    weights_crc=7,\n    counts={\"labels\": 10}"));
}

TEST_CASE("loop nests are expressions of tensors with a dimension for every loop") {
    const auto network = ts::describe<own::nests>(8);
    const ts::graph_view g = network.view();
    const std::string whole = text_of(g, ts::strategy(g), 1);
    const std::string apart = text_of(g, along(g, ts::loop_name::channel, 2), 2); // sums of channels are exchanged
    CHECK(has(whole, "    rms_norm__nest0 = rt.total((shift * shift), (2,))\n"));
    CHECK(has(whole, "rt.select((rt.counted(0, 6, 1, 3, "));
    CHECK(has(whole, "rt.spread(r.parameter(\"first/weight\"), (2,), 3)"));
    CHECK(has(whole, "    max_over__nest0 = rt.first_largest(rms_norm, (1,))\n"));
    CHECK(has(whole, "rt.points(shift_in, ((0, ((0, 1),)), (1, ((2, 1),)), (0, ((1, 1),))), (0, 1, 0), (8, 4, 6))"));
    CHECK(has(apart, "r.exchange(\"rms_norm.nest0\", rms_norm__nest0)  # all-reduce"));
    CHECK(has(apart, "((0, ((0, 1),)), (1, ((2, 1),)), (2, ((1, 1),))), (0, 1, 2), (8, 2, 6))")); // of the second rank
    CHECK(has(refusal_of(g, along(g, ts::loop_name::position, 2), 2),
              "below: it is split along a loop whose largest number its shards find together"));
}

TEST_CASE("an operator that counts samples is refused where micro-batches have some of them") {
    const auto network = ts::describe<own::counting>(8);
    ts::strategy s(network.view());
    CHECK(refusal_of(network.view(), s, 1).empty());
    s.micro_batches = 2;
    CHECK(has(refusal_of(network.view(), s, 1), "it counts samples, of which a micro-batch has some"));
}

TEST_CASE("a strategy that breaks a rule is refused as everywhere") {
    ts::strategy s(lenet.view());
    s.ops[0].start = 7;
    CHECK(has(refusal_of(lenet.view(), s, 2), "device"));
}

TEST_CASE("every element that a shard reads comes from as many boxes as there are parts, under any strategy") {
    test_support::coverage seen;
    int exchanges = 0;
    int wrong = 0;
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
        const auto& net = draw % 2 == 0 ? lenet : residual;
        const ts::graph_view g = net.view();
        const int ranks = 2 + static_cast<int>(draw % 3);
        const ts::strategy s = test_support::random_strategy(g, ranks, draw, seen);
        const ts::torch::program p = ts::torch::make_program(g, s.view(), ranks, ts::sgd{});
        CHECK(assigned_again(p) == 0);
        for (const exchange_table& x : p.exchanges) {
            if (x.kind == "take") {
                continue;
            }
            ++exchanges;
            std::vector<ts::index_t> got(x.targets.size(), 0);
            for (const ts::torch::box_move& m : x.moves) {
                const auto& from = x.sources[ts::to_size(m.from)].region;
                const auto& to = x.targets[ts::to_size(m.to)].region;
                wrong += from.contains(m.region) && to.contains(m.region) && !m.region.empty() ? 0 : 1;
                got[ts::to_size(m.to)] += m.region.volume();
            }
            for (std::size_t i = 0; i < got.size(); ++i) { // one part or several whole ones
                const ts::index_t volume = x.targets[i].region.volume();
                wrong += got[i] >= volume && got[i] % volume == 0 ? 0 : 1;
            }
        }
    }
    CHECK(exchanges > 200);
    CHECK(wrong == 0);
}
