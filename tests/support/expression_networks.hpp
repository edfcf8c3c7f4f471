// SPDX-License-Identifier: Apache-2.0
// Random networks with many expressions in a row, under strategies that often run neighbours alike; and sessions that
// fuse them against sessions that do not.
#pragma once

#include "random_pair.hpp"
#include "same_numbers.hpp"

#include "tessera/net/graph_builder.hpp"
#include "tessera/plan/fuse.hpp"

#include <string>
#include <vector>

namespace test_support {

/// Operators of one's own among them.
struct own_gate : ts::elementwise<own_gate> {
    static constexpr auto of(auto x, auto y) { return x / (1 + abs(x)) * sigmoid(y); }
};
struct own_blend : ts::elementwise<own_blend> {
    static constexpr auto of(auto x, auto y, auto z) {
        const auto share = sigmoid(z);
        return select(x < y, share * x, (1 - share) * y + 0.1 * x);
    }
};

struct expression_network {
    ts::graph network;
    std::vector<int> made; ///< tensors that expressions make
};

class expression_maker {
public:
    explicit expression_maker(std::uint64_t seed) : pick_{ts::op::mix(seed ^ 0xe4b1ULL)} {}

    expression_network run() {
        const ts::index_t n = 2 + pick_(5);
        const ts::index_t c = 2 + pick_(4);
        const int kind = pick_(3);
        shape_ = kind == 0   ? ts::make_shape(n, c)
                 : kind == 1 ? ts::make_shape(n, 1 + pick_(4), c)
                             : ts::make_shape(n, c, 1 + pick_(3), 1 + pick_(3));
        ts::shape narrow = shape_;
        for (int d = 1; d < narrow.rank; ++d) {
            narrow.extent[d] = pick_(2) == 0 ? 1 : narrow.extent[d];
        }
        const int in = b_.add_input(shape_, ts::element::f32, "in");
        const int small = b_.add_input(narrow, ts::element::f32, "small");
        const int target = b_.add_input(shape_, ts::element::f32, "target");
        for (int i = 0; i < 2 + pick_(2); ++i) {
            unread_.push_back(dense(in));
        }
        const int operators = 5 + pick_(10);
        for (int i = 0; i < operators; ++i) {
            if (pick_(10) == 0) {
                unread_.push_back(dense(take()));
            } else if (pick_(12) == 0) {
                ts::op::dropout_attributes dropped;
                dropped.percent = 20;
                unread_.push_back(add(ts::attributes_of(ts::op_kind::dropout, dropped), {take()}));
            } else {
                expression(pick_(6) == 0 ? small : -1);
            }
        }
        while (unread_.size() > 1) {
            const int a = take();
            made_.push_back(add({.kind = ts::op_kind::add}, {a, take()}));
            unread_.push_back(made_.back());
        }
        const int result = dense(unread_[0]); // keeps sizes near those of its inputs
        add(ts::mse_loss::attributes, {result, target});
        return {b_.built(), made_};
    }

private:
    int add(const ts::op_attributes& a, const std::vector<int>& inputs) {
        return b_.add_op(a, ts::layer_name(ts::to_text(a.kind)), ++key_, false, inputs.data(),
                         static_cast<int>(inputs.size()));
    }
    int dense(int from) {
        if (shape_.rank == 4) {
            return add(
                ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.out = shape_[1], .bias = true}),
                {from});
        }
        return add(ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = shape_[shape_.rank - 1]}),
                   {from});
    }
    /// What nothing reads yet, rather than what is read already.
    int take() {
        if (!unread_.empty() && (pick_(5) > 0 || read_.empty())) {
            const auto i = ts::to_size(pick_(static_cast<int>(unread_.size())));
            const int t = unread_[i];
            unread_.erase(unread_.begin() + static_cast<std::ptrdiff_t>(i));
            read_.push_back(t);
            return t;
        }
        return read_[ts::to_size(pick_(static_cast<int>(read_.size())))];
    }
    void expression(int small) {
        const ts::op_kind one[] = {ts::op_kind::relu,   ts::op_kind::sigmoid, ts::op_kind::tanh,
                                   ts::op_kind::gelu,   ts::op_kind::silu,    ts::op_kind::softplus,
                                   ts::op_kind::negate, ts::op_kind::abs,     ts::op_kind::hard_swish};
        const ts::op_kind two[] = {ts::op_kind::add, ts::op_kind::multiply, ts::op_kind::subtract,
                                   ts::op_kind::maximum};
        const int which = small >= 0 ? 4 : pick_(10);
        int t = -1;
        if (which < 3) {
            t = add({.kind = one[pick_(9)]}, {take()});
        } else if (which == 3) {
            t = add(ts::attributes_of(pick_(2) == 0 ? ts::op_kind::leaky_relu : ts::op_kind::scale,
                                      ts::op::expression_attributes{.number = {0.1 + 0.2 * pick_(4)}}),
                    {take()});
        } else if (which < 7) {
            const int a = take();
            t = add({.kind = two[pick_(4)]}, {a, small >= 0 ? small : take()});
        } else if (which < 9) {
            const int a = take();
            t = add(own_gate::attributes, {a, take()});
        } else {
            const int a = take();
            const int b = take();
            t = add(own_blend::attributes, {a, b, take()});
        }
        made_.push_back(t);
        unread_.push_back(t);
    }

    random pick_;
    ts::graph_builder b_;
    ts::shape shape_;
    ts::type_key key_ = 0;
    std::vector<int> unread_;
    std::vector<int> read_;
    std::vector<int> made_;
};

/// Any strategy, but that expressions often run as what makes their inputs does, where the rules let them.
inline random_pair draw_alike(const ts::graph_view& g, const ts::optimizer& update, std::uint64_t seed,
                              coverage& seen) {
    random_pair pair = draw_pair(g, update, seed, seen);
    random pick{ts::op::mix(seed ^ 0xa11ceULL)};
    for (int op = 0; op < g.op_count; ++op) {
        const int maker = g.tensors[g.ops[op].inputs[0]].producer;
        if (ts::record_of(g.ops[op].attributes).formula == nullptr || g.is_loss(op) || maker < 0 ||
            ts::record_of(g.ops[maker].attributes).formula == nullptr || pick(5) == 0) {
            continue;
        }
        ts::strategy with = pair.how;
        ts::configuration& own = with.ops[ts::to_size(op)];
        const ts::configuration before = own;
        own = with.ops[ts::to_size(maker)];
        own.stage = before.stage;
        if (!ts::check_strategy(g, with.view(), pair.devices)) {
            pair.how = with;
        }
    }
    return pair;
}

/// What a session makes of two steps, of the gradients of the last one, and of a prediction.
struct session_numbers {
    std::vector<std::vector<double>> all;
    std::size_t tasks = 0;
};

template <class Backend>
session_numbers numbers_of(const expression_network& x, const random_pair& pair, const ts::optimizer& update,
                           const batch_data& data, Backend& backend, bool fuse, int asked) {
    ts::workers threads(pair.devices);
    ts::session_options options;
    options.seed = 9;
    options.keep_gradients = true;
    options.fuse = fuse;
    const ts::graph_view g = x.network.view();
    ts::session<Backend> session(g, pair.how, pair.devices, update, options, backend, threads);
    session_numbers seen;
    const auto add = [&](const std::vector<float>& numbers) { seen.all.emplace_back(numbers.begin(), numbers.end()); };
    const std::vector<std::vector<ts::input_data>> batches(2, data.inputs);
    seen.all.push_back(session.steps(batches));
    for (int p = 0; p < g.parameter_count; ++p) {
        add(pair.how.steps_per_plan == 1 ? session.gradient(p) : std::vector<float>{});
        add(session.parameter(p));
    }
    seen.all.push_back({session.evaluate(data.inputs).loss});
    for (const int t : {asked, x.made.back()}) {
        const ts::reduced_network part = ts::reduced_to(g, {t});
        std::vector<ts::input_data> inputs;
        for (std::size_t i = 0; i < data.tensors.size(); ++i) {
            if (part.tensors[ts::to_size(data.tensors[i])] >= 0) {
                inputs.push_back(data.inputs[i]);
            }
        }
        add(session.predict(inputs, {t})[0].values);
    }
    for (const ts::task& t : session.training_plan().tasks) {
        seen.tasks += t.kind() == ts::task_kind::compute ? 1 : 0;
    }
    return seen;
}

/// What became of some pairs.
struct fusion_findings {
    int fused = 0; ///< pairs in which something was fused
    int pairs = 0;
    int refused = 0; ///< with and without, in the same words
    double worst = 0;
    std::vector<std::string> wrong;
};

/// Sessions that fuse against sessions that do not; `make(optimizer, seed)` makes a backend.
template <class Make>
fusion_findings hold_fused(std::uint64_t first, int pairs, double allowed, Make make) {
    fusion_findings found;
    coverage seen;
    for (std::uint64_t seed = first; found.pairs < pairs; ++seed) {
        const expression_network x = expression_maker(seed).run();
        const ts::graph_view g = x.network.view();
        const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
        const random_pair pair = draw_alike(g, how, seed, seen);
        random pick{seed};
        const int asked = x.made[ts::to_size(pick(static_cast<int>(x.made.size())))];
        const batch_data data(g, seed);
        ++found.pairs;
        const auto run = [&](bool fuse, session_numbers& to) -> std::string {
            try {
                auto backend = make(how, seed);
                to = numbers_of(x, pair, how, data, backend, fuse, asked);
                return {};
            } catch (const std::exception& e) {
                return e.what();
            }
        };
        session_numbers apart;
        session_numbers fused;
        const std::string refused = run(false, apart);
        const std::string why = run(true, fused);
        found.refused += refused.empty() ? 0 : 1;
        if (why != refused) {
            found.wrong.push_back(std::to_string(seed) + ": " + pair.what + ": " + why + ", and apart: " + refused);
            continue;
        }
        found.fused += fused.tasks < apart.tasks ? 1 : 0;
        double worst = 0;
        for (std::size_t i = 0; i < apart.all.size(); ++i) {
            worst = std::max(
                worst, apart.all[i].size() != fused.all[i].size() ? 1 : relative(fused.all[i], apart.all[i], 1e-4));
        }
        found.worst = std::max(found.worst, worst);
        if (!(worst <= allowed) || fused.tasks > apart.tasks) {
            found.wrong.push_back(std::to_string(seed) + ": " + pair.what + ": off by " + std::to_string(worst));
        }
    }
    return found;
}

} // namespace test_support
