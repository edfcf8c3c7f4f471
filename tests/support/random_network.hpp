// SPDX-License-Identifier: Apache-2.0
// Random networks as values: directed acyclic graphs of all kinds of operators, made at run time, so that no network is
// compiled for them.
#pragma once

#include "known_operators.hpp"
#include "random_strategy.hpp"

#include "tessera/net/graph_builder.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace test_support {

/// How many operators of each kind networks have, so that a test can say that none was forgotten.
using kind_counts = std::array<int, ts::to_size(op_kinds)>;

/// The operators that networks are drawn from: all but losses, or those that there were when plans were recorded, so
/// that they stay the same.
enum class drawn_from { all, recorded };

inline std::vector<ts::op_kind> drawn_kinds(drawn_from which) {
    constexpr std::string_view then[] = {"conv2d",
                                         "max_pool",
                                         "average_pool",
                                         "global_average_pool",
                                         "linear",
                                         "relu",
                                         "sigmoid",
                                         "tanh",
                                         "gelu",
                                         "add",
                                         "multiply",
                                         "concat",
                                         "flatten",
                                         "dropout",
                                         "channel_dropout",
                                         "batch_norm",
                                         "layer_norm",
                                         "softmax",
                                         "matmul",
                                         "embedding",
                                         "position_embedding",
                                         "slice",
                                         "transposed_conv2d",
                                         "expert_linear",
                                         "route"};
    std::vector<ts::op_kind> kinds;
    for (const ts::op_record* r : ts::library_operators) {
        const bool recorded = std::find(std::begin(then), std::end(then), r->name) != std::end(then);
        if (!r->facts.loss && (recorded || which == drawn_from::all)) {
            kinds.push_back({r});
        }
    }
    return kinds;
}

/// Grows one network: every new operator reads tensors that are there, the ones that nothing reads yet rather than
/// others.
class network_maker {
public:
    /// Of at most `most` operators before the losses.
    network_maker(std::uint64_t seed, int most, drawn_from which = drawn_from::all)
        : pick_{ts::op::mix(seed ^ 0xda6da6ULL)}, kinds_(drawn_kinds(which)), broadcasts_(which == drawn_from::all) {
        grow_.batch = 2 + pick_(5);
        add_input();
        if (pick_(3) == 0) {
            add_input();
        }
        const int wanted = 2 + pick_(most - 1);
        for (int tries = 0; grow_.op_count < wanted && tries < 20 * wanted; ++tries) {
            try_operator();
        }
        add_losses();
    }

    ts::graph take() const { return grow_.built(); }

private:
    static constexpr ts::index_t most_elements = 700; ///< of a tensor

    const ts::shape& extents(int t) const { return grow_.tensors[t].extents; }
    int rank(int t) const { return extents(t).rank; }
    int channels(int t) const { return static_cast<int>(extents(t)[ts::op::channel_dimension(rank(t))]); }

    void add_input() {
        const ts::index_t n = grow_.batch;
        switch (pick_(5)) {
        case 0:
            keep(grow_.add_input(ts::make_shape(n, 1 + pick_(9)), ts::element::f32, "features"));
            return;
        case 1:
            keep(grow_.add_input(ts::make_shape(n, 1 + pick_(5), 1 + pick_(6)), ts::element::f32, "sequence"));
            return;
        case 2:
            tokens_.push_back(grow_.add_input(ts::make_shape(n, 2 + pick_(4)), ts::element::i32,
                                              "tokens")); // someone must look them up
            embed(tokens_.back());
            return;
        default:
            if (broadcasts_ && pick_(3) == 0) { // there were none when plans were recorded
                keep(grow_.add_input(ts::make_shape(n, 1 + pick_(3), 1 + pick_(4), 1 + pick_(4), 1 + pick_(3)),
                                     ts::element::f32, "volume"));
                return;
            }
            keep(grow_.add_input(ts::make_shape(n, 1 + pick_(4), 1 + pick_(6), 1 + pick_(6)), ts::element::f32,
                                 "image"));
        }
    }

    void keep(int tensor) {
        if (tensor >= 0) {
            live_.push_back(tensor);
            used_.push_back(0);
        }
    }

    /// One of the tensors, those that nothing reads yet being likelier.
    std::size_t some_tensor() {
        std::size_t best = ts::to_size(pick_(static_cast<int>(live_.size())));
        for (int k = 0; k < 3 && used_[best] > 0; ++k) {
            best = ts::to_size(pick_(static_cast<int>(live_.size())));
        }
        return best;
    }

    void embed(int tokens) {
        ts::op_attributes a;
        a.kind = ts::op_kind::embedding;
        const int out = 1 + pick_(6);
        a.set(ts::op::embedding_attributes{.vocabulary = 2 + pick_(7), .out = out});
        keep(add(a, {tokens}));
    }

    /// Whether an operator takes inputs of these shapes, and makes no more than a network is to hold.
    static bool fits(const ts::op_attributes& a, const std::vector<ts::shape>& shapes) {
        const ts::inferred out = ts::infer(a, shapes.data(), static_cast<int>(shapes.size()));
        return !out.refused && out.output.volume() <= most_elements;
    }

    /// Its output, or -1 where it does not fit.
    int add(const ts::op_attributes& a, const std::vector<int>& inputs, ts::type_key key = 0, bool shared = false) {
        std::vector<ts::shape> shapes;
        for (const int x : inputs) {
            shapes.push_back(extents(x));
        }
        if (!fits(a, shapes)) {
            return -1;
        }
        return grow_.add_op(a, ts::to_text(a.kind), key != 0 ? key : ++last_key_, shared, inputs.data(),
                            static_cast<int>(inputs.size()));
    }

    /// What is drawn of an operator, whichever it is.
    struct drawn {
        ts::op_kind kind;
        bool frozen = false;
        ts::index_t out = 0, groups = 1, heads = 1, begin = 0, axis = -1, top = 1, percent = 0;
        ts::index_t window[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
        bool bias = false, count_padding = false, transposed[2] = {false, false}, scaled = false, causal = false,
             weighted = false;
        double number[2] = {0, 0}; ///< of an expression

        ts::op_attributes attributes() const {
            ts::op_attributes a = own();
            a.kind = kind;
            a.frozen = frozen;
            return a;
        }

    private:
        template <class Own>
        static ts::op_attributes of(const Own& x) {
            return ts::attributes_of({}, x);
        }
        ts::op_attributes own() const {
            constexpr double epsilon = 0.01; // a statistic of one or two numbers does not magnify rounding
            switch (known(kind)) {
            case known_op::conv2d:
            case known_op::transposed_conv2d:
                return of(windowed(ts::op::conv2d_attributes{.out = out, .groups = groups, .bias = bias}));
            case known_op::conv3d:
                return of(windowed(ts::op::conv3d_attributes{.out = out, .groups = groups, .bias = bias}));
            case known_op::max_pool3d:
                return of(windowed(ts::op::pool3d_attributes{}));
            case known_op::average_pool3d:
                return of(windowed(ts::op::average_pool3d_attributes{.count_padding = count_padding}));
            case known_op::max_pool:
                return of(windowed(ts::op::pool_attributes{}));
            case known_op::average_pool:
                return of(windowed(ts::op::average_pool_attributes{.count_padding = count_padding}));
            case known_op::linear:
                return of(ts::op::linear_attributes{.out = out, .bias = bias});
            case known_op::dropout:
            case known_op::channel_dropout:
            case known_op::stochastic_depth:
                return of(ts::op::dropout_attributes{.percent = percent});
            case known_op::matmul:
                return of(ts::op::matmul_attributes{
                    .heads = heads, .transposed = {transposed[0], transposed[1]}, .scaled = scaled});
            case known_op::softmax:
                return of(ts::op::softmax_attributes{.causal = causal});
            case known_op::concat:
                return of(ts::op::concat_attributes{.axis = axis});
            case known_op::slice:
                return of(ts::op::slice_attributes{.begin = begin, .out = out, .axis = axis});
            case known_op::expert_linear:
                return of(ts::op::expert_linear_attributes{.out = out, .groups = groups});
            case known_op::route:
                return of(ts::op::route_attributes{.slots = out, .top = top, .weighted = weighted});
            case known_op::keep_top:
                return of(ts::op::keep_top_attributes{.top = top});
            case known_op::batch_norm:
                return of(ts::op::batch_norm_attributes{.epsilon = epsilon});
            case known_op::layer_norm:
                return of(ts::op::layer_norm_attributes{.epsilon = epsilon});
            case known_op::rms_norm:
                return of(ts::op::rms_norm_attributes{.epsilon = epsilon});
            case known_op::instance_norm:
            case known_op::image_layer_norm:
            case known_op::pixel_norm:
                return of(ts::op::image_norm_attributes{.epsilon = epsilon});
            case known_op::fixed_batch_norm:
                return of(ts::op::fixed_batch_norm_attributes{.epsilon = epsilon});
            case known_op::rotary:
                return of(ts::op::rotary_attributes{.heads = heads});
            case known_op::bilinear:
                return of(ts::op::bilinear_attributes{.out = out});
            case known_op::leaky_relu:
            case known_op::elu:
            case known_op::power:
            case known_op::clamp:
            case known_op::scale:
            case known_op::add_constant:
                return of(ts::op::expression_attributes{.number = {number[0], number[1]}});
            default:
                return ts::op_attributes{};
            }
        }
        template <class Own>
        Own windowed(Own x) const {
            for (int d = 0; d < ts::op::windows_of(x).dimensions; ++d) {
                x.window[d] = window[d];
                x.stride[d] = stride[d];
                x.padding[d] = padding[d];
                x.dilation[d] = dilation[d];
            }
            return x;
        }
    };

    void set_window(drawn& a, bool transposed, int dimensions = 2) {
        for (int d = 0; d < dimensions; ++d) {
            a.window[d] = 1 + pick_(3);
            a.stride[d] = 1 + (pick_(3) == 0 ? 1 : 0);
            a.dilation[d] = !transposed && pick_(4) == 0 ? 2 : 1;
            a.padding[d] = pick_(static_cast<int>(a.window[d]));
        }
    }

    /// A divisor of `n`.
    int divisor(int n) {
        const int d = 1 + pick_(n);
        return n % d == 0 ? d : 1;
    }

    ts::op_attributes some_attributes(int x) {
        drawn a;
        constexpr ts::op_kind of_images[] = {ts::op_kind::conv2d,       ts::op_kind::max_pool,
                                             ts::op_kind::average_pool, ts::op_kind::transposed_conv2d,
                                             ts::op_kind::conv2d,       ts::op_kind::batch_norm};
        constexpr ts::op_kind of_volumes[] = {ts::op_kind::conv3d, ts::op_kind::max_pool3d, ts::op_kind::average_pool3d,
                                              ts::op_kind::conv3d, ts::op_kind::batch_norm};
        constexpr ts::op_kind of_sequences[] = {ts::op_kind::matmul, ts::op_kind::expert_linear, ts::op_kind::route,
                                                ts::op_kind::linear};
        a.kind = rank(x) == 4 && pick_(2) == 0   ? of_images[pick_(6)]
                 : rank(x) == 5 && pick_(2) == 0 ? of_volumes[pick_(5)]
                 : rank(x) == 3 && pick_(4) == 0 ? of_sequences[pick_(4)]
                                                 : kinds_[ts::to_size(pick_(static_cast<int>(kinds_.size())))];
        a.frozen = pick_(12) == 0;
        a.out = 1 + pick_(6);
        switch (known(a.kind)) {
        case known_op::conv2d:
        case known_op::conv3d:
            set_window(a, false, a.kind == ts::op_kind::conv3d ? 3 : 2);
            a.bias = pick_(2) == 0;
            if (pick_(3) == 0) {
                a.groups = divisor(channels(x));
                a.out = a.groups * (1 + pick_(2));
            }
            break;
        case known_op::transposed_conv2d:
            set_window(a, true);
            a.bias = pick_(2) == 0;
            break;
        case known_op::max_pool3d:
        case known_op::average_pool3d:
            set_window(a, false, 3);
            a.dilation[0] = a.dilation[1] = a.dilation[2] = 1;
            a.count_padding = a.kind == ts::op_kind::average_pool3d && pick_(2) == 0;
            break;
        case known_op::max_pool:
        case known_op::average_pool:
            set_window(a, false);
            a.dilation[0] = a.dilation[1] = 1;
            a.count_padding = a.kind == ts::op_kind::average_pool && pick_(2) == 0;
            a.out = 0;
            break;
        case known_op::linear:
            a.bias = pick_(3) != 0;
            break;
        case known_op::dropout:
        case known_op::channel_dropout:
        case known_op::stochastic_depth:
            a.percent = 10 + pick_(40);
            break;
        case known_op::rotary:
            a.heads = divisor((channels(x) + 1) / 2);
            break;
        case known_op::matmul:
            a.heads = pick_(3) == 0 ? divisor(channels(x)) : 1;
            a.transposed[0] = pick_(3) == 0;
            a.transposed[1] = pick_(2) == 0;
            a.scaled = pick_(2) == 0;
            break;
        case known_op::softmax:
            a.causal = pick_(3) == 0;
            break;
        case known_op::concat:
            a.axis = pick_(3) == 0 ? 1 : -1;
            break;
        case known_op::slice: {
            a.axis = pick_(3) == 0 ? 1 + pick_(rank(x) - 1) : -1;
            const int extent = static_cast<int>(extents(x)[ts::op::axis_of(a.axis, rank(x))]);
            a.begin = pick_(extent);
            a.out = 1 + pick_(extent - static_cast<int>(a.begin));
            break;
        }
        case known_op::expert_linear:
            a.groups = rank(x) == 3 ? divisor(static_cast<int>(extents(x)[1])) : 1;
            break;
        case known_op::route:
            a.out = 1 + pick_(3);
            a.top = 1 + pick_(2);
            a.weighted = pick_(3) != 0;
            break;
        case known_op::keep_top:
            a.top = 1 + pick_(2);
            break;
        case known_op::leaky_relu:
        case known_op::elu:
        case known_op::scale:
        case known_op::add_constant:
            a.number[0] = 0.25 * (1 + pick_(6));
            break;
        case known_op::power:
            a.number[0] = 2 + pick_(2);
            break;
        case known_op::clamp:
            a.number[0] = -0.3 * (1 + pick_(4));
            a.number[1] = 0.4 * (1 + pick_(4));
            break;
        case known_op::permute:
        case known_op::reshape:
        case known_op::broadcast_to:
        case known_op::pad:
        case known_op::crop:
        case known_op::roll:
        case known_op::flip:
        case known_op::upsample_nearest:
        case known_op::upsample_bilinear:
        case known_op::scatter_rows:
            return some_move(a.kind, x);
        default:
            break;
        }
        return a.attributes();
    }

    int extent(int x, int d) const { return static_cast<int>(extents(x)[d]); }

    /// What moves values, in dimensions behind the samples.
    ts::op_attributes some_move(ts::op_kind kind, int x) {
        const int d = 1 + pick_(rank(x) - 1);
        switch (known(kind)) {
        case known_op::permute: {
            ts::op::permute_attributes own{.rank = rank(x)};
            for (int k = 0; k < rank(x); ++k) {
                own.order[k] = k;
            }
            for (int k = rank(x) - 1; k > 1; --k) {
                std::swap(own.order[k], own.order[1 + pick_(k)]);
            }
            return ts::attributes_of(kind, own);
        }
        case known_op::reshape: {
            const int part = divisor(extent(x, rank(x) - 1));
            return ts::attributes_of(kind, rank(x) == 4   ? ts::op::reshape_attributes{{extent(x, 1), -1}, 2}
                                           : rank(x) == 3 ? ts::op::reshape_attributes{{extent(x, 1), part, -1}, 3}
                                                          : ts::op::reshape_attributes{{part, -1}, 2});
        }
        case known_op::broadcast_to: {
            ts::op::broadcast_to_attributes own{{}, rank(x) < 4 ? rank(x) : rank(x) - 1};
            for (int k = 0; k < own.rank; ++k) {
                own.extent[k] = -1;
            }
            if (rank(x) < 4) {
                own.extent[0] = 1 + pick_(3);
            }
            return ts::attributes_of(kind, own);
        }
        case known_op::pad: {
            ts::op::pad_attributes own;
            own.before[d] = pick_(3);
            own.after[d] = pick_(2);
            own.after[rank(x) - 1] += pick_(2);
            return ts::attributes_of(kind, own);
        }
        case known_op::crop: {
            ts::op::crop_attributes own;
            own.begin[d] = pick_(extent(x, d));
            own.out[d] = 1 + pick_(extent(x, d) - static_cast<int>(own.begin[d]));
            return ts::attributes_of(kind, own);
        }
        case known_op::roll: {
            ts::op::roll_attributes own;
            own.shift[d] = 1 + pick_(extent(x, d));
            own.shift[rank(x) - 1] -= pick_(2);
            return ts::attributes_of(kind, own);
        }
        case known_op::flip: {
            ts::op::flip_attributes own;
            own.turned[d] = 1;
            own.turned[rank(x) - 1] = pick_(2);
            return ts::attributes_of(kind, own);
        }
        case known_op::scatter_rows:
            return ts::attributes_of(kind, ts::op::scatter_attributes{1 + pick_(4), pick_(3)});
        default:
            return ts::attributes_of(kind, ts::op::upsample_attributes{{1 + pick_(2), 1 + pick_(2)}});
        }
    }

    void try_operator() {
        const std::size_t first = some_tensor();
        const int x = live_[first];
        if (pick_(14) == 0 && share(x, first)) {
            return;
        }
        const ts::op_attributes a = some_attributes(x);
        if (a.kind == ts::op_kind::embedding) {
            if (!tokens_.empty()) {
                embed(tokens_[ts::to_size(pick_(static_cast<int>(tokens_.size())))]);
            }
            return;
        }
        if (a.kind == ts::op_kind::gather_rows || a.kind == ts::op_kind::scatter_rows) {
            std::size_t place = first;
            for (std::size_t k = 0; k < live_.size() && rank(live_[place]) != 3; ++k) {
                place = k; // a sequence, wherever there is one
            }
            if (const int from = live_[place]; rank(from) == 3) {
                const ts::index_t rows = a.kind == ts::op_kind::scatter_rows ? extents(from)[1] : 1 + pick_(4);
                const ts::shape places = ts::make_shape(grow_.batch, rows);
                const int made = fits(a, {extents(from), places})
                                     ? add(a, {from, grow_.add_input(places, ts::element::i32, "index")})
                                     : -1;
                keep(made);
                used_[place] += made >= 0 ? 1 : 0;
            }
            return;
        }
        if (is_routed(a.kind)) {
            route(first);
            return;
        }
        if (a.kind == ts::op_kind::padded_softmax) {
            const ts::shape each = ts::make_shape(grow_.batch);
            if (fits(a, {extents(x), each})) {
                keep(add(a, {x, grow_.add_input(each, ts::element::i32, "lengths")}));
                ++used_[first];
            }
            return;
        }
        if (ts::record_of(a).uses != nullptr) { // one tensor in several places
            const std::vector<int> places(ts::to_size(ts::record_of(a).uses(a)), x);
            const int made = add(a, places);
            keep(made);
            used_[first] += made >= 0 ? 1 : 0;
            return;
        }
        std::vector<std::size_t> from{first};
        const int wanted = ts::record_of(a).inputs == 0 ? 2 + pick_(3) : ts::record_of(a).inputs;
        for (int tries = 0; static_cast<int>(from.size()) < wanted && tries < 12; ++tries) {
            const std::size_t other = tries > 8 && pick_(2) == 0 ? first : some_tensor(); // x + x too
            std::vector<int> inputs;
            ts::shape shapes[ts::max_inputs];
            for (const std::size_t k : from) {
                inputs.push_back(live_[k]);
            }
            inputs.push_back(live_[other]);
            for (std::size_t k = 0; k < inputs.size(); ++k) {
                shapes[k] = extents(inputs[k]);
            }
            const bool takes = broadcasts_ || ts::record_of(a).formula == nullptr || shapes[0] == shapes[1];
            if (takes && !ts::infer(a, shapes, static_cast<int>(inputs.size())).refused) {
                from.push_back(other);
            }
        }
        std::vector<int> inputs;
        for (const std::size_t k : from) {
            inputs.push_back(live_[k]);
        }
        const bool enough = static_cast<int>(inputs.size()) >= wanted; // or what is made for it is read by nobody
        const int made = add(a, enough ? tamed(a.kind, inputs) : inputs);
        if (made >= 0) {
            for (const std::size_t k : from) {
                ++used_[k];
            }
            keep(made);
        }
    }

    /// What reads or makes a table of slots: they come together.
    static bool is_routed(ts::op_kind kind) {
        return kind == ts::op_kind::token_slots || kind == ts::op_kind::dispatch_tokens ||
               kind == ts::op_kind::routed_linear || kind == ts::op_kind::combine_tokens;
    }

    /// A sequence by its own numbers, or by another sequence's, to as many experts as that has channels, and back.
    void route(std::size_t first) {
        std::size_t place = first;
        for (std::size_t k = 0; k < live_.size() && rank(live_[place]) != 3; ++k) {
            place = k;
        }
        const int x = live_[place];
        if (rank(x) != 3) {
            return;
        }
        const std::size_t other = some_tensor();
        const bool fit = rank(live_[other]) == 3 && extents(live_[other])[1] == extents(x)[1];
        const int gates = fit ? live_[other] : x;
        ts::op::token_slots_attributes own{.top = channels(gates) > 1 ? 1 + pick_(2) : 1};
        own.slots = pick_(3);
        own.factor = own.slots == 0 && pick_(2) == 0 ? 1.5 : 0;
        own.all = own.slots == 0 && own.factor == 0;
        const ts::op_attributes by = ts::attributes_of(ts::op_kind::token_slots, own);
        const ts::shape table = ts::infer(by, &extents(gates), 1).output;
        const ts::op_attributes inside =
            ts::attributes_of(ts::op_kind::routed_linear, ts::op::routed_linear_attributes{.out = 1 + pick_(5)});
        const ts::index_t rows = extents(x)[0] * table[1] * table[2];
        if (std::max(rows, extents(x)[0] * extents(x)[1]) * std::max<ts::index_t>(extents(x)[2], 5) > most_elements) {
            return;
        }
        const int slots = add(by, {gates});
        const int sent = add({.kind = ts::op_kind::dispatch_tokens}, {x, slots});
        const int made = pick_(4) != 0 ? add(inside, {sent, slots}) : sent;
        keep(add({.kind = ts::op_kind::combine_tokens}, {gates, slots, made}));
        ++used_[place];
        used_[other] += fit ? 1 : 0;
    }

    /// The inputs, or between 0.5 and 1.5 what has to be positive, and between -1 and 1 what would grow.
    std::vector<int> tamed(ts::op_kind kind, std::vector<int> inputs) {
        const bool positive = kind == ts::op_kind::log || kind == ts::op_kind::sqrt || kind == ts::op_kind::divide;
        if (positive) {
            const int between = add({.kind = ts::op_kind::sigmoid}, {inputs.back()});
            inputs.back() =
                add(ts::attributes_of(ts::op_kind::add_constant, ts::op::expression_attributes{.number = {0.5}}),
                    {between});
        } else if (kind == ts::op_kind::exp || kind == ts::op_kind::power) {
            inputs.back() = add({.kind = ts::op_kind::tanh}, {inputs.back()});
        }
        return inputs;
    }

    /// An earlier layer once more, with the same parameters, where they fit.
    bool share(int x, std::size_t place) {
        for (int op = 0; op < grow_.op_count; ++op) {
            const ts::op_node node = grow_.ops[op]; // nodes move when one is added
            const ts::op_kind k = node.attributes.kind;
            const bool dense = k == ts::op_kind::linear || k == ts::op_kind::conv2d || k == ts::op_kind::conv3d ||
                               k == ts::op_kind::layer_norm;
            if (dense && rank(node.inputs[0]) == rank(x) && channels(node.inputs[0]) == channels(x)) {
                const int made = add(node.attributes, {x}, node.key, true);
                keep(made);
                used_[place] += made >= 0 ? 1 : 0;
                return made >= 0;
            }
        }
        return false;
    }

    /// What nothing reads goes into a loss: each into its own, or, of many, joined into one.
    void add_losses() {
        std::vector<int> loose;
        for (std::size_t k = 0; k < live_.size(); ++k) {
            if (used_[k] == 0) {
                loose.push_back(live_[k]);
            }
        }
        bool for_training = false;
        for (int p = 0; p < grow_.parameter_count; ++p) {
            for_training = for_training || grow_.parameters[p].trained;
        }
        const std::size_t alone = for_training ? ts::to_size(1 + pick_(2)) : 0;
        std::vector<int> flat;
        while (loose.size() > alone) {
            const int x = loose.back();
            loose.pop_back();
            ts::op_attributes a;
            a.kind = ts::op_kind::flatten;
            flat.push_back(rank(x) == 2 ? x : grow_.add_op(a, "flatten", ++last_key_, false, &x, 1)); // of any size
        }
        while (flat.size() > 1) {
            ts::op_attributes a;
            a.kind = ts::op_kind::concat;
            std::vector<int> together;
            while (!flat.empty() && together.size() < 4) {
                together.push_back(flat.back());
                flat.pop_back();
            }
            const int made =
                grow_.add_op(a, "concat", ++last_key_, false, together.data(), static_cast<int>(together.size()));
            flat.insert(flat.begin(), made);
        }
        if (!flat.empty()) {
            ts::op_attributes a;
            a.kind = ts::op_kind::linear;
            a.set(ts::op::linear_attributes{.out = 2 + pick_(4), .bias = true});
            loose.push_back(add(a, {flat[0]}));
        }
        for (const int x : loose) {
            ts::op_attributes a;
            a.kind = ts::op_kind::cross_entropy;
            a.weight = pick_(2) == 0 ? 1.0 : 0.25 * (1 + pick_(6));
            const int labels = grow_.add_input(ts::op::rows_of(extents(x)), ts::element::i32, "labels");
            add(a, {x, labels});
        }
    }

    ts::graph_builder grow_;
    random pick_;
    std::vector<ts::op_kind> kinds_;
    bool broadcasts_ = true;
    std::vector<int> live_;   ///< tensors of numbers
    std::vector<int> used_;   ///< how often each is read
    std::vector<int> tokens_; ///< inputs of integers
    ts::type_key last_key_ = 0;
};

/// A network of between 3 and about `most` operators and its losses, tiny enough to be run a thousand times a second.
inline ts::graph random_network(std::uint64_t seed, int most = 9, drawn_from which = drawn_from::all) {
    return network_maker(seed, most, which).take();
}

inline void count_kinds(const ts::graph_view& g, kind_counts& counts) {
    for (int op = 0; op < g.op_count; ++op) {
        ++counts[ts::to_size(number_of(g.ops[op].attributes.kind))];
    }
}

} // namespace test_support
