// SPDX-License-Identifier: Apache-2.0
// The dynamic programme behind contiguous splits: the best chain of downsets, each step of which is what one device
// runs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/downsets.hpp"
#include "tessera/search/placement/split_blocks.hpp"

#include <limits>

namespace tessera::search::placement::detail {

/// For every downset I and number of devices: the least greatest load with which these can run I, the least over the
/// downsets below it of what comes before and the load of the difference (Tarnawski et al. 2020, section 5.1.1). Only
/// loads below a limit count: time and memory of a piece grow with it, so that larger pieces are not looked at, and
/// what is left must not be too much for the devices that are left.
class piece_search {
public:
    piece_search(const split_problem& p, const split_blocks& b, const downsets& sets);

    /// No split has a smaller greatest load than this, contiguous or not.
    double lower_bound() const;

    /// Looks for the best chain with a greatest load below `limit`; true if there is one, which chain() then is. Stops
    /// after `most` pairs of downsets, and has then found nothing that could be relied on.
    bool run(double limit, std::int64_t most);

    bool stopped() const { return stopped_; }
    double found() const { return found_; }
    std::int64_t pairs() const { return pairs_; } ///< of downsets looked at so far

    /// The split that was found last.
    split chain() const;

private:
    struct frame {
        int set = 0;
        const downsets::below* next = nullptr;
        double moved = 0; ///< cost of what comes in and goes out
        int added = -1;   ///< block by which the piece is larger than that of the frame before
    };
    struct use {
        int readers = 0; ///< in the piece
        bool source = false;
    };

    /// Numbers of CPUs and accelerators with which a set can be reached and everything be finished.
    void find_entries(std::size_t i);

    /// All pieces that end with a set.
    void look_below(int set);

    void weigh(std::size_t i, std::size_t j, double load, double cpu_load);

    bool crosses(int output) const;
    /// What the cost of moving changes by when a block comes into the piece, or leaves it.
    double change(int block, int by);
    double put_in(int block) { return change(block, 1); }
    double take_out(int block) { return change(block, -1); }

    const split_problem& problem_;
    const split_blocks& blocks_;
    const downsets& sets_;
    std::size_t wide_ = 1;                                        ///< accelerators and one
    std::size_t row_ = 1;                                         ///< numbers of CPUs times numbers of accelerators
    std::vector<double> accelerator_, cpu_, size_, other_, work_; ///< sums by downset
    std::vector<std::vector<std::pair<int, bool>>> touching_; ///< outputs of a block, and whether it is their source
    double cpu_rate_ = 0; ///< the most of an accelerator's time that a CPU's time can stand for
    double limit_ = 0;
    bool stopped_ = false;
    double found_ = 0;
    std::int64_t pairs_ = 0;
    std::size_t end_entry_ = 0;
    std::vector<double> best_; ///< by downset, CPUs, accelerators
    std::vector<int> from_;    ///< the downset below; -1 - it where a CPU runs the piece
    std::vector<std::size_t> entries_;
    std::vector<use> inside_;
    std::vector<int> seen_;
    int stamp_ = 0;
    std::vector<frame> stack_;
};

} // namespace tessera::search::placement::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/contiguous_pieces.inl"
#endif

#include "tessera/base/end_header.inl"
