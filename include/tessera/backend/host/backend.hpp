// SPDX-License-Identifier: Apache-2.0
// The host backend: oneDNN, kernels of our own, and shared memory between the devices of a process.
#pragma once

#include "tessera/backend/host/bind.hpp"
#include "tessera/backend/host/kernels/optimizer.hpp"
#include "tessera/execute/copy_box.hpp"
#include "tessera/op/optimizer.hpp"

#include <cmath>

extern "C" void omp_set_num_threads(int);

namespace tessera::host {

struct backend_options {
    tuning how = tuning::estimate;
    std::uint64_t seed = 0;   ///< of tuning::random
    std::string profile_path; ///< where measured times are kept; empty: for the life of the backend
};

namespace detail {

/// Fills a tile from regions of others (plain), or from whole tiles in any one format.
template <class Plan>
class copy_job : public job {
public:
    copy_job(const Plan& p, const task& t, const addresses& where) : how_(t.reduce), clear_(t.clear) {
        const tile& target = p.tiles[static_cast<std::size_t>(t.writes[0])];
        to_ = where[t.writes[0]];
        type_ = target.type;
        bytes_ = static_cast<std::size_t>(target.bytes);
        for (const copy_segment& s : t.segments) {
            const tile& source = p.tiles[static_cast<std::size_t>(s.source)];
            box_copy b(s.region, source.region, target.region);
            if (target.format != format::plain) {
                b = box_copy();
                b.row = target.elements;
            }
            parts_.push_back({b, where[s.source], source.device < 0 ? source.tensor : -1, s.overwrite});
        }
    }
    void run(const run_state& run) override {
        if (clear_) {
            std::memset(to_, 0, bytes_);
        }
        if (sums_rows()) {
            return;
        }
        for (const part& s : parts_) {
            const void* from = s.input >= 0 ? run.inputs[s.input] : s.from;
            s.what.apply(from, to_, type_, s.overwrite, how_);
        }
    }

private:
    struct part {
        box_copy what;
        const std::byte* from;
        int input;
        bool overwrite;
    };

    /// Whole contiguous tiles of floats are summed in one pass.
    bool sums_rows() {
        constexpr std::size_t most = 16;
        if (clear_ || how_ != reducer::sum || type_ != element::f32 || parts_.size() < 2 || parts_.size() > most) {
            return false;
        }
        const float* sources[most]{};
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const part& s = parts_[i];
            if (static_cast<std::size_t>(s.what.row) * sizeof(float) != bytes_ || s.input >= 0) {
                return false;
            }
            sources[i] = reinterpret_cast<const float*>(s.from) + s.what.from_start;
        }
        float* target = reinterpret_cast<float*>(to_);
        kernels::sum_arrays(sources, static_cast<int>(parts_.size()), &target, 1,
                            static_cast<std::ptrdiff_t>(bytes_ / 4));
        return true;
    }

    reducer how_;
    bool clear_;
    std::byte* to_ = nullptr;
    element type_ = element::f32;
    std::size_t bytes_ = 0;
    std::vector<part> parts_;
};

/// Sums gradient contributions over a slice, and updates the slice in all copies of the parameter (or, to clip, only sums it).
template <class Plan>
class update_job : public job {
public:
    update_job(const Plan& p, const task& t, const addresses& where, const optimizer& how)
        : how_(how), reduces_(t.kind == task_kind::reduce) {
        const tile& target = p.tiles[static_cast<std::size_t>(t.writes[0])];
        slice_ = even_part(target.elements, t.slices, t.slice);
        region_ = target.region;
        counted_ = t.counted_elsewhere;
        for (int r : t.reads) {
            if (p.tiles[static_cast<std::size_t>(r)].kind != tile_kind::scalar) {
                gradients_.push_back(reinterpret_cast<const float*>(where[r]) + slice_.begin);
            }
        }
        for (int w : t.writes) {
            if (p.tiles[static_cast<std::size_t>(w)].kind != tile_kind::scalar) {
                targets_.push_back(reinterpret_cast<float*>(where[w]) + slice_.begin);
            }
        }
        for (int n : t.norms) {
            norms_.push_back(reinterpret_cast<double*>(where[n]));
        }
        state_ = t.state >= 0 ? reinterpret_cast<float*>(where[t.state]) : nullptr;
    }

    void run(const run_state& run) override {
        const auto n = static_cast<std::ptrdiff_t>(slice_.size());
        const int sources = static_cast<int>(gradients_.size());
        if (reduces_) {
            kernels::sum_arrays(gradients_.data(), sources, targets_.data(), 1, n);
            *norms_[0] = counted_.empty() ? kernels::sum_of_squares(targets_[0], n) : squares_not_counted();
            return;
        }
        double squares = 0;
        for (const double* x : norms_) {
            squares += *x;
        }
        const auto factor = static_cast<float>(norms_.empty() ? 1.0 : clip_factor(how_, std::sqrt(squares)));
        const int copies = static_cast<int>(targets_.size());
        if (how_.which == optimizer::kind::adam) {
            kernels::adam_rule rule;
            rule.learning_rate = static_cast<float>(run.learning_rate);
            rule.beta1 = how_.beta1;
            rule.beta2 = how_.beta2;
            rule.epsilon = how_.epsilon;
            rule.weight_decay = how_.weight_decay;
            rule.step = static_cast<int>(run.step) + 1;
            rule.gradient_scale = factor;
            kernels::adam_step(targets_[0], gradients_.data(), sources, state_, state_ + n, targets_.data(), copies, n,
                               rule);
            return;
        }
        kernels::sgd_rule rule;
        rule.learning_rate = static_cast<float>(run.learning_rate);
        rule.momentum = how_.momentum;
        rule.weight_decay = how_.weight_decay;
        rule.gradient_scale = factor;
        kernels::sgd_step(targets_[0], gradients_.data(), sources, state_, targets_.data(), copies, n, rule);
    }

private:
    double squares_not_counted() const {
        double total = 0;
        for (index_t i = 0; i < slice_.size(); ++i) {
            index_t at[max_rank]{};
            index_t rest = slice_.begin + i;
            for (int d = region_.rank - 1; d >= 0; --d) {
                at[d] = region_.dim[d].begin + rest % region_.dim[d].size();
                rest /= region_.dim[d].size();
            }
            bool counted = false;
            for (const box& b : counted_) {
                bool inside = true;
                for (int d = 0; d < b.rank; ++d) {
                    inside = inside && at[d] >= b.dim[d].begin && at[d] < b.dim[d].end;
                }
                counted = counted || inside;
            }
            const auto x = static_cast<double>(targets_[0][i]);
            total += counted ? 0 : x * x;
        }
        return total;
    }

    optimizer how_;
    bool reduces_;
    interval slice_;
    box region_;
    std::vector<box> counted_;
    std::vector<const float*> gradients_;
    std::vector<float*> targets_;
    std::vector<double*> norms_;
    float* state_ = nullptr;
};

/// From one format to another where one side is in blocks of samples; through plain scratch if neither side is plain.
class block_reorder_job : public job {
public:
    block_reorder_job(const tile& a, const tile& b, std::byte* from, std::byte* to, std::byte* scratch,
                      const format_table& table, dnnl_stream_t stream)
        : into_blocks_(b.format == format::samples16), from_(from), to_(to) {
        const shape s = a.region.extents();
        samples_ = static_cast<std::ptrdiff_t>(s[0]);
        length_ = static_cast<std::ptrdiff_t>(s.volume() / s[0]);
        const int other = into_blocks_ ? a.format : b.format;
        if (other == format::plain) {
            return;
        }
        const dnnl_memory_desc_t plain = desc_as(table, format::plain, other, s);
        const dnnl_memory_desc_t special = table.desc(other, s);
        if (into_blocks_) {
            rest_ = std::make_unique<reorder_job>(special, plain, from, scratch, nullptr, stream);
            from_ = scratch;
        } else {
            rest_ = std::make_unique<reorder_job>(plain, special, scratch, to, nullptr, stream);
            to_ = scratch;
        }
    }
    void run(const run_state& run) override {
        if (into_blocks_ && rest_) {
            rest_->run(run);
        }
        if (into_blocks_) {
            kernels::to_blocked(reinterpret_cast<const float*>(from_), reinterpret_cast<float*>(to_), samples_, length_,
                                length_);
        } else {
            kernels::to_plain(reinterpret_cast<const float*>(from_), reinterpret_cast<float*>(to_), samples_, length_,
                              length_);
        }
        if (!into_blocks_ && rest_) {
            rest_->run(run);
        }
    }

private:
    bool into_blocks_;
    std::byte* from_;
    std::byte* to_;
    std::ptrdiff_t samples_ = 0;
    std::ptrdiff_t length_ = 0;
    std::unique_ptr<reorder_job> rest_;
};

class running_job : public job {
public:
    running_job(const bound_call& b, const graph_view& g) : b_(b) {
        const shape& x = g.tensors[g.ops[b.call.op].inputs[0]].extents;
        per_channel_ = x.volume() / x[1];
        statistics_ = b.call.d->find_operand(operand_kind::intermediate, 0);
        running_ = b.call.d->find_operand(operand_kind::state, 2);
    }
    void run(const run_state&) override {
        reference::update_running<float>(b_.call.value[statistics_], b_.call.value[running_], per_channel_,
                                         b_.call.attributes.momentum);
    }

private:
    bound_call b_;
    index_t per_channel_ = 1;
    int statistics_ = -1, running_ = -1;
};

} // namespace detail

/// Backend for executor<> and session<> on this machine's processors. (A template only so that what it uses is compiled where it is
/// used, not wherever the header is included.)
template <class Plan>
class basic_backend {
public:
    explicit basic_backend(const optimizer& update = {}, const backend_options& options = {})
        : optimizer_(update), options_(options), profile_(options.profile_path), catalog_(formats_, profile_) {}

    /// Chooses implementations and formats; see bind.hpp. A store fixes the formats of parameters.
    void bind(Plan& p, const graph_view& g, const parameter_store* store) {
        omp_set_num_threads(1);
        detail::binder<Plan>(p, g, store, catalog_, formats_, options_.how, options_.seed).run();
        profile_.save();
    }

    /// A device is one thread: oneDNN must not start more from it.
    void start(int) { omp_set_num_threads(1); }

    runnable prepare(const Plan& p, int index, const graph_view& g, const addresses& where) {
        const task& t = p.tasks[static_cast<std::size_t>(index)];
        std::unique_ptr<job> made;
        switch (t.kind) {
        case task_kind::compute:
            made = make_compute(p, t, g, where);
            break;
        case task_kind::copy:
            made = std::make_unique<detail::copy_job<Plan>>(p, t, where);
            break;
        case task_kind::reorder:
            made = make_reorder(p, t, where);
            break;
        case task_kind::reduce:
        case task_kind::update:
            made = std::make_unique<detail::update_job<Plan>>(p, t, where, optimizer_);
            break;
        }
        job* const raw = made.get();
        const std::lock_guard<std::mutex> lock(mutex_);
        jobs_.push_back(static_cast<std::unique_ptr<job>&&>(made));
        return {[](void* context, const run_state& run) { static_cast<job*>(context)->run(run); }, raw};
    }

    /// Copies a tile out of its format.
    void to_plain(const tile& t, const std::byte* from, float* to) const { convert(t, from, to, true); }
    /// Copies plain elements into a tile's format.
    void from_plain(const tile& t, const float* from, std::byte* to) const { convert(t, from, to, false); }

    const format_table& formats() const { return formats_; }

private:
    std::unique_ptr<job> make_compute(const Plan& p, const task& t, const graph_view& g, const addresses& where) {
        const description& d = describe(g, t.op);
        bound_call b;
        b.call = call_of(p, t, g, d);
        b.how.engine = static_cast<engine_kind>(t.implementation);
        for (int o = 0; o < max_operands; ++o) {
            if (t.value[o] >= 0) {
                b.call.value[o].data = where[t.value[o]];
                b.how.value[o] = p.tiles[static_cast<std::size_t>(t.value[o])].format;
            }
            if (t.gradient[o] >= 0) {
                b.call.gradient[o].data = where[t.gradient[o]];
                b.how.gradient[o] = p.tiles[static_cast<std::size_t>(t.gradient[o])].format;
            }
        }
        b.scratch = t.scratch >= 0 ? where[t.scratch] : nullptr;
        b.workspace = t.workspace >= 0 ? where[t.workspace] : nullptr;
        if (t.what == pass::update) {
            return std::make_unique<detail::running_job>(b, g);
        }
        return detail::make_job(b, formats_, stream());
    }

    std::unique_ptr<job> make_reorder(const Plan& p, const task& t, const addresses& where) {
        const tile& a = p.tiles[static_cast<std::size_t>(t.reads[0])];
        const tile& b = p.tiles[static_cast<std::size_t>(t.writes[0])];
        std::byte* scratch = t.scratch >= 0 ? where[t.scratch] : nullptr;
        if (a.format == format::samples16 || b.format == format::samples16) {
            return std::make_unique<detail::block_reorder_job>(a, b, where[t.reads[0]], where[t.writes[0]], scratch,
                                                               formats_, stream());
        }
        const shape s = a.region.extents();
        return std::make_unique<reorder_job>(detail::desc_as(formats_, a.format, b.format, s),
                                             detail::desc_as(formats_, b.format, a.format, s), where[t.reads[0]],
                                             where[t.writes[0]], scratch, stream());
    }

    void convert(const tile& t, const void* from, void* to, bool out) const {
        const shape s = t.region.extents();
        const std::ptrdiff_t length = t.region.rank > 0 ? static_cast<std::ptrdiff_t>(s.volume() / s[0]) : 1;
        if (t.format == format::plain) {
            std::memcpy(to, from, static_cast<std::size_t>(s.volume()) * sizeof(float));
        } else if (t.format == format::samples16) {
            const auto* x = static_cast<const float*>(from);
            auto* y = static_cast<float*>(to);
            out ? kernels::to_plain(x, y, s[0], length, length) : kernels::to_blocked(x, y, s[0], length, length);
        } else {
            const dnnl_memory_desc_t special = formats_.desc(t.format, s);
            const dnnl_memory_desc_t plain = detail::desc_as(formats_, format::plain, t.format, s);
            const buffer scratch(out ? reorder_job::scratch_bytes(special, plain)
                                     : reorder_job::scratch_bytes(plain, special));
            const unique_stream own = make_stream();
            reorder_job(out ? special : plain, out ? plain : special, const_cast<void*>(from), to, scratch.data(),
                        own.get())
                .run({});
        }
    }

    const description& describe(const graph_view& g, int op) {
        description d = g.describe(op);
        const std::lock_guard<std::mutex> lock(mutex_);
        descriptions_.push_back(d);
        return descriptions_.back();
    }

    dnnl_stream_t stream() {
        const std::lock_guard<std::mutex> lock(mutex_);
        streams_.push_back(make_stream());
        return streams_.back().get();
    }

    optimizer optimizer_;
    backend_options options_;
    format_table formats_;
    profile profile_;
    catalog catalog_;
    std::mutex mutex_;
    std::vector<unique_stream> streams_;
    std::deque<description> descriptions_;
    std::vector<std::unique_ptr<job>> jobs_;
};

using backend = basic_backend<plan>;

} // namespace tessera::host
