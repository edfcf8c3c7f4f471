// SPDX-License-Identifier: Apache-2.0
// Bodies of update_jobs.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/update_jobs.hpp"

namespace tessera::host::detail {

TESSERA_INLINE copy_job::copy_job(const plan& p, const task& t, const addresses& where)
    : how_(t.copy().reduce), clear_(t.copy().clear) {
    const tile& target = p.tiles[to_size(t.writes[0])];
    to_ = where[t.writes[0]];
    type_ = target.type;
    bytes_ = to_size(target.bytes);
    for (const copy_segment& s : t.copy().segments) {
        const tile& source = p.tiles[to_size(s.source)];
        box_copy b(s.region, source.region, target.region);
        if (target.format != format::plain) {
            b = box_copy();
            b.row = target.elements;
        }
        parts_.push_back({b, where[s.source], source.device < 0 ? source.tensor : -1, s.overwrite});
    }
}

TESSERA_INLINE void copy_job::run(const run_state& run) {
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

TESSERA_INLINE bool copy_job::sums_rows() {
    constexpr std::size_t most = 16;
    if (clear_ || how_ != reducer::sum || type_ != element::f32 || parts_.size() < 2 || parts_.size() > most) {
        return false;
    }
    const float* sources[most]{};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const part& s = parts_[i];
        if (to_size(s.what.row) * sizeof(float) != bytes_ || s.input >= 0) {
            return false;
        }
        sources[i] = reinterpret_cast<const float*>(s.from) + s.what.from_start;
    }
    float* target = reinterpret_cast<float*>(to_);
    kernels::sum_arrays(sources, static_cast<int>(parts_.size()), &target, 1, static_cast<std::ptrdiff_t>(bytes_ / 4));
    return true;
}

TESSERA_INLINE kernels::update_formula formula_of(const update_rule& update) {
    using kernels::update_formula;
    const bool velocity = update.momentum != 0;
    switch (update.which) {
    case update_rule::kind::adam:
        return update.decoupled ? update_formula::adamw : update_formula::adam;
    case update_rule::kind::rmsprop:
        return update.centered ? velocity ? update_formula::rmsprop_centered_momentum : update_formula::rmsprop_centered
               : velocity      ? update_formula::rmsprop_momentum
                               : update_formula::rmsprop;
    case update_rule::kind::sgd:
        break;
    }
    if (update.trust == trust_by::gradient) {
        return !velocity         ? update_formula::lars
               : update.nesterov ? update_formula::lars_nesterov
                                 : update_formula::lars_momentum;
    }
    return !velocity ? update_formula::sgd : update.nesterov ? update_formula::nesterov : update_formula::momentum;
}

TESSERA_INLINE kernels::formulas::update_numbers<float> numbers_of_step(const update_rule& update, const run_state& run,
                                                                        double trust) {
    const auto settings = settings_in<kernels::formulas::update_settings>(update);
    const double steps = static_cast<double>(run.step) + 1;
    const auto correction = [&](double beta) { return update.has_corrections() ? 1 - std::pow(beta, steps) : 1; };
    const double rate = run.learning_rate * (update.trust == trust_by::update ? trust : 1);
    auto numbers =
        kernels::formulas::numbers_of<float>(settings, rate, correction(settings.beta1), correction(settings.beta2));
    numbers.trust = static_cast<float>(trust);
    return numbers;
}

TESSERA_INLINE update_job::update_job(const plan& p, const task& t, const addresses& where, const update_rule& update)
    : how_(update), reduces_(t.kind() == task_kind::reduce), scale_(t.params().scale) {
    const bool takes_norms = t.kind() == task_kind::norm;
    const tile& target = p.tiles[to_size(takes_norms ? t.reads[0] : t.writes[0])];
    slice_ = target.slices > 1 ? even_part(target.region.volume(), t.params().slices, t.params().slice)
                               : slice_of(target, t);
    region_ = target.region;
    counted_ = t.params().counted_elsewhere;
    for (int r : t.reads) {
        const tile& x = p.tiles[to_size(r)];
        if (x.kind == tile_kind::parameter_gradient) {
            gradients_.push_back(reinterpret_cast<const float*>(where[r]) + slice_of(x, t).begin);
        }
    }
    for (int w : t.writes) {
        const tile& x = p.tiles[to_size(w)];
        if (x.kind != tile_kind::scalar) {
            targets_.push_back(reinterpret_cast<float*>(where[w]) + slice_of(x, t).begin);
            elements_ = slice_of(x, t).size();
        }
    }
    if (takes_norms) {
        measures_ = reinterpret_cast<const float*>(where[t.reads[0]]) + slice_of(target, t).begin;
        elements_ = slice_of(target, t).size();
    }
    for (int n : t.params().layer_norms) {
        layer_norms_.push_back(reinterpret_cast<double*>(where[n]));
    }
    for (int n : t.params().norms) {
        norms_.push_back({reinterpret_cast<double*>(where[n]), p.tiles[to_size(n)].tensor});
    }
    spans_.push_back({t.params().parameter, elements_});
    state_ = t.params().state >= 0 ? reinterpret_cast<float*>(where[t.params().state]) : nullptr;
}

TESSERA_INLINE bool update_job::join(const update_job& next) {
    const auto follow = [&](const auto& mine, const auto& its) {
        bool follows = mine.size() == its.size();
        for (std::size_t i = 0; i < mine.size() && follows; ++i) {
            follows = its[i] == mine[i] + elements_;
        }
        return follows;
    };
    const bool same_norms = norms_.size() == next.norms_.size() &&
                            std::equal(norms_.begin(), norms_.end(), next.norms_.begin(),
                                       [](const norm& a, const norm& b) { return a.squares == b.squares; });
    const bool states = state_ == nullptr ? next.state_ == nullptr : next.state_ == state_ + elements_;
    if (!layer_norms_.empty() || !next.layer_norms_.empty() || reduces_ != next.reduces_ || !(how_ == next.how_) ||
        !same_norms || !states || !follow(gradients_, next.gradients_) || !follow(targets_, next.targets_) ||
        (how_.state_count() > 1 && state_ != nullptr)) {
        return false; // several numbers of a parameter lie between those of others
    }
    spans_.insert(spans_.end(), next.spans_.begin(), next.spans_.end());
    elements_ += next.elements_;
    return true;
}

TESSERA_INLINE void update_job::run(const run_state& run) {
    const auto n = static_cast<std::ptrdiff_t>(elements_);
    const int sources = static_cast<int>(gradients_.size());
    if (reduces_) {
        kernels::sum_arrays(gradients_.data(), sources, targets_.data(), static_cast<int>(targets_.size()), n);
        for (const norm& x : norms_) {
            *x.squares = counted_.empty() ? kernels::sum_of_squares(targets_[0], n) : squares_not_counted();
        }
        return;
    }
    double squares = 0;
    for (const norm& x : norms_) {
        squares += *x.squares;
        if (!is_finite(*x.squares) &&
            measures_ == nullptr) { // every update of the step sees it, so that none changes anything
            lose(run, x.parameter);
        }
    }
    if (!is_finite(squares)) {
        return;
    }
    const auto factor = static_cast<float>(scale_ * clip_factor(how_, std::sqrt(squares)));
    kernels::update_step_numbers step;
    double trust = 1;
    if (measures_ == nullptr && !layer_norms_.empty()) {
        kernels::update_squares all;
        for (const double* part : layer_norms_) {
            all.weights += part[0];
            all.measured += part[1];
        }
        if (!is_finite(all.weights) || !is_finite(all.measured)) { // every update of the parameter sees it
            return lose(run, spans_[0].parameter);
        }
        trust = kernels::formulas::trust_of(settings_in<kernels::formulas::update_settings>(how_), all.weights,
                                            all.measured);
    }
    step.numbers = numbers_of_step(how_, run, trust);
    step.gradient_scale = factor;
    step.averages = how_.average != 0;
    step.prunes = how_.prunes;
    if (measures_ != nullptr) {
        const kernels::update_squares all =
            counted_.empty() ? kernels::squares_of(formula_of(how_), arrays(), step) : squares_not_counted(run, factor);
        layer_norms_[0][0] = all.weights;
        layer_norms_[0][1] = all.measured;
        return;
    }
    if (!kernels::update(formula_of(how_), arrays(), step)) {
        lose_spans(run, step);
    }
}

TESSERA_INLINE void update_job::lose(const run_state& run, int parameter) {
    if (run.report != nullptr) {
        run.report->lose(run.step, parameter);
    }
}

TESSERA_INLINE kernels::update_arrays update_job::arrays() const {
    kernels::update_arrays a;
    a.weights = target();
    a.gradients = gradients_.data();
    a.gradient_count = static_cast<int>(gradients_.size());
    a.states = state_;
    a.destinations = targets_.data();
    a.destination_count = static_cast<int>(targets_.size());
    a.count = a.state_step = static_cast<std::ptrdiff_t>(elements_);
    return a;
}

TESSERA_INLINE void update_job::lose_spans(const run_state& run, const kernels::update_step_numbers& step) const {
    index_t begin = 0;
    for (const span& x : spans_) { // several keep one state at most: see join()
        const auto n = to_size(x.elements);
        std::vector<float> weights(targets_[0] + begin, targets_[0] + begin + n);
        std::vector<float> states(state_ != nullptr ? n : 0);
        std::copy_n(state_ != nullptr ? state_ + begin : nullptr, states.size(), states.begin());
        std::vector<const float*> gradients = gradients_;
        for (const float*& g : gradients) {
            g += begin;
        }
        float* to = weights.data();
        kernels::update_arrays a = arrays();
        a.weights = to;
        a.gradients = gradients.data();
        a.states = states.data();
        a.destinations = &to;
        a.destination_count = 1;
        a.count = static_cast<std::ptrdiff_t>(x.elements);
        if (spans_.size() == 1 || !kernels::update(formula_of(how_), a, step)) {
            lose(run, x.parameter);
        }
        begin += x.elements;
    }
}

TESSERA_INLINE bool update_job::is_counted(index_t i) const {
    index_t at[max_rank]{};
    index_t rest = slice_.begin + i;
    for (int d = region_.rank - 1; d >= 0; --d) {
        at[d] = region_.dim[d].begin + rest % region_.dim[d].size();
        rest /= region_.dim[d].size();
    }
    for (const box& b : counted_) {
        bool inside = true;
        for (int d = 0; d < b.rank; ++d) {
            inside = inside && at[d] >= b.dim[d].begin && at[d] < b.dim[d].end;
        }
        if (inside) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE double update_job::squares_not_counted() const {
    double total = 0;
    for (index_t i = 0; i < slice_.size(); ++i) {
        const auto x = static_cast<double>(targets_[0][i]);
        total += is_counted(i) ? 0 : x * x;
    }
    return total;
}

TESSERA_INLINE kernels::update_squares update_job::squares_not_counted(const run_state& run, float factor) const {
    const auto n = to_size(elements_);
    std::vector<float> gradient(n);
    float* const to = gradient.data();
    kernels::sum_arrays(gradients_.data(), static_cast<int>(gradients_.size()), &to, 1, static_cast<std::ptrdiff_t>(n));
    const auto all = reference::squares_of<float>(how_, run, static_cast<double>(factor), std::span(measures_, n),
                                                  std::span<const float>(gradient),
                                                  std::span<const float>(state_, state_ != nullptr ? 2 * n : 0),
                                                  [&](std::size_t i) { return !is_counted(static_cast<index_t>(i)); });
    return {all.weights, all.measured};
}

TESSERA_INLINE message_job::message_job(const plan& p, const task& t, const graph_view& g, const addresses& where,
                                        const optimizer& how) {
    for_each_part(t, [&](const task& one) {
        passes_.emplace_back(new update_job(p, one, where, rule_for(how, g, one.params().parameter)));
    });
    std::sort(passes_.begin(), passes_.end(),
              [](const auto& a, const auto& b) { return std::less<>()(a->target(), b->target()); });
    std::size_t last = 0;
    for (std::size_t i = 1; i < passes_.size(); ++i) {
        if (!passes_[last]->join(*passes_[i])) {
            std::swap(passes_[++last], passes_[i]);
        }
    }
    while (passes_.size() > last + 1) {
        passes_.pop_back();
    }
}

TESSERA_INLINE void message_job::run(const run_state& run) {
    for (const owned<update_job>& x : passes_) {
        x->run(run);
    }
}

TESSERA_INLINE running_job::running_job(const bound_call& b) : b_(b) {
    const shape& x = b.call.d->operands[b.call.d->find_operand(operand_kind::input, 0)].extents;
    per_channel_ = x.volume() / x[0] / x[1] * b.call.samples;
    statistics_ = b.call.d->find_operand(operand_kind::intermediate, 0);
    running_ = b.call.d->find_operand(operand_kind::state, 2);
}

TESSERA_INLINE void running_job::run(const run_state&) {
    reference::update_running<float>(b_.call.value[statistics_], b_.call.value[running_], per_channel_,
                                     momentum_of(b_.call.attributes));
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
