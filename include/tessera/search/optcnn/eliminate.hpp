// SPDX-License-Identifier: Apache-2.0
// The search of OptCNN (Jia, Lin, Qi, Aiken, ICML 2018): node and edge eliminations to a fixpoint, exact enumeration of
// what is left, and the eliminations undone in reverse.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/elimination_order.hpp"
#include "tessera/search/optcnn/min_plus.hpp"

#include <algorithm>
#include <limits>

namespace tessera::search {

struct elimination_solution : solution {
    elimination_statistics statistics;
};

struct elimination_options {
    bool leaf_rule = true; ///< false: exactly the paper's eliminations
    std::int64_t budget = default_budget;
};

namespace detail {

/// What the eliminations of an order amount to.
template <class Problem>
elimination_statistics count_eliminations(const run_time_order<Problem>& order) {
    elimination_statistics count;
    for (const int unary : order.unary) {
        count.remaining += unary >= 0;
    }
    for (int s = 0; s < order.step_count; ++s) {
        const elimination_step& step = order.steps[to_size(s)];
        count.node_eliminations += step.kind == elimination::node;
        count.edge_eliminations += step.kind == elimination::edge;
        count.leaf_eliminations += step.kind == elimination::leaf;
    }
    return count;
}

/// Costs as tables of a search have them. Doubles are exact for whole numbers up to 2^53, and their least is found
/// faster.
template <class T>
struct table_costs;
template <>
struct table_costs<double> {
    static constexpr double none = std::numeric_limits<double>::infinity();
    static constexpr double of(cost_t c) { return c < forbidden ? static_cast<double>(c) : none; }
    static constexpr cost_t cost(double c) { return c < none ? static_cast<cost_t>(c) : forbidden; }
    static constexpr double sum(double a, double b) { return a + b; }
};
template <>
struct table_costs<cost_t> {
    static constexpr cost_t none = forbidden;
    static constexpr cost_t of(cost_t c) { return c; }
    static constexpr cost_t cost(cost_t c) { return c < none ? c : none; }
    static constexpr cost_t sum(cost_t a, cost_t b) { return add_costs(a, b); }
};

/// True if no sum of costs that are not forbidden can be more than doubles tell apart.
template <class Problem>
bool fits_doubles(const Problem& problem) {
    const cost_t most = cost_t{1} << 52;
    cost_t sum = 0;
    const auto add_largest = [&](const std::vector<cost_t>& costs, int times) {
        cost_t largest = 0;
        for (const cost_t c : costs) {
            largest = c < forbidden && c > largest ? c : largest;
        }
        sum = largest > most / times ? most : std::min(most, sum + largest * times);
    };
    for (int v = 0; v < problem.nodes(); ++v) {
        add_largest(problem.unary(v), 1);
    }
    std::vector<int> edges(to_size(problem.tables()), 0);
    std::vector<int> first(edges.size(), -1);
    for (int e = 0; e < problem.edges(); ++e) {
        const std::size_t t = to_size(problem.table_number(e));
        first[t] = edges[t]++ == 0 ? e : first[t];
    }
    for (std::size_t t = 0; t < edges.size(); ++t) {
        add_largest(problem.table(first[t]), edges[t]);
    }
    return sum < most;
}

/// The tables of a search at run time. They are kept until the eliminations are undone, which then looks for the
/// choices of the eliminated nodes once more, each of them for one choice of its neighbours.
template <class Problem, class T>
class eliminator {
public:
    eliminator(const Problem& problem, const elimination_options& options)
        : problem_{problem}, order_{problem, options.leaf_rule}, budget_{options.budget} {}

    elimination_solution run() {
        const auto sizes = [this](int v) { return problem_.configurations(v); };
        elimination_solution result;
        elimination_statistics& count = result.statistics;
        count = count_eliminations(order_);
        given_.resize(to_size(problem_.tables()));
        unaries_.resize(to_size(problem_.nodes()) + order_.steps.size());
        made_.resize(order_.steps.size());
        same_.resize(order_.steps.size());
        for (int s = 0; s < order_.step_count; ++s) {
            count.relaxations += relaxations_of(order_.steps[to_size(s)], sizes);
            if (count.relaxations > budget_) {
                result.state = status::budget_exhausted;
                result.cost = forbidden;
                return result;
            }
            step_or_repeat(s);
        }
        result.choice.resize(to_size(problem_.nodes()));
        enumerate(result);
        if (result.cost >= forbidden) {
            result.choice.clear();
        } else {
            for (int s = order_.step_count - 1; s >= 0; --s) {
                if (order_.steps[to_size(s)].node >= 0) {
                    undo(order_.steps[to_size(s)], result.choice);
                }
            }
        }
        return result;
    }

private:
    using costs = table_costs<T>;
    /// A step by its kind and what it reads.
    struct signature {
        int part[6];
        int step; ///< the first of them
        bool less_than(const signature& o) const {
            return std::lexicographical_compare(part, part + 6, o.part, o.part + 6);
        }
    };

    static void convert(const std::vector<cost_t>& from, std::vector<T>& to) {
        to.resize(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) {
            to[i] = costs::of(from[i]);
        }
    }
    const std::vector<T>& table(int id) {
        if (id >= problem_.edges()) {
            return made_[to_size(same_[to_size(id - problem_.edges())])];
        }
        std::vector<T>& t = given_[to_size(problem_.table_number(id))];
        if (t.empty()) {
            convert(problem_.table(id), t);
        }
        return t;
    }
    const std::vector<T>& unary(int id) {
        if (id >= problem_.nodes()) {
            return unaries_[to_size(problem_.nodes() + same_[to_size(id - problem_.nodes())])];
        }
        std::vector<T>& u = unaries_[to_size(problem_.unary_number(id))];
        if (u.empty()) {
            convert(problem_.unary(id), u);
        }
        return u;
    }

    /// Deep networks have many parts that are alike: a step of which all tables were met before is that step's once
    /// more.
    void step_or_repeat(int s) {
        const elimination_step& step = order_.steps[to_size(s)];
        const auto table_number = [&](int id) {
            return id < problem_.edges() ? (id < 0 ? -1 : problem_.table_number(id))
                                         : problem_.edges() + same_[to_size(id - problem_.edges())];
        };
        const auto unary_number = [&](int id) {
            return id < problem_.nodes() ? (id < 0 ? -1 : problem_.unary_number(id))
                                         : problem_.nodes() + same_[to_size(id - problem_.nodes())];
        };
        const signature what{{static_cast<int>(step.kind), step.leaf_is_source ? 1 : 0, table_number(step.first),
                              table_number(step.second), unary_number(step.unary), unary_number(step.neighbour_unary)},
                             s};
        const auto place = std::lower_bound(met_.begin(), met_.end(), what,
                                            [](const signature& x, const signature& y) { return x.less_than(y); });
        const bool fresh = place == met_.end() || what.less_than(*place);
        same_[to_size(s)] = fresh ? s : place->step;
        if (fresh) {
            met_.insert(place, what);
        }
        if (fresh) {
            this->step(s);
        }
    }

    void step(int s) {
        const elimination_step& step = order_.steps[to_size(s)];
        const std::vector<T>& first = table(step.first);
        const std::size_t rows = problem_.unary(step.from).size();
        if (step.kind == elimination::edge) {
            const std::vector<T>& second = table(step.second);
            std::vector<T>& made = made_[to_size(s)];
            made.resize(second.size());
            for (std::size_t i = 0; i < made.size(); ++i) {
                made[i] = costs::sum(first[i], second[i]);
            }
        } else if (step.kind == elimination::leaf) {
            const std::vector<T>& own = unary(step.unary);
            const std::vector<T>& neighbour = unary(step.neighbour_unary);
            std::vector<T>& made = unaries_[to_size(problem_.nodes() + s)];
            made.resize(rows);
            for (std::size_t i = 0; i < rows; ++i) {
                T best = costs::none;
                for (std::size_t j = 0; j < own.size(); ++j) {
                    best = std::min(best, own[j] + first[leaf_cell(step, rows, own.size(), i, j)]);
                }
                made[i] = costs::sum(neighbour[i], best);
            }
        } else {
            const std::vector<T>& own = unary(step.unary);
            before_.resize(first.size());
            for (std::size_t i = 0; i < first.size(); i += own.size()) {
                for (std::size_t j = 0; j < own.size(); ++j) {
                    before_[i + j] = costs::sum(first[i + j], own[j]);
                }
            }
            const std::size_t columns = problem_.unary(step.to).size();
            made_[to_size(s)].resize(rows * columns);
            min_plus(before_.data(), rows, own.size(), table(step.second).data(), columns, T{costs::none},
                     made_[to_size(s)].data());
        }
    }

    static std::size_t leaf_cell(const elimination_step& step, std::size_t rows, std::size_t columns, std::size_t i,
                                 std::size_t j) {
        return step.leaf_is_source ? j * rows + i : i * columns + j;
    }

    /// The first of the best choices of an eliminated node, given those of its neighbours.
    void undo(const elimination_step& step, std::vector<choice_t>& choice) {
        const std::size_t i = choice[to_size(step.from)];
        const std::vector<T>& first = table(step.first);
        const std::vector<T>& own = unary(step.unary);
        const std::size_t rows = problem_.unary(step.from).size();
        T best = costs::none;
        choice_t& here = choice[to_size(step.node)];
        here = 0;
        for (std::size_t j = 0; j < own.size(); ++j) {
            T sum = costs::none;
            if (step.kind == elimination::leaf) {
                sum = own[j] + first[leaf_cell(step, rows, own.size(), i, j)];
            } else {
                const std::size_t columns = problem_.unary(step.to).size();
                sum = costs::sum(first[i * own.size() + j], own[j]) +
                      table(step.second)[j * columns + choice[to_size(step.to)]];
            }
            if (sum < best) {
                best = sum;
                here = static_cast<choice_t>(j);
            }
        }
    }

    /// Enumerates the remaining nodes, one connected component after the other.
    void enumerate(elimination_solution& result) {
        std::vector<live_edge> edges;
        std::vector<int> component(to_size(problem_.nodes()), -1);
        for (int v = 0; v < problem_.nodes(); ++v) {
            for (int e = order_.unary[to_size(v)] >= 0 ? order_.first_out[to_size(v)] : -1; e >= 0;
                 e = order_.next_out[to_size(e)]) {
                edges.push_back({v, order_.to[to_size(e)], as_costs(table(e))});
            }
        }
        for (int root = 0; root < problem_.nodes(); ++root) {
            if (order_.unary[to_size(root)] >= 0 && component[to_size(root)] < 0) {
                enumerate_component(root, edges, component, result);
            }
        }
        if (result.state != status::budget_exhausted) {
            result.state = result.cost >= forbidden ? status::infeasible : status::solved;
        }
    }
    const cost_t* as_costs(const std::vector<T>& table) {
        left_.emplace_back(table.size());
        std::transform(table.begin(), table.end(), left_.back().begin(), costs::cost);
        return left_.back().data();
    }

    void enumerate_component(int root, const std::vector<live_edge>& edges, std::vector<int>& component,
                             elimination_solution& result) {
        component[to_size(root)] = root;
        for (bool grown = true; grown;) {
            grown = false;
            for (const live_edge& e : edges) {
                const bool from = component[to_size(e.from)] == root;
                if (from != (component[to_size(e.to)] == root)) {
                    component[to_size(from ? e.to : e.from)] = root;
                    grown = true;
                }
            }
        }
        std::vector<live_node> nodes;
        for (int v = root; v < problem_.nodes(); ++v) {
            if (component[to_size(v)] == root) {
                nodes.push_back({v, as_costs(unary(order_.unary[to_size(v)])), problem_.configurations(v)});
            }
        }
        const std::int64_t left = budget_ - result.statistics.relaxations - result.statistics.visited;
        const run_time_state s = depth_first(make_levels(nodes, edges, problem_.nodes()), left);
        result.statistics.visited += s.visited;
        result.cost = add_costs(result.cost, s.found_cost);
        if (!s.done) {
            result.state = status::budget_exhausted;
        }
        for (std::size_t d = 0; d < nodes.size(); ++d) {
            result.choice[to_size(nodes[d].node)] = s.found[d];
        }
    }

    const Problem& problem_;
    run_time_order<Problem> order_;
    std::int64_t budget_;
    std::vector<std::vector<T>> given_;   ///< by their numbers; empty: not read yet
    std::vector<std::vector<T>> unaries_; ///< of nodes, then of steps
    std::vector<std::vector<T>> made_;    ///< of steps
    std::vector<int> same_;               ///< of every step, the first one like it
    std::vector<signature> met_;          ///< in order
    std::vector<T> before_;
    std::vector<std::vector<cost_t>> left_; ///< what is enumerated
};

} // namespace detail

/// What eliminate() would do, without doing it: `relaxations` are those of all eliminations, `visited` the choices of
/// the nodes that are left, all combined, an upper bound of what the enumeration looks at; both at most `forbidden`.
template <class Problem>
elimination_statistics plan_eliminations(const Problem& problem, const elimination_options& options = {}) {
    const detail::run_time_order<Problem> order(problem, options.leaf_rule);
    elimination_statistics count = detail::count_eliminations(order);
    const auto sizes = [&](int v) { return problem.configurations(v); };
    for (int s = 0; s < order.step_count; ++s) {
        count.relaxations = add_costs(count.relaxations, detail::relaxations_of(order.steps[to_size(s)], sizes));
    }
    count.visited = 1;
    for (int v = 0; v < problem.nodes(); ++v) {
        if (order.unary[to_size(v)] >= 0) {
            count.visited =
                count.visited < forbidden / max_configurations ? count.visited * problem.configurations(v) : forbidden;
        }
    }
    return count;
}

/// The cheapest choice, exactly: O(edges * C^3) relaxations for C configurations per node, plus the enumeration of the
/// K nodes that no elimination removes. Among equal candidates the smallest index wins at every step. When the budget
/// ends during the enumeration, the best choice so far is returned; when it ends before, none.
template <class Problem>
elimination_solution eliminate(const Problem& problem, const elimination_options& options = {}) {
    return detail::fits_doubles(problem) ? detail::eliminator<Problem, double>(problem, options).run()
                                         : detail::eliminator<Problem, cost_t>(problem, options).run();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
