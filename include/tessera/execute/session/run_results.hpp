// SPDX-License-Identifier: Apache-2.0
// What a run has left on devices, as plain numbers: losses, gradients, predictions and the leaders of rows of logits.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/evaluation.hpp"
#include "tessera/execute/local/plain_values.hpp"
#include "tessera/execute/session/parameter_state.hpp"
#include "tessera/execute/session/ready_run.hpp"

#include <algorithm>
#include <span>

namespace tessera::detail {

/// Reads what lies in the arenas of a run that was the last. It owns the losses that it has read, and gradients that
/// had to be kept outside of the devices; the arenas are plan_cache's.
template <class B>
class run_results {
public:
    run_results(const session_setting& of, B& backend, const parameter_state<B>& values)
        : of_(of), backend_(backend), values_(values) {}
    run_results(const run_results&) = delete;
    run_results& operator=(const run_results&) = delete;

    // ---- losses -----------------------------------------------------------------------------------------------------

    /// The weighted sum of the losses of a step of a run; of_operator() has each.
    double total_loss(const ready_run<B>& r, int step) {
        double total = 0;
        const graph_view g = r.planned.network.view();
        losses_.assign(of_.network.ops.size(), 0.0);
        for (int op = 0; op < g.op_count; ++op) {
            if (!g.is_loss(op)) {
                continue;
            }
            const shape& rows = g.output_of(op).extents;
            rows_.assign(to_size(rows.volume()), 0.0F);
            add(r, r.runner.bound().results, g.ops[op].output, step, whole(rows), rows_);
            double sum = 0;
            for (float x : rows_) {
                sum += static_cast<double>(x);
            }
            const op_attributes& a = g.ops[op].attributes;
            const double loss = sum / loss_divisor(a, rows);
            total += a.weight * loss;
            losses_[to_size(r.planned.ops[to_size(op)])] = loss;
        }
        return total;
    }
    /// The loss of an operator of the network, as total_loss() has read it last.
    double loss_of(int op) const { return losses_[to_size(op)]; }
    bool has_losses() const { return !losses_.empty(); }

    // ---- tensors ----------------------------------------------------------------------------------------------------

    /// All of a tensor, by its number in the run's network.
    std::vector<float> tensor(const ready_run<B>& r, int t, const shape& extents) const {
        std::vector<float> all(to_size(extents.volume()), 0.0F);
        add(r, r.runner.bound().results, t, 0, whole(extents), all);
        return all;
    }
    /// The leaders of all rows of logits, found where the logits are if the backend can, so that they need not come
    /// here.
    std::vector<row_leader> leaders(const ready_run<B>& r, int tensor, std::span<const input_data> inputs) const {
        const graph_view g = r.planned.network.view();
        const box all = whole(g.tensors[tensor].extents);
        const auto volume = to_size(all.volume());
        if (g.tensors[tensor].producer < 0) { // handed in as they are
            const auto* own = static_cast<const float*>(inputs[input_number(g, tensor)].data);
            return leaders_of(logit_rows(all), {own, volume});
        }
        const plan& p = r.runner.bound();
        if constexpr (finds_leaders<B>) {
            if (std::none_of(p.results.begin(), p.results.end(),
                             [&](const result_piece& x) { return x.tensor == tensor && x.summand > 0; })) {
                return leaders_on_devices(r, tensor, all);
            }
        }
        std::vector<float> logits(volume, 0.0F); // sums of parts
        add(r, p.results, tensor, 0, all, logits);
        return leaders_of(logit_rows(all), logits);
    }

    // ---- gradients of the last step on a full batch -----------------------------------------------------------------

    /// A run begins; `leaves`: its gradients will be in the arenas.
    void run_begins(bool leaves) { in_arenas_ = leaves; }
    bool has_gradients() const { return in_arenas_ || !kept_.empty(); }
    bool has_gradients_in_arenas() const { return in_arenas_; }
    /// Before something else takes the place of what the run left: they are kept outside of the devices.
    void save_gradients(const ready_run<B>& r) {
        std::vector<std::vector<float>> all;
        for (int p = 0; p < of_.parameters(); ++p) {
            all.push_back(gradient(r, p));
        }
        kept_ = std::move(all);
        in_arenas_ = false;
    }
    /// `r`: the run that left it.
    std::vector<float> gradient(const ready_run<B>& r, int p) const {
        if (!in_arenas_) {
            return kept_[to_size(p)];
        }
        const box all = whole(of_.extents_of(p));
        std::vector<float> out(to_size(all.volume()), 0.0F);
        add(r, r.runner.bound().gradients, p, r.key.steps_per_plan - 1, all, out);
        for (float& x : out) {
            x /= of_.update.loss_scale;
        }
        return out;
    }

private:
    void add(const ready_run<B>& r, const std::vector<result_piece>& pieces, int tensor, int step, const box& all,
             std::vector<float>& out) const {
        const plan& p = r.runner.bound();
        sum_.add(backend_, p, r.runner.memory(), pieces, tensor, step, all, out, [&](const std::vector<int>& tiles) {
            held_.clear();
            for (std::size_t i = 0; i < tiles.size() && RunsOverGroups<B>; ++i) {
                const int root = p.root(tiles[i]);
                const tile& t = p.tiles[to_size(root)];
                held_.push_back({t.device, r.runner.memory()[root], t.elements * bytes_of(t.type)});
            }
            values_.memory().bring(held_);
        });
    }
    /// Leaders of what lies on devices: each process finds those of its own.
    std::vector<row_leader> leaders_on_devices(const ready_run<B>& r, int tensor, const box& all) const {
        const plan& p = r.runner.bound();
        process_group* const group = of_.group();
        std::vector<row_leader> own;
        for (const result_piece& x : p.results) {
            const tile& t = p.tiles[to_size(x.tile)];
            const auto rows = to_size(logit_rows(t.region).count());
            if (x.tensor != tensor) {
                continue;
            }
            if (group == nullptr || group->owns(t.device)) {
                if constexpr (finds_leaders<B>) {
                    const std::vector<row_leader> found = backend_.leaders(t, r.runner.memory()[p.root(x.tile)]);
                    own.insert(own.end(), found.begin(), found.end());
                }
            } else {
                own.insert(own.end(), rows, row_leader{0, 0}); // to be joined with those that are
            }
        }
        if (group != nullptr) {
            group->join(std::as_writable_bytes(std::span<row_leader>(own)));
        }
        std::vector<row_leader> found(to_size(logit_rows(all).count()));
        std::span<const row_leader> next = own;
        for (const result_piece& x : p.results) {
            if (x.tensor == tensor) {
                const box& region = p.tiles[to_size(x.tile)].region;
                const auto rows = to_size(logit_rows(region).count());
                merge_leaders(all, region, next.first(rows), found);
                next = next.subspan(rows);
            }
        }
        return found;
    }

    const session_setting& of_;
    B& backend_;
    const parameter_state<B>& values_;
    std::vector<double> losses_; ///< by operator of the network
    std::vector<float> rows_;    ///< of a loss, with the next: kept so that a step allocates nothing
    mutable piece_sum sum_;
    mutable std::vector<resident_bytes> held_; ///< that it reads
    bool in_arenas_ = false;                   ///< gradients, of the training plan's last run
    std::vector<std::vector<float>> kept_; ///< of every parameter, once the arenas have been used for something else
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
