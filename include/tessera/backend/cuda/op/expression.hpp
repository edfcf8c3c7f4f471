// SPDX-License-Identifier: Apache-2.0
// Operators that are expressions: kernels whose text follows from them. Rows of those of the library that are no vendor's calls are made by
// expression_row(); one of one's own has its row here when it is first asked for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/expression.hpp"
#include "tessera/base/mutex.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/op/expression/record.hpp"

#include <map>
#include <memory>

namespace tessera::cuda {

namespace detail {

/// The dimensions that a tile of an operand has of those of the output, as bits, that of the last one first.
inline std::int64_t dimensions_of(const shard_call& s, int o) {
    const shape& y = s.d.operands[s.output()].extents;
    const operand& x = s.d.operands[o];
    std::int64_t all = 0;
    for (int k = 0; k < x.extents.rank; ++k) {
        const int d = op::broadcast_to_dimension(k, x.extents.rank, y.rank);
        all |= x.dim[k].terms.empty() ? 0 : std::int64_t{1} << (y.rank - 1 - d);
    }
    return all;
}

/// What the kernels of inputs that are broadcast are given; see kernels/expression.hpp.
inline void fill_broadcast(kernel_numbers& n, const shard_call& s, const kernel_leaves& leaves, int which) {
    const box all = s.region_of(s.output());
    for (int d = 0; d < max_rank; ++d) {
        const int k = d - (max_rank - all.rank);
        n.n[1 + d] = k < 0 ? 1 : all.dim[k].size();
    }
    const std::int64_t every = dimensions_of(s, s.output());
    const std::int64_t written = which < 0 ? every : dimensions_of(s, which);
    n.n[0] = s.volume(which < 0 ? s.output() : which);
    n.n[broadcast_written] = written;
    n.n[broadcast_summed] = every & ~written;
    n.n[broadcast_points] = all.volume() / n.n[0];
    for (int k = 0; k < leaves.count; ++k) {
        n.n[broadcast_leaves + k] = leaves.at[k] < s.output() ? dimensions_of(s, leaves.at[k]) : every;
    }
}

/// One pass of an operator as the launch of a kernel of its formula; `which` is expression::the_result or an input.
inline void launch_expression(const shard_call& s, const kernel& k, int which) {
    const expression::formula& f = *record_of(s.attributes()).formula;
    index_t count = s.volume(s.output());
    const kernel_leaves leaves = leaves_of(f, which);
    std::vector<memory_use> memory;
    for (int p = 0; p < leaves.count; ++p) {
        memory.push_back(leaves.at[p] > f.inputs ? s.gradient(s.output()) : s.value(leaves.at[p]));
    }
    memory.push_back(which < 0 ? s.value_to(s.output()) : s.gradient_to(which));
    kernel_numbers numbers = count_of(count);
    if (op::is_broadcast(s.d)) {
        fill_broadcast(numbers, s, leaves, which);
        count = numbers.n[0];
    }
    const auto attributes = s.attributes().as<op::expression_attributes>();
    for (int a = 0; a < f.attributes; ++a) {
        numbers.f[a] = attributes.number[a];
    }
    numbers.f[expression::most_attributes] = f.loss ? s.call.loss_scale : 0;
    s.to.launch(k, static_cast<std::vector<memory_use>&&>(memory), numbers, count);
}

/// A text that is put together while the program is compiled.
template <int Most>
struct short_text {
    char text[Most + 1] = {};
    int size = 0;

    constexpr short_text& operator<<(const char* more) {
        for (; *more != 0; ++more) {
            text[size++] = *more;
        }
        return *this;
    }
};
using short_name = short_text<80>;
using table_words = short_text<400>;

/// The kernels of an operator of the library: their names, and how the operator table calls them.
template <const op_record& Of>
struct expression_kernels {
    template <int Which, bool Broadcast>
    static constexpr short_name name = short_name() << Of.name << kernel_suffix(*Of.formula, Which, Broadcast);
    template <int Which, bool Broadcast>
    static constexpr kernel of{name<Which, Broadcast>.text, true};
    template <int Which>
    static const kernel& choose(bool broadcast) {
        if (broadcast) {
            return of<Which, true>;
        }
        return of<Which, false>;
    }

    static constexpr bool has_broadcast = Of.formula->inputs > 1 && !Of.formula->loss;
    /// Those of some passes, as the table has them, behind others.
    static constexpr table_words words(const char* others, int from, int to, bool plain) {
        table_words all;
        all << others;
        for (const bool broadcast : {false, true}) {
            for (int which = from; which < to && (broadcast ? has_broadcast : plain); ++which) {
                all << (all.size > 0 ? " kernel:" : "kernel:") << Of.name
                    << kernel_suffix(*Of.formula, which, broadcast);
            }
        }
        return all.size > 0 ? all : all << "-"; // plans rename the gradient instead
    }
    static constexpr table_words forward = words("", expression::the_result, 0, true);
    static constexpr table_words backward = words("", 0, Of.formula->inputs, !Of.facts.passes_gradient);
};

template <const op_record& Of>
void expression_forward(const shard_call& s) {
    using all = expression_kernels<Of>;
    const bool broadcast = all::has_broadcast && op::is_broadcast(s.d);
    launch_expression(s, all::template choose<expression::the_result>(broadcast), expression::the_result);
}
template <const op_record& Of, int Which = 0>
void expression_backward(const shard_call& s) {
    using all = expression_kernels<Of>;
    if (s.emits(Which)) {
        const bool broadcast = all::has_broadcast && op::is_broadcast(s.d);
        launch_expression(s, all::template choose<Which>(broadcast), Which);
    }
    if constexpr (Which + 1 < Of.formula->inputs) {
        expression_backward<Of, Which + 1>(s);
    }
}

/// The row of an operator of the library that is an expression.
template <const op_record& Of>
constexpr operator_row expression_row(const char* why = "one kernel, whose text is made of its expression") {
    return {.of = &Of,
            .forward = expression_forward<Of>,
            .backward = expression_backward<Of>,
            .calls_forward = expression_kernels<Of>::forward.text,
            .calls_backward = expression_kernels<Of>::backward.text,
            .why = why,
            .text = [] { return kernels_text(Of.name, *Of.formula); }};
}

/// An operator of one's own: its kernels, and the text that they are in.
struct own_expression {
    std::string names[1 + expression::most_inputs];
    std::string broadcast_names[1 + expression::most_inputs];
    std::string text;
    kernel kernels[1 + expression::most_inputs]{};
    kernel broadcast[1 + expression::most_inputs]{}; ///< of inputs that are broadcast
    operator_row row{};
    std::string calls_backward;
    std::string calls_forward;
};

/// Letters and digits of a name, and a hash where it has others: what a kernel may be called.
inline std::string identifier_of(std::string_view name) {
    std::string plain = "own_";
    for (const char c : name) {
        const bool fits = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        plain += fits ? c : '_';
    }
    char hash[20];
    std::snprintf(hash, sizeof hash, "_%08x", static_cast<unsigned>(tessera::detail::hash_text(name)));
    return plain + hash;
}

inline const own_expression& own_expression_of(const op_record& r);

inline void own_expression_forward(const shard_call& s) {
    const own_expression& own = own_expression_of(record_of(s.attributes()));
    launch_expression(s, (op::is_broadcast(s.d) ? own.broadcast : own.kernels)[0], expression::the_result);
}
inline void own_expression_backward(const shard_call& s) {
    const own_expression& own = own_expression_of(record_of(s.attributes()));
    for (int k = 0; k < record_of(s.attributes()).formula->inputs; ++k) {
        if (s.emits(k)) {
            launch_expression(s, (op::is_broadcast(s.d) ? own.broadcast : own.kernels)[1 + k], k);
        }
    }
}

/// Made once for a process; the record must have a formula, and lives as long.
inline const own_expression& own_expression_of(const op_record& r) {
    static mutex one_at_a_time;
    static std::map<std::string, std::unique_ptr<own_expression>> known;
    const locked lock(one_at_a_time);
    std::unique_ptr<own_expression>& found = known[r.name];
    if (found == nullptr) {
        found = std::make_unique<own_expression>();
        own_expression& own = *found;
        const std::string name = identifier_of(r.name);
        own.text = kernels_text(name, *r.formula);
        for (int k = 0; k <= r.formula->inputs; ++k) {
            own.names[k] = kernel_name(name, *r.formula, k - 1);
            own.kernels[k] = {own.names[k].c_str(), true, own.text.c_str()};
            own.broadcast_names[k] = kernel_name(name, *r.formula, k - 1, true);
            own.broadcast[k] = {own.broadcast_names[k].c_str(), true, own.text.c_str()};
            (k == 0 ? own.calls_forward : own.calls_backward) += (k > 1 ? " kernel:" : "kernel:") + own.names[k];
        }
        own.calls_forward += r.facts.loss ? " kernel:count_not_finite" : "";
        own.row.of = &r;
        own.row.forward = own_expression_forward;
        own.row.backward = own_expression_backward;
        own.row.calls_forward = own.calls_forward.c_str();
        own.row.calls_backward = own.calls_backward.c_str();
        own.row.why = "an expression of one's own";
    }
    return *found;
}

} // namespace detail

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
