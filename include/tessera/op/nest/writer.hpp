// SPDX-License-Identifier: Apache-2.0
// What the body of an operator is called with: it names loops, inputs and parameters, and writes the nests down.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"
#include "tessera/op/nest/program.hpp"

#include <array>

namespace tessera::nests {

/// Not for constant expressions: compilers name them where a body writes too much, or what has no meaning.
inline void an_operator_has_too_many_loops_operands_nests_or_numbers() { __builtin_abort(); }
inline void a_loop_has_an_extent_by_itself_or_indexes_an_input_by_itself() { __builtin_abort(); }
inline void a_loop_is_in_no_index_of_the_output_sum_over_it() { __builtin_abort(); }

/// An index of an operand in one of its dimensions: a loop, or sums of loops times whole numbers.
struct index_of {
    affine a;

    friend constexpr index_of operator+(index_of x, const index_of& y) {
        for (const affine::term& t : y.a.terms) {
            x.a.terms.push_back(t);
        }
        x.a.offset += y.a.offset;
        return x;
    }
    friend constexpr index_of operator+(index_of x, index_t by) {
        x.a.offset += by;
        return x;
    }
    friend constexpr index_of operator-(const index_of& x, index_t by) { return x + -by; }
    friend constexpr index_of operator*(index_t by, index_of x) {
        for (affine::term& t : x.a.terms) {
            t.coefficient *= by;
        }
        x.a.offset *= by;
        return x;
    }
};

struct loop_handle : index_of {
    int loop = -1;

    constexpr loop_handle() = default;
    constexpr explicit loop_handle(int l) : index_of{tessera::detail::describer::at(l)}, loop(l) {}
};

/// Some loops, one after the other.
struct loop_list {
    fixed_vector<loop_handle, max_rank> all;

    constexpr loop_list() = default;
    constexpr loop_list(const loop_handle& one) { all.push_back(one); }
    template <class... More>
    constexpr loop_list(const loop_handle& one, const loop_handle& two, const More&... more) {
        all.push_back(one);
        all.push_back(two);
        (all.push_back(more), ...);
    }
    constexpr int size() const { return all.size(); }
    constexpr loop_handle operator[](int i) const { return all[i]; }
    constexpr loop_handle last() const { return all[size() - 1]; }
    constexpr loop_list without_last() const {
        loop_list l;
        for (int i = 0; i + 1 < size(); ++i) {
            l.all.push_back(all[i]);
        }
        return l;
    }
    constexpr loop_list without(int number) const {
        loop_list l;
        for (int i = 0; i < size(); ++i) {
            i != number ? l.all.push_back(all[i]) : false;
        }
        return l;
    }
};

class nest_writer {
public:
    using value = expression::value;

    /// `shapes`: of the inputs; null: the program is asked for, and extents are made up.
    constexpr nest_writer(const shape* shapes, int count, int rank) : shapes_(shapes), count_(count), rank_(rank) {}
    nest_writer(const nest_writer&) = delete;
    nest_writer& operator=(const nest_writer&) = delete;

    // ---- loops ------------------------------------------------------------------------------------------------------

    /// Loops by name: auto [n, c] = w.loops(sample, channel). The inputs' extents are theirs.
    template <class... Name>
    constexpr std::array<loop_handle, sizeof...(Name)> loops(Name... names) {
        return {loop(names, unbound)...};
    }
    /// A loop whose extent is given.
    constexpr loop_handle loop(loop_name name, index_t extent, bool whole = false) {
        if (!w_.d.loops.push_back({name, extent, whole})) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
        return loop_handle(w_.d.loops.size() - 1);
    }
    /// One that is never split: a window.
    constexpr loop_handle window(loop_name name, index_t extent) { return loop(name, extent, true); }
    /// A loop for each dimension of the first input, named as those of element-wise operators are.
    constexpr loop_list dimensions() {
        loop_list all;
        for (int k = 0; k < rank(); ++k) {
            all.all.push_back(loop(op::dimension_name(k, rank()), unbound));
        }
        return all;
    }
    /// The rank of the first input.
    constexpr int rank() {
        asks_rank_ = true;
        return rank_;
    }
    /// The extent of an input in one of its dimensions.
    constexpr index_t extent(int input, int dimension) {
        if (shapes_ != nullptr && input < count_ && dimension >= shapes_[input].rank) {
            refuse(rule::input_has_wrong_rank, shapes_[input].rank, dimension + 1);
        }
        return shapes_ == nullptr                 ? made_up
               : input >= count_                  ? 1
               : dimension >= shapes_[input].rank ? 1
                                                  : shapes_[input][dimension];
    }

    // ---- operands ---------------------------------------------------------------------------------------------------

    /// The next input, at this index.
    template <class... Index>
    constexpr value input(const Index&... at) {
        const int slot = inputs_++;
        const int o = add(operand_kind::input, slot, element::f32);
        affine dims[max_rank];
        const int rank = gather(dims, at...);
        if (shapes_ != nullptr && slot < count_ && shapes_[slot].rank != rank) {
            refuse(rule::input_has_wrong_rank, shapes_[slot].rank, rank);
        }
        for (int k = 0; k < rank; ++k) {
            const index_t found = slot < count_ && shapes_ != nullptr && k < shapes_[slot].rank ? shapes_[slot][k]
                                  : shapes_ != nullptr && slot >= count_                        ? image(dims[k])
                                                                                                : made_up;
            bind(dims[k], found);
            w_.index(o, found, dims[k]);
        }
        return leaf(o);
    }
    /// The next input, at this index: integers from 0 to below a loop's extent.
    template <class... Index>
    constexpr value integers(const loop_handle& below, const Index&... at) {
        if (inputs_ < max_inputs) {
            counted_[inputs_] = below.loop;
        }
        const value x = input(at...);
        operand& o = w_.d.operands[w_.d.operands.size() - 1];
        o.type = element::i32;
        o.differentiable = false;
        return x;
    }
    /// The label of rows that do not count, which may be none of the integers: it is told from them by ==.
    constexpr value ignored(index_t label) {
        ignores_ = true;
        ignored_ = label;
        return number(static_cast<double>(label));
    }
    /// The next parameter, at this index, which is set from outside and not trained: no gradient reaches it.
    template <class... Index>
    constexpr value constant_parameter(initial_values initial, const Index&... at) {
        const value x = parameter(initial, at...);
        w_.d.operands[w_.d.operands.size() - 1].differentiable = false;
        return x;
    }
    /// The next input, at this index: integers from 0 to a loop's extent, such as how many of its points count.
    template <class... Index>
    constexpr value counts(const loop_handle& up_to, const Index&... at) {
        if (inputs_ < max_inputs) {
            counts_[inputs_] = true;
        }
        return integers(up_to, at...);
    }
    /// The next parameter, at this index; what it holds before training.
    template <class... Index>
    constexpr value parameter(initial_values initial, const Index&... at) {
        if (parameters_ < 3) {
            initial_[parameters_] = initial;
        }
        const int o = add(operand_kind::parameter, parameters_++, element::f32);
        put_index(o, at...);
        return leaf(o);
    }
    /// How many points a loop has; its index at a point; a number that depends on attributes.
    constexpr value size(const loop_handle& l) { return scalar_leaf({scalar_kind::extent, l.loop, 0}); }
    constexpr value size(const loop_list& l) {
        value all = size(l[0]);
        for (int i = 1; i < l.size(); ++i) {
            all = all * size(l[i]);
        }
        return all;
    }
    constexpr value index(const loop_handle& l) { return scalar_leaf({scalar_kind::index, l.loop, 0}); }
    constexpr value number(double x) { return scalar_leaf({scalar_kind::number, -1, x}); }

    /// Refuses a use of the operator.
    constexpr void require(bool holds, rule broken, index_t found, index_t needed, loop_name where) {
        if (!holds && shapes_ != nullptr) {
            refuse(broken, found, needed, static_cast<int>(where));
        }
    }

    // ---- nests ------------------------------------------------------------------------------------------------------

    /// The sum of an expression over some loops, for every point of the others that it depends on. It is taken in
    /// double.
    constexpr value sum(const loop_list& over, const value& x) { return reduce(over, x, reducer::sum, element::f64); }
    constexpr value mean(const loop_list& over, const value& x) { return sum(over, x) / size(over); }
    /// The largest; its gradient goes to the first of equal ones.
    constexpr value max(const loop_list& over, const value& x) { return reduce(over, x, reducer::max, element::f32); }

    /// What the operator makes: w.output(n, c) = an expression.
    struct place {
        nest_writer& w;
        constexpr void operator=(const value& x) const { w.write(x); }
    };
    template <class... Index>
    constexpr place output(const Index&... at) {
        affine dims[max_rank];
        const int rank = gather(dims, at...);
        output_.rank = rank;
        for (int k = 0; k < rank; ++k) {
            output_index_[k] = dims[k];
        }
        return {*this};
    }

    /// What a loss makes, such as a number for each sample: w.loss(n) = an expression, whose mean over the global batch
    /// is minimized.
    template <class... Index>
    constexpr place loss(const Index&... at) {
        is_loss_ = true;
        return output(at...);
    }

    // ---- what has been written --------------------------------------------------------------------------------------

    constexpr problem refused() const { return refused_; }
    constexpr const description& described() const { return w_.d; }
    constexpr const shape& output_shape() const { return output_; }
    constexpr const fixed_vector<scalar, max_scalars>& scalars() const { return placed_scalars_; }
    constexpr const fixed_vector<nest_pass, max_nests>& passes() const { return passes_; }
    constexpr int inputs() const { return inputs_; }
    constexpr bool asks_rank() const { return asks_rank_; }
    constexpr bool is_loss() const { return is_loss_; }
    /// How many integers an input may hold; 0: it holds numbers.
    constexpr index_t count_of_integers(int slot) const {
        return counted_[slot] < 0 ? 0 : extent_of(counted_[slot]) + (counts_[slot] ? 1 : 0);
    }
    constexpr initial_values initial(int k) const { return initial_[k]; }
    /// Whether there is a label of rows that do not count, and which.
    constexpr bool ignores() const { return ignores_; }
    constexpr index_t ignored_label() const { return ignored_; }

private:
    static constexpr index_t unbound = -1;
    static constexpr index_t made_up = 12; // which many numbers divide

    constexpr void refuse(rule broken, index_t found_number, index_t needed, int dimension = -1) {
        if (!refused_) {
            refused_ = problem{broken, -1, dimension, found_number, needed};
        }
    }
    constexpr index_t extent_of(int l) const {
        const index_t e = w_.d.loops[l].extent;
        return e == unbound ? made_up : e;
    }

    // The dimensions of an index, of which some may be lists of loops.
    static constexpr void gather_one(affine (&to)[max_rank], int& rank, const index_of& i) {
        if (rank == max_rank) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
        to[rank++] = i.a;
    }
    static constexpr void gather_one(affine (&to)[max_rank], int& rank, const loop_list& l) {
        for (const loop_handle& h : l.all) {
            gather_one(to, rank, static_cast<const index_of&>(h));
        }
    }
    template <class... Index>
    static constexpr int gather(affine (&to)[max_rank], const Index&... at) {
        int rank = 0;
        (gather_one(to, rank, at), ...);
        return rank;
    }
    static constexpr bool is_loop(const affine& a) {
        return a.terms.size() == 1 && a.terms[0].coefficient == 1 && a.offset == 0;
    }
    /// A loop that indexes an input by itself has its extent.
    constexpr void bind(const affine& a, index_t found) {
        if (!is_loop(a)) {
            return;
        }
        tessera::loop& l = w_.d.loops[a.terms[0].loop];
        if (l.extent == unbound) {
            l.extent = found;
        } else if (l.extent != found && shapes_ != nullptr) {
            refuse(rule::extents_differ, found, l.extent, static_cast<int>(l.name));
        }
    }
    /// The extent of a dimension that an index fills.
    constexpr index_t image(const affine& a) const {
        index_t last = a.offset;
        for (const affine::term& t : a.terms) {
            last += t.coefficient * (extent_of(t.loop) - 1);
        }
        return last + 1;
    }
    template <class... Index>
    constexpr void put_index(int o, const Index&... at) {
        affine dims[max_rank];
        const int rank = gather(dims, at...);
        for (int k = 0; k < rank; ++k) {
            w_.index(o, image(dims[k]), dims[k]);
        }
    }
    constexpr int add(operand_kind kind, int slot, element type) {
        if (w_.d.operands.size() == max_operands) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
        return w_.add_operand(kind, slot, type);
    }
    constexpr value leaf(int o) { return {nodes_, nodes_.put_leaf(expression::opcode::input, o)}; }
    constexpr value scalar_leaf(const scalar& s) {
        int at = -1;
        for (int i = 0; i < scalars_.size(); ++i) {
            at = s.kind != scalar_kind::number && scalars_[i].is_like(s) ? i : at;
        }
        if (at < 0) {
            at = scalars_.size();
            if (!scalars_.push_back(s)) {
                an_operator_has_too_many_loops_operands_nests_or_numbers();
            }
        }
        return leaf(first_scalar + at);
    }

    /// The loops that a node depends on.
    constexpr std::uint32_t loops_of_node(int root) const {
        std::uint32_t mask = 0;
        const std::uint64_t needed = expression::nodes_for(nodes_, root);
        for (int i = 0; i <= root; ++i) {
            const expression::node& n = nodes_.nodes[i];
            if ((needed >> static_cast<unsigned>(i) & 1U) == 0 || n.what != expression::opcode::input) {
                continue;
            }
            const int slot = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
            if (slot < first_pending) {
                mask |= loops_of(w_.d.operands[slot]);
            } else if (slot < first_scalar) {
                mask |= pending_[slot - first_pending].kept;
            } else if (scalars_[slot - first_scalar].kind == scalar_kind::index) {
                mask |= bit(scalars_[slot - first_scalar].loop);
            }
        }
        return mask;
    }
    constexpr value reduce(const loop_list& over, const value& x, reducer reduction, element type) {
        const int root = expression::detail::node_on(nodes_, x);
        std::uint32_t reduced = 0;
        for (const loop_handle& h : over.all) {
            reduced |= bit(h.loop);
        }
        const std::uint32_t loops = loops_of_node(root) | reduced;
        if (!pending_.push_back({root, loops, loops & ~reduced, reduction, type, -1})) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
        return leaf(first_pending + pending_.size() - 1);
    }

    // A body's calls within one expression come in any order (compilers differ). So what they have written is numbered
    // anew, in the order in which the output's expression names it.

    /// The number of a leaf in the program. An intermediate's nest comes before those that read it.
    constexpr int placed_slot(int slot) {
        if (slot >= first_scalar) {
            int& to = placed_scalar_[slot - first_scalar];
            if (to < 0) {
                to = placed_scalars_.size();
                placed_scalars_.push_back(scalars_[slot - first_scalar]);
            }
            return first_scalar + to;
        }
        if (slot < first_pending) {
            return slot;
        }
        pending& p = pending_[slot - first_pending];
        if (p.operand < 0) {
            nest_pass pass = pass_of(p.root, p.loops, p.how);
            int number = 0;
            for (const operand& o : w_.d.operands) {
                number += o.kind == operand_kind::intermediate ? 1 : 0;
            }
            const int o = add(operand_kind::intermediate, number, p.type);
            for (int l = 0; l < w_.d.loops.size(); ++l) {
                if (has(p.kept, l)) {
                    w_.index(o, extent_of(l), l);
                }
            }
            if (p.kept == 0) { // one number
                w_.index(o, 1, affine{});
            }
            p.operand = o;
            finish(pass, o);
        }
        return p.operand;
    }
    constexpr int placed_node(int i, expression::tape& to, int (&where)[expression::max_nodes]) {
        if (where[i] < 0) {
            expression::node n = nodes_.nodes[i];
            for (int k = 0; k < expression::operands_of(n.what); ++k) {
                n.of[k] = static_cast<std::int8_t>(placed_node(n.of[k], to, where));
            }
            if (n.what == expression::opcode::input) {
                n.of[0] = static_cast<std::int8_t>(placed_slot(n.of[0]));
            }
            where[i] = to.put(n);
        }
        return where[i];
    }
    constexpr nest_pass pass_of(int root, std::uint32_t loops, reducer reduction) {
        nest_pass p;
        int where[expression::max_nodes] = {};
        for (int& w : where) {
            w = -1;
        }
        p.root = placed_node(root, p.nodes, where);
        p.loops = loops;
        p.reduce = reduction;
        return p;
    }
    constexpr void finish(nest_pass& p, int target) {
        p.target = target;
        note_reads(p, w_.d);
        if (!passes_.push_back(p)) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
    }
    /// Extents that follow from loops, as a body may name the output and parameters before the inputs that give loops
    /// their extents: the two sides of an assignment are evaluated in the one order or the other (GCC 12 takes the left
    /// side first in constant expressions).
    constexpr void set_extents() {
        for (int k = 0; k < output_.rank; ++k) {
            output_.extent[k] = image(output_index_[k]);
        }
        for (operand& o : w_.d.operands) {
            for (int k = 0; o.kind == operand_kind::parameter && k < o.extents.rank; ++k) {
                o.extents.extent[k] = image(o.dim[k]);
            }
        }
    }
    constexpr void write(const value& x) {
        set_extents();
        for (tessera::loop& l : w_.d.loops) {
            if (l.extent == unbound) {
                a_loop_has_an_extent_by_itself_or_indexes_an_input_by_itself();
            }
            if (l.extent < 1) {
                refuse(rule::extent_is_zero, l.extent, 1, static_cast<int>(l.name));
            }
        }
        const int root = expression::detail::node_on(nodes_, x);
        const std::uint32_t loops = loops_of_node(root);
        std::uint32_t indexed = 0;
        for (int k = 0; k < output_.rank; ++k) {
            for (const affine::term& t : output_index_[k].terms) {
                indexed |= bit(t.loop);
            }
        }
        if ((loops & ~indexed) != 0) {
            a_loop_is_in_no_index_of_the_output_sum_over_it();
        }
        // The last sum goes into the output itself.
        const expression::node& n = nodes_.nodes[root];
        const int last = n.what == expression::opcode::input && n.of[0] >= first_pending && n.of[0] < first_scalar
                             ? n.of[0] - first_pending
                             : -1;
        const bool is_sum = last >= 0 && pending_[last].how == reducer::sum && pending_[last].kept == indexed;
        nest_pass pass = is_sum ? pass_of(pending_[last].root, pending_[last].loops, reducer::sum)
                                : pass_of(root, indexed, reducer::none);
        const int o = add(operand_kind::output, 0, element::f32);
        for (int k = 0; k < output_.rank; ++k) {
            w_.index(o, output_.extent[k], output_index_[k]);
        }
        finish(pass, o);
    }

    static constexpr int first_pending = 16; ///< leaves that are intermediates while the body writes
    struct pending {
        int root = -1;
        std::uint32_t loops = 0;
        std::uint32_t kept = 0; ///< those of the intermediate's index
        reducer how = reducer::none;
        element type = element::f32;
        int operand = -1;
    };

    const shape* shapes_;
    int count_;
    int rank_;
    bool asks_rank_ = false;
    bool is_loss_ = false;
    bool ignores_ = false;
    index_t ignored_ = 0;
    int counted_[max_inputs] = {-1, -1, -1, -1, -1, -1, -1, -1};
    bool counts_[max_inputs] = {};
    tessera::detail::describer w_;
    expression::tape nodes_;
    fixed_vector<scalar, max_scalars> scalars_;
    fixed_vector<nest_pass, max_nests> passes_;
    fixed_vector<pending, max_nests> pending_;
    fixed_vector<scalar, max_scalars> placed_scalars_;
    int placed_scalar_[max_scalars] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    shape output_;
    affine output_index_[max_rank];
    problem refused_{};
    initial_values initial_[3] = {};
    int inputs_ = 0;
    int parameters_ = 0;
};

} // namespace tessera::nests

#include "tessera/base/end_header.inl"
