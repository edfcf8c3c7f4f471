// SPDX-License-Identifier: Apache-2.0
// Bodies of contiguous_pieces.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/contiguous_pieces.hpp"

namespace tessera::search::placement::detail {

TESSERA_INLINE piece_search::piece_search(const split_problem& p, const split_blocks& b, const downsets& sets)
    : problem_(p), blocks_(b), sets_(sets), wide_(to_size(p.accelerators) + 1), row_(wide_ * (to_size(p.cpus) + 1)) {
    const std::size_t n = sets.count();
    for (std::vector<double>* sum : {&accelerator_, &cpu_, &size_, &other_, &work_}) {
        sum->assign(n, 0);
    }
    for (std::size_t i = 1; i < n; ++i) {
        const downsets::below& under = *sets.begin_below(static_cast<int>(i));
        const std::size_t b0 = to_size(under.without);
        const std::size_t j = to_size(under.set);
        accelerator_[i] = accelerator_[j] + b.accelerator_time[b0];
        cpu_[i] = cpu_[j] + b.cpu_time[b0];
        size_[i] = size_[j] + b.size[b0];
        other_[i] = other_[j] + (b.accelerated[b0] != 0 ? 0 : 1);
        work_[i] = work_[j] + (b.accelerated[b0] != 0 ? b.accelerator_time[b0] : 0);
    }
    touching_.resize(to_size(b.count()));
    for (std::size_t h = 0; h < b.outputs.size(); ++h) {
        touching_[to_size(b.outputs[h].from)].push_back({static_cast<int>(h), true});
        for (const int r : b.outputs[h].readers) {
            touching_[to_size(r)].push_back({static_cast<int>(h), false});
        }
    }
    for (int v = 0; v < b.count(); ++v) {
        const double cpu = b.cpu_time[to_size(v)];
        const double own = b.accelerated[to_size(v)] != 0 ? b.accelerator_time[to_size(v)] : 0;
        if (own > 0) {
            cpu_rate_ = std::max(cpu_rate_, cpu > 0 ? own / cpu : std::numeric_limits<double>::infinity());
        }
    }
    inside_.assign(b.outputs.size(), {});
    seen_.assign(n, 0);
}

TESSERA_INLINE double piece_search::lower_bound() const {
    const double devices = problem_.accelerators + (problem_.cpus > 0 ? problem_.cpus * cpu_rate_ : 0);
    double least = devices > 0 ? work_.back() / devices : 0;
    for (int v = 0; v < blocks_.count(); ++v) {
        const bool accelerated = blocks_.accelerated[to_size(v)] != 0 && problem_.accelerators > 0;
        const double cpu = problem_.cpus > 0 ? blocks_.cpu_time[to_size(v)] : std::numeric_limits<double>::infinity();
        const double fastest = accelerated ? std::min(cpu, blocks_.accelerator_time[to_size(v)]) : cpu;
        least = std::max(least, fastest);
    }
    return least;
}

TESSERA_INLINE bool piece_search::run(double limit, std::int64_t most) {
    const std::size_t n = sets_.count();
    const double none = std::numeric_limits<double>::infinity();
    limit_ = limit;
    best_.assign(n * row_, none);
    from_.assign(n * row_, 0);
    best_[0] = 0;
    stopped_ = false;
    for (std::size_t i = 1; i < n && !stopped_; ++i) {
        find_entries(i);
        if (!entries_.empty()) {
            look_below(static_cast<int>(i));
            stopped_ = pairs_ > most;
        }
    }
    const auto last = best_.end() - static_cast<std::ptrdiff_t>(row_);
    const auto least = std::min_element(last, best_.end());
    found_ = stopped_ || !(*least < limit) ? none : *least;
    end_entry_ = to_size(least - last);
    return found_ < none;
}

TESSERA_INLINE split piece_search::chain() const {
    std::vector<int> device(to_size(blocks_.count()), 0);
    int set = sets_.full();
    std::size_t entry = end_entry_;
    while (set != 0) {
        const int link = from_[to_size(set) * row_ + entry];
        const bool cpu = link < 0;
        const int under = cpu ? -link - 1 : link;
        const std::size_t before = entry - (cpu ? wide_ : 1);
        const std::size_t number = cpu ? entry / wide_ - 1 : entry % wide_ - 1;
        for (int v = 0; v < blocks_.count(); ++v) {
            if (sets_.contains(set, v) && !sets_.contains(under, v)) {
                device[to_size(v)] = static_cast<int>(number) + (cpu ? problem_.accelerators : 0);
            }
        }
        set = under;
        entry = before;
    }
    split s(blocks_.block_of.size());
    for (std::size_t v = 0; v < s.size(); ++v) {
        s[v] = device[to_size(blocks_.block_of[v])];
    }
    return s;
}

TESSERA_INLINE void piece_search::find_entries(std::size_t i) {
    entries_.clear();
    const double slack = 1 + 1e-9;
    for (std::size_t c = 0; c * wide_ < row_; ++c) {
        for (std::size_t f = 0; f < wide_; ++f) {
            const auto holds = [&](std::size_t cpus, std::size_t accelerators) {
                const double of_cpus = cpus > 0 ? static_cast<double>(cpus) * cpu_rate_ : 0;
                return (static_cast<double>(accelerators) + of_cpus) * limit_ * slack;
            };
            const bool last = i + 1 == sets_.count();
            if (c + f > 0 && work_[i] <= holds(c, f) &&
                (last || work_.back() - work_[i] <= holds(row_ / wide_ - 1 - c, wide_ - 1 - f))) {
                entries_.push_back(c * wide_ + f);
            }
        }
    }
}

TESSERA_INLINE void piece_search::look_below(int set) {
    ++stamp_;
    stack_.clear();
    stack_.push_back({set, sets_.begin_below(set), 0, -1});
    while (!stack_.empty()) {
        frame& top = stack_.back();
        if (top.next == sets_.end_below(top.set)) {
            if (top.added >= 0) {
                take_out(top.added);
            }
            stack_.pop_back();
            continue;
        }
        const downsets::below link = *top.next++;
        if (seen_[to_size(link.set)] == stamp_) {
            continue;
        }
        seen_[to_size(link.set)] = stamp_;
        ++pairs_;
        const std::size_t i = to_size(set);
        const std::size_t j = to_size(link.set);
        const bool fits = size_[i] - size_[j] <= problem_.memory && other_[i] - other_[j] < 0.5 &&
                          problem_.accelerators > 0 && accelerator_[i] - accelerator_[j] < limit_;
        const bool on_cpu = problem_.cpus > 0 && cpu_[i] - cpu_[j] < limit_;
        if (fits || on_cpu) {
            const double moved = top.moved + put_in(link.without);
            weigh(i, j, fits ? accelerator_[i] - accelerator_[j] + std::max(moved, 0.0) : limit_,
                  on_cpu ? cpu_[i] - cpu_[j] : limit_);
            stack_.push_back({link.set, sets_.begin_below(link.set), moved, link.without});
        }
    }
}

TESSERA_INLINE void piece_search::weigh(std::size_t i, std::size_t j, double load, double cpu_load) {
    for (const std::size_t entry : entries_) {
        double& best = best_[i * row_ + entry];
        if (load < limit_ && entry % wide_ > 0) {
            const double candidate = std::max(best_[j * row_ + entry - 1], load);
            if (candidate < best) {
                best = candidate;
                from_[i * row_ + entry] = static_cast<int>(j);
            }
        }
        if (cpu_load < limit_ && entry >= wide_) {
            const double candidate = std::max(best_[j * row_ + entry - wide_], cpu_load);
            if (candidate < best) {
                best = candidate;
                from_[i * row_ + entry] = -static_cast<int>(j) - 1;
            }
        }
    }
}

TESSERA_INLINE bool piece_search::crosses(int output) const {
    const use& u = inside_[to_size(output)];
    const int readers = static_cast<int>(blocks_.outputs[to_size(output)].readers.size());
    return u.source ? u.readers < readers : u.readers > 0;
}

TESSERA_INLINE double piece_search::change(int block, int by) {
    double sum = 0;
    for (const auto& [output, source] : touching_[to_size(block)]) {
        const bool before = crosses(output);
        if (source) {
            inside_[to_size(output)].source = by > 0;
        } else {
            inside_[to_size(output)].readers += by;
        }
        sum += (static_cast<int>(crosses(output)) - static_cast<int>(before)) * blocks_.outputs[to_size(output)].cost;
    }
    return sum;
}

} // namespace tessera::search::placement::detail

#include "tessera/base/end_header.inl"
