// SPDX-License-Identifier: Apache-2.0
// Variable elimination (Bertele and Brioschi 1972; Dechter's bucket elimination 1999): the cheapest choice of any
// additive problem, exactly. A node is removed by minimizing over it the sum of all tables that it is in, which leaves
// one table over its neighbours. OptCNN's rules are the cases of one and two neighbours.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/additive_problem.hpp"

#include <algorithm>

namespace tessera::search {

struct elimination_width {
    std::vector<int> order; ///< nodes, first removed first
    int width = 0;          ///< most neighbours that a node has when it is removed: the induced width of the order
    /// Entries of the largest table, and relaxations of all eliminations, for the problem's numbers of configurations;
    /// at most `forbidden`.
    std::int64_t largest_table = 1;
    std::int64_t relaxations = 0;
};

/// The min-fill order: next comes the node whose removal joins the fewest pairs of neighbours that are not joined yet;
/// among equals the one whose table is smallest, then the lowest number.
template <class Problem>
elimination_width min_fill_order(const Problem& problem) {
    const int n = problem.nodes();
    std::vector<std::vector<int>> neighbours(to_size(n));
    const auto join = [&](int a, int b) {
        std::vector<int>& list = neighbours[to_size(a)];
        const auto place = std::lower_bound(list.begin(), list.end(), b);
        if (place == list.end() || *place != b) {
            list.insert(place, b);
        }
    };
    for (int e = 0; e < problem.edges(); ++e) {
        join(problem.edge(e).from, problem.edge(e).to);
        join(problem.edge(e).to, problem.edge(e).from);
    }
    const auto joined = [&](int a, int b) {
        const std::vector<int>& list = neighbours[to_size(a)];
        return std::binary_search(list.begin(), list.end(), b);
    };
    const auto fill_of = [&](int v) {
        const std::vector<int>& around = neighbours[to_size(v)];
        std::int64_t fill = 0;
        for (std::size_t i = 0; i < around.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                fill += joined(around[i], around[j]) ? 0 : 1;
            }
        }
        return fill;
    };
    const auto table_of = [&](int v) {
        std::int64_t size = 1;
        for (int u : neighbours[to_size(v)]) {
            size = size < forbidden / max_configurations ? size * problem.configurations(u) : forbidden;
        }
        return size;
    };
    std::vector<std::int64_t> fill;
    for (int v = 0; v < n; ++v) {
        fill.push_back(fill_of(v));
    }
    std::vector<char> gone(to_size(n), 0);
    elimination_width result;
    for (int step = 0; step < n; ++step) {
        int best = -1;
        for (int v = 0; v < n; ++v) {
            if (gone[to_size(v)] == 0 && (best < 0 || fill[to_size(v)] < fill[to_size(best)] ||
                                          (fill[to_size(v)] == fill[to_size(best)] && table_of(v) < table_of(best)))) {
                best = v;
            }
        }
        const std::int64_t size = table_of(best);
        const std::vector<int> around = neighbours[to_size(best)];
        result.order.push_back(best);
        result.width = std::max(result.width, static_cast<int>(around.size()));
        result.largest_table = std::max(result.largest_table, size);
        result.relaxations = size < forbidden / max_configurations
                                 ? add_costs(result.relaxations, size * problem.configurations(best))
                                 : forbidden;
        gone[to_size(best)] = 1;
        for (int u : around) {
            std::vector<int>& list = neighbours[to_size(u)];
            list.erase(std::lower_bound(list.begin(), list.end(), best));
            for (int w : around) {
                if (w != u) {
                    join(u, w);
                }
            }
        }
        std::vector<int> changed = around; // fills change within two steps of the node
        for (int u : around) {
            changed.insert(changed.end(), neighbours[to_size(u)].begin(), neighbours[to_size(u)].end());
        }
        std::sort(changed.begin(), changed.end());
        changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
        for (int u : changed) {
            fill[to_size(u)] = fill_of(u);
        }
    }
    return result;
}

struct variable_elimination_options {
    std::int64_t largest_table = 50'000'000; ///< entries
    std::int64_t budget = default_budget;    ///< relaxations
};

struct variable_elimination_solution : solution {
    elimination_width order;
};

namespace detail {

/// A table over several nodes, the last varying fastest.
struct factor {
    std::vector<int> nodes;
    std::vector<cost_t> costs;
};

template <class Problem>
class variable_eliminator {
public:
    explicit variable_eliminator(const Problem& p) : p_(p) {
        for (int v = 0; v < p.nodes(); ++v) {
            factors_.push_back({{v}, p.unary(v)});
        }
        for (int e = 0; e < p.edges(); ++e) {
            factors_.push_back({{p.edge(e).from, p.edge(e).to}, p.table(e)});
        }
    }

    void run(variable_elimination_solution& result) {
        std::vector<removed> steps;
        for (int v : result.order.order) {
            steps.push_back(remove(v));
        }
        cost_t total = 0;
        for (const factor& f : factors_) { // what is left has no nodes
            total = add_costs(total, f.costs[0]);
        }
        result.cost = total;
        if (total >= forbidden) {
            result.state = status::infeasible;
            return;
        }
        result.choice.resize(to_size(p_.nodes()));
        for (std::size_t s = steps.size(); s-- > 0;) {
            std::size_t cell = 0;
            for (int u : steps[s].around) {
                cell = cell * to_size(p_.configurations(u)) + result.choice[to_size(u)];
            }
            result.choice[to_size(steps[s].node)] = steps[s].best[cell];
        }
    }

private:
    struct removed {
        int node = 0;
        std::vector<int> around;
        std::vector<choice_t> best;
    };

    removed remove(int v) {
        std::vector<factor> mine;
        std::vector<factor> others;
        removed r;
        r.node = v;
        for (factor& f : factors_) {
            const bool has_it = std::find(f.nodes.begin(), f.nodes.end(), v) != f.nodes.end();
            if (has_it) {
                for (int u : f.nodes) {
                    if (u != v && std::find(r.around.begin(), r.around.end(), u) == r.around.end()) {
                        r.around.push_back(u);
                    }
                }
            }
            (has_it ? mine : others).push_back(std::move(f));
        }
        std::sort(r.around.begin(), r.around.end());
        // How far each factor's index moves when a node's configuration goes up by one.
        const std::size_t depth = r.around.size();
        std::vector<std::vector<std::size_t>> stride(mine.size(), std::vector<std::size_t>(depth + 1, 0));
        std::size_t cells = 1;
        for (int u : r.around) {
            cells *= to_size(p_.configurations(u));
        }
        for (std::size_t f = 0; f < mine.size(); ++f) {
            std::size_t step = 1;
            for (std::size_t k = mine[f].nodes.size(); k-- > 0;) {
                const int u = mine[f].nodes[k];
                const std::size_t place =
                    u == v ? depth : to_size(std::find(r.around.begin(), r.around.end(), u) - r.around.begin());
                stride[f][place] += step;
                step *= to_size(p_.configurations(u));
            }
        }
        factor made{r.around, std::vector<cost_t>(cells)};
        r.best.resize(cells);
        std::vector<int> choice(depth, 0);
        std::vector<std::size_t> base(mine.size(), 0);
        for (std::size_t cell = 0; cell < cells; ++cell) {
            cost_t best = forbidden;
            for (int c = 0; c < p_.configurations(v); ++c) {
                cost_t sum = 0;
                for (std::size_t f = 0; f < mine.size(); ++f) {
                    sum = add_costs(sum, mine[f].costs[base[f] + stride[f][depth] * to_size(c)]);
                }
                if (sum < best) {
                    best = sum;
                    r.best[cell] = static_cast<choice_t>(c);
                }
            }
            made.costs[cell] = best;
            for (std::size_t k = depth; k-- > 0;) { // the next cell, the last node varying fastest
                const int count = p_.configurations(r.around[k]);
                if (++choice[k] < count) {
                    for (std::size_t f = 0; f < mine.size(); ++f) {
                        base[f] += stride[f][k];
                    }
                    break;
                }
                choice[k] = 0;
                for (std::size_t f = 0; f < mine.size(); ++f) {
                    base[f] -= stride[f][k] * to_size(count - 1);
                }
            }
        }
        factors_ = std::move(others);
        factors_.push_back(std::move(made));
        return r;
    }

    const Problem& p_;
    std::vector<factor> factors_;
};

} // namespace detail

/// The cheapest choice, exactly, if the tables stay within their limits; otherwise the state says that the budget is
/// exhausted, and the order tells the width that was too large (fall back to mcmc). Among equal candidates the smallest
/// index wins at every step.
template <class Problem>
variable_elimination_solution eliminate_variables(const Problem& problem,
                                                  const variable_elimination_options& options = {}) {
    variable_elimination_solution result;
    result.order = min_fill_order(problem);
    if (result.order.largest_table > options.largest_table || result.order.relaxations > options.budget) {
        result.state = status::budget_exhausted;
        result.cost = forbidden;
        return result;
    }
    detail::variable_eliminator<Problem>(problem).run(result);
    return result;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
