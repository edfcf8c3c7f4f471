// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a folder from which training goes on as if it had not ended, under the same strategy or any other.
//
//   model.safetensors   parameters and running statistics by their paths ("conv1/weight"), what the optimizer keeps for
//                       them
//                       ("optimizer/velocity/conv1/weight"), and what each device has left out of compressed gradients
//                       ("left_out/3/0.0/fc1/weight": device 3, of a region that begins at 0, 0); of several processes
//                           each writes
//                       what it holds into files of its own,
//                       model-00001-of-00004.safetensors: whole tensors, or boxes of those that no process has whole
//   state.json          step, seed, learning rate, optimizer, place in the data, hashes of network and plan, what the
//                       training is field
//                       by field (execute/ranks/training_identity.hpp), size and crc32 of the files above
//   COMMIT              the crc32 of state.json: written last, and without it the folder is no checkpoint
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/folder.hpp"
#include "tessera/execute/typed_trainer.hpp"
#include "tessera/io/files/checkpoint_files.hpp"
#include "tessera/io/files/checkpoint_identity.hpp"
#include "tessera/io/files/checkpoint_layout.hpp"
#include "tessera/io/files/checkpoint_owner.hpp"
#include "tessera/io/files/checkpoint_residuals.hpp"
#include "tessera/io/files/checkpoint_state.hpp"
#include "tessera/io/files/checkpoint_writers.hpp"
#include "tessera/io/files/load_weights.hpp"
#include "tessera/net/network_hash.hpp"

#include <utility>

namespace tessera::io {

/// What hands out, and takes, all that goes on in a training: session<B> and compiled sessions.
template <class S>
concept KeepsTraining = requires(S& s, const state_piece& piece, float* numbers, const residual_key& left_out) {
    { s.state_of(0, -1) } -> std::convertible_to<std::vector<float>>;
    { s.keeps(0, -1) } -> std::convertible_to<bool>;
    { s.state_pieces(0, -1) } -> std::convertible_to<std::vector<state_piece>>;
    s.copy_state(0, -1, piece, piece.region, numbers);
    s.load_state(0, -1, state_source());
    { s.residuals() } -> std::convertible_to<std::vector<residual_key>>;
    s.copy_residual(left_out, numbers);
    s.set_residual(left_out, std::span<const float>());
    s.settle();
    s.resume_after(s.steps(), s.seed(), s.learning_rate());
};

/// How a checkpoint is loaded.
struct load_options {
    bool any_network = false; ///< also one of another network whose parameters have the same names and extents
    bool any_optimizer =
        false; ///< also one of a training with another optimizer or other settings of it, but for the learning rate,
               ///< which goes on
    bool averages =
        false; ///< the moving averages of the weights in their place, where the optimizer kept some: for a trainer of
               ///< {.for_training = false}
};

namespace detail {

/// What an optimizer keeps for each element of a parameter, in the order in which it lies.
std::vector<std::string> names_of_states(const optimizer& o);

/// The name of a parameter in a checkpoint, or of a number that the optimizer keeps for it.
std::string tensor_name(const graph_view& g, const optimizer& o, int parameter, int state);

/// Whether a session holds what training needs; one that does not takes the weights of any checkpoint.
template <class Session>
bool for_training(const Session& s) {
    return s.training_plan().kind == run_kind::training;
}

/// "what Adam keeps (first_moment, second_moment)"
std::string shown_states(const std::vector<std::string>& kept);

/// Refuses the state of another optimizer, before its tensors are looked at one by one.
template <class Session>
void require_same_optimizer(const Session& s, const std::string& path, const std::vector<std::string>& saved) {
    const std::vector<std::string> mine = names_of_states(s.update());
    if (for_training(s) && saved != mine) {
        throw error("tessera: the optimizers differ: the checkpoint '" + path + "' has " + shown_states(saved) +
                    " for each weight, and this trainer's keeps " + shown_states(mine) +
                    ". Make the trainer with the optimizer that was saved, or take the weights alone, with "
                    "load_weights() or into a trainer of "
                    "{.for_training = false}");
    }
}

/// Refuses files that do not hold exactly what the session needs: which tensors, of which extents. What optimizers keep
/// is nothing to one that does not train.
template <class Session>
void require_same_tensors(const Session& s, const tensor_files& file) {
    const graph_view g = s.graph_of();
    const bool with_state = for_training(s);
    std::vector<std::string> wrong;
    std::map<std::string, int> known;
    for (int p = 0; p < g.parameter_count; ++p) {
        for (int state = -1; state < s.update().state_count(); ++state) {
            if (!s.keeps(p, state)) {
                continue; // parameters that are not trained have no state
            }
            const std::string name = tensor_name(g, s.update(), p, state);
            const std::vector<std::int64_t>* const found = file.extents_of(name);
            if (found == nullptr) {
                wrong.push_back("it lacks " + name);
            } else if (*found != extents_in_file(g.parameters[p].extents)) {
                wrong.push_back(name + " is " + shown(*found) + " and must be " +
                                shown(extents_in_file(g.parameters[p].extents)));
            }
            known[name] = 1;
        }
    }
    for (const std::string& name : file.names()) {
        if (known.count(name) == 0 && !names_residual(name) && (with_state || !name.starts_with("optimizer/"))) {
            wrong.push_back("the network has no " + name);
        }
    }
    if (!wrong.empty()) {
        std::string text;
        for (std::size_t i = 0; i < wrong.size() && i < 5; ++i) {
            text += (i > 0 ? "; " : "") + wrong[i];
        }
        text += wrong.size() > 5 ? "; and " + std::to_string(wrong.size() - 5) + " more" : "";
        throw error("tessera: the checkpoint '" + file.called() + "' is of another network or optimizer: " + text);
    }
}

/// What one process has to write of a session's checkpoints: which boxes into which files, and what else they say.
class checkpoint_part {
public:
    /// `owns_numbers`: memory for them is taken, so that the session may go on while they are written.
    template <class Session>
    checkpoint_part(const Session& s, bool owns_numbers) : layout_(s) {
        const process_group* const group = processes_of(s);
        rank_ = group == nullptr ? 0 : group->rank();
        const graph_view g = s.graph_of();
        network_ = network_hash(g);
        optimizer_ = names_of_states(s.update());
        tensors_.resize(to_size(layout_.files()));
        chunks_.resize(tensors_.size());
        std::size_t elements = 0;
        for (const checkpoint_chunk& c : layout_.chunks()) {
            if (layout_.writer(c.file) != rank_) {
                continue;
            }
            named_tensor t{
                tensor_name(g, s.update(), c.parameter, c.state), extents_in_file(c.where.extents()), {}, {}};
            if (c.residual_of >= 0) { // a tensor of its own
                t.name = residual_name(g, {c.parameter, c.residual_of, c.where});
            }
            for (int d = 0; d < c.where.rank && c.residual_of < 0; ++d) {
                t.offsets.push_back(c.where.dim[d].begin);
            }
            tensors_[to_size(c.file)].push_back(std::move(t));
            chunks_[to_size(c.file)].push_back(&c);
            const auto volume = to_size(c.where.volume());
            elements = owns_numbers ? elements + volume : std::max(elements, volume);
        }
        numbers_.resize(elements);
        std::size_t at = 0;
        for (std::vector<named_tensor>& file : tensors_) {
            for (named_tensor& t : file) {
                const auto volume = to_size(t.elements());
                t.numbers = std::span<const float>(numbers_).subspan(at, volume);
                at += owns_numbers ? volume : 0;
            }
        }
    }
    checkpoint_part(const checkpoint_part&) = delete;
    checkpoint_part& operator=(const checkpoint_part&) = delete;

    const checkpoint_layout& layout() const { return layout_; }
    const std::vector<named_tensor>& tensors(int file) const { return tensors_[to_size(file)]; }

    /// What the session has come to, but for its numbers. All processes call it.
    template <class Session>
    void take_state(const Session& s, const std::optional<data_position>& data) {
        s.settle();
        if constexpr (requires { s.bring_to_all_nodes(); }) {
            if (layout_.gathers()) {
                s.bring_to_all_nodes();
            }
        }
        state_ = {s.steps(), s.seed(), s.learning_rate(), data, network_, s.training_plan().hash, kept_identity(s)};
    }
    /// The numbers of a tensor of a file, copied; of all of them.
    template <class Session>
    std::span<const float> take(const Session& s, int file, std::size_t tensor) {
        const auto f = to_size(file);
        const std::span<const float> to = tensors_[f][tensor].numbers;
        copy_chunk(s, *chunks_[f][tensor], numbers_.data() + (to.data() - numbers_.data()));
        return to;
    }
    template <class Session>
    void take_all(const Session& s) {
        for (int f = 0; f < layout_.files(); ++f) {
            for (std::size_t i = 0; i < tensors(f).size(); ++i) {
                (void)take(s, f, i);
            }
        }
    }
    const checkpoint_state& state() const { return state_; }
    json state_as_json() const { return json_of(state_, optimizer_); }

private:
    checkpoint_layout layout_;
    int rank_ = 0;
    std::uint64_t network_ = 0;
    std::vector<std::string> optimizer_;
    std::vector<std::vector<named_tensor>> tensors_;           ///< of each file that this process writes
    std::vector<std::vector<const checkpoint_chunk*>> chunks_; ///< alike
    std::vector<float> numbers_;                               ///< of all tensors, or of the largest
    checkpoint_state state_;
};

/// Everything of a checkpoint but what it is a part of: together with the other processes. `numbers_of`: of a tensor of
/// a file. `saver`: the identifier of who makes it, or empty.
void write_checkpoint(checkpoint_writers& all, const checkpoint_part& part, const std::string& folder,
                      function_ref<std::span<const float>(int, std::size_t)> numbers_of, const std::string& saver = {});

} // namespace detail

/// Writes a checkpoint of a session into a folder of its own. A folder of that name that holds a checkpoint is
/// replaced, whoever reads it sees the old one or the new one; a process that is killed leaves the old one, and so does
/// one that fails. Takes memory for the largest tensor (of it what this process writes). Of several processes all call
/// it, and each writes what it holds: a tensor that none has whole as boxes. Throws tessera::error, in all of them,
/// where that fails (the disk is full, the folder is read-only) or the folder holds something else.
template <KeepsTraining Session>
void save_checkpoint(const Session& s, const std::string& folder, const std::optional<data_position>& data = {}) {
    detail::checkpoint_part part(s, false);
    detail::checkpoint_writers all(detail::processes_of(s), part.layout().files());
    part.take_state(s, data);
    detail::write_checkpoint(all, part, folder, [&](int file, std::size_t i) { return part.take(s, file, i); });
}
template <class Net, class B>
void save_checkpoint(trainer<Net, B>& t, const std::string& folder, const std::optional<data_position>& data = {}) {
    save_checkpoint(t.values(), folder, data);
}

namespace detail {

/// Reads what a checkpoint says, and holds its files against their checksums: each process some of them. Throws in all
/// processes what one of them throws.
checkpoint_folder whole_checkpoint(checkpoint_writers& all, const std::string& folder);

/// Sets in a session what a checkpoint holds, whose files are what was written.
template <KeepsTraining Session>
void take_checkpoint(Session& s, const checkpoint_folder& from, const load_options& options) {
    std::vector<std::string> paths;
    for (const checkpoint_folder::file& f : from.list()) {
        paths.push_back(from.path());
        paths.back().append("/").append(f.name);
    }
    const tensor_files file(from.path(), paths);
    require_same_checkpoint(processes_of(s), from.path(), from.text());
    const graph_view g = s.graph_of();
    if (options.averages && for_training(s)) {
        throw error("tessera: a trainer that trains has weights and averages; load the checkpoint as it is and call "
                    "use_ema(true), or load it with "
                    "{.averages = true} into a trainer of {.for_training = false}");
    }
    require_same_optimizer(s, from.path(), from.state().optimizer);
    require_same_tensors(s, file);
    const auto average_of = [&](int p) { return "optimizer/average/" + parameter_path_of(g, p); };
    if (options.averages) {
        bool any = false;
        for (int p = 0; p < g.parameter_count; ++p) {
            any = any || file.extents_of(average_of(p)) != nullptr;
        }
        if (!any) {
            throw error("tessera: the checkpoint '" + from.path() +
                        "' has no averages of the weights; load it without {.averages = true}");
        }
    }
    if (!options.any_network && from.state().network != 0 && from.state().network != network_hash(g)) {
        const std::string words = difference_of_part(kept_identity(s), from.state().training, "network.");
        throw error("tessera: the checkpoint '" + from.path() +
                    "' is of another network, whose parameters are called alike: " +
                    (words.empty() ? "an operator or an attribute differs" : words) +
                    "; load it with {.any_network = true} where that is meant");
    }
    if (!options.any_optimizer && for_training(s)) {
        require_same_settings(kept_identity(s), from.state(), from.path());
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        for (int k = -1; k < s.update().state_count(); ++k) {
            if (s.keeps(p, k)) {
                const bool averaged =
                    options.averages && file.extents_of(average_of(p)) != nullptr; // what is not trained has none
                const std::string name = averaged ? average_of(p) : tensor_name(g, s.update(), p, k);
                s.load_state(p, k, [&](state_sink& to) { file.pour(name, to); });
            }
        }
    }
    s.resume_after(from.state().step, from.state().seed, from.state().learning_rate);
    take_residuals(s, file, from.state().plan == s.training_plan().hash);
}

} // namespace detail

/// Sets everything that a checkpoint holds: the next step computes bit for bit what it would have computed in the
/// training that was saved, under the same strategy; under another one from the same parameters, statistics and state
/// (and, where both compress gradients, what all devices together have left out). Of several processes all call it, and
/// each reads what its devices keep. Throws tessera::error, and leaves the session as it was, where the folder is no
/// whole checkpoint, is damaged (an older one beside it that is whole is named), or is of another network or optimizer
/// (which fields differ is said). A trainer of {.for_training = false} takes the weights and running statistics of any
/// optimizer's.
template <KeepsTraining Session>
checkpoint_state load_checkpoint(Session& s, const std::string& folder, const load_options& options = {}) {
    detail::checkpoint_writers all(detail::processes_of(s));
    const detail::checkpoint_folder from = detail::whole_checkpoint(all, folder);
    detail::take_checkpoint(s, from, options);
    return from.state();
}
template <class Net, class B>
checkpoint_state load_checkpoint(trainer<Net, B>& t, const std::string& folder, const load_options& options = {}) {
    return load_checkpoint(t.values(), folder, options);
}

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint.inl"
#endif

#include "tessera/base/end_header.inl"
