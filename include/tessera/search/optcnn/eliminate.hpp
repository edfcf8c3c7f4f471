// SPDX-License-Identifier: Apache-2.0
// The search of OptCNN (Jia, Lin, Qi, Aiken, ICML 2018): node and edge eliminations to a fixpoint, exact enumeration of what
// is left, and the eliminations undone in reverse.
#pragma once

#include "tessera/search/optcnn/elimination_order.hpp"

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
        const elimination_step& step = order.steps[at(s)];
        count.node_eliminations += step.kind == elimination::node;
        count.edge_eliminations += step.kind == elimination::edge;
        count.leaf_eliminations += step.kind == elimination::leaf;
    }
    return count;
}

/// The tables of a search at run time.
template <class Problem>
class eliminator {
public:
    eliminator(const Problem& problem, const elimination_options& options)
        : problem_{problem}, order_{problem, options.leaf_rule}, budget_{options.budget} {}

    elimination_solution run() {
        const auto sizes = [this](int v) { return problem_.configurations(v); };
        elimination_solution result;
        elimination_statistics& count = result.statistics;
        count = count_eliminations(order_);
        made_.resize(order_.steps.size());
        argmin_.resize(order_.steps.size());
        for (int s = 0; s < order_.step_count; ++s) {
            count.relaxations += relaxations_of(order_.steps[at(s)], sizes);
            if (count.relaxations > budget_) {
                result.state = status::budget_exhausted;
                result.cost = forbidden;
                return result;
            }
            step(s);
        }
        result.choice.resize(at(problem_.nodes()));
        enumerate(result);
        if (result.cost >= forbidden) {
            result.choice.clear();
        } else {
            undo(
                order_.steps, order_.step_count, [this](int s) { return argmin_[at(s)].data(); }, sizes, result.choice);
        }
        return result;
    }

private:
    const std::vector<cost_t>& table(int id) const {
        return id < problem_.edges() ? problem_.table(id) : made_[at(id - problem_.edges())];
    }
    const std::vector<cost_t>& unary(int id) const {
        return id < problem_.nodes() ? problem_.unary(id) : made_[at(id - problem_.nodes())];
    }
    /// Frees a table that no later step reads.
    void drop(int id) {
        if (id >= problem_.edges()) {
            std::vector<cost_t>().swap(made_[at(id - problem_.edges())]);
        }
    }

    void step(int s) {
        const elimination_step& step = order_.steps[at(s)];
        std::vector<cost_t>& cost = made_[at(s)];
        std::vector<choice_t>& argmin = argmin_[at(s)];
        const cost_t* first = table(step.first).data();
        const std::size_t rows = problem_.unary(step.from).size();
        if (step.kind == elimination::edge) {
            const std::vector<cost_t>& second = table(step.second);
            cost.resize(second.size());
            for (std::size_t i = 0; i < cost.size(); ++i) {
                cost[i] = add_costs(first[i], second[i]);
            }
        } else if (step.kind == elimination::leaf) {
            leaf(step, first, rows, cost, argmin);
        } else {
            min_plus(first, unary(step.unary), table(step.second).data(), rows, problem_.unary(step.to).size(), cost,
                     argmin);
        }
        drop(step.first);
        drop(step.second);
    }

    void leaf(const elimination_step& step, const cost_t* table, std::size_t rows, std::vector<cost_t>& cost,
              std::vector<choice_t>& argmin) const {
        const std::vector<cost_t>& own = unary(step.unary);
        const std::vector<cost_t>& neighbour = unary(step.neighbour_unary);
        cost.resize(rows);
        argmin.resize(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            cost_t best = forbidden;
            for (std::size_t j = 0; j < own.size(); ++j) {
                const cost_t candidate = own[j] + table[step.leaf_is_source ? j * rows + i : i * own.size() + j];
                if (candidate < best) {
                    best = candidate;
                    argmin[i] = static_cast<choice_t>(j);
                }
            }
            cost[i] = add_costs(neighbour[i], best);
        }
    }

    /// cost[i][k] = min over j of first[i][j] + middle[j] + second[j][k].
    static void min_plus(const cost_t* first, const std::vector<cost_t>& middle, const cost_t* second, std::size_t rows,
                         std::size_t columns, std::vector<cost_t>& cost, std::vector<choice_t>& argmin) {
        cost.resize(rows * columns, forbidden);
        argmin.resize(rows * columns);
        for (std::size_t i = 0; i < rows; ++i) {
            cost_t* best = cost.data() + i * columns;
            choice_t* best_at = argmin.data() + i * columns;
            for (std::size_t j = 0; j < middle.size(); ++j) {
                const cost_t before = first[i * middle.size() + j] + middle[j];
                const cost_t* row = second + j * columns;
                if (before >= forbidden) {
                    continue;
                }
                const choice_t here = static_cast<choice_t>(j);
                for (std::size_t k = 0; k < columns; ++k) {
                    const cost_t candidate = before + row[k];
                    best_at[k] = candidate < best[k] ? here : best_at[k];
                    best[k] = candidate < best[k] ? candidate : best[k];
                }
            }
        }
    }

    /// Enumerates the remaining nodes, one connected component after the other.
    void enumerate(elimination_solution& result) const {
        std::vector<live_edge> edges;
        std::vector<int> component(at(problem_.nodes()), -1);
        for (int v = 0; v < problem_.nodes(); ++v) {
            for (int e = order_.unary[at(v)] >= 0 ? order_.first_out[at(v)] : -1; e >= 0; e = order_.next_out[at(e)]) {
                edges.push_back({v, order_.to[at(e)], table(e).data()});
            }
        }
        for (int root = 0; root < problem_.nodes(); ++root) {
            if (order_.unary[at(root)] >= 0 && component[at(root)] < 0) {
                enumerate_component(root, edges, component, result);
            }
        }
        if (result.state != status::budget_exhausted) {
            result.state = result.cost >= forbidden ? status::infeasible : status::solved;
        }
    }

    void enumerate_component(int root, const std::vector<live_edge>& edges, std::vector<int>& component,
                             elimination_solution& result) const {
        component[at(root)] = root;
        for (bool grown = true; grown;) {
            grown = false;
            for (const live_edge& e : edges) {
                const bool from = component[at(e.from)] == root;
                if (from != (component[at(e.to)] == root)) {
                    component[at(from ? e.to : e.from)] = root;
                    grown = true;
                }
            }
        }
        std::vector<live_node> nodes;
        for (int v = root; v < problem_.nodes(); ++v) {
            if (component[at(v)] == root) {
                nodes.push_back({v, unary(order_.unary[at(v)]).data(), problem_.configurations(v)});
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
            result.choice[at(nodes[d].node)] = s.found[d];
        }
    }

    const Problem& problem_;
    run_time_order<Problem> order_;
    std::int64_t budget_;
    std::vector<std::vector<cost_t>> made_;
    std::vector<std::vector<choice_t>> argmin_;
};

} // namespace detail

/// What eliminate() would do, without doing it: `relaxations` are those of all eliminations, `visited` the choices of the nodes that are left, all
/// combined, an upper bound of what the enumeration looks at; both at most `forbidden`.
template <class Problem>
elimination_statistics plan_eliminations(const Problem& problem, const elimination_options& options = {}) {
    const detail::run_time_order<Problem> order(problem, options.leaf_rule);
    elimination_statistics count = detail::count_eliminations(order);
    const auto sizes = [&](int v) { return problem.configurations(v); };
    for (int s = 0; s < order.step_count; ++s) {
        count.relaxations = add_costs(count.relaxations, detail::relaxations_of(order.steps[detail::at(s)], sizes));
    }
    count.visited = 1;
    for (int v = 0; v < problem.nodes(); ++v) {
        if (order.unary[detail::at(v)] >= 0) {
            count.visited =
                count.visited < forbidden / max_configurations ? count.visited * problem.configurations(v) : forbidden;
        }
    }
    return count;
}

/// The cheapest choice, exactly: O(edges * C^3) relaxations for C configurations per node, plus the enumeration of the K nodes
/// that no elimination removes. Among equal candidates the smallest index wins at every step. When the budget ends during the
/// enumeration, the best choice so far is returned; when it ends before, none.
template <class Problem>
elimination_solution eliminate(const Problem& problem, const elimination_options& options = {}) {
    return detail::eliminator(problem, options).run();
}

} // namespace tessera::search
