// SPDX-License-Identifier: Apache-2.0
// Bodies of attention.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/attention.hpp"

namespace tessera::cuda::detail {

/// A shard's matrices: for each of the heads of queries that share keys, one of each group.
class attention_shard {
public:
    explicit attention_shard(const shard_call& s)
        : s_(s), own_(s.attributes().as<op::attention_attributes>()), loops_(own_.heads > own_.groups()),
          samples_(range(loops_.sample).size()), groups_(range(loops_.group).size()),
          shared_(loops_.head >= 0 ? range(loops_.head).size() : 1), queries_(range(loops_.query).size()),
          keys_(range(loops_.key).size()), width_(range(loops_.summed).size()),
          value_width_(range(loops_.channel).size()) {}

    index_t shared() const { return shared_; }
    index_t rows() const { return samples_ * groups_ * shared_ * queries_; }
    memory_use take_scores() const { return s_.to.take(rows() * keys_ * bytes_of(s_.type())); }

    /// scores = scale * q k^T.
    void add_scores(memory_use scores) const {
        const int q = s_.input(0);
        const int k = s_.input(1);
        for (index_t r = 0; r < shared_; ++r) {
            add_products(s_, extents(queries_, keys_, width_, scale()), of_queries(s_.value(q), width_, r, false),
                         of_keys(s_.value(k), width_, true), of_scores(scores, r, false));
        }
    }
    /// to[queries] = factor * x y, of a matrix over scores and keys or values.
    void add_of_queries(memory_use x, memory_use y, memory_use to, index_t width, double factor) const {
        for (index_t r = 0; r < shared_; ++r) {
            add_products(s_, extents(queries_, width, keys_, factor), of_scores(x, r, false), of_keys(y, width, false),
                         of_queries(to, width, r, false));
        }
    }
    /// to[keys] = factor * the sum of x^T y over the heads that share them, of a matrix over scores and queries.
    void add_of_keys(memory_use x, memory_use y, memory_use to, index_t width, double factor) const {
        const index_t count = samples_ * keys_ * groups_ * width;
        const memory_use other = shared_ > 1 ? s_.to.take(count * bytes_of(s_.type())) : memory_use{};
        for (index_t r = 0; r < shared_; ++r) {
            add_products(s_, extents(keys_, width, queries_, factor), of_scores(x, r, true),
                         of_queries(y, width, r, false), of_keys(r == 0 ? to : other, width, false));
            if (r > 0) {
                strided_box all;
                all.count[4] = count;
                all.from[4] = 1;
                all.to[4] = 1;
                s_.to.copy(all, composer::as_read(other), to, s_.type(), false, reducer::sum);
            }
        }
    }
    /// weights' gradients = dy v^T.
    void add_weight_gradients(memory_use dy, memory_use to) const {
        for (index_t r = 0; r < shared_; ++r) {
            add_products(s_, extents(queries_, keys_, value_width_, 1), of_queries(dy, value_width_, r, false),
                         of_keys(s_.value(s_.input(2)), value_width_, true), of_scores(to, r, false));
        }
    }
    index_t width() const { return width_; }
    index_t value_width() const { return value_width_; }
    double scale() const { return own_.scale_of(width_); }

    /// A kernel with a block for each row; lengths or a mask, a table and the step's values come behind its own memory.
    /// `sees`: it asks which keys a row sees.
    /// Slopes are those of scores before their cap unless `of_table`.
    void launch(const kernel& which, std::vector<memory_use> memory, bool drops, bool sees = true,
                bool of_table = false) const {
        kernels::attention_numbers n = numbers();
        n.before_cap = of_table ? 0 : 1;
        if (const int o = s_.input(3); o >= 0 && sees) {
            (s_.region_of(o).rank == 2 ? n.mask_at : n.lengths_at) = static_cast<index_t>(memory.size());
            memory.push_back(s_.value(o));
        }
        if (const int o = s_.parameter(0); o >= 0 && sees) {
            n.table_at = static_cast<index_t>(memory.size());
            memory.push_back(s_.value(o));
        }
        drops = drops && own_.percent > 0 && s_.call.what != pass::evaluate;
        n.step_at = drops ? static_cast<index_t>(memory.size()) : 0;
        s_.to.launch_blocks(which, std::move(memory), kernel_numbers(n, reals()), rows(), keys_, drops);
    }
    /// The gradient of a table of those of scores.
    void sum_buckets(memory_use slopes) const {
        const int o = s_.parameter(0);
        s_.to.launch_blocks(kernels::attention_buckets, {slopes, s_.gradient_to(o)}, kernel_numbers(numbers(), reals()),
                            s_.volume(o), samples_ * queries_);
    }

private:
    kernels::attention_numbers numbers() const {
        kernels::attention_numbers n{.samples = samples_,
                                     .heads = groups_ * shared_,
                                     .queries = queries_,
                                     .keys = keys_,
                                     .first_sample = range(loops_.sample).begin,
                                     .first_head = first_head(),
                                     .first_query = range(loops_.query).begin,
                                     .first_key = range(loops_.key).begin,
                                     .all_heads = own_.heads,
                                     .all_queries = s_.d.loops[loops_.query].extent,
                                     .all_keys = s_.d.loops[loops_.key].extent,
                                     .causal = own_.causal ? 1 : 0,
                                     .alibi = own_.alibi ? 1 : 0,
                                     .value_width = value_width_,
                                     .buckets = own_.buckets,
                                     .max_distance = own_.max_distance,
                                     .op = s_.call.op,
                                     .percent = own_.percent};
        n.window = std::min(own_.window, n.all_queries + n.all_keys);
        if (const int o = s_.parameter(0); o >= 0) {
            const interval& heads = s_.region_of(o).dim[1];
            n.table_heads = heads.size();
            n.table_head = n.first_head - heads.begin;
        }
        return n;
    }
    kernels::attention_reals reals() const {
        return {.softcap = own_.softcap, .kept = op::kept_scale(static_cast<int>(own_.percent))};
    }
    const interval& range(int loop) const { return s_.call.ranges[loop]; }
    index_t first_head() const {
        const index_t each = own_.heads / own_.groups();
        return range(loops_.group).begin * each + (loops_.head >= 0 ? range(loops_.head).begin : 0);
    }
    matmul_extents extents(index_t rows, index_t columns, index_t summed, double scale) const {
        matmul_extents e;
        e.samples = samples_;
        e.heads = groups_;
        e.rows = rows;
        e.columns = columns;
        e.summed = summed;
        e.scale = static_cast<float>(scale);
        return e;
    }
    matrix_side of_queries(memory_use memory, index_t width, index_t r, bool transposed) const {
        const index_t row = groups_ * shared_ * width;
        return {composer::from(memory, r * width * bytes_of(s_.type())), row, shared_ * width, queries_ * row,
                transposed};
    }
    matrix_side of_keys(memory_use memory, index_t width, bool transposed) const {
        const index_t row = groups_ * width;
        return {memory, row, width, keys_ * row, transposed};
    }
    matrix_side of_scores(memory_use memory, index_t r, bool transposed) const {
        const index_t matrix = queries_ * keys_;
        return {composer::from(memory, r * matrix * bytes_of(s_.type())), keys_, shared_ * matrix,
                groups_ * shared_ * matrix, transposed};
    }

    const shard_call& s_;
    op::attention_attributes own_;
    op::attention_loops loops_;
    index_t samples_;
    index_t groups_;
    index_t shared_;
    index_t queries_;
    index_t keys_;
    index_t width_;
    index_t value_width_;
};

TESSERA_INLINE void attention_forward(const shard_call& s) {
    if (s.call.continues) {
        throw error("tessera: the CUDA backend does not merge what attention makes of keys that go round a ring; run "
                    "the strategy on the host backend, or share sequences by heads (ulysses) or split key_position");
    }
    const attention_shard a(s);
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const memory_use scores = a.take_scores();
    a.add_scores(scores);
    if (s.call.first_nest == 0) {
        a.launch(kernels::attention_maximum, {composer::as_read(scores), s.value_to(largest)}, false);
    }
    if (s.call.first_nest <= 1 && s.call.last_nest >= 1) {
        a.launch(kernels::attention_total, {composer::as_read(scores), s.value(largest), s.value_to(total)}, false);
    }
    if (s.call.last_nest == 2) {
        a.launch(kernels::attention_weights, {scores, s.value(largest), s.value(total)}, true);
        a.add_of_queries(composer::as_read(scores), s.value(s.input(2)), s.value_to(s.output()), a.value_width(), 1);
    }
}

TESSERA_INLINE void attention_backward(const shard_call& s) {
    const attention_shard a(s);
    const int q = s.input(0);
    const int k = s.input(1);
    const int v = s.input(2);
    const int total = s.intermediate(1);
    const memory_use dy = s.gradient(s.output());
    if (s.emits(total)) {
        a.launch(kernels::attention_mean, {dy, s.value(s.output()), s.gradient_to(total)}, false, false);
        return;
    }
    const memory_use scores = a.take_scores();
    const memory_use slopes = a.take_scores();
    a.add_scores(scores);
    a.add_weight_gradients(dy, slopes);
    a.launch(kernels::attention_slopes, {scores, s.value(s.intermediate(0)), s.value(total), s.gradient(total), slopes},
             true, true, s.emits(s.parameter(0)));
    if (s.emits(s.parameter(0))) {
        a.sum_buckets(composer::as_read(slopes));
        return;
    }
    if (s.emits(v)) {
        a.add_of_keys(composer::as_read(scores), dy, s.gradient_to(v), a.value_width(), 1);
    }
    if (s.emits(q)) {
        a.add_of_queries(composer::as_read(slopes), s.value(k), s.gradient_to(q), a.width(), a.scale());
    }
    if (s.emits(k)) {
        a.add_of_keys(composer::as_read(slopes), s.value(q), s.gradient_to(k), a.width(), a.scale());
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
