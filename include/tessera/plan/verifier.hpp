// SPDX-License-Identifier: Apache-2.0
// What the checks of a finished plan share: the plan, what has been found out about it, and the words of a refusal.
#pragma once

#include "tessera/plan/access.hpp"
#include "tessera/plan/parts.hpp"

#include <string>

namespace tessera {

/// What is wrong with a plan; empty text means nothing.
struct verdict {
    std::string text;
    explicit operator bool() const { return !text.empty(); }
};

namespace detail {

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Plan>
class verifier {
public:
    verifier(const graph_view& g, const Plan& p) : g_(g), p_(p) {}

    verdict run(index_t device_memory) {
        const bool sound = structure() && parts() && gradients() && sums() && replicas() && deadlock() && races() &&
                           arena() && coverage() && updates() && collectives() && fits(device_memory);
        return {sound ? std::string() : text_};
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    bool refuse(const task* t, const std::string& what) {
        text_ = "tessera: the plan is refused: " + what;
        if (t != nullptr) {
            text_ += " [operator ";
            text_ += path_of(g_, t->op);
            text_ += ", " + std::string(to_text(t->kind)) + " " + to_text(t->what) + ", shard " +
                     std::to_string(t->shard_number) + ", device " + std::to_string(t->device) + "]";
        }
        return false;
    }

    /// Intermediates of two micro-batches, or of two replicas, are two tensors: they need not differ in their regions. So is what belongs to two
    /// steps.
    index_t tensor_key(const tile& x) const {
        const bool own = x.kind == tile_kind::intermediate || x.kind == tile_kind::intermediate_gradient;
        const index_t whose = own ? x.micro_batch + index_t{p_.micro_batches} * x.replica : 0;
        const index_t which = static_cast<index_t>(x.kind) + 16 * whose + (index_t{x.step} << 20);
        return which * (index_t{1} << 32) + x.tensor;
    }

    /// A tile, or the one that it repeats.
    const tile& origin_of(int t) const {
        const int origin = p_.tiles[at(t)].origin;
        return p_.tiles[at(origin >= 0 ? origin : t)];
    }

    // ---- the parts fit together: verify_structure.hpp ---------------------------------------------------------------

    bool structure();
    bool copy_is_complete(const task& t);
    bool gather_is_complete(const task& t);
    bool average_is_complete(const task& t);
    bool parts();
    std::vector<char> gathered_tiles() const;
    bool adds_all(const task& t, const tile& target, const std::vector<const tile*>& pieces) const;

    // ---- micro-batches add up: verify_sums.hpp ----------------------------------------------------------------------

    /// A gradient of a parameter that a shard makes of one micro-batch, and where it is added.
    struct contribution {
        int task = 0;
        int operand = 0;
        int total = -1;
    };
    bool sums();
    bool sum_is_sound(const task& t);
    bool gradients_add_up(const std::vector<std::vector<int>>& readers);
    bool shard_is_complete(const std::vector<contribution>& all, std::size_t first, std::size_t last);
    bool copies_agree(const std::vector<contribution>& all);
    bool statistics_add_up(const std::vector<int>& writer);
    int micro_batches_of(int op, int step) const;

    // ---- replicas keep to themselves: verify_replicas.hpp -----------------------------------------------------------

    /// The samples that a replica takes its statistics of a micro-batch over.
    struct replica_samples {
        int step = 0;
        int micro_batch = 0;
        int replica = 0;
        interval samples;
    };
    bool replicas();
    bool replicas_of(int op, int loop);
    bool keeps_to_replica(const task& t, int loop, std::vector<replica_samples>& known);
    bool replicas_are_apart(const std::vector<replica_samples>& known);
    bool follows_first(const task& t, const std::vector<replica_samples>& known);
    bool mixes_replicas(const task& t) const;

    // ---- gradients add up: verify_gradients.hpp ---------------------------------------------------------------------

    /// Contributions that the elements of a tile are the sum of.
    struct held_sum {
        interval elements;
        std::vector<int> parts;
    };
    static constexpr int all_parts = -1;
    bool gradients();
    bool slices_fit(const task& t);
    void hold(const task& t, int which, const std::vector<int>& sum);
    bool parts_of(const task& t, std::vector<int>& sum);

    // ---- nothing happens too early: verify_order.hpp ----------------------------------------------------------------

    bool deadlock();
    bool ready(int t, const std::vector<std::size_t>& next) const;
    void advance(std::size_t l, std::size_t position);
    bool advance_queue(std::size_t l, const std::vector<std::size_t>& next);
    bool knows(int t, int queued) const;
    void number_queued();
    bool before(int a, int b) const;
    bool races();
    bool is_written_before(const std::vector<std::pair<int, access>>& all, std::size_t reader) const;
    bool is_complete(const std::vector<std::pair<int, access>>& all, std::size_t reader) const;
    bool arena();
    bool all_before(std::size_t a, std::size_t b) const;

    // ---- what is wanted is made: verify_results.hpp -----------------------------------------------------------------

    bool coverage();
    bool made_once(int op, int step, bool again);
    static std::uint32_t written_by(const description& d, const task& t);
    bool updates();
    static bool covers_once(std::vector<interval>& all, index_t n);
    bool collectives();
    bool fits(index_t device_memory);

    const graph_view g_;
    const Plan& p_;
    std::string text_;
    std::vector<std::vector<held_sum>> held_; ///< by tile
    std::vector<int> clock_;
    std::vector<int> queued_; ///< place of every task among those in queues, or -1
    std::vector<std::uint64_t>
        known_; ///< for every task a set of those in queues that are known to be finished when it starts (itself when it ends)
    std::size_t words_ = 0; ///< of each such set
    std::vector<std::vector<std::pair<int, access>>> history_;
};

} // namespace detail

} // namespace tessera
