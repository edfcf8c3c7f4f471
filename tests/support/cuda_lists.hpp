// SPDX-License-Identifier: Apache-2.0
// What must hold of any list of calls, checked on the list and its plan alone, by other means than those that made it.
#pragma once

#include "random_strategy.hpp"

#include "tessera/backend/cuda/bind.hpp"
#include "tessera/backend/cuda/calls/print.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <set>
#include <string>

namespace test_support {

namespace ts = tessera;

/// Where the devices of a plan lie: all on one GPU, each on its own, or two on each.
inline std::vector<int> gpu_placement(int devices, int kind) {
    std::vector<int> gpus;
    for (int d = 0; d < devices; ++d) {
        gpus.push_back(kind == 0 ? 0 : kind == 1 ? devices - 1 - d : d / 2);
    }
    return gpus;
}

/// A plan with its calls.
struct listed {
    ts::plan p;
    ts::cuda::call_list list;
};

inline listed make_listed(const ts::graph_view& g, const ts::strategy& s, int devices, const std::vector<int>& gpus,
                          const ts::lower_options& how, bool fuse = true) {
    listed x;
    ts::cuda::algorithm_table algorithms;
    const ts::cuda::list_options options{gpus, how.update, fuse};
    x.p = ts::lower(g, s.view(), devices, how);
    ts::cuda::bind(x.p, g, options, algorithms);
    ts::finish(g, x.p);
    x.list = ts::cuda::make_call_list(x.p, g, options, algorithms);
    return x;
}

/// A set of numbers.
class bits {
public:
    explicit bits(std::size_t n) : words_((n + 63) / 64, 0) {}
    void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
    bool has(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
    void join(const bits& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            words_[w] |= other.words_[w];
        }
    }

private:
    std::vector<std::uint64_t> words_;
};

class list_checker {
public:
    explicit list_checker(const listed& x) : p_(x.p), l_(x.list), n_(x.list.calls.size()) {}

    /// Empty, or the first rule that is broken.
    std::string run() {
        std::string text = memory();
        text = text.empty() ? coverage() : text;
        text = text.empty() ? streams() : text;
        text = text.empty() ? groups() : text;
        text = text.empty() ? order() : text;
        return text.empty() ? host_waits() : text;
    }

private:
    std::string of(std::size_t c, const std::string& what) const {
        return "call " + std::to_string(c) + " of task " + std::to_string(l_.calls[c].task) + ": " + what;
    }
    const ts::tile& root(int t) const { return p_.tiles[ts::to_size(p_.root(t))]; }
    int gpu_of(int device) const { return l_.gpus[ts::to_size(device)]; }
    int gpu_of(const ts::cuda::call& c) const { return l_.streams[ts::to_size(c.stream)].gpu; }

    /// Every call touches memory of its own GPU, inside tiles, which are inside arenas.
    std::string memory() const {
        for (std::size_t c = 0; c < n_; ++c) {
            for (const ts::cuda::memory_use& m : l_.calls[c].memory) {
                const ts::tile& t = root(m.tile);
                if (t.device < 0 || t.offset < 0 || m.offset < 0 || m.bytes <= 0 || m.offset + m.bytes > t.bytes ||
                    t.offset + t.bytes > ts::arena_size(p_, t)) {
                    return of(c, "memory outside a tile or an arena");
                }
                if (t.offset % ts::cuda::gpu_alignment != 0) {
                    return of(c, "a tile that is not aligned as GPUs have it");
                }
                if (gpu_of(t.device) != gpu_of(l_.calls[c])) {
                    return of(c, "memory of another GPU");
                }
            }
            const auto* product = std::get_if<ts::cuda::matrix_product>(&l_.calls[c].body);
            for (std::size_t i = 0; product != nullptr && i < 3; ++i) {
                const ts::cuda::memory_use& m = l_.calls[c].memory[i];
                if ((root(m.tile).offset + m.offset) % product->alignment != 0) {
                    return of(c, "a factor that is less aligned than it says");
                }
            }
        }
        return {};
    }

    bool may_touch(const ts::task& t, int tile, bool write) const {
        const auto is = [&](int other) { return other >= 0 && p_.root(other) == p_.root(tile); };
        const bool counts = t.kind() == ts::task_kind::compute && t.what == ts::pass::forward;
        bool found = is(t.scratch) || is(t.params().state) || (is(t.nonfinite_count) && write <= counts);
        for (const ts::task_parameter& x : t.params().parts) {
            found = found || is(x.state);
        }
        for (int w : t.writes) {
            found = found || is(w);
        }
        for (int r : t.reads) {
            found = found || (!write && is(r));
        }
        return found;
    }

    /// The tasks that exchange together with one: of its message, or of its update. They issue calls for each other.
    std::pair<std::size_t, std::size_t> members_of(std::size_t task) const {
        const ts::task& t = p_.tasks[task];
        const auto together = [&](const ts::task& other) {
            const bool update = t.kind() == ts::task_kind::update && t.params().slices > 1 && other.writes == t.writes;
            return other.kind() == t.kind() &&
                   (t.params().message >= 0 ? other.params().message == t.params().message : update);
        };
        std::size_t first = task;
        std::size_t last = task + 1;
        while (first > 0 && together(p_.tasks[first - 1])) {
            --first;
        }
        while (last < p_.tasks.size() && together(p_.tasks[last])) {
            ++last;
        }
        return {first, last};
    }

    /// The calls of a task, and of those that exchange together with it, write all that it writes (its slice, of an
    /// update), touch nothing else, and there are some.
    std::string coverage() const {
        for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
            const ts::task& t = p_.tasks[i];
            const bool sliced = t.kind() == ts::task_kind::update || t.kind() == ts::task_kind::reduce ||
                                t.kind() == ts::task_kind::average;
            const auto [first, last] = members_of(i);
            bool nothing = sliced;
            ts::for_each_part(t, [&](const ts::task& one) {
                nothing = nothing && ts::even_part(p_.tiles[ts::to_size(one.writes[0])].elements, t.params().slices,
                                                   t.params().slice)
                                         .empty();
            });
            if (t.compute().fused) { // in place, by the call before it
                const int maker = last_writer(i, t.writes[0]);
                if (l_.first[i] != l_.first[i + 1] || maker < 0 || !activates(maker)) {
                    return "task " + std::to_string(i) + " is left to a call that does not do it";
                }
                continue;
            }
            if (l_.first[first] == l_.first[last] && !nothing) {
                return "task " + std::to_string(i) + " has no calls";
            }
            for (int c = l_.first[i]; c < l_.first[i + 1]; ++c) {
                const ts::cuda::call& x = l_.calls[ts::to_size(c)];
                if (x.task != static_cast<int>(i)) {
                    return of(ts::to_size(c), "listed with another task");
                }
                const bool collects = std::holds_alternative<ts::cuda::collective>(x.body);
                for (const ts::cuda::memory_use& m : x.memory) {
                    bool may = collects;
                    for (std::size_t k = first; k < last && !may; ++k) {
                        may = (k == i || x.group >= 0) && may_touch(p_.tasks[k], m.tile, m.write);
                    }
                    if (!may) {
                        return of(ts::to_size(c), "touches a tile that its task does not");
                    }
                }
            }
            for (int w : t.writes) {
                const ts::tile& x = p_.tiles[ts::to_size(w)];
                const bool slice = sliced && x.kind != ts::tile_kind::scalar && x.slices == 1;
                const ts::interval all = slice ? ts::even_part(x.elements, t.params().slices, t.params().slice)
                                               : ts::interval{0, x.elements};
                if (!is_covered(first, last, w, all, ts::bytes_of(x.type))) {
                    return "task " + std::to_string(i) + " leaves a part of tile " + std::to_string(w) + " unwritten";
                }
            }
        }
        return {};
    }

    /// The last task before `task` that writes the memory of a tile.
    int last_writer(std::size_t task, int tile) const {
        int found = -1;
        for (std::size_t k = 0; k < task; ++k) {
            for (int w : p_.tasks[k].writes) {
                found = p_.root(w) == p_.root(tile) ? static_cast<int>(k) : found;
            }
        }
        return found;
    }
    /// Whether one of a task's calls takes the positive part of what it writes.
    bool activates(int task) const {
        bool found = false;
        for (int c = l_.first[ts::to_size(task)]; c < l_.first[ts::to_size(task) + 1]; ++c) {
            const ts::cuda::call_body& b = l_.calls[ts::to_size(c)].body;
            const auto* product = std::get_if<ts::cuda::matrix_product>(&b);
            const auto* map = std::get_if<ts::cuda::activation>(&b);
            found = found || std::holds_alternative<ts::cuda::activated_convolution>(b) ||
                    (product != nullptr && product->positive) ||
                    (map != nullptr && map->which == ts::cuda::activation::function::relu);
        }
        return found;
    }

    bool is_covered(std::size_t first, std::size_t last, int tile, const ts::interval& elements,
                    ts::index_t size) const {
        std::vector<char> written(ts::to_size(elements.size() * size), 0);
        for (int c = l_.first[first]; c < l_.first[last]; ++c) {
            for (const ts::cuda::memory_use& m : l_.calls[ts::to_size(c)].memory) {
                for (ts::index_t b = 0; b < m.bytes && m.write && p_.root(m.tile) == p_.root(tile); ++b) {
                    const ts::index_t where = m.offset + b - elements.begin * size;
                    if (where >= 0 && where < static_cast<ts::index_t>(written.size())) {
                        written[ts::to_size(where)] = 1;
                    }
                }
            }
        }
        return std::count(written.begin(), written.end(), 0) == 0;
    }

    /// A task's own calls are on its device's stream: the second one for whatever sums, updates or gathers parameters,
    /// and for copies between devices, or to the host and back, if anything crosses. cuDNN's handles know the first stream alone.
    std::string streams() const {
        const auto crosses = [&](const ts::task& t, const std::vector<int>& tiles) {
            return t.kind() != ts::task_kind::compute && std::any_of(tiles.begin(), tiles.end(), [&](int x) {
                       const ts::tile& one = p_.tiles[ts::to_size(x)];
                       return one.on_host || (one.device >= 0 && one.device != t.device);
                   });
        };
        bool any = false;
        for (const ts::task& t : p_.tasks) {
            any = any || crosses(t, t.reads) || crosses(t, t.writes);
        }
        for (std::size_t c = 0; c < n_; ++c) {
            const ts::cuda::call& x = l_.calls[c];
            const ts::task& t = p_.tasks[ts::to_size(x.task)];
            const ts::cuda::call_stream& stream = l_.streams[ts::to_size(x.stream)];
            if (x.group >= 0) {
                continue;
            }
            using kind = ts::task_kind;
            const bool of_parameters = t.kind() == kind::update || t.kind() == kind::reduce ||
                                       t.kind() == kind::gather || t.kind() == kind::average;
            const bool copies =
                t.kind() == kind::copy; // of those that bring parts of others binding says where they belong
            if (stream.device != t.device || (stream.side_stream && !any) ||
                (!copies && stream.side_stream != (any && of_parameters)) ||
                (copies && stream.side_stream != t.side_stream) ||
                (copies && any && (crosses(t, t.reads) || crosses(t, t.writes)) && !stream.side_stream)) {
                return of(c, "on another stream than its task's");
            }
            const bool own = std::holds_alternative<ts::cuda::kernel_launch>(x.body) ||
                             std::holds_alternative<ts::cuda::memory_copy>(x.body) ||
                             std::holds_alternative<ts::cuda::memory_clear>(x.body);
            if (stream.side_stream && !own) {
                return of(c, "a library's call beside the computation");
            }
        }
        return {};
    }

    /// All members of a communicator meet its groups in one order; groups are complete.
    std::string groups() const {
        std::vector<int> last(l_.streams.size(), -1);
        for (std::size_t c = 0; c < n_; ++c) {
            const ts::cuda::call& x = l_.calls[c];
            const bool exchanges = std::holds_alternative<ts::cuda::point_to_point>(x.body) ||
                                   std::holds_alternative<ts::cuda::collective>(x.body);
            if (exchanges != (x.group >= 0) || exchanges != (l_.streams[ts::to_size(x.stream)].device < 0)) {
                return of(c, "a group's call on a device's stream, or the other way round");
            }
            if (!exchanges) {
                continue;
            }
            if (x.group < last[ts::to_size(x.stream)]) {
                return of(c, "groups out of order on a GPU");
            }
            last[ts::to_size(x.stream)] = x.group;
            if (l_.communicators[ts::to_size(x.communicator)][ts::to_size(x.rank)] != gpu_of(x)) {
                return of(c, "a rank that is not its GPU's");
            }
        }
        for (std::size_t c = 0; c < n_;) {
            std::size_t end = c + 1;
            while (end < n_ && l_.calls[c].group >= 0 && l_.calls[end].group == l_.calls[c].group) {
                ++end;
            }
            if (l_.calls[c].group >= 0) {
                const std::string text = one_group(c, end);
                if (!text.empty()) {
                    return text;
                }
            }
            c = end;
        }
        return {};
    }

    std::string one_group(std::size_t first, std::size_t last) const {
        std::multiset<std::string> sent;
        std::multiset<std::string> received;
        std::set<int> ranks;
        for (std::size_t c = first; c < last; ++c) {
            const ts::cuda::call& x = l_.calls[c];
            if (const auto* e = std::get_if<ts::cuda::point_to_point>(&x.body)) {
                const int from = e->sends ? x.rank : e->peer;
                const int to = e->sends ? e->peer : x.rank;
                (e->sends ? sent : received)
                    .insert(std::to_string(from) + ">" + std::to_string(to) + ":" + std::to_string(e->count));
                if (e->peer == x.rank || x.memory[0].write == e->sends ||
                    x.memory[0].bytes != e->count * ts::bytes_of(e->type)) {
                    return of(c, "a send or receive that is none");
                }
            } else {
                using kind = ts::cuda::collective::kind;
                const auto& what = std::get<ts::cuda::collective>(x.body);
                const bool slices = what.which == kind::reduce_scatter || what.which == kind::all_gather;
                const std::size_t members = l_.communicators[ts::to_size(x.communicator)].size();
                const ts::index_t bytes =
                    what.count * ts::bytes_of(what.type) * (slices ? static_cast<ts::index_t>(members) : 1);
                if (ranks.size() == members) { // the next collective of a message
                    ranks.clear();
                }
                bool fits = ranks.insert(x.rank).second && x.communicator == l_.calls[first].communicator;
                for (const ts::cuda::memory_use& m : x.memory) {
                    fits = fits && m.bytes == bytes;
                }
                if (!fits) {
                    return of(c, "a rank twice in a collective, or a wrong count");
                }
            }
        }
        if (sent != received) {
            return of(first, "sends without receives");
        }
        if (!ranks.empty() && ranks.size() != l_.communicators[ts::to_size(l_.calls[first].communicator)].size()) {
            return of(first, "a collective without all its members");
        }
        return {};
    }

    /// Reachability by streams, events and groups: any two calls that touch the same bytes, one writing, are ordered,
    /// and as the plan orders their tasks.
    std::string order() {
        before_.assign(n_, bits(n_));
        std::vector<bits> started(n_, bits(n_)); // what has ended before a call starts
        std::vector<int> last(l_.streams.size(), -1);
        for (std::size_t c = 0; c < n_;) {
            std::size_t end = c + 1;
            while (end < n_ && l_.calls[c].group >= 0 && l_.calls[end].group == l_.calls[c].group) {
                ++end;
            }
            std::vector<int> now = last;
            for (std::size_t k = c; k < end; ++k) {
                const auto join = [&](int other) {
                    started[k].set(ts::to_size(other));
                    started[k].join(before_[ts::to_size(other)]);
                };
                const std::size_t stream = ts::to_size(l_.calls[k].stream);
                if (last[stream] >= 0) {
                    join(last[stream]);
                }
                for (const ts::cuda::call_wait& w : l_.calls[k].waits) {
                    if (w.call >= static_cast<int>(c) || !l_.calls[ts::to_size(w.call)].records) {
                        return of(k, "waits for a later call or for one without an event");
                    }
                    join(w.call);
                }
                now[stream] = static_cast<int>(k);
            }
            for (std::size_t k = c; k < end; ++k) { // before_[k]: what has ended when k has ended
                before_[k] = started[k];
                for (std::size_t other = c; other < end; ++other) {
                    // An event, and what comes next in the stream, is after all that a group put on the stream.
                    if (other != k && l_.calls[other].stream == l_.calls[k].stream) {
                        before_[k].set(other);
                    }
                    before_[k].join(started[other]);
                }
            }
            last = now;
            c = end;
        }
        for (std::size_t a = 0; a < n_; ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                if (!started[a].has(b) && conflict(l_.calls[a], l_.calls[b])) {
                    return of(a,
                              "races with call " + std::to_string(b) + " of task " + std::to_string(l_.calls[b].task));
                }
            }
        }
        return {};
    }

    bool conflict(const ts::cuda::call& a, const ts::cuda::call& b) const {
        for (const ts::cuda::memory_use& x : a.memory) {
            for (const ts::cuda::memory_use& y : b.memory) {
                const ts::tile& s = root(x.tile);
                const ts::tile& t = root(y.tile);
                if ((x.write || y.write) && s.device == t.device && ts::arena_of(s) == ts::arena_of(t) &&
                    s.offset + x.offset < t.offset + y.offset + y.bytes &&
                    t.offset + y.offset < s.offset + x.offset + x.bytes) {
                    return true;
                }
            }
        }
        return false;
    }

    /// An event is recorded before another thread waits for it: the plan orders the tasks, or the wait says that the
    /// host must wait too.
    std::string host_waits() const {
        const std::size_t devices = p_.order.size();
        std::vector<std::vector<int>> known(p_.tasks.size(), std::vector<int>(devices, 0)); // tasks finished before
        for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
            const ts::task& t = p_.tasks[i];
            const auto join = [&](int other) {
                for (std::size_t d = 0; d < devices; ++d) {
                    known[i][d] = std::max(known[i][d], known[ts::to_size(other)][d]);
                }
                int& own = known[i][ts::to_size(p_.tasks[ts::to_size(other)].device)];
                own = std::max(own, p_.tasks[ts::to_size(other)].position + 1);
            };
            if (t.position > 0) {
                join(p_.order[ts::to_size(t.device)][ts::to_size(t.position - 1)]);
            }
            for (const ts::wait_for& w : t.waits) {
                if (w.count > 0) {
                    join(p_.order[ts::to_size(w.list)][ts::to_size(w.count - 1)]);
                }
            }
        }
        for (std::size_t c = 0; c < n_; ++c) {
            for (const ts::cuda::call_wait& w : l_.calls[c].waits) {
                const ts::task& other = p_.tasks[ts::to_size(l_.calls[ts::to_size(w.call)].task)];
                const bool same = l_.calls[ts::to_size(w.call)].task == l_.calls[c].task;
                if (!same && !w.spins &&
                    known[ts::to_size(l_.calls[c].task)][ts::to_size(other.device)] <= other.position) {
                    return of(c, "waits for an event that may not have been recorded yet");
                }
            }
        }
        return {};
    }

    const ts::plan& p_;
    const ts::cuda::call_list& l_;
    std::size_t n_;
    std::vector<bits> before_;
};

} // namespace test_support
