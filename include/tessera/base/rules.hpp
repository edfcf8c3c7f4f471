// SPDX-License-Identifier: Apache-2.0
// The rules that a network or a strategy can break. Every rule is written once: a broken one becomes a compile error
// whose text names the layer, the dimension and the numbers, or, for values that come at run time, an exception with
// the same words.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/action_kind.hpp"
#include "tessera/base/box.hpp"

namespace tessera {

namespace detail {

template <class...>
inline constexpr bool never = false;

} // namespace detail

// clang-format off
// One line per rule: its name and its words. The first number of a problem is what was found, the second what was
// needed.
#define TESSERA_RULES(rule) \
    rule(extent_is_zero, "an extent, window, stride, dilation or group count must be at least 1") \
    rule(kernel_larger_than_padded_input, "the kernel is larger than its padded input; pad the input or shrink the kernel") \
    rule(padding_not_smaller_than_kernel, "the padding must be smaller than the kernel, or some outputs see no input") \
    rule(groups_do_not_divide_channels, "the groups must divide the input and the output channels") \
    rule(input_has_wrong_rank, "the input has the wrong number of dimensions for this layer; flatten images before a linear layer or a layer norm") \
    rule(branch_changes_shape, "a residual branch must keep the shape of its input; change the branch or project the shortcut") \
    rule(shapes_differ, "the inputs of an element-wise layer must have the same shape; behind the samples one may have extent 1") \
    rule(extents_differ, "the inputs of the layer do not go together: an extent that they share differs") \
    rule(concat_shapes_differ, "concatenated tensors may differ in their channels only") \
    rule(inner_extents_differ, "the extents that a matrix product sums over must be equal; transpose_first and transpose_second exchange rows and columns") \
    rule(heads_do_not_divide_channels, "the heads must divide the channels of inputs of rank 3 and be the second extent of an input of rank 4") \
    rule(key_heads_do_not_divide_heads, "the heads of keys and values must divide the heads of queries, each being for as many of them") \
    rule(buckets_do_not_fit, "buckets of distances are at least 2, or where attention is not causal an even number, at least 4; the largest distance is more than how many of a side's have one distance each, half of them") \
    rule(transposed_dilation, "a transposed convolution has no dilation") \
    rule(transposed_output_is_empty, "the padding of a transposed convolution takes away its whole output; pad less") \
    rule(experts_do_not_divide_slots, "the experts must divide the rows of their input, each having as many slots") \
    rule(more_choices_than_experts, "a token cannot be sent to more experts than there are") \
    rule(capacity_below_one, "an expert needs room for at least one token of a sample; say capacity<>, capacity_factor<> or no_drop") \
    rule(slots_do_not_fit, "the table of slots is [N,Experts,Slots], of as many samples as its input has, and rows of slots are Experts*Slots") \
    rule(no_slots_here, "with_slots<> stands among the experts of a routed_experts<>, which gives out their slots") \
    rule(slice_outside_input, "a slice must lie inside its input") \
    rule(permutation_is_none, "permute names every dimension of its input once, by its number, and the samples (0) first") \
    rule(reshape_of_other_elements, "a reshape keeps the number of elements of a sample; change an extent, or leave one to be inferred (-1)") \
    rule(broadcast_of_several, "a broadcast repeats dimensions of extent 1; others keep their extent (-1)") \
    rule(padding_is_negative, "a pad adds at least 0 indices; crop takes indices away") \
    rule(numbers_are_looked_up, "the layer takes integers, as an embedding takes tokens, and this input has numbers") \
    rule(indices_do_not_fit, "indices are integers [N,K], some for each sample, and in a scatter one for each row of its input") \
    rule(tied_to_nothing, "the layer whose parameters are tied must come earlier in the network") \
    rule(labels_do_not_fit, "the labels must be integers with the shape of the logits without their classes") \
    rule(targets_do_not_fit, "the targets of a loss must have the shape of its predictions") \
    rule(lengths_differ, "inputs of any length have one longest length, for a batch has one length") \
    rule(length_changes_parameters, "in a network of any length the parameters are the same at every length; this layer's would have another extent") \
    rule(table_of_fewer_positions, "the table has fewer rows than the sequence has positions; give it more, or shorten the sequence") \
    rule(lengths_do_not_fit, "the lengths must be one integer for each sample") \
    rule(attention_sees_later_positions, "generation makes one token after the other, and this attention sees those that come later, or another sequence; say causal") \
    rule(other_positions_are_read, "generation makes one position after the other, and a position of this layer's output is made of others of its input, or depends on which it is, which a cache of keys and values does not hold; attention<causal> and layers that work position by position can be generated from") \
    rule(nothing_to_keep, "generation keeps keys and values of causal attention, and the network has none") \
    rule(generates_from_tokens, "generation is from a network of one input, tokens [N,T] (int32), that makes logits [N,T,V] of them") \
    rule(loss_compares_samples, "generation is from a network that says what comes next in each sample by itself, and this loss compares the samples of a batch") \
    rule(integers_into_arithmetic, "the layer computes with floating-point numbers and this input has integers") \
    rule(wrong_number_of_inputs, "the layer does not take this number of inputs") \
    rule(operators_share_a_name, "two operators of the network have the same name; an operator's name is its identity in files and tables, so give one's own another") \
    rule(percent_out_of_range, "a dropout rate must be at least 0 and less than 100 per cent") \
    rule(initial_values_of_nothing, "the layer says what its weights or bias hold before training and has none") \
    rule(group_of_unknown_layer, "a group of the optimizer names a layer that the network does not have, or that has no trained parameters") \
    rule(layer_used_twice, "a layer with parameters is used twice; write shared<> to share them or repeat<> for separate ones") \
    rule(shared_parameters_differ, "layers that share a parameter need it in the same shape") \
    rule(running_statistics_shared, "running statistics follow one use of a layer; give each use a layer of its own, or share one that does not move them") \
    rule(tap_not_saved, "the tap was not saved earlier in the network; put save<> before it") \
    rule(tap_saved_twice, "two taps have the same name") \
    rule(input_not_first, "a sequential network starts with its input, such as image<> or features<>") \
    rule(no_layer, "a part of the network is no layer; inherit publicly from one, as in struct fc1 : ts::linear<10> {}") \
    rule(unknown_node, "the node refers to an input or node that does not come before it") \
    rule(node_named_twice, "two inputs or nodes of the network have the same name") \
    rule(too_many_names, "a network has too many inputs, named nodes and saved tensors") \
    rule(unknown_tensor, "a part of the network reads a tensor that is not there; hand on what add_op, add_input or find_tap returned") \
    rule(loss_has_consumer, "nothing may follow a loss") \
    rule(precision_unknown, "with_precision takes fp32, tf32 or bf16, and then the network") \
    rule(precision_said_twice, "with_precision goes around a network once; say one precision") \
    rule(precision_inside, "with_precision goes around a whole network; its parts compute in one precision") \
    rule(backend_lacks_operator, "the backend has nothing that computes this operator in this precision; use another backend or precision, or give the operator's record a row for it") \
    rule(network_has_no_loss, "a network to be trained needs a loss, such as a cross-entropy") \
    rule(unknown_layer, "the strategy configures a layer that the network does not have") \
    rule(no_such_instance, "the strategy configures an instance that the layer does not have; instances count from 0") \
    rule(strategy_says_twice, "the strategy says this twice; say it once") \
    rule(strategy_cannot_say, "a strategy does not take this; it takes on<>, others<>, stages_from<>, micro_batches<>, pipeline<>, synchronize<>, ...") \
    rule(strategy_has_wrong_size, "a strategy must have one configuration for every operator of the network") \
    rule(layer_configured_twice, "the strategy configures a layer twice") \
    rule(no_such_loop, "the layer has no such dimension to split") \
    rule(loop_split_twice, "a dimension is split twice in one configuration") \
    rule(loop_not_splittable, "this dimension cannot be split: its shards would not be boxes of the output") \
    rule(degree_is_zero, "a degree must be at least 1") \
    rule(degree_exceeds_extent, "there are more shards than indices along this dimension") \
    rule(degree_does_not_divide, "the degree does not divide the extent; say uneven if uneven shards are meant") \
    rule(cuts_are_wrong, "cut points must increase strictly and lie inside the extent, one fewer than shards") \
    rule(coupled_split_without_reduction, "a split of a coupled dimension needs a reduction inside the layer; say with_reduction if it is meant") \
    rule(more_shards_than_devices, "there are more shards than devices; repeat devices explicitly if that is meant") \
    rule(device_does_not_exist, "a shard is placed on a device that the machine does not have") \
    rule(placement_has_wrong_size, "the list of devices must name one device for every shard") \
    rule(partial_into_nonlinear, "a partial tensor is fed to a layer that is not linear; reduce it before") \
    rule(partial_without_reduction, "only an output that is a partial sum can be left partial") \
    rule(partial_degrees_differ, "a layer that passes a partial tensor on must have as many parts as the tensor") \
    rule(more_devices_than_heads, "there are more devices that share a sequence than heads of attention, which each takes some of; let as many share it as there are heads, or fewer") \
    rule(devices_do_not_divide_heads, "devices that share a sequence take as many heads of attention each; their number must divide the heads") \
    rule(ring_without_keys, "only what has keys and values and no table of buckets, attention, lets them go round a ring") \
    rule(ring_of_divided_keys, "keys that go round a ring are divided by it as the positions of queries are; leave key_position whole, and shards without replicas") \
    rule(ring_longer_than_keys, "a ring has as many pieces of keys as shards of positions, each with a key at least") \
    rule(gathered_into_coupled_split, "the input is gathered although the layer splits it along a coupled dimension; drop gathered") \
    rule(gradient_counted_twice, "the gradient is summed over more shards than contribute to it; replicas hold the same gradient") \
    rule(loss_is_recomputed, "backward begins with a loss, which has just been computed; it is not computed again, so leave it out") \
    rule(recomputed_blocks_are_none, "so many blocks are computed again together, at least 1") \
    rule(schedule_has_other_micro_batches, "the strategy must have as many micro-batches as the schedule that it follows; see strategy::follow()") \
    rule(machine_has_no_devices, "there must be at least one device") \
    rule(batch_is_empty, "the batch must have at least one sample") \
    rule(extent_too_large, "an extent must be less than 2^31, a tensor have at most 2^48 elements, and an operator at most 2^58 multiply-adds; use a smaller batch, or smaller layers") \
    rule(micro_batches_out_of_range, "a batch is cut into 1 micro-batch to as many as it has samples") \
    rule(period_out_of_range, "a plan covers 1 to 1024 steps; take more of them in several runs") \
    rule(period_on_one_device, "with parameters on one device (parameters_on) a plan covers 1 step; store them where shards need them, or take one step at a time") \
    rule(averages_of_sums, "a strategy that averages parameters updates whole copies by themselves: it has no messages of gradients, no parameters in slices or on one device") \
    rule(averages_never, "parameters are averaged every so many steps, at least 1; 0 is for strategies without averages") \
    rule(averages_past_the_period, "parameters are averaged every so many steps, but the plan ends between two averages; set the strategy's period to a multiple, and take as many steps at a time") \
    rule(times_without_messages, "sum_at and update_at say when messages of gradients go and what is summed is used, and there are no messages; make some, or leave both ready") \
    rule(slices_on_one_device, "parameters cannot be stored both on one device alone (parameters_on) and in slices on all that need them (shards_parameters); choose one") \
    rule(slices_without_messages, "parameters that are stored in slices (shards_parameters) are summed and updated by messages, and there are none; make some, for example with schedule::zero()") \
    rule(slices_not_sliced, "parameters that are stored in slices (shards_parameters) are updated slice by slice: their messages go exchange::sliced (0), not all_reduce (1), ring (2) or by a server (3)") \
    rule(slices_in_slices, "parameters that are stored in slices (shards_parameters) are divided by their members: their messages hold whole gradients, 1 slice of each") \
    rule(compression_without_messages, "gradients that are compressed travel in messages, and there are none; make some, for example with schedule::eight_bit_gradients()") \
    rule(compression_without_copies, "gradients are compressed on their way between copies of parameters on several devices; leave parameters where shards need them (no parameters_on), use 2 devices or more, or compress nothing") \
    rule(compression_not_all_reduced, "gradients that are compressed go from each device to all: their messages are exchange::all_reduce (1), not sliced (0) as those of ZeRO, ring (2) or by a server (3)") \
    rule(compression_in_slices, "gradients that are compressed go whole: their messages hold 1 slice of each") \
    rule(compression_block_is_empty, "a block of a compressed gradient, whose elements share a scale, has at least 1 element") \
    rule(compression_keeps_nothing, "of a gradient that is compressed to its largest elements, one of so many is sent; that number is at least 1") \
    rule(staleness_without_waiting, "gradients that are used some steps late travel in messages whose updates wait for the backward pass (update_at), and parameters lie whole on their devices (no shards_parameters); make messages, for example with schedule::stale_gradients()") \
    rule(staleness_out_of_range, "gradients are used 0 or more steps late, and fewer than the plan covers, at whose end all are used; set the strategy's period to more, and take as many steps at a time") \
    rule(plan_is_too_large, "the plan would have more than 2^23 tasks: shards times micro-batches times steps; use fewer of them") \
    rule(stage_is_negative, "stages count from 0") \
    rule(stage_reads_later_stage, "an operator cannot read what a later stage makes; give it that stage or a later one") \
    rule(more_stages_than_operators, "there are more stages than operators; every stage needs one") \
    rule(stage_without_operators, "a stage has no operator; number the stages without gaps") \
    rule(stages_out_of_order, "stages begin at layers in the order of the network, each at a later one than the stage before") \
    rule(stages_for_other_operators, "there must be one stage for every operator") \
    rule(stage_outside_schedule, "an operator is in a stage that the schedule does not have") \
    rule(stage_without_devices, "every worker of a pipeline, or its stage, needs at least 1 device, and its parameters lie in at least 1 part") \
    rule(devices_for_other_workers, "how many devices, or which splits, must be given for every worker, or stage, of the pipeline") \
    rule(load_is_negative, "times, bytes and micro-batches in flight are at least 0") \
    rule(pipeline_is_empty, "a pipeline needs at least 1 worker, 1 stage and 1 micro-batch") \
    rule(schedule_has_other_stages, "the strategy must have as many stages as the schedule that it follows") \
    rule(action_outside_schedule, "an action is of a stage or micro-batch that the schedule does not have; both count from 0") \
    rule(action_comes_twice, "an action comes twice in the schedule") \
    rule(action_on_other_worker, "all actions of a micro-batch in a stage must be on one worker, which has its results") \
    rule(action_is_missing, "an action is missing in the schedule; every micro-batch goes forward through every stage once") \
    rule(backward_not_once, "every micro-batch goes backward through every stage once: whole, or as the gradients of inputs and those of weights") \
    rule(schedule_waits_for_itself, "the schedule has a deadlock: an action waits for itself through others") \
    rule(marks_for_other_micro_batches, "a schedule must say of every micro-batch, or of none, whether it is mirrored and whether it keeps its results") \
    rule(time_is_negative, "an action takes a time of at least 0") \
    rule(times_for_other_stages, "the times of actions must be given for every stage, or once for all") \
    rule(followers_of_other_stages, "a timetable needs for every stage the stages that read its results") \
    rule(interleaved_in_groups, "interleaved 1F1B takes micro-batches in groups of as many as there are workers; their number must divide by the workers") \
    rule(chimera_in_pairs, "Chimera needs an even number of stages and of micro-batches") \
    rule(gems_in_parts, "GEMS cuts micro-batches into mini-batches of equally many parts; their number must divide by the parts") \
    rule(joint_statistics_one_by_one, "without a schedule micro-batches go backward one after the other, but statistics over the mini-batch need all of them forward first; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch") \
    rule(joint_statistics_mirrored, "the schedule has a mirrored replica, whose statistics are its own, so that there are none over the mini-batch; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch") \
    rule(joint_statistics_split_backward, "the schedule splits backward, which statistics over the mini-batch do not allow; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch") \
    rule(joint_statistics_too_late, "the schedule does not finish all micro-batches forward first, as statistics over the mini-batch need; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch") \
    rule(joint_statistics_out_of_order, "the schedule does not take one stage after the other backward, as statistics over the mini-batch need; use GPipe's schedule, statistics over the micro-batch, or 1 micro-batch") \
    rule(loss_joins_micro_batches, "the loss is of the whole batch together (it divides by what its rows weigh, or compares rows with each other), and a micro-batch knows its own rows alone; use 1 micro-batch, and split samples over devices instead") \
    rule(no_servers, "parameters need at least 1 server") \
    rule(slice_is_empty, "a slice of a gradient has at least 1 element") \
    rule(bucket_is_empty, "a bucket of gradients has a size of at least 1") \
    rule(fusion_is_negative, "tensor fusion has a threshold and a cycle of at least 0; 0 bytes: every gradient by itself") \
    rule(no_credit, "partitions of gradients that are sent with credit need one of at least 1 element") \
    rule(no_workers, "gradients are those of at least 1 worker") \
    rule(worker_does_not_compute, "a worker computes more than 0 FLOP/ns") \
    rule(zero_has_three_stages, "ZeRO has the stages 1, 2 and 3") \
    rule(message_of_no_gradient, "a message holds the gradient of a parameter that the network does not have or does not train; make messages of its own gradients") \
    rule(slice_outside_gradient, "the slices of a gradient count from 0 to one less than their number") \
    rule(slices_are_missing, "a gradient is cut into more slices than messages hold; messages must hold each slice of every gradient once") \
    rule(slices_differ, "messages cut a gradient into different numbers of slices; messages must hold each slice of every gradient once") \
    rule(slice_sent_twice, "messages hold a slice of a gradient twice; each slice goes once") \
    rule(gradient_not_sent, "no message has all of a gradient; messages must hold each slice of every gradient once") \
    rule(averages_need_plain_sgd, "averages of parameters go with plain SGD: each copy would keep momentum or moments of its own, and clip, or know the norm of, its own gradients alone; use an optimizer without, or sum gradients") \
    rule(compression_without_norms, "gradients that are compressed go with optimizers that take no norms: neither clipping by the norm of all gradients nor LARS or LAMB; clip elements (clipped_to), or compress nothing") \
    rule(staleness_without_norms, "gradients that are used some steps late go with optimizers that take no norms: neither clipping by the norm of all gradients nor LARS or LAMB; clip elements (clipped_to), or use gradients at once") \
    rule(state_on_host_without_state, "the optimizer keeps no state that could wait in the host's memory (plain SGD has none); choose one with momentum or moments, or drop state_on_host") \
    rule(layout_has_wrong_rank, "a layout says of every dimension how it is split: as many entries in dims as in extents") \
    rule(range_outside_extent, "the range of a shard must not end before it begins, nor reach outside the tensor") \
    rule(tensors_differ, "a redistribution is between two layouts of one tensor: of the same extents and type of element") \
    rule(sum_taken_apart, "a sum cannot be taken apart into summands; redistribute to a layout that has as many of them as the first, or none") \
    rule(redistributions_do_not_meet, "a redistribution begins with another layout than the one before it ends with") \
    rule(layer_has_instances, "the network has the layer several times: say which one, as in instance<layer, 0>") \
    rule(no_such_operand, "the layer has no such input or parameter; they count from 0") \
    rule(wrong_number_of_layouts, "an operator in shards takes one layout for each of its inputs, and one more for its output") \
    rule(layouts_do_not_fit, "the layouts of the inputs and of the output do not go together: no split of the operator has them all")
// clang-format on

enum class rule : std::uint8_t {
    none,
#define TESSERA_RULE(name, words) name,
    TESSERA_RULES(TESSERA_RULE)
#undef TESSERA_RULE
};

/// The words of a rule.
constexpr const char* to_text(rule broken) {
    switch (broken) {
#define TESSERA_RULE(name, words)                                                                                      \
    case rule::name:                                                                                                   \
        return words;
        TESSERA_RULES(TESSERA_RULE)
#undef TESSERA_RULE
    case rule::none:
        break;
    }
    return "no rule is broken";
}

/// A broken rule with where and by which numbers, as a value.
struct problem {
    rule broken = rule::none;
    int op = -1;        ///< operator of the network, or entry of the strategy
    int dimension = -1; ///< the loop_name, or -1
    index_t found = 0;
    index_t needed = 0;
    int parameter = -1; ///< of the network, where one of the operator's is meant
    int action = -1;    ///< the action_kind of a schedule's action, or -1 ...
    int stage = -1;     ///< ... and its stage
    int micro_batch = -1;
    int missing = -1; ///< which of the tensors that an operator reads by name is not there

    constexpr explicit operator bool() const { return broken != rule::none; }
};

/// Facts that appear in a compile error.
template <class Layer>
struct layer;
template <index_t Number>
struct found;
template <index_t Number>
struct needed;
template <action_kind What, index_t Stage, index_t MicroBatch>
struct at_action;
template <int Number>
struct dimension; ///< of a tensor, counted from 0
template <class Entry>
struct saying; ///< what a strategy says, where no layer is to blame
template <class Name>
struct missing; ///< what a node reads and no input or node before it is called; an input without a feed

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define TESSERA_WORDS_IN_TYPES // g++ names the type first and prints the words of a static_assert last
#endif

#ifdef TESSERA_WORDS_IN_TYPES
/// Words as a template argument.
template <std::size_t Size>
struct words {
    char text[Size]{};

    constexpr words(const char (&literal)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) {
            text[i] = literal[i];
        }
    }
};
template <words Text>
struct says;
template <rule Broken>
struct words_of;
#define TESSERA_RULE(name, literal)                                                                                    \
    template <>                                                                                                        \
    struct words_of<rule::name> {                                                                                      \
        using type = says<literal>;                                                                                    \
    };
TESSERA_RULES(TESSERA_RULE)
#undef TESSERA_RULE
#endif

/// One specialization for each rule; to instantiate it is the compile error. Its arguments are all that the message has
/// to say, and nothing lies between it and refuse(), because every step would print them once more.
template <rule Broken, class... Facts>
struct refusal;
#define TESSERA_RULE(name, words)                                                                                      \
    template <class... Facts>                                                                                          \
    struct refusal<rule::name, Facts...> {                                                                             \
        static_assert(detail::never<Facts...>, "tessera: " words);                                                     \
    };
TESSERA_RULES(TESSERA_RULE)
#undef TESSERA_RULE
#undef TESSERA_RULES

// TESSERA_REFUSAL(name, "words"): a template name<Facts...> whose instantiation, as by sizeof, is a compile error with
// these words, for what is no rule of networks and strategies. The words come first on every compiler, as those of
// rules do.
#ifdef TESSERA_WORDS_IN_TYPES
#define TESSERA_REFUSAL(name, literal)                                                                                 \
    template <class Words, class... Facts>                                                                             \
    struct name##_refused {                                                                                            \
        static_assert(tessera::detail::never<Words, Facts...>, "tessera: " literal);                                   \
        using type = void;                                                                                             \
    };                                                                                                                 \
    template <class... Facts>                                                                                          \
    using name = name##_refused<tessera::says<literal>, Facts...>
#else
#define TESSERA_REFUSAL(name, literal)                                                                                 \
    template <class... Facts>                                                                                          \
    struct name {                                                                                                      \
        static_assert(tessera::detail::never<Facts...>, "tessera: " literal);                                          \
        using type = void;                                                                                             \
    }
#endif

namespace detail {

constexpr bool swallow(const void*) { return false; }

} // namespace detail

/// Makes the compile error of a broken rule. The refusal is instantiated by the look-up of an unqualified call with a
/// pointer to it, which leaves the value itself sound, so that no second error follows.
template <rule Broken, class... Facts>
constexpr bool refuse() {
    using detail::swallow;
#ifdef TESSERA_WORDS_IN_TYPES
    return swallow(static_cast<const refusal<Broken, typename words_of<Broken>::type, Facts...>*>(nullptr));
#else
    return swallow(static_cast<const refusal<Broken, Facts...>*>(nullptr));
#endif
}

} // namespace tessera

#include "tessera/base/end_header.inl"
