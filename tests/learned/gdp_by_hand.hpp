// SPDX-License-Identifier: Apache-2.0
// A GDP policy in plain loops and doubles, from its parameters by path.
#pragma once

#include "tessera/learned/gdp_inputs.hpp"
#include "tessera/net/paths.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace learned_test {

namespace ts = tessera;
namespace tl = tessera::learned;

using table = std::vector<std::vector<double>>; ///< rows of channels
using parameters = std::map<std::string, std::vector<double>>;

template <class Trainer>
parameters parameters_of(Trainer& t) {
    parameters all;
    for (int p = 0; p < t.graph().parameter_count; ++p) {
        const std::vector<float> v = t.values().parameter(p);
        all[ts::parameter_path_of(t.graph(), p)] = {v.begin(), v.end()};
    }
    return all;
}

/// W x + b of every row.
inline table dense(const parameters& all, const std::string& layer, const table& x) {
    const std::vector<double>& w = all.at(layer + "/weight");
    const std::vector<double>& b = all.at(layer + "/bias");
    table y;
    for (const std::vector<double>& row : x) {
        y.push_back(b);
        for (std::size_t o = 0; o < b.size(); ++o) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                y.back()[o] += w[o * row.size() + i] * row[i];
            }
        }
    }
    return y;
}
template <class Function>
table each(table x, Function f) {
    for (std::vector<double>& row : x) {
        for (double& v : row) {
            v = f(v);
        }
    }
    return x;
}
inline double relu(double v) { return v > 0 ? v : 0; }
inline table sum_of(table x, const table& y) {
    for (std::size_t r = 0; r < x.size(); ++r) {
        for (std::size_t c = 0; c < x[r].size(); ++c) {
            x[r][c] += y[r][c];
        }
    }
    return x;
}
inline table norm(const parameters& all, const std::string& layer, table x) {
    const std::vector<double>& gamma = all.at(layer + "/weight");
    const std::vector<double>& beta = all.at(layer + "/bias");
    for (std::vector<double>& row : x) {
        double mean = 0;
        double square = 0;
        for (const double v : row) {
            mean += v / static_cast<double>(row.size());
        }
        for (const double v : row) {
            square += (v - mean) * (v - mean) / static_cast<double>(row.size());
        }
        for (std::size_t c = 0; c < row.size(); ++c) {
            row[c] = (row[c] - mean) / std::sqrt(square + 1e-5) * gamma[c] + beta[c];
        }
    }
    return x;
}

/// A policy on one graph of `nodes` nodes with these inputs. Only rows of nodes are computed: padding has no part in
/// it.
struct gdp_by_hand {
    tl::gdp_shape s;
    const tl::gdp_inputs& x;
    int nodes;
    table logits{};
    std::vector<table> streams{}; ///< what went into each layer

    /// `memory`: what segments see of the segments before, for each layer, in place of what this pass makes.
    void run(const parameters& all, const std::vector<table>* memory = nullptr) {
        table h(ts::to_size(nodes));
        for (int i = 0; i < nodes; ++i) {
            for (int k = 0; k < s.features; ++k) {
                h[ts::to_size(i)].push_back(static_cast<double>(x.features[ts::to_size(i * s.features + k)]));
            }
        }
        h = each(dense(all, "first", h), relu);
        for (int r = 0; r < s.rounds; ++r) {
            h = round(all, std::to_string(r), h);
        }
        std::vector<double> pooled(ts::to_size(s.width), 0);
        for (const std::vector<double>& row : h) {
            for (std::size_t c = 0; c < row.size(); ++c) {
                pooled[c] += row[c] / nodes;
            }
        }
        streams.clear();
        for (int l = 0; l < s.layers; ++l) {
            streams.push_back(h);
            h = layer(all, l, h, memory == nullptr ? h : (*memory)[ts::to_size(l)], pooled);
        }
        logits = dense(all, "head", modulated(all, s.layers, 4, pooled, h));
        for (int i = 0; i < nodes; ++i) {
            for (int d = 0; d < s.devices; ++d) {
                logits[ts::to_size(i)][ts::to_size(d)] += static_cast<double>(x.prior[ts::to_size(i * s.devices + d)]);
            }
        }
    }

private:
    table round(const parameters& all, const std::string& r, const table& h) const {
        const table told = each(dense(all, "pool." + r, h), [](double v) { return 1 / (1 + std::exp(-v)); });
        table joined = h;
        for (int v = 0; v < nodes; ++v) {
            std::vector<double> heard(ts::to_size(s.width), 0);
            for (std::size_t e = 0; e < x.receivers.size(); ++e) {
                for (int c = 0; c < s.width && x.receivers[e] == v; ++c) {
                    heard[ts::to_size(c)] =
                        std::max(heard[ts::to_size(c)], told[ts::to_size(x.senders[e])][ts::to_size(c)]);
                }
            }
            joined[ts::to_size(v)].insert(joined[ts::to_size(v)].end(), heard.begin(), heard.end());
        }
        return each(dense(all, "update." + r, joined), relu);
    }
    table modulated(const parameters& all, int l, int place, const std::vector<double>& pooled, table h) const {
        if (s.superposition) {
            const int of_layer = s.attention ? 4 : 2; // numbered in the order in which the network has them
            const int number = of_layer * l + (place == 4 ? 0 : place + of_layer - 4);
            const std::vector<double> vector = dense(all, "condition." + std::to_string(number), {pooled}).front();
            for (std::vector<double>& row : h) {
                for (std::size_t c = 0; c < row.size(); ++c) {
                    row[c] *= 1 + vector[c];
                }
            }
        }
        return h;
    }
    table layer(const parameters& all, int l, table h, const table& memory, const std::vector<double>& pooled) const {
        const auto called = [&](const char* name) { return std::string(name) + "." + std::to_string(l); };
        if (s.attention) {
            const table from = modulated(all, l, 0, pooled, h);
            const table before = modulated(all, l, 0, pooled, memory);
            const table q = dense(all, called("query"), from);
            table mixed(ts::to_size(nodes), std::vector<double>(ts::to_size(s.width), 0));
            for (int i = 0; i < nodes; ++i) {
                const int begin = i / s.segment * s.segment;
                table seen;
                for (int j = std::max(0, begin - s.segment); s.recurrence && j < begin; ++j) {
                    seen.push_back(before[ts::to_size(j)]);
                }
                for (int j = begin; j < std::min(nodes, begin + s.segment); ++j) {
                    seen.push_back(from[ts::to_size(j)]);
                }
                attend(q[ts::to_size(i)], dense(all, called("key"), seen), dense(all, called("value"), seen),
                       mixed[ts::to_size(i)]);
            }
            h = norm(all, called("attention_norm"),
                     sum_of(h, dense(all, called("merge"), modulated(all, l, 1, pooled, mixed))));
        }
        const table inner = each(dense(all, called("wide"), modulated(all, l, 2, pooled, h)), relu);
        return norm(all, called("feed_forward_norm"),
                    sum_of(h, dense(all, called("narrow"), modulated(all, l, 3, pooled, inner))));
    }
    void attend(const std::vector<double>& q, const table& keys, const table& values, std::vector<double>& to) const {
        const int of_head = s.width / s.heads;
        for (int head = 0; head < s.heads; ++head) {
            std::vector<double> weight;
            double sum = 0;
            for (const std::vector<double>& key : keys) {
                double score = 0;
                for (int c = head * of_head; c < (head + 1) * of_head; ++c) {
                    score += q[ts::to_size(c)] * key[ts::to_size(c)];
                }
                weight.push_back(std::exp(score / std::sqrt(of_head)));
                sum += weight.back();
            }
            for (std::size_t j = 0; j < keys.size(); ++j) {
                for (int c = head * of_head; c < (head + 1) * of_head; ++c) {
                    to[ts::to_size(c)] += weight[j] / sum * values[j][ts::to_size(c)];
                }
            }
        }
    }
};

} // namespace learned_test
