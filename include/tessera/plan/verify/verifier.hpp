// SPDX-License-Identifier: Apache-2.0
// What the checks of a finished plan share: the plan, what has been found out about it, and the words of a refusal.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/parameter_groups.hpp"
#include "tessera/op/mask.hpp"
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

struct cell;

/// A number for a region of what `whose` says: different ones for different regions, but for chance (2^-64).
std::uint64_t number_of(const box& region, std::uint64_t whose);

class verifier {
public:
    verifier(const graph_view& g, const plan& p);

    verdict run(index_t device_memory, const optimizer* made_for);

private:
    bool refuse(const task* t, const std::string& what);

    /// Intermediates of two micro-batches, or of two replicas, are two tensors: they need not differ in their regions.
    /// So is what belongs to two steps.
    index_t tensor_key(const tile& x) const;

    /// A tile, or the one that it repeats.
    const tile& origin_of(int t) const;

    const description& desc(int op) const { return descriptions_[to_size(op)]; }
    bool is_joint(int op) const { return p_.joint_statistics && desc(op).has_running_state(); }
    static bool is_backward(pass what);
    /// A count of losses that are not finite.
    static bool is_count(const tile& x);
    /// The squares of a parameter and those of its gradient or update.
    bool is_layer_norm(const tile& x) const;
    /// The samples of a micro-batch.
    interval samples_of(int micro_batch) const;

    // ---- numbers are what they can be: verify/fields.inl ------------------------------------------------------------

    bool fields();
    bool is_made_for(const optimizer& update);
    const shape* extents_of(const tile& x) const;
    const char* problem_of_tile(int i) const;
    const char* problem_of_task(const task& t) const;
    bool moves_to_host(const task& t) const;
    bool steps_on_host(const task& t) const;
    bool brings_up(const task& t) const;
    static bool says_its_own(const task& t);
    bool scratch_is_one(const task& t) const;

    // ---- what pieces there are: verify/pieces.hpp -------------------------------------------------------------------

    /// A tile that a computation makes, or another name for one.
    struct made_piece {
        std::uint64_t key = 0; ///< of its tensor, micro-batch, step and replica
        int tile = 0;
        std::uint64_t source = 0; ///< of which shard; equal for copies
        int op = -1;              ///< whose gradient it is a part of
        int operand = -1;         ///< -1: another name
    };
    /// Pieces of one key.
    struct piece_range {
        std::uint64_t key = 0;
        std::size_t begin = 0;
        std::size_t end = 0;
        index_t longest = 0; ///< in the first dimension
        int least_part = 0;
        int largest_part = 0;
    };
    /// Places among an operator's tasks.
    struct task_range {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// Operands that get a gradient from a nest.
    struct wanted_gradients {
        std::uint32_t inputs = 0;
        std::uint32_t weights = 0;
    };
    void prepare();
    void collect_pieces();
    bool is_wanted(int op, int o) const;
    bool is_written(const task& t, int o) const;
    int renamed(int i) const;
    bool renames(const tile& x) const;
    std::uint64_t source_of(const task& t, int o) const;
    index_t first_of(const made_piece& x) const;
    static std::uint64_t piece_key(const tile& x);
    piece_range pieces_of(std::uint64_t key) const;
    bool is_complete(const tile& x) const;

    // ---- shards make all of it: verify/shards.hpp -------------------------------------------------------------------

    bool shards();
    std::uint64_t group_of(const task& t) const;
    bool groups_fill(int op);
    bool forward_fills(int op, int micro_batch, const task_range& range, bool again);
    bool repeats_forward(int op, const task_range& forward, const task_range& again);
    bool backward_fills(int op, const task_range& forward, const task_range& backward);
    cell cell_of(const task& t, int k, bool turn = false) const;
    interval range_in(const task& t, int l) const;
    bool turns_fill(int op, const task_range& range);
    int part_count_of(int tensor, int step, int micro_batch) const;
    bool pieces_are_apart();
    bool aliases_fill(int op);
    bool names_fill(int op, const tile& of, int times) const;
    static bool each_has(const std::vector<std::pair<std::uint64_t, int>>& parts, int times);

    // ---- computations touch their operands: verify/operands.inl -----------------------------------------------------

    bool operands();
    bool ranges_are_sound(const task& t);
    bool holds(int which, tile_kind kind, int tensor, const task& t, const box& region) const;
    int parameter_in(const tile& x) const;
    bool is_own_part(int which, const task& t) const;
    bool value_is(const task& t, int o);
    bool sees_nothing(const task& t) const;
    bool part_read(const task& t, int& part) const;
    bool values_are_sound(const task& t);
    bool gradients_are_sound(const task& t);
    bool gradient_read_is(const task& t, int o);
    bool gradient_made_is(const task& t, int o);
    bool running_is_sound(const task& t);
    bool is_first(int op, const interval* ranges) const;
    std::uint32_t emitted(int op, int k, bool weights, const interval* ranges) const;
    bool lists_are(const task& t, std::vector<int> reads, std::vector<int> writes) const;
    bool refuse_lists(const task& t);

    // ---- what moves stays what it is: verify/moves.hpp --------------------------------------------------------------

    bool moves();
    bool type_is_sound(const tile& x) const;
    bool origin_is_sound(const tile& x) const;
    bool alias_is_sound(int i) const;
    bool note_activations();
    bool copy_is_sound(const task& t);
    bool is_same(const tile& from, const tile& to) const;
    bool same_but_part(const tile& from, const tile& to) const;
    bool reorder_is_sound(const task& t);

    // ---- what becomes of gradients is of one parameter: verify/updates.hpp ------------------------------------------

    bool exchanges();
    bool exchange_is_sound(const task& whole, const task& t, std::vector<char>& states);
    bool flags_are_sound();
    int copies_of(const tile& of) const;
    bool names_norms(const task& t) const;
    bool reads_all_norms(const task& t, const std::vector<int>& step_of);
    bool states_are_one(const std::vector<char>& used);
    bool norm_is_sound(const task& whole, const task& t);
    bool reads_layer_norms(const task& whole, const task& t, const std::vector<std::vector<int>>& taken);
    bool squares_are_counted(task_kind kind);
    template <class Groups>
    bool groups_cover(Groups& known, task_kind kind);
    bool copies_are_one_parameters(const task& t);

    // ---- compressed gradients are of one parameter: verify/compressed.inl -------------------------------------------

    bool compression_is_sound(const task& t);
    bool decompression_is_sound(const task& whole, const task& t);
    bool residuals_are_one();
    bool updates_take_codes();

    // ---- the parts fit together: verify/structure.inl ---------------------------------------------------------------

    bool structure();
    bool copy_is_complete(const task& t);
    bool gather_is_complete(const task& t);
    bool average_is_complete(const task& t);
    bool parts();
    std::vector<char> gathered_tiles() const;
    /// A tile that adds up some parts of a gradient, those that its device has (strategy::sums_first), and which.
    struct partial_sum {
        int tile = -1;
        std::vector<int> parts;
    };
    static bool is_partial_sum(const plan& p, const task& t);
    bool note_partial_sums(const std::vector<char>& gathered);
    std::vector<int> parts_of(int t) const;
    bool holds_part(int t, int part) const;
    static bool shares_part(const std::vector<int>& a, const std::vector<int>& b);
    bool adds_all(const task& t, const tile& target, const std::vector<const tile*>& pieces) const;

    // ---- micro-batches add up: verify/sums.inl ----------------------------------------------------------------------

    /// A gradient of a parameter that a shard makes of one micro-batch, and where it is added.
    struct contribution {
        int task = 0;
        int operand = 0;
        int total = -1;
    };
    bool sums();
    bool sum_is_sound(const task& t);
    bool gradients_add_up(const std::vector<std::vector<int>>& readers, const std::vector<int>& taken);
    bool shard_is_complete(const std::vector<contribution>& all, std::size_t first, std::size_t last);
    bool contributions_are_apart(const std::vector<contribution>& all);
    static std::uint64_t piece_key_of_parameter(const tile& x);
    bool copies_agree(const std::vector<contribution>& all);
    bool statistics_add_up(const std::vector<const task*>& writer);
    int micro_batches_of(int op, int step) const;

    // ---- replicas keep to themselves: verify/replicas.inl -----------------------------------------------------------

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

    // ---- gradients add up: verify/gradients.inl ---------------------------------------------------------------------

    /// Contributions that the elements of a tile are the sum of.
    struct pending_sum {
        interval elements;
        std::vector<int> parts;
    };
    static constexpr int all_parts = -1;
    /// Updates of a parameter by its own device's contributions alone: all copies together use each once.
    struct own_updates {
        int parameter = 0;
        int step = 0;
        box region;
        std::vector<int> parts;
        const task* first = nullptr;
    };
    bool gradients();
    void list_contributions();
    std::vector<int> contributions(int parameter, int step, const box& region) const;
    bool follows_gradients(const task& t) const;
    bool adds_up(const task& whole, const task& t, std::vector<own_updates>& own);
    bool slices_fit(const task& t);
    void hold(const task& t, int which, const std::vector<int>& sum);
    bool parts_of(const task& t, std::vector<int>& sum);

    // ---- nothing happens too early: verify/order.inl ----------------------------------------------------------------

    bool deadlock();
    bool ready(int t, const std::vector<std::size_t>& next) const;
    void advance(std::size_t l, std::size_t position);
    bool advance_queue(std::size_t l, const std::vector<std::size_t>& next);
    bool knows(int t, int queued) const;
    void number_queued();
    bool before(int a, int b) const;
    bool races();
    bool reads_too(const std::vector<std::pair<int, access>>& all, int t) const;
    bool is_written_before(const std::vector<std::pair<int, access>>& all, std::size_t reader) const;
    bool is_complete(const std::vector<std::pair<int, access>>& all, std::size_t reader) const;
    bool arena();
    const task* first_user_of(std::size_t tile) const;
    bool has_place(const tile& x) const;
    bool all_before(std::size_t a, std::size_t b) const;
    void note_spans();

    // ---- what is wanted is made: verify/results.inl -----------------------------------------------------------------

    bool results();
    bool lists_all(int tensor, tile_kind kind, int step) const;
    bool updates();
    bool statistics_follow_one();
    std::vector<char> moving_parameters() const;
    /// What writes a copy of a parameter, by step.
    struct copy_updates {
        std::vector<std::vector<interval>> written;
        std::vector<std::vector<interval>> averaged;
        bool differs = false; ///< from the other copies
    };
    bool updates_of(std::size_t tile, copy_updates& of);
    bool in_time(const task& w, const task& r, int writer, int reader, bool both_write);
    bool is_averaged(const tile& x, copy_updates& of);
    static bool covers_once(std::vector<interval>& all, index_t n);
    bool collectives();
    bool fits(index_t device_memory);

    const graph_view g_;
    const plan& p_;
    std::string text_;
    std::vector<description> descriptions_;
    std::vector<std::vector<std::uint32_t>> reduced_;         ///< loops that a nest sums over, by operator and nest
    std::vector<std::vector<wanted_gradients>> gradients_of_; ///< by operator and nest
    std::vector<char> needs_gradient_;                        ///< by tensor
    std::vector<char> has_gradient_;                          ///< by operator: one flows to its output
    std::vector<std::vector<int>> tasks_of_;                  ///< computations of an operator
    std::vector<int> waited_; ///< by tile: what is copied into it from the host's memory, or there; empty: nothing is
    std::vector<made_piece> pieces_; ///< by key, then by place
    std::vector<piece_range> heads_;
    std::vector<partial_sum> partial_sums_;              ///< by tile
    std::vector<char> activates_;                        ///< tiles that an activation writes in place
    std::vector<std::pair<index_t, int>> contributions_; ///< by parameter: the tiles that are summed, each once
    std::vector<std::vector<pending_sum>> pending_;      ///< by tile
    std::vector<int> clock_;
    std::vector<int> queued_; ///< place of every task among those in queues, or -1
    std::vector<std::uint64_t>
        known_; ///< for every task a set of those in queues that are known to be finished when it starts (itself when
                ///< it ends)
    std::size_t words_ = 0; ///< of each such set
    std::vector<std::vector<std::pair<int, access>>> history_;
    /// The first and the last task that touches a tile, where all that do are in one list and in no queue.
    struct span {
        int first = -1;
        int last = -1;
        bool is_known = false;
    };
    std::vector<span> spans_; ///< by tile
};

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/compressed.inl"
#include "tessera/plan/verify/fields.inl"
#include "tessera/plan/verify/gradients.inl"
#include "tessera/plan/verify/operands.inl"
#include "tessera/plan/verify/order.inl"
#include "tessera/plan/verify/replicas.inl"
#include "tessera/plan/verify/results.inl"
#include "tessera/plan/verify/structure.inl"
#include "tessera/plan/verify/sums.inl"
#include "tessera/plan/verify/verifier.inl"
#endif

#include "tessera/base/end_header.inl"
