// SPDX-License-Identifier: Apache-2.0
// Bodies of split_blocks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/split_blocks.hpp"

namespace tessera::search::placement {

TESSERA_INLINE split_blocks::split_blocks(const split_problem& p) {
    require(p);
    std::vector<int> class_of(p.nodes.size());
    std::vector<char> has_forward;
    const int classes = classify(p, class_of, has_forward);
    const std::vector<std::pair<int, int>> before = class_edges(p, class_of, has_forward);
    std::vector<int> component = components(classes, before);
    sum_up(p, class_of, component, before);
    const std::vector<int> with = absorbed(p);
    for (int& c : component) {
        c = with[at(c)];
    }
    sum_up(p, class_of, component, before);
}

TESSERA_INLINE int split_blocks::classify(const split_problem& p, std::vector<int>& class_of,
                                          std::vector<char>& has_forward) {
    std::vector<int> groups;
    for (const split_node& n : p.nodes) {
        if (n.group >= 0) {
            groups.push_back(n.group);
        }
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    int classes = static_cast<int>(groups.size());
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const auto known = std::lower_bound(groups.begin(), groups.end(), p.nodes[v].group);
        class_of[v] = p.nodes[v].group >= 0 ? static_cast<int>(known - groups.begin()) : classes++;
    }
    has_forward.assign(at(classes), 0);
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        has_forward[at(class_of[v])] = has_forward[at(class_of[v])] != 0 || !p.nodes[v].backward ? 1 : 0;
    }
    return classes;
}

TESSERA_INLINE std::vector<std::pair<int, int>> split_blocks::class_edges(const split_problem& p,
                                                                          const std::vector<int>& class_of,
                                                                          const std::vector<char>& has_forward) {
    std::vector<std::pair<int, int>> all;
    for (const split_edge& e : p.edges) {
        const int from = class_of[at(e.from)];
        const int to = class_of[at(e.to)];
        const bool orphan = has_forward[at(from)] == 0 || has_forward[at(to)] == 0;
        if (from != to && !p.nodes[at(e.to)].backward) {
            all.push_back({from, to});
        } else if (from != to && p.nodes[at(e.from)].backward && orphan) {
            all.push_back({to, from});
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

TESSERA_INLINE std::vector<int> split_blocks::components(int nodes, const std::vector<std::pair<int, int>>& edges) {
    std::vector<std::vector<int>> out(at(nodes));
    std::vector<std::vector<int>> in(at(nodes));
    for (const auto& [from, to] : edges) {
        out[at(from)].push_back(to);
        in[at(to)].push_back(from);
    }
    std::vector<int> finished;
    std::vector<char> seen(at(nodes), 0);
    std::vector<std::pair<int, std::size_t>> stack;
    for (int root = nodes - 1; root >= 0; --root) {
        for (seen[at(root)] == 0 ? stack.push_back({root, 0}) : void(); !stack.empty();) {
            const int v = stack.back().first;
            seen[at(v)] = 1;
            if (stack.back().second == out[at(v)].size()) {
                finished.push_back(v);
                stack.pop_back();
            } else if (const int w = out[at(v)][stack.back().second++]; seen[at(w)] == 0) {
                seen[at(w)] = 1;
                stack.push_back({w, 0});
            }
        }
    }
    std::vector<int> component(at(nodes), -1);
    int count = 0;
    for (std::size_t i = finished.size(); i-- > 0;) {
        std::vector<int> todo;
        if (component[at(finished[i])] < 0) {
            component[at(finished[i])] = count++;
            todo.push_back(finished[i]);
        }
        while (!todo.empty()) {
            const int v = todo.back();
            todo.pop_back();
            for (const int w : in[at(v)]) {
                if (component[at(w)] < 0) {
                    component[at(w)] = component[at(v)];
                    todo.push_back(w);
                }
            }
        }
    }
    return component;
}

TESSERA_INLINE void split_blocks::sum_up(const split_problem& p, const std::vector<int>& class_of,
                                         const std::vector<int>& block,
                                         const std::vector<std::pair<int, int>>& before) {
    const int blocks = *std::max_element(block.begin(), block.end()) + 1;
    block_of.resize(p.nodes.size());
    cpu_time.assign(at(blocks), 0);
    accelerator_time = size = cpu_time;
    accelerated.assign(at(blocks), 1);
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const int b = block[at(class_of[v])];
        block_of[v] = b;
        cpu_time[at(b)] += p.nodes[v].cpu_time;
        accelerator_time[at(b)] += p.nodes[v].accelerator_time;
        size[at(b)] += p.nodes[v].size;
        accelerated[at(b)] = accelerated[at(b)] != 0 && p.nodes[v].accelerated ? 1 : 0;
    }
    edges.clear();
    for (const auto& [from, to] : before) {
        if (block[at(from)] != block[at(to)]) {
            edges.push_back({block[at(from)], block[at(to)]});
        }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    gather_outputs(p);
}

TESSERA_INLINE std::vector<int> split_blocks::absorbed(const split_problem& p) const {
    double all = 0;
    for (const double s : size) {
        all += s;
    }
    const bool roomy = all <= p.memory; // then no device's memory is ever too small
    std::vector<std::vector<int>> near(at(count()));
    const auto join = [&](int a, int b) {
        near[at(a)].push_back(b);
        near[at(b)].push_back(a);
    };
    for (const auto& [from, to] : edges) {
        join(from, to);
    }
    for (const output& o : outputs) {
        for (const int r : o.readers) {
            join(o.from, r);
        }
    }
    std::vector<int> todo;
    for (int b = 0; b < count(); ++b) {
        std::sort(near[at(b)].begin(), near[at(b)].end());
        near[at(b)].erase(std::unique(near[at(b)].begin(), near[at(b)].end()), near[at(b)].end());
        todo.push_back(b);
    }
    std::vector<int> with(at(count()), -1);
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const int b = todo[i];
        const bool nothing = cpu_time[at(b)] == 0 && accelerator_time[at(b)] == 0 && (roomy || size[at(b)] == 0);
        if (with[at(b)] >= 0 || !nothing || near[at(b)].size() != 1) {
            continue;
        }
        const int other = near[at(b)].front();
        if (accelerated[at(b)] == 0 && accelerated[at(other)] != 0) {
            continue;
        }
        with[at(b)] = other;
        near[at(other)].erase(std::find(near[at(other)].begin(), near[at(other)].end(), b));
        todo.push_back(other);
    }
    std::vector<int> number(at(count()), -1);
    int kept = 0;
    for (int b = 0; b < count(); ++b) {
        number[at(b)] = with[at(b)] < 0 ? kept++ : -1;
    }
    for (int b = 0; b < count(); ++b) {
        int root = b;
        while (with[at(root)] >= 0) {
            root = with[at(root)];
        }
        number[at(b)] = number[at(root)];
    }
    return number;
}

TESSERA_INLINE void split_blocks::gather_outputs(const split_problem& p) {
    outputs.clear();
    std::vector<std::vector<int>> readers(p.nodes.size());
    for (const split_edge& e : p.edges) {
        if (block_of[at(e.from)] != block_of[at(e.to)]) {
            readers[at(e.from)].push_back(block_of[at(e.to)]);
        }
    }
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        std::sort(readers[v].begin(), readers[v].end());
        readers[v].erase(std::unique(readers[v].begin(), readers[v].end()), readers[v].end());
        if (!readers[v].empty() && p.nodes[v].output_cost > 0) {
            outputs.push_back({block_of[v], readers[v], p.nodes[v].output_cost});
        }
    }
    std::sort(outputs.begin(), outputs.end(), [](const output& a, const output& b) {
        return a.from != b.from ? a.from < b.from : a.readers < b.readers;
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (kept > 0 && outputs[kept - 1].from == outputs[i].from && outputs[kept - 1].readers == outputs[i].readers) {
            outputs[kept - 1].cost += outputs[i].cost;
        } else {
            if (kept != i) {
                outputs[kept] = outputs[i];
            }
            ++kept;
        }
    }
    outputs.resize(kept);
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
