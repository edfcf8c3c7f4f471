// SPDX-License-Identifier: Apache-2.0
// Bodies of task_clock.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/task_clock.hpp"

#include <ctime>
#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE void touch(std::byte* from, index_t bytes, bool write) {
    for (index_t i = 0; i < bytes; i += 64) {
        volatile auto* x = reinterpret_cast<volatile int*>(from + i);
        const int value = *x;
        if (write) {
            *x = value;
        }
    }
}

TESSERA_INLINE void spin_barrier::operator()(int spins) {
    const int mine = arrived_.fetch_add(1) / members_;
    tessera::detail::spin_until([&] { return arrived_.load() >= (mine + 1) * members_; }, spins);
}

TESSERA_INLINE void sweep::pollute(index_t bytes) {
    while (bytes > 0) {
        const index_t now = std::min(bytes, bytes_ - at_);
        touch(memory_.data() + at_, now, true);
        at_ = (at_ + now) % bytes_;
        bytes -= now;
    }
}

TESSERA_INLINE void sweep::stream() {
    constexpr index_t chunk = 1 << 18;
    std::memcpy(memory_.data() + bytes_ / 2 + copied_, memory_.data() + copied_, to_size(chunk));
    copied_ = (copied_ + chunk) % (bytes_ / 2);
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE int task_clock::learn(const std::vector<const plan*>& plans, const graph_view& g) {
    backend_.agree_over(threads_.group());
    std::vector<owned<experiment>> list;
    std::vector<std::string> listed; // sorted
    index_t bytes = 0;
    int learnt = 0;
    for (const plan* p : plans) {
        const std::vector<std::vector<simulation::reuse>> reuses = simulation::reuse_of(*p);
        for (std::size_t i = 0; i < p->tasks.size(); ++i) {
            const std::string name = name_of(*p, static_cast<int>(i), g, reuses[i]);
            const auto place = std::lower_bound(listed.begin(), listed.end(), name);
            if (backend_.measured().find(name) != nullptr || (place != listed.end() && *place == name)) {
                continue;
            }
            listed.insert(place, name);
            list.emplace_back(new experiment(name, isolate(*p, static_cast<int>(i)), reuses[i]));
            prepare(*list.back(), g);
            bytes += list.back()->bytes;
            ++learnt;
            if (bytes > options_.memory) {
                run(list);
                list.clear();
                bytes = 0;
            }
        }
    }
    run(list);
    backend_.measured().save();
    return learnt;
}

TESSERA_INLINE plan_times task_clock::times(const plan& p, const graph_view& g) const {
    const std::vector<std::vector<simulation::reuse>> reuses = simulation::reuse_of(p);
    plan_times all;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const std::string name = name_of(p, static_cast<int>(i), g, reuses[i]);
        const double* alone = backend_.measured().find(name);
        const double* pressed = backend_.measured().find(name + pressed_suffix);
        simulation::thread_time t;
        all.unknown += alone == nullptr ? 1 : 0;
        t.alone = alone == nullptr ? 1 : std::max<index_t>(1, static_cast<index_t>(std::llround(*alone * 1e9)));
        t.pressed = pressed == nullptr ? t.alone : static_cast<index_t>(std::llround(*pressed * 1e9));
        all.tasks.push_back(t);
    }
    return all;
}

TESSERA_INLINE std::string task_clock::name_of(const plan& p, int index, const graph_view& g,
                                               const std::vector<simulation::reuse>& where) const {
    const task& t = p.tasks[to_size(index)];
    description d;
    if (t.kind() == task_kind::compute) {
        d = g.describe(t.op);
    }
    return "task " + detail::work_name(p, t, g, &d, backend_.formats(), backend_.rows(), backend_.update()) +
           detail::residence_name(residences(p, where));
}

TESSERA_INLINE task_clock::experiment::experiment(std::string called, plan isolated,
                                                  const std::vector<simulation::reuse>& where)
    : name(std::move(called)), alone(std::move(isolated)), store(alone), memory(alone, store),
      found(residences(alone, where)), reuses(where) {}

TESSERA_INLINE index_t task_clock::bytes_of_access(const plan& p, const access& a) {
    const tile& t = p.tiles[to_size(a.tile)];
    return t.kind == tile_kind::optimizer_state ? t.bytes : a.elements.size() * bytes_of(t.type);
}

TESSERA_INLINE std::vector<residence> task_clock::residences(const plan& p,
                                                             const std::vector<simulation::reuse>& where) {
    std::vector<residence> all;
    std::vector<access> own;
    if (p.tasks.size() == 1) { // isolated: tiles have other numbers
        accesses_of(p, p.tasks[0], own);
    }
    const auto bytes_at = [&](std::size_t k) {
        return bytes_of_access(p, p.tasks.size() == 1 ? own[k] : where[k].what);
    };
    index_t bytes = 0;
    for (std::size_t k = 0; k < where.size(); ++k) {
        bytes += bytes_at(k);
    }
    for (std::size_t k = 0; k < where.size(); ++k) {
        all.push_back(residence_of(where[k], bytes_at(k), bytes));
    }
    return all;
}

TESSERA_INLINE void task_clock::prepare(experiment& e, const graph_view& g) {
    const plan& p = e.alone;
    e.input_pointers.assign(to_size(g.tensor_count), nullptr);
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const tile& x = p.tiles[i];
        if (x.alias >= 0) {
            continue;
        }
        const index_t bytes = x.bytes > 0 ? x.bytes : x.elements * bytes_of(x.type);
        e.bytes += bytes;
        std::byte* where = e.memory[static_cast<int>(i)];
        if (x.device < 0) {
            e.inputs.emplace_back(std::max(bytes, g.tensors[x.tensor].extents.volume() * bytes_of(x.type)));
            e.input_pointers[to_size(x.tensor)] = where = e.inputs.back().data();
            fill(where, g.tensors[x.tensor].extents.volume() * bytes_of(x.type), x, g);
        } else if (where != nullptr) {
            fill(where, bytes, x, g);
        }
    }
    std::vector<access> own;
    accesses_of(p, p.tasks[0], own);
    for (const access& a : own) {
        const tile& x = p.tiles[to_size(a.tile)];
        std::byte* base =
            x.device < 0 ? const_cast<std::byte*>(static_cast<const std::byte*>(e.input_pointers[to_size(x.tensor)]))
                         : e.memory[a.tile];
        const bool state = x.kind == tile_kind::optimizer_state;
        e.ranges.push_back({base + (state ? 0 : a.elements.begin * bytes_of(x.type)), bytes_of_access(p, a)});
    }
    auto make = [&](int device) {
        if (device == 0) {
            backend_.start(0);
            e.what = backend_.prepare(e.alone, 0, g, e.memory);
            static_cast<job*>(e.what.context)->stand_alone();
        }
    };
    threads_.run(make);
}

TESSERA_INLINE void task_clock::fill(std::byte* where, index_t bytes, const tile& x, const graph_view& g) {
    constexpr index_t pattern = 1 << 16;
    if (x.kind == tile_kind::scratch || x.type == element::f64) {
        return;
    }
    const index_t count =
        x.type == element::i32 && x.tensor >= 0 && x.tensor < g.tensor_count ? g.integers_in(x.tensor) : 0;
    for (index_t i = 0; i < std::min(bytes, pattern) / 4; ++i) {
        const std::uint64_t random = op::mix(static_cast<std::uint64_t>(i));
        if (x.type == element::f32) {
            reinterpret_cast<float*>(where)[i] = static_cast<float>(static_cast<int>(random % 201U) - 100) * 0.01F;
        } else {
            reinterpret_cast<std::int32_t*>(where)[i] =
                static_cast<std::int32_t>(random % static_cast<std::uint64_t>(count > 0 ? count : 1));
        }
    }
    for (index_t done = pattern; done < bytes; done += pattern) {
        std::memcpy(where + done, where, to_size(std::min(pattern, bytes - done)));
    }
}

TESSERA_INLINE bool task_clock::is_exposed(const experiment& e) {
    index_t bytes = 0;
    bool far = false;
    for (std::size_t k = 0; k < e.ranges.size(); ++k) {
        bytes += e.ranges[k].bytes;
        far = far || (e.found[k].level >= 3 && e.ranges[k].bytes > (64 << 10));
    }
    return far || bytes > (2 << 20);
}

TESSERA_INLINE bool task_clock::is_far(const experiment& e) {
    return std::any_of(e.found.begin(), e.found.end(), [](const residence& r) { return r.level == 4; });
}

TESSERA_INLINE void task_clock::run(std::vector<owned<experiment>>& list) {
    if (list.empty()) {
        return;
    }
    const double tick = clock_overhead();
    for (int round = -1; round < options_.rounds; ++round) {
        for (owned<experiment>& e : list) {
            const double before = e->seconds[0].empty() ? 0 : e->seconds[0].back();
            if (round > (before > 0.02 ? 2 : is_far(*e) ? 4 : options_.rounds)) {
                continue; // what is long, or takes long to prepare, meets fewer slow moments and fast ones
            }
            const double seconds = run_once(*e, false) - tick;
            if (round >= 0) {
                e->seconds[0].push_back(seconds);
            }
            if (round >= 0 && pair_ > 1 && is_exposed(*e) && round % 2 == 0) {
                e->seconds[1].push_back(run_once(*e, true) - tick);
            }
        }
    }
    for (owned<experiment>& e : list) {
        backend_.measured().add(e->name, typical(e->seconds[0]));
        if (!e->seconds[1].empty()) {
            backend_.measured().add(e->name + pressed_suffix, typical(e->seconds[1]));
        }
        backend_.unload(e->memory);
    }
}

TESSERA_INLINE double task_clock::typical(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return std::max(1e-9, x[x.size() / 4]);
}

TESSERA_INLINE double task_clock::now() const {
    if (!options_.of_processor) {
        return seconds_now();
    }
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TESSERA_INLINE double task_clock::clock_overhead() const {
    double least = 1;
    for (int i = 0; i < 100; ++i) {
        const double a = now();
        const double b = now();
        least = std::min(least, b - a);
    }
    return least;
}

TESSERA_INLINE double task_clock::run_once(experiment& e, bool pressed) {
    constexpr index_t after[] = {0, 96 << 10, 2 << 20, 12 << 20, 48 << 20};
    bool wanted[5]{};
    for (const residence& r : e.found) {
        wanted[r.level] = true;
    }
    detail::spin_barrier barrier(pair_);
    std::atomic<bool> streams{false};
    std::atomic<bool> over{false};
    double seconds = 0;
    run_state state;
    state.step = 1;
    state.inputs = e.input_pointers.data();
    auto body = [&](int device) {
        if (device >= pair_) {
            return;
        }
        for (int level = 4; level >= 0; --level) {
            if (!wanted[level]) {
                continue;
            }
            for (const bool others_turn : {false, true}) {
                for (std::size_t k = 0; k < e.ranges.size() && level < 4; ++k) {
                    const simulation::holder held = pair_ > 1 ? e.found[k].held : simulation::holder::own;
                    const bool touches = device == 0 ? !others_turn && held != simulation::holder::theirs
                                                     : others_turn && held != simulation::holder::own;
                    if (touches && e.found[k].level == level) {
                        const bool write = device == 0 ? e.reuses[k].written || held == simulation::holder::shared
                                                       : held == simulation::holder::theirs;
                        detail::touch(e.ranges[k].begin, std::min(e.ranges[k].bytes, index_t{64} << 20), write);
                    }
                }
                if (pair_ > 1) {
                    barrier(threads_.spins());
                }
            }
            sweeps_[to_size(device)].pollute(device == 0 || level < 3 ? after[level] : 0);
        }
        if (pair_ > 1) {
            barrier(threads_.spins());
        }
        if (device == 1) {
            while (pressed && !over.load(std::memory_order_relaxed)) {
                sweeps_[1].stream();
                streams.store(true);
            }
            return;
        }
        tessera::detail::spin_until([&] { return !pressed || streams.load(); }, threads_.spins());
        const double begin = now();
        e.what.call(e.what.context, state);
        seconds = now() - begin;
        over.store(true);
    };
    threads_.run(body);
    return seconds;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
