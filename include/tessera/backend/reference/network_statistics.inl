// SPDX-License-Identifier: Apache-2.0
// Which samples the oracle takes statistics over, and what running ones follow.

namespace tessera::reference {

/// The groups of samples of the micro-batch at hand that an operator takes statistics over apart; none: it takes them
/// together.
inline std::vector<network::replica> network::groups_of(int op) const {
    const index_t batch = graph_.tensors[0].extents[0];
    const interval own = micro_batch_ < 0 ? interval{0, batch} : even_part(batch, micro_batches, micro_batch_);
    std::vector<replica> result;
    for (const replica& x : replicas.empty() ? std::vector<replica>{} : replicas[to_size(op)]) {
        if (own.contains(x.samples) && !x.samples.empty()) {
            result.push_back(x);
        }
    }
    return result;
}

inline std::vector<double>& network::statistics_of(int op, bool gradient, std::size_t group) {
    const auto at = to_size(op);
    const int o = descriptions_[at].find_operand(operand_kind::intermediate);
    auto& all = apart_[gradient ? 1 : 0][at];
    all.resize(all.size() > group ? all.size() : group + 1);
    all[group].resize(to_size(descriptions_[at].operands[o].extents.volume()));
    return all[group];
}

/// Of a call it makes that of one group's samples, with its own statistics.
inline void network::restrict_to(compute_call& call, const interval& samples, std::size_t group) {
    const int o = call.d->find_operand(operand_kind::intermediate);
    call.ranges[call.d->find_loop(loop_name::sample)] = samples;
    call.samples = samples.size();
    call.value[o].data = statistics_of(call.op, false, group).data();
    call.gradient[o].data = statistics_of(call.op, true, group).data();
}

inline void network::add_statistics() {
    for (int i = 0; i < graph_.op_count; ++i) {
        const auto at = to_size(i);
        if (!descriptions_[at].has_running_state()) {
            continue;
        }
        const int o = descriptions_[at].find_operand(operand_kind::intermediate);
        const auto add = [&](const std::vector<double>& own, index_t samples) {
            counted_[at] += samples;
            statistics_[at].resize(own.size());
            for (std::size_t k = 0; k < own.size(); ++k) {
                statistics_[at][k] += own[k];
            }
        };
        const std::vector<replica> groups = groups_of(i);
        if (groups.empty()) {
            add(intermediates_[at][to_size(o)],
                even_part(graph_.tensors[0].extents[0], micro_batches, micro_batch_).size());
        }
        for (std::size_t k = 0; k < groups.size(); ++k) {
            if (groups[k].followed) {
                add(statistics_of(i, false, k), groups[k].samples.size());
            }
        }
    }
}

} // namespace tessera::reference
