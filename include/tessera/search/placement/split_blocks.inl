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
        c = with[to_size(c)];
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
    has_forward.assign(to_size(classes), 0);
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        has_forward[to_size(class_of[v])] = has_forward[to_size(class_of[v])] != 0 || !p.nodes[v].backward ? 1 : 0;
    }
    return classes;
}

TESSERA_INLINE std::vector<std::pair<int, int>> split_blocks::class_edges(const split_problem& p,
                                                                          const std::vector<int>& class_of,
                                                                          const std::vector<char>& has_forward) {
    std::vector<std::pair<int, int>> all;
    for (const split_edge& e : p.edges) {
        const int from = class_of[to_size(e.from)];
        const int to = class_of[to_size(e.to)];
        const bool orphan = has_forward[to_size(from)] == 0 || has_forward[to_size(to)] == 0;
        if (from != to && !p.nodes[to_size(e.to)].backward) {
            all.push_back({from, to});
        } else if (from != to && p.nodes[to_size(e.from)].backward && orphan) {
            all.push_back({to, from});
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

TESSERA_INLINE std::vector<int> split_blocks::components(int nodes, const std::vector<std::pair<int, int>>& edges) {
    std::vector<std::vector<int>> out(to_size(nodes));
    std::vector<std::vector<int>> in(to_size(nodes));
    for (const auto& [from, to] : edges) {
        out[to_size(from)].push_back(to);
        in[to_size(to)].push_back(from);
    }
    std::vector<int> finished;
    std::vector<char> seen(to_size(nodes), 0);
    std::vector<std::pair<int, std::size_t>> stack;
    for (int root = nodes - 1; root >= 0; --root) {
        if (seen[to_size(root)] == 0) {
            stack.push_back({root, 0});
        }
        while (!stack.empty()) {
            const int v = stack.back().first;
            seen[to_size(v)] = 1;
            if (stack.back().second == out[to_size(v)].size()) {
                finished.push_back(v);
                stack.pop_back();
            } else if (const int w = out[to_size(v)][stack.back().second++]; seen[to_size(w)] == 0) {
                seen[to_size(w)] = 1;
                stack.push_back({w, 0});
            }
        }
    }
    std::vector<int> component(to_size(nodes), -1);
    int count = 0;
    for (std::size_t i = finished.size(); i-- > 0;) {
        std::vector<int> todo;
        if (component[to_size(finished[i])] < 0) {
            component[to_size(finished[i])] = count++;
            todo.push_back(finished[i]);
        }
        while (!todo.empty()) {
            const int v = todo.back();
            todo.pop_back();
            for (const int w : in[to_size(v)]) {
                if (component[to_size(w)] < 0) {
                    component[to_size(w)] = component[to_size(v)];
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
    cpu_time.assign(to_size(blocks), 0);
    accelerator_time = size = cpu_time;
    accelerated.assign(to_size(blocks), 1);
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const int b = block[to_size(class_of[v])];
        block_of[v] = b;
        cpu_time[to_size(b)] += p.nodes[v].cpu_time;
        accelerator_time[to_size(b)] += p.nodes[v].accelerator_time;
        size[to_size(b)] += p.nodes[v].size;
        accelerated[to_size(b)] = accelerated[to_size(b)] != 0 && p.nodes[v].accelerated ? 1 : 0;
    }
    edges.clear();
    for (const auto& [from, to] : before) {
        if (block[to_size(from)] != block[to_size(to)]) {
            edges.push_back({block[to_size(from)], block[to_size(to)]});
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
    std::vector<std::vector<int>> near(to_size(count()));
    const auto join = [&](int a, int b) {
        near[to_size(a)].push_back(b);
        near[to_size(b)].push_back(a);
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
        std::sort(near[to_size(b)].begin(), near[to_size(b)].end());
        near[to_size(b)].erase(std::unique(near[to_size(b)].begin(), near[to_size(b)].end()), near[to_size(b)].end());
        todo.push_back(b);
    }
    std::vector<int> with(to_size(count()), -1);
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const int b = todo[i];
        const bool nothing =
            cpu_time[to_size(b)] == 0 && accelerator_time[to_size(b)] == 0 && (roomy || size[to_size(b)] == 0);
        if (with[to_size(b)] >= 0 || !nothing || near[to_size(b)].size() != 1) {
            continue;
        }
        const int other = near[to_size(b)].front();
        if (accelerated[to_size(b)] == 0 && accelerated[to_size(other)] != 0) {
            continue;
        }
        with[to_size(b)] = other;
        near[to_size(other)].erase(std::find(near[to_size(other)].begin(), near[to_size(other)].end(), b));
        todo.push_back(other);
    }
    std::vector<int> number(to_size(count()), -1);
    int kept = 0;
    for (int b = 0; b < count(); ++b) {
        number[to_size(b)] = with[to_size(b)] < 0 ? kept++ : -1;
    }
    for (int b = 0; b < count(); ++b) {
        int root = b;
        while (with[to_size(root)] >= 0) {
            root = with[to_size(root)];
        }
        number[to_size(b)] = number[to_size(root)];
    }
    return number;
}

TESSERA_INLINE void split_blocks::gather_outputs(const split_problem& p) {
    outputs.clear();
    std::vector<std::vector<int>> readers(p.nodes.size());
    for (const split_edge& e : p.edges) {
        if (block_of[to_size(e.from)] != block_of[to_size(e.to)]) {
            readers[to_size(e.from)].push_back(block_of[to_size(e.to)]);
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
