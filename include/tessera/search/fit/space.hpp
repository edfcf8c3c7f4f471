// SPDX-License-Identifier: Apache-2.0
// The space of fit(): all that its options allow on a network and a number of devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/choice.hpp"

namespace tessera::search {

namespace detail {

/// True where a worker's devices get at least one sample each of every micro-batch, or are split by something else.
bool has_samples(const graph_view& g, int micro_batches, int width, baseline inside);

/// True where another split, named earlier in the options, is the same for every operator of the network.
bool is_said_already(const graph_view& g, int width, baseline inside, const fit_options& o);

/// The ways to exchange what the devices of a choice share: policies where several may have the same parameters, lists
/// of communication where there are several and they copy in turn.
std::vector<std::pair<const schedule::policy_record*, bool>> exchanges_of(const fit_choice& x, const fit_options& o,
                                                                          bool serial);

/// The combinations of a schedule's options that are tried.
std::vector<option_values> tried_values(const schedule::schedule_record& which, const fit_options& o);

/// Schedules, widths and splits, without stages: those that make() takes and that leave no device without samples.
std::vector<fit_choice> fit_space(const graph_view& g, int devices, const fit_options& o);

/// Calls `use` with every way to cut `n` operators into `stages`, if there are no more than `most`; false otherwise.
template <class Use>
bool every_cut(int n, int stages, int most, const Use& use) {
    double count = 1;
    for (int i = 0; i < stages - 1; ++i) {
        count = count * (n - 1 - i) / (i + 1);
    }
    if (count > most) {
        return false;
    }
    std::vector<int> cut; // operators at which stages begin
    for (int i = 1; i < stages; ++i) {
        cut.push_back(i);
    }
    while (true) {
        std::vector<int> stage(to_size(n), 0);
        for (const int c : cut) {
            for (int op = c; op < n; ++op) {
                ++stage[to_size(op)];
            }
        }
        use(stage);
        int last = stages - 2; // the last one that may move on
        while (last >= 0 && cut[to_size(last)] == n - (stages - 1) + last) {
            --last;
        }
        if (last < 0) {
            return true;
        }
        ++cut[to_size(last)];
        for (int i = last + 1; i < stages - 1; ++i) {
            cut[to_size(i)] = cut[to_size(i) - 1] + 1;
        }
    }
}

} // namespace detail

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/space.inl"
#endif

#include "tessera/base/end_header.inl"
