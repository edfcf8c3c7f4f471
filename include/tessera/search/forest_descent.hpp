// SPDX-License-Identifier: Apache-2.0
// Local search over additive problems too wide to eliminate, with a limit on what is in use at any time: again and again the nodes of a random
// forest are chosen anew together, exactly, while the others keep their choices; prices of times in excess are raised until the limit holds.
#pragma once

#include "tessera/base/box.hpp"
#include "tessera/op/mask.hpp"
#include "tessera/search/additive_problem.hpp"

#include <algorithm>

namespace tessera::search {

/// Something of which every node uses an amount, by its choice, while it is alive; no more than `limit` may be in use at any time.
struct timed_usage {
    std::vector<interval> alive;             ///< of every node: times 0, 1, ...
    std::vector<std::vector<index_t>> usage; ///< of every node and choice
    index_t limit = 0;

    /// What is in use at every time.
    std::vector<index_t> profile(const std::vector<choice_t>& choice) const {
        index_t last = 0;
        for (const interval& i : alive) {
            last = std::max(last, i.end);
        }
        std::vector<index_t> change(static_cast<std::size_t>(last) + 1, 0);
        for (std::size_t v = 0; v < alive.size(); ++v) {
            if (!alive[v].empty()) {
                change[static_cast<std::size_t>(alive[v].begin)] += usage[v][choice[v]];
                change[static_cast<std::size_t>(alive[v].end)] -= usage[v][choice[v]];
            }
        }
        for (std::size_t t = 1; t < change.size(); ++t) {
            change[t] += change[t - 1];
        }
        change.pop_back();
        return change;
    }
    bool holds(const std::vector<choice_t>& choice) const {
        for (const index_t used : profile(choice)) {
            if (used > limit) {
                return false;
            }
        }
        return true;
    }
};

/// The same seed makes the same moves. Dynamic programming over a forest whose other neighbours are fixed is exact, so that without a limit no
/// sweep makes the cost worse, and a problem that is a forest is solved by the first that takes all its nodes.
class forest_descent {
public:
    /// Starts from each node's cheapest choice. The problem, and the usage if there is one, must outlive the search.
    explicit forest_descent(const additive_problem& p, const timed_usage* m = nullptr, std::uint64_t seed = 1)
        : p_(p), limited_(m), state_(op::mix(seed)), around_(at(p.nodes())), choice_(at(p.nodes()), 0) {
        for (int e = 0; e < p.edges(); ++e) {
            around_[at(p.edge(e).from)].push_back({p.edge(e).to, e, true});
            around_[at(p.edge(e).to)].push_back({p.edge(e).from, e, false});
        }
        std::size_t cells = 0;
        for (int v = 0; v < p.nodes(); ++v) {
            const std::vector<cost_t>& own = p.unary(v);
            choice_[at(v)] = static_cast<choice_t>(std::min_element(own.begin(), own.end()) - own.begin());
            first_.push_back(cells);
            cells += own.size();
        }
        if (limited_ != nullptr) {
            price_.assign(limited_->profile(choice_).size() + 1, 0);
            for (int v = 0; v < p.nodes(); ++v) {
                scale_ += static_cast<double>(cheapest(v));
            }
        }
        message_.resize(cells);
        note();
    }

    /// One sweep: a random forest is chosen anew; with a limit, prices follow what is in excess.
    void sweep() {
        plant();
        choose();
        if (limited_ != nullptr) {
            reprice();
        }
        note();
        ++sweeps_;
    }

    /// The best choice seen that keeps the limit; empty if none has been.
    const std::vector<choice_t>& best() const { return best_; }
    cost_t best_cost() const { return best_cost_; }
    cost_t current_cost() const { return p_.cost(choice_); }
    std::int64_t sweeps() const { return sweeps_; }

private:
    struct neighbour {
        int node, edge;
        bool first; ///< this node is the edge's first
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    int pick(int n) {
        state_ = op::mix(state_);
        return static_cast<int>((state_ >> 33U) % static_cast<std::uint64_t>(n));
    }
    cost_t cheapest(int v) const { return *std::min_element(p_.unary(v).begin(), p_.unary(v).end()); }
    double cell(const neighbour& n, int mine, int its) const {
        const std::vector<cost_t>& t = p_.table(n.edge);
        const int width = p_.configurations(p_.edge(n.edge).to);
        return static_cast<double>(t[n.first ? at(mine) * at(width) + at(its) : at(its) * at(width) + at(mine)]);
    }
    int root(int v) {
        while (tree_[at(v)] != v) {
            v = tree_[at(v)] = tree_[at(tree_[at(v)])];
        }
        return v;
    }

    /// A forest: nodes in random order, each taken unless two of its neighbours are in one tree already, or it is joined to one twice.
    void plant() {
        const int n = p_.nodes();
        if (order_.empty()) {
            for (int v = 0; v < n; ++v) {
                order_.push_back(v);
            }
        }
        for (int i = n - 1; i > 0; --i) {
            std::swap(order_[at(i)], order_[at(pick(i + 1))]);
        }
        tree_.assign(at(n), -1);
        for (int v : order_) {
            roots_.clear();
            bool taken = true;
            for (const neighbour& u : around_[at(v)]) {
                if (tree_[at(u.node)] >= 0) {
                    const int r = root(u.node);
                    taken = taken && std::find(roots_.begin(), roots_.end(), r) == roots_.end();
                    roots_.push_back(r);
                }
            }
            if (taken) {
                tree_[at(v)] = v;
                for (int r : roots_) {
                    tree_[at(r)] = v;
                }
            }
        }
    }

    /// Dynamic programming over every tree from its leaves to a root and back.
    void choose() {
        prefix_.assign(price_.size(), 0);
        for (std::size_t t = 1; t < price_.size(); ++t) {
            prefix_[t] = prefix_[t - 1] + price_[t - 1];
        }
        parent_.assign(at(p_.nodes()), {-2, -1, false});
        std::vector<int> list;
        for (int v : order_) {
            if (tree_[at(v)] < 0 || parent_[at(v)].node != -2) {
                continue;
            }
            list.assign(1, v);
            parent_[at(v)].node = -1;
            for (std::size_t i = 0; i < list.size(); ++i) {
                for (const neighbour& u : around_[at(list[i])]) {
                    if (tree_[at(u.node)] >= 0 && parent_[at(u.node)].node == -2) {
                        parent_[at(u.node)] = {list[i], u.edge, !u.first};
                        list.push_back(u.node);
                    }
                }
            }
            for (int w : list) {
                begin_node(w);
            }
            for (std::size_t i = list.size(); i-- > 1;) {
                send(list[i]);
            }
            for (int w : list) {
                const int up = parent_[at(w)].node;
                int best = 0;
                double least = 0;
                for (int s = 0; s < p_.configurations(w); ++s) {
                    const double c =
                        message_[first_[at(w)] + at(s)] + (up < 0 ? 0.0 : cell(parent_[at(w)], s, choice_[at(up)]));
                    best = s == 0 || c < least ? s : best;
                    least = s == 0 || c < least ? c : least;
                }
                choice_[at(w)] = static_cast<choice_t>(best);
            }
        }
    }
    /// What a node's choices cost with all neighbours outside of the forest, and what they use.
    void begin_node(int v) {
        double* own = message_.data() + first_[at(v)];
        for (int s = 0; s < p_.configurations(v); ++s) {
            own[s] = static_cast<double>(p_.unary(v)[at(s)]);
        }
        if (limited_ != nullptr && !limited_->alive[at(v)].empty()) {
            const interval& i = limited_->alive[at(v)];
            const double price = prefix_[static_cast<std::size_t>(i.end)] - prefix_[static_cast<std::size_t>(i.begin)];
            for (int s = 0; s < p_.configurations(v); ++s) {
                own[s] += price * static_cast<double>(limited_->usage[at(v)][at(s)]);
            }
        }
        for (const neighbour& u : around_[at(v)]) {
            for (int s = 0; s < p_.configurations(v) && tree_[at(u.node)] < 0; ++s) {
                own[s] += cell(u, s, choice_[at(u.node)]);
            }
        }
    }
    /// Adds to every choice of the parent the least that its subtree under `v` costs with it.
    void send(int v) {
        const neighbour& up = parent_[at(v)];
        const double* own = message_.data() + first_[at(v)];
        double* to = message_.data() + first_[at(up.node)];
        for (int s = 0; s < p_.configurations(up.node); ++s) {
            double least = own[0] + cell(up, 0, s);
            for (int k = 1; k < p_.configurations(v); ++k) {
                least = std::min(least, own[k] + cell(up, k, s));
            }
            to[s] += least;
        }
    }

    /// Subgradient steps: times in excess become dearer by their share of excess, all others slowly cheaper.
    void reprice() {
        const std::vector<index_t> used = limited_->profile(choice_);
        const auto limit = static_cast<double>(std::max<index_t>(1, limited_->limit));
        bool over = false;
        for (std::size_t t = 0; t < used.size(); ++t) {
            over = over || used[t] > limited_->limit;
        }
        step_ = over ? std::min(step_ * 1.02, 1e9) : std::max(step_ * 0.9, 1e-3);
        const double unit = std::max(scale_, 1.0) / limit / static_cast<double>(std::max<std::size_t>(1, used.size()));
        for (std::size_t t = 0; t < used.size(); ++t) {
            const double excess = static_cast<double>(used[t]) / limit - 1;
            price_[t] =
                std::max(0.0, price_[t] * (over ? 1.0 : 0.98) + (excess > 0 ? step_ * unit * (0.01 + excess) : 0.0));
        }
    }

    /// Keeps what is better than all before; with a limit, after it has been brought below it, now and then.
    void note() {
        if (limited_ == nullptr) {
            keep(choice_);
        } else if (sweeps_ % 8 == 0) {
            std::vector<choice_t> trial = choice_;
            if (repair(trial)) {
                polish(trial);
                keep(trial);
            }
        }
    }
    void keep(const std::vector<choice_t>& choice) {
        const cost_t cost = p_.cost(choice);
        if (cost < best_cost_) {
            best_cost_ = cost;
            best_ = choice;
        }
    }

    /// What a node's choice costs with all its neighbours' choices.
    double cost_of(const std::vector<choice_t>& choice, int v, int s) const {
        double sum = static_cast<double>(p_.unary(v)[at(s)]);
        for (const neighbour& u : around_[at(v)]) {
            sum += cell(u, s, choice[at(u.node)]);
        }
        return sum;
    }
    void set(std::vector<choice_t>& choice, std::vector<index_t>& used, int v, int s) const {
        const index_t more = limited_->usage[at(v)][at(s)] - limited_->usage[at(v)][choice[at(v)]];
        for (index_t t = limited_->alive[at(v)].begin; t < limited_->alive[at(v)].end; ++t) {
            used[static_cast<std::size_t>(t)] += more;
        }
        choice[at(v)] = static_cast<choice_t>(s);
    }

    /// While some time is in excess: of what is alive at the worst, the change that costs least for what it frees. False where nothing frees.
    bool repair(std::vector<choice_t>& choice) const {
        std::vector<index_t> used = limited_->profile(choice);
        for (int tries = 0; tries < 4 * p_.nodes(); ++tries) {
            const auto worst = std::max_element(used.begin(), used.end());
            if (worst == used.end() || *worst <= limited_->limit) {
                return true;
            }
            const index_t when = worst - used.begin();
            const index_t excess = *worst - limited_->limit;
            int node = -1;
            int to = 0;
            double least = 0;
            for (int v = 0; v < p_.nodes(); ++v) {
                const interval& i = limited_->alive[at(v)];
                if (when < i.begin || when >= i.end || p_.configurations(v) < 2) {
                    continue;
                }
                double now = -1;
                for (int s = 0; s < p_.configurations(v); ++s) {
                    const index_t freed =
                        std::min(excess, limited_->usage[at(v)][choice[at(v)]] - limited_->usage[at(v)][at(s)]);
                    if (freed <= 0) {
                        continue;
                    }
                    now = now < 0 ? cost_of(choice, v, choice[at(v)]) : now;
                    const double price = (cost_of(choice, v, s) - now) / static_cast<double>(freed);
                    if (node < 0 || price < least) {
                        node = v;
                        to = s;
                        least = price;
                    }
                }
            }
            if (node < 0) {
                return false;
            }
            set(choice, used, node, to);
        }
        return false;
    }

    /// Single changes that cost less and keep the limit, until there are none.
    void polish(std::vector<choice_t>& choice) const {
        std::vector<index_t> used = limited_->profile(choice);
        for (bool better = true; better;) {
            better = false;
            for (int v : order_) {
                double now = cost_of(choice, v, choice[at(v)]);
                for (int s = 0; s < p_.configurations(v); ++s) {
                    const double next = s == choice[at(v)] ? now : cost_of(choice, v, s);
                    if (next >= now) {
                        continue;
                    }
                    const index_t more = limited_->usage[at(v)][at(s)] - limited_->usage[at(v)][choice[at(v)]];
                    bool fits = true;
                    const interval& i = limited_->alive[at(v)];
                    for (index_t t = i.begin; t < i.end && more > 0 && fits; ++t) {
                        fits = used[static_cast<std::size_t>(t)] + more <= limited_->limit;
                    }
                    if (fits) {
                        set(choice, used, v, s);
                        now = next;
                        better = true;
                    }
                }
            }
        }
    }

    const additive_problem& p_;
    const timed_usage* limited_;
    std::uint64_t state_;
    std::vector<std::vector<neighbour>> around_;
    std::vector<std::size_t> first_; ///< of every node, its first cell among the messages
    std::vector<double> message_;
    std::vector<double> price_;
    std::vector<double> prefix_;
    std::vector<int> order_;
    std::vector<int> tree_;
    std::vector<int> roots_;
    std::vector<neighbour> parent_;
    std::vector<choice_t> choice_;
    std::vector<choice_t> best_;
    cost_t best_cost_ = forbidden;
    double scale_ = 0;
    double step_ = 1;
    std::int64_t sweeps_ = 0;
};

} // namespace tessera::search
