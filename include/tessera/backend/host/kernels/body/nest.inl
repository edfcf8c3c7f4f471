// SPDX-License-Identifier: Apache-2.0
// Rows of loop nests: an expression along the innermost loop. See vector.hpp.

/// Node number I of a pass, from those before it, or a leaf, from memory.
template <const nests::program& P, bool Backward, int K, std::size_t I>
[[gnu::always_inline]] inline void compute_nest_node(vec* v, const float* const* from, std::ptrdiff_t i,
                                                     std::ptrdiff_t live) noexcept {
    using expression::opcode;
    constexpr const nests::nest_pass& pass = pass_at<P, Backward, K>();
    constexpr const expression::node& n = pass.nodes.nodes[I];
    if constexpr (n.what == opcode::constant) {
        v[I] = broadcast(static_cast<float>(n.constant));
    } else if constexpr (expression::operands_of(n.what) == 0) {
        constexpr int leaf = nest_shape_of<P, Backward, K>.leaves.place_of(static_cast<int>(I));
        if constexpr ((nest_shape_of<P, Backward, K>.changes >> I & 1U) != 0) {
            v[I] = load_some(from[leaf] + i, live, 1.0F);
        } else {
            v[I] = broadcast(*from[leaf]);
        }
    } else {
        constexpr int a = n.of[0]; // NOLINT(bugprone-signed-char-misuse): a small number
        constexpr int b = n.of[1] < 0 ? a : n.of[1];
        constexpr int c = n.of[2] < 0 ? a : n.of[2];
        v[I] = node_value<n.what>(v[a], v[b], v[c]);
    }
}

[[gnu::always_inline]] inline vec larger_of(vec a, vec b) noexcept {
    return node_value<expression::opcode::max>(a, b, a);
}

template <const nests::program& P, bool Backward, int K, std::size_t... Fixed, std::size_t... Varying>
[[gnu::always_inline]] inline double run_nest_nodes(const float* const* from, float* to, std::ptrdiff_t count,
                                                    std::index_sequence<Fixed...>,
                                                    std::index_sequence<Varying...>) noexcept {
    constexpr const nests::nest_pass& pass = pass_at<P, Backward, K>();
    constexpr const nest_shape& shape = nest_shape_of<P, Backward, K>;
    constexpr row_use use = shape.use;
    constexpr bool reduces = use == row_use::sum || use == row_use::maximum;
    vec v[expression::max_nodes];
    (compute_nest_node<P, Backward, K, std::size_t{shape.fixed.at[Fixed]}>(v, from, 0, 0), ...);
    [[maybe_unused]] vec all = broadcast(use == row_use::maximum ? -HUGE_VALF : 0.0F);
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        (compute_nest_node<P, Backward, K, std::size_t{shape.varying.at[Varying]}>(v, from, i, live), ...);
        vec made = v[pass.root];
        if constexpr (reduces) {
            if (live < width) {
                for (std::ptrdiff_t lane = live; lane < width; ++lane)
                    made[lane] = use == row_use::maximum ? -HUGE_VALF : 0.0F;
            }
            all = use == row_use::maximum ? larger_of(all, made) : all + made;
        } else if constexpr (use == row_use::store) {
            store_some(to + i, made, live);
        } else {
            const vec before = load_some(to + i, live, 1.0F);
            store_some(to + i, use == row_use::larger ? larger_of(before, made) : before + made, live);
        }
    }
    if constexpr (use == row_use::sum) {
        double sum = 0;
        for (int lane = 0; lane < width; ++lane) sum += static_cast<double>(all[lane]);
        return sum;
    }
    if constexpr (use == row_use::maximum) {
        float most = all[0];
        for (int lane = 1; lane < width; ++lane) most = most >= all[lane] || most != most ? most : all[lane];
        return static_cast<double>(most);
    }
    return 0;
}
template <const nests::program& P, bool Backward, int K>
double run_nest(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    constexpr const nest_shape& shape = nest_shape_of<P, Backward, K>;
    return run_nest_nodes<P, Backward, K>(from, to, count, std::make_index_sequence<std::size_t{shape.fixed.count}>{},
                                          std::make_index_sequence<std::size_t{shape.varying.count}>{});
}
