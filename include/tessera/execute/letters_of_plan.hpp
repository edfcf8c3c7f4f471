// SPDX-License-Identifier: Apache-2.0
// The letters that a process sends while it runs a plan over several nodes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/processes.hpp"
#include "tessera/plan/between_nodes.hpp"
#include "tessera/task/compute.hpp"

#include <atomic>
#include <vector>

namespace tessera {

/// Letters by the task after which they go. Of a long message only the last letter says that it has come.
class letters_of_plan {
public:
    /// The letters after one task.
    class bundle {
    public:
        /// `finished`: of a list's task how many of them have finished; of a queue's the number of the run.
        void post(std::uint64_t finished, const run_state& state) const {
            for (const letter& l : letters) {
                const bool is_counted = l.then != letter::signal::flag || run == nullptr;
                group->post(l, is_counted ? finished : run->load(std::memory_order_relaxed), state.report);
            }
        }

        std::vector<letter> letters;
        process_group* group = nullptr;
        const std::atomic<std::uint64_t>* run = nullptr; ///< the number of the present run; null: `finished` is it
    };

    letters_of_plan() = default;
    letters_of_plan(const letters_of_plan&) = delete;
    letters_of_plan& operator=(const letters_of_plan&) = delete;
    ~letters_of_plan() { group_ != nullptr ? group_->withdraw() : void(); }

    /// Writes those of this process's tasks. `traffic` is that of the plan, whose tiles lie where `where` says.
    void write(const plan& p, const addresses& where, const node_traffic& traffic, process_group& group) {
        group.withdraw();
        group_ = &group;
        after_.assign(p.tasks.size(), {});
        arrivals_of_.assign(p.tasks.size(), {});
        before_.clear();
        arrivals_ = 0;
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const task& t = p.tasks[i];
            for (const node_traffic::message& m : traffic.after[i]) {
                const std::size_t flag = m.reader >= 0 ? arrivals_++ : 0; // counted alike everywhere
                if (m.reader >= 0) {
                    arrivals_of_[static_cast<std::size_t>(m.reader)].push_back(flag);
                }
                if (!group.owns(t.device)) {
                    continue;
                }
                add(p, where, m, after_[i]);
                letter& last = after_[i].letters.back();
                if (m.reader >= 0) {
                    last.then = letter::signal::flag;
                    last.flag.offset = flag; // the place follows in signal()
                } else {
                    says_done(p, static_cast<int>(i), last);
                }
            }
        }
        for (int d = 0; d < p.devices; ++d) {
            for (const node_traffic::message& m : traffic.before[static_cast<std::size_t>(d)]) {
                if (group.owns(d)) {
                    bundle one;
                    add(p, where, m, one);
                    before_.insert(before_.end(), one.letters.begin(), one.letters.end());
                }
            }
        }
        for (bundle& b : after_) {
            b.group = &group;
        }
    }
    /// All nodes wait for these points.
    void tell_all(const plan& p, const std::vector<wait_for>& points) {
        for (const wait_for& w : points) {
            const int i = p.order[static_cast<std::size_t>(w.list)][static_cast<std::size_t>(w.count - 1)];
            for (int node = 0; node < group_->nodes(); ++node) {
                tell(p, i, node);
            }
        }
    }
    /// Where the queue keeps which of its items, and what for them alone, has come; `items`: its tasks. `run` has the number of the present run.
    void signal(const std::vector<int>& items, shared_place done, shared_place arrivals,
                const std::atomic<std::uint64_t>& run) {
        for (bundle& b : after_) {
            for (letter& l : b.letters) {
                if (l.then == letter::signal::flag && l.flag.piece == 0) {
                    l.flag = {arrivals.piece, arrivals.offset + l.flag.offset * sizeof(std::uint64_t)};
                    b.run = &run;
                }
            }
        }
        for (std::size_t k = 0; k < items.size(); ++k) {
            bundle& b = after_[static_cast<std::size_t>(items[k])];
            b.run = nullptr;
            for (letter& l : b.letters) {
                if (l.then == letter::signal::list) {
                    l.then = letter::signal::flag;
                    l.flag = {done.piece, done.offset + k * sizeof(std::uint64_t)};
                }
            }
        }
    }

    /// The letters after a task of this process, or null.
    const bundle* after(int task) const {
        const auto i = static_cast<std::size_t>(task);
        return i < after_.size() && !after_[i].letters.empty() ? &after_[i] : nullptr;
    }
    /// Of a queued task: the flags that say that what it reads has come.
    const std::vector<std::size_t>& arrivals_of(int task) const { return arrivals_of_[static_cast<std::size_t>(task)]; }
    std::size_t arrivals() const { return arrivals_; }
    /// Sends what persistent tiles hold.
    void post_before() const {
        for (const letter& l : before_) {
            group_->post(l, 0, nullptr);
        }
    }

private:
    void add(const plan& p, const addresses& where, const node_traffic::message& m, bundle& to) const {
        letter l;
        l.node = m.node;
        l.priority = m.priority;
        index_t bytes = 0;
        for (const tile_elements& x : m.parts) {
            const tile& t = p.tiles[static_cast<std::size_t>(x.tile)];
            const std::byte* const base = where[x.tile];
            const shared_place at = group_->place_of(base);
            const index_t each = bytes_of(t.type);
            for (const interval& e : x.elements) {
                for (index_t begin = e.begin * each; begin < e.end * each;) {
                    if (bytes == letter::longest) {
                        to.letters.push_back(l);
                        l.rows.clear();
                        bytes = 0;
                    }
                    const index_t room = letter::longest - bytes;
                    const index_t end = e.end * each - begin < room ? e.end * each : begin + room;
                    l.add(base, at, begin, end);
                    bytes += end - begin;
                    begin = end;
                }
            }
        }
        to.letters.push_back(static_cast<letter&&>(l));
    }
    static void says_done(const plan& p, int task, letter& l) {
        l.then = letter::signal::list; // of a queue's task until signal()
        l.list = p.list_of(p.tasks[static_cast<std::size_t>(task)]);
    }

    /// That a list's task of this process has finished is told to a node.
    void tell(const plan& p, int i, int node) {
        if (!group_->owns(p.tasks[static_cast<std::size_t>(i)].device) || node == group_->node()) {
            return;
        }
        std::vector<letter>& all = after_[static_cast<std::size_t>(i)].letters;
        for (const letter& l : all) {
            if (l.node == node && l.then == letter::signal::list) {
                return;
            }
        }
        letter l;
        l.node = node;
        says_done(p, i, l);
        all.push_back(l);
    }

    process_group* group_ = nullptr;
    std::vector<bundle> after_; ///< by task
    std::vector<letter> before_;
    std::vector<std::vector<std::size_t>> arrivals_of_; ///< by task
    std::size_t arrivals_ = 0;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
