// SPDX-License-Identifier: Apache-2.0
// What lowering knows while a plan grows: tiles and tasks, and where the pieces of every tensor are. What it does stands in the files that are
// named beside its functions.
#pragma once

#include "tessera/plan/lowering_state.hpp"

namespace tessera::detail {

// A template only so that what it uses is compiled where a plan is made, not wherever the header is included.
template <class Options>
class lowering {
public:
    lowering(const graph_view& g, const strategy_view& s, int devices, const Options& o)
        : g_(g), s_(s), o_(o), values_(count(g.tensor_count)), gathered_values_(count(g.tensor_count)),
          gradients_(count(g.tensor_count)), gathered_gradients_(count(g.tensor_count)),
          parameter_gradients_(count(g.parameter_count)), parameters_(count(g.parameter_count)),
          needs_gradient_(count(g.tensor_count), 0), descriptions_(count(g.op_count)), shards_(count(g.op_count)) {
        p_.devices = devices;
        p_.kind = o.kind;
        p_.loss_scale = static_cast<double>(o.update.loss_scale);
        p_.states = o.kind == run_kind::training ? o.update.state_count() : 0;
        p_.clips = clips();
        p_.average_every = averages() ? s.sync->average_every : 0;
        p_.output_gradient = o.output_gradient;
    }

    plan run() {
        arrange();
        prepare();
        if (o_.output_gradient >= 0) {
            gradients_[at(g_.ops[g_.op_count - 1].output)] = values_[at(o_.output_gradient)];
        }
        for (step_ = 0; step_ < p_.period; ++step_) {
            begin_step();
            const std::size_t losses = steps_until_losses();
            for (std::size_t i = 0; i < steps_.size(); ++i) {
                holds_ = i < losses;
                perform(steps_[i]);
                i + 1 == losses ? finish_held() : void();
            }
            if (has_messages()) {
                finish_messages();
            }
            for (int p = 0; p < g_.parameter_count && clips() && !has_messages(); ++p) {
                reduce_parameter(p);
            }
            for (int p = 0; p < g_.parameter_count && clips() && !has_messages(); ++p) {
                update_clipped(p);
            }
            average_copies();
            collect_results();
        }
        number();
        return static_cast<plan&&>(p_);
    }

protected: // simulation::operator_lowering lowers one operator anew
    static std::size_t count(int n) { return static_cast<std::size_t>(n); }
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    bool clips() const { return o_.kind == run_kind::training && o_.update.clip_norm > 0; }
    bool has_messages() const {
        return o_.kind == run_kind::training && s_.sync != nullptr && !s_.sync->messages.empty();
    }
    bool averages() const { return o_.kind == run_kind::training && s_.sync != nullptr && s_.sync->average_every > 0; }
    /// Those of the last step can be read after the run.
    bool keeps_gradients() const { return o_.keep_gradients && step_ + 1 == p_.period; }
    bool sums_late() const { return has_messages() && s_.sync->sum_at == sync_time::after_backward; }
    bool updates_wait() const { return clips() || s_.sync->update_at == sync_time::after_backward; }
    const configuration& config(int op) const { return s_.ops[op]; }
    const description& desc(int op) const { return descriptions_[at(op)]; }
    tile& tile_at(int t) { return p_.tiles[at(t)]; }

    // ---- tiles and tasks ---------------------------------------------------------------------------------------------

    int add_tile(tile_kind kind, int tensor, const box& region, int device, element type) {
        tile t;
        t.kind = kind;
        t.tensor = tensor;
        t.region = region;
        t.device = device;
        t.type = type;
        t.elements = region.volume();
        t.micro_batch = is_persistent(kind) || kind == tile_kind::input ? 0 : micro_batch_;
        if ((kind == tile_kind::intermediate || kind == tile_kind::intermediate_gradient) &&
            is_joint(tensor / max_operands)) {
            t.micro_batch = -1;
        }
        t.step = is_persistent(kind) || kind == tile_kind::input ? 0 : step_;
        p_.tiles.push_back(t);
        return static_cast<int>(p_.tiles.size()) - 1;
    }

    task& add_task(task_kind kind, int op, pass what, int shard_number, int device) {
        task t;
        t.kind = kind;
        t.op = op;
        t.what = what;
        t.shard_number = shard_number;
        t.micro_batch = micro_batch_;
        t.step = step_;
        t.device = device;
        p_.tasks.push_back(t);
        return p_.tasks.back();
    }

    task& add_compute(int op, pass what, int number, const shard& s, int first, int last) {
        task& t = add_task(task_kind::compute, op, what, number, s.device);
        t.first_nest = first;
        t.last_nest = last;
        t.first_part = is_first_part(s, desc(op)) && s.part == 0;
        for (int l = 0; l < max_loops; ++l) {
            t.ranges[l] = s.ranges[l];
        }
        t.samples = takes_own_statistics(op) ? s.ranges[statistics_loop(desc(op))].size() : 0;
        return t;
    }

    bool is_empty(const shard& s, int op) const {
        for (int l = 0; l < desc(op).loops.size(); ++l) {
            if (s.ranges[l].empty()) {
                return true;
            }
        }
        return false;
    }

    /// Region of an operand; that of a parameter does not depend on the loops that do not index it, so an empty shard has one too.
    box region_of(int op, int which, const shard& s) const { return region(desc(op), which, s.ranges); }

    /// True for an operator whose intermediates are sums over all micro-batches: each of these leaves a part of its own.
    bool is_joint(int op) const { return p_.joint_statistics && desc(op).has_running_state(); }

    /// True for an operator each of whose shards of samples takes statistics of its own.
    bool takes_own_statistics(int op) const {
        return s_.statistics == statistics_over::replica && o_.kind == run_kind::training &&
               statistics_loop(desc(op)) >= 0;
    }
    /// Which of these a shard takes part in: those of the shards with its samples.
    int replica_of(int op, const shard& s) const {
        return takes_own_statistics(op) ? s.index[statistics_loop(desc(op))] : 0;
    }
    /// Parts of what nest `k` of an operator writes, as far as they are added up.
    int added_parts(int op, int k) const {
        configuration c = config(op);
        const bool apart = takes_own_statistics(op) && k + 1 < desc(op).nests.size();
        c.degree[apart ? statistics_loop(desc(op)) : 0] = apart ? 1 : c.degree[0];
        return parts_of_nest(c, desc(op), k);
    }

    static int first_of(std::uint32_t mask) {
        int i = 0;
        while (!has(mask, i)) {
            ++i;
        }
        return i;
    }

    // ---- what lies where before anything is computed: lower_placement.hpp -------------------------------------------

    void prepare();
    void place_parameters(int op, const std::vector<shard>& shards);
    int parameter_tile(int op, int which, const shard& s);
    /// Where a shard's part of a parameter is stored. Running statistics stay with the shards that make them.
    int home_of(int op, int which, const shard& s) const {
        if (desc(op).operands[which].kind == operand_kind::state && s_.statistics == statistics_over::replica) {
            return first_replica(op, s);
        }
        const bool central = s_.parameters_on >= 0 && desc(op).operands[which].kind == operand_kind::parameter;
        return central ? s_.parameters_on : s.device;
    }
    int first_replica(int op, const shard& s) const;
    int parameter_value(int op, int which, const shard& s, pass what);
    void take_in(int tensor);
    bool reads_tensor(int op, int tensor) const;

    // ---- redistribution: lower_redistribution.hpp -------------------------------------------------------------------

    void add_copy(int op, pass what, int from, int to);
    int need(located& from, std::vector<gathered_tile>& cache, const box& region, int device, int part, tile_kind kind,
             int tensor, element type, int op, pass what);
    int need_value(int tensor, const box& region, const shard& s, int op, pass what);
    std::vector<int> equal_parts(const located& from, const box& region) const;
    intermediate_state& intermediate(int op, int which, const shard& s);
    int need_intermediate(intermediate_pieces& from, tile_kind kind, int op, int o, const shard& s, pass what);
    located sum_in_slices(intermediate_pieces& from, tile_kind kind, int op, int o, const box& region, pass what);

    // ---- stages and their order: lower_stages.hpp -------------------------------------------------------------------

    void arrange();
    void arrange_jointly(std::vector<step>& all);
    std::vector<std::vector<int>> stages_after() const;

    // ---- steps and micro-batches: lower_steps.hpp -------------------------------------------------------------------

    void begin_step();
    void prepare_micro_batches();
    std::vector<shard> shards_of(int op, int micro_batch) const;
    bool is_mirrored() const { return s_.schedule != nullptr && s_.schedule->is_mirrored(micro_batch_); }
    void select(int micro_batch);
    void exchange(micro_batch_state& with);
    void perform(const step& x);
    void perform_jointly(const step& x);
    template <class Work>
    void for_each_together(const Work& work);
    void recompute(int stage);
    bool is_read_backward(int op, const std::vector<char>& again) const;
    void forget(int op);
    int add_sum(int op, pass what, int shard_number, int device, const std::vector<int>& from, int to);

    // ---- forward: lower_forward.hpp ---------------------------------------------------------------------------------

    bool fuses(int op) const;
    void forward(int op, bool again = false);
    void forward_jointly(int op);
    void forward_nests(int op, int first, int last, pass what);
    int read_tile(int op, int o, const shard& s, pass what);
    int output_tile(int op, int o, const shard& s);
    void take_view(int op);
    void update_running(int op);
    int whole_statistics(int op, int o, int number, const shard& s);
    void update_from_first(int op);
    void add_running(int op, int number, const shard& s, int source, int target, index_t samples);

    // ---- backward: lower_backward.hpp -------------------------------------------------------------------------------

    void backward(int op, backward_part part = backward_part::all);
    bool has_gradient(int op) const;
    void backward_nests(int op, int k, backward_part part);
    void backward_jointly(int op);
    bool splits_backward(int op) const;
    bool is_wanted(int op, int o) const;
    int output_gradient(int op, const shard& s, pass what);
    void pass_gradient(int op);
    void contribute(located& to, int op, int o, const shard& s, const box& region, int t);
    void backward_nest(int op, int k, std::uint32_t emits, pass what);
    int emit(int op, int o, int number, const shard& s);
    int emit_parameter(int op, int o, int number, const shard& s);

    // ---- updates of parameters: lower_update.hpp --------------------------------------------------------------------

    std::size_t steps_until_losses() const;
    void finish_held();
    void finish_parameters(int op);
    std::vector<std::vector<piece>> groups(int parameter) const;
    void count_moved(const std::vector<int>& tiles, int device, index_t elements);
    int state_tile(int parameter, const box& region, int device, int slice, int slices);
    void update_group(int parameter, const std::vector<piece>& copies);
    int user_of(int parameter) const { return first_user_[at(parameter)]; }
    int gathered_parameter_gradient(int parameter, const box& region, int device, int op);
    void reduce_parameter(int parameter);
    void update_clipped(int parameter);
    std::vector<int> summed_by_device(int parameter, const std::vector<piece>& copies);

    // ---- messages: lower_synchronization.hpp ------------------------------------------------------------------------

    void send_messages();
    void finish_messages();
    bool is_sliceable(int parameter) const;
    void send(const message& m);

    // ---- one message among its members: lower_exchange.hpp ----------------------------------------------------------

    void add_reduce(const std::vector<message_sum>& all, int number, int device, int slice, int slices, bool squares);
    int add_slice_tile(int parameter, const box& region, int device, int slice, int slices);
    void send_sliced(const std::vector<sent_piece>& all);
    void send_all_reduce(const std::vector<sent_piece>& all);
    int sum_tile(int parameter, const piece& copy);
    void send_ring(const std::vector<sent_piece>& all);
    void send_to_server(const std::vector<sent_piece>& all);
    void update_from(const std::vector<reduced_slice>& all, int number);

    // ---- averages of parameters: lower_average.hpp ------------------------------------------------------------------

    void update_copies(int parameter, const std::vector<piece>& copies);
    void average_copies();

    // ---- parameters in slices: lower_sharded.hpp --------------------------------------------------------------------

    void shard_parameters();
    int whole_parameter(int op, int which, int stored, pass what);

    // ---- results: lower_results.hpp ---------------------------------------------------------------------------------

    void keep(int tensor, const located& where);
    void collect_results();
    void number();

    graph_view g_;
    strategy_view s_;
    Options o_;
    plan p_;
    std::vector<located> inputs_; ///< values before anything is computed
    std::vector<located> values_;
    std::vector<std::vector<gathered_tile>> gathered_values_;
    std::vector<located> gradients_;
    std::vector<std::vector<gathered_tile>> gathered_gradients_;
    std::vector<located> parameter_gradients_;
    std::vector<located> parameters_;
    std::vector<parameter_copy> parameter_copies_;
    std::vector<char> needs_gradient_;
    std::vector<description> descriptions_;
    std::vector<std::vector<shard>> shards_;
    intermediate_list intermediates_;
    intermediate_list joint_intermediates_; ///< of no micro-batch, but of all
    std::vector<index_t> contribution_keys_;
    std::vector<int> first_user_; ///< operator, by parameter
    std::vector<int> uses_;
    std::vector<int> uses_left_;
    bool holds_ = false;                    ///< a loss of the step has not been computed yet
    std::vector<std::pair<int, int>> held_; ///< operator and micro-batch that have gone backward meanwhile
    std::vector<int> states_;               ///< tiles of the optimizer's states
    std::vector<int> norms_;
    std::vector<std::vector<reduced_slice>> reduced_; ///< what one task updates, of several parameters or of one
    std::vector<std::vector<reduced_slice>> arrived_; ///< of the message at hand: sums whose updates come after it
    std::vector<std::pair<int, int>> sum_tiles_;      ///< of a copy's tile
    std::vector<std::pair<std::vector<int>, int>> local_sums_; ///< of contributions
    std::vector<whole_copy> whole_copies_;
    std::vector<std::pair<int, std::vector<piece>>> averaged_; ///< parameters whose copies differ in this step
    sending_state sending_;
    std::size_t next_message_ = 0;
    int exchanges_ = 0; ///< messages among several members so far

    std::vector<step> steps_; ///< what is done, in this order
    int sweeps_ = 1;          ///< micro-batches with samples
    std::vector<std::vector<int>> stages_;
    int step_ = 0;        ///< of the plan's period
    int micro_batch_ = 0; ///< at hand
    interval samples_;
    std::vector<char> recomputed_;
    std::vector<micro_batch_state> micro_batches_; ///< that of the one at hand is empty
    std::vector<std::vector<accumulator>> accumulators_;
    std::vector<std::pair<int, int>> sums_; ///< contributions that wait to be added: to which tile, which tile
    std::vector<int> forwards_left_;        ///< by operator
    std::vector<int> together_;             ///< micro-batches that wait for the others of their stage
};

} // namespace tessera::detail
