// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a folder from which training goes on as if it had not ended, under the same strategy or any other.
//
//   model.safetensors   parameters and running statistics by their paths ("conv1/weight"), what the optimizer keeps for them
//                       ("optimizer/velocity/conv1/weight"); of several processes each writes whole tensors into a file of its own,
//                       model-00001-of-00004.safetensors
//   state.json          step, seed, learning rate, optimizer, place in the data, size and crc32 of the files above
//   COMMIT              the crc32 of state.json: written last, and without it the folder is no checkpoint
#pragma once

#include "tessera/base/folder.hpp"
#include "tessera/execute/typed_trainer.hpp"
#include "tessera/io/checkpoint_writers.hpp"
#include "tessera/io/safetensors.hpp"
#include "tessera/io/shuffle.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>

namespace tessera::io {

/// What a checkpoint says besides its tensors.
struct checkpoint_state {
    std::uint64_t step = 0; ///< steps taken
    std::uint64_t seed = 0;
    double learning_rate = 0; ///< of the last step
    std::optional<data_position> data;
};

/// What hands out, and takes, all that goes on in a training: session<B> and compiled sessions.
template <class S>
concept KeepsTraining = requires(S& s, std::span<const float> values) {
    { s.kept(0, -1) } -> std::convertible_to<std::vector<float>>;
    { s.keeps(0, -1) } -> std::convertible_to<bool>;
    s.set_kept(0, -1, values);
    s.resume_after(s.steps(), s.seed(), s.learning_rate());
};

namespace detail {

inline constexpr std::int64_t checkpoint_version = 1;

/// What an optimizer keeps for each element of a parameter, in the order in which it lies.
inline std::vector<std::string> names_of_states(const optimizer& o) {
    std::vector<std::string> names;
    switch (o.which) {
    case update_rule::kind::adam:
        names = {"first_moment", "second_moment"};
        break;
    case update_rule::kind::rmsprop:
        names = {"second_moment"};
        o.centered ? void(names.emplace_back("first_moment")) : void();
        [[fallthrough]];
    case update_rule::kind::sgd:
        o.momentum != 0 ? void(names.emplace_back("velocity")) : void();
    }
    o.average != 0 ? void(names.emplace_back("average")) : void();
    return names;
}

/// The name of a parameter in a checkpoint, or of a number that the optimizer keeps for it.
inline std::string tensor_name(const graph_view& g, const optimizer& o, int parameter, int state) {
    const std::string path = parameter_path_of(g, parameter);
    return state < 0 ? path : "optimizer/" + names_of_states(o)[static_cast<std::size_t>(state)] + "/" + path;
}

inline std::vector<std::int64_t> extents_in_file(const shape& s) { return {s.extent, s.extent + s.rank}; }

/// "[10, 1, 5, 5]"
inline std::string shown(const std::vector<std::int64_t>& extents) {
    std::string text = "[";
    for (const std::int64_t e : extents) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(e);
    }
    return text + "]";
}

inline std::string text_of(std::uint32_t crc) { return std::to_string(crc); }

inline json position_of(const data_position& d) {
    json j = {{"epoch", std::to_string(d.epoch)}, {"next_sample", d.next_sample}, {"set_size", d.set_size}};
    if (d.shuffle_seed) {
        j["shuffle_seed"] = std::to_string(*d.shuffle_seed);
    }
    return j;
}

/// A number of 64 bits, which stands as a text because JSON's readers round numbers of more than 53.
inline std::uint64_t whole_number(const json_value& v) {
    std::uint64_t x = 0;
    const std::string& text = v.text();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty()) {
        v.refuse("is \"" + text + "\", but must be a whole number from 0 to 2^64 - 1");
    }
    return x;
}

/// The numbers of a double, exactly.
inline std::string text_of(double x) {
    char text[40];
    const auto made = std::to_chars(text, text + sizeof text, x);
    return {text, made.ptr};
}
inline double real_number(const json_value& v) {
    double x = 0;
    const std::string& text = v.text();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty()) {
        v.refuse("is \"" + text + "\", but must be a number");
    }
    return x;
}

/// The tensors of a session that one of `writers` writes, under the names that a checkpoint has for them: each goes to whoever has the fewest numbers so far.
class tensors_of_session {
public:
    template <class Session>
    tensors_of_session(const Session& s, int writer, int writers) {
        if constexpr (requires { s.settle(); }) {
            s.settle();
        }
        const graph_view g = s.graph_of();
        std::vector<index_t> load(static_cast<std::size_t>(writers), 0);
        for (int p = 0; p < g.parameter_count; ++p) {
            for (int state = -1; state < s.update().state_count(); ++state) {
                if (!s.keeps(p, state)) {
                    continue;
                }
                const auto least = std::min_element(load.begin(), load.end());
                *least += g.parameters[p].extents.volume();
                if (least - load.begin() == writer) {
                    numbers_.push_back(s.kept(p, state));
                    tensors_.push_back({tensor_name(g, s.update(), p, state), extents_in_file(g.parameters[p].extents),
                                        numbers_.back()});
                }
            }
        }
    }
    std::span<const named_tensor> all() const { return tensors_; }

private:
    std::vector<std::vector<float>> numbers_; // whose numbers stay where they are when it grows
    std::vector<named_tensor> tensors_;
};

/// The files of a checkpoint together.
class checkpoint_files {
public:
    checkpoint_files(const std::string& folder, const std::vector<std::string>& names) : folder_(folder) {
        const std::string beside = folder + "/";
        const std::string twice = "tessera: two files of the checkpoint '" + folder + "' have the tensor ";
        for (const std::string& name : names) {
            files_.emplace_back(beside + name);
            for (const auto& [tensor, place] : files_.back().tensors()) {
                if (!tensors_.emplace(tensor, place).second) {
                    throw error(twice + tensor);
                }
                where_[tensor] = files_.size() - 1;
            }
        }
    }
    const std::string& path() const { return folder_; }
    const std::map<std::string, safetensors_file::place>& tensors() const { return tensors_; }
    std::vector<float> numbers(const std::string& tensor) const { return files_[where_.at(tensor)].numbers(tensor); }

private:
    std::string folder_;
    std::deque<safetensors_file> files_;
    std::map<std::string, safetensors_file::place> tensors_;
    std::map<std::string, std::size_t> where_;
};

/// Refuses files that do not hold exactly what the session needs: which tensors, of which extents.
template <class Session>
void require_same_tensors(const Session& s, const checkpoint_files& file) {
    const graph_view g = s.graph_of();
    std::vector<std::string> wrong;
    std::map<std::string, int> known;
    for (int p = 0; p < g.parameter_count; ++p) {
        for (int state = -1; state < s.update().state_count(); ++state) {
            const std::string name = tensor_name(g, s.update(), p, state);
            if (!s.keeps(p, state)) {
                continue; // parameters that are not trained have no state
            }
            const auto found = file.tensors().find(name);
            if (found == file.tensors().end()) {
                wrong.push_back("it lacks " + name);
            } else if (found->second.extents != extents_in_file(g.parameters[p].extents)) {
                wrong.push_back(name + " is " + shown(found->second.extents) + " and must be " +
                                shown(extents_in_file(g.parameters[p].extents)));
            }
            known[name] = 1;
        }
    }
    for (const auto& [name, place] : file.tensors()) {
        if (known.count(name) == 0) {
            wrong.push_back("the network has no " + name);
        }
    }
    if (!wrong.empty()) {
        std::string text;
        for (std::size_t i = 0; i < wrong.size() && i < 5; ++i) {
            text += (i > 0 ? "; " : "") + wrong[i];
        }
        text += wrong.size() > 5 ? "; and " + std::to_string(wrong.size() - 5) + " more" : "";
        throw error("tessera: the checkpoint '" + file.path() + "' is of another network or optimizer: " + text);
    }
}

/// What one process has to write, copied: the session may go on.
struct checkpoint_part {
    template <class Session>
    checkpoint_part(const Session& s, const std::optional<data_position>& data, int writer, int writers)
        : tensors(s, writer, writers) {
        state = {{"tessera_checkpoint", checkpoint_version},
                 {"step", std::to_string(s.steps())},
                 {"seed", std::to_string(s.seed())},
                 {"learning_rate", text_of(s.learning_rate())},
                 {"optimizer", names_of_states(s.update())}};
        if (data) {
            state["data"] = position_of(*data);
        }
    }
    tensors_of_session tensors;
    json state;
};

/// Everything of a checkpoint but what it is a part of: together with the other processes.
inline void write_checkpoint(checkpoint_writers& all, const checkpoint_part& part, const std::string& folder) {
    std::optional<files::new_folder> to;
    all.begin();
    all.together([&] {
        if (all.rank() == 0) {
            to.emplace(folder, "COMMIT");
            all.set_path(to->path());
        }
    });
    const std::string path = all.path();
    all.together([&] { all.set_file(write_safetensors(path + "/" + all.name(all.rank()), part.tensors.all())); });
    all.together([&] {
        if (all.rank() != 0) {
            return;
        }
        json state = part.state;
        state["files"] = json::array();
        for (int r = 0; r < all.size(); ++r) {
            const written_file file = all.file(r);
            state["files"].push_back({{"name", all.name(r)}, {"bytes", file.bytes}, {"crc32", text_of(file.crc)}});
        }
        const std::string text = state.dump(2) + "\n";
        files::write(path + "/state.json", text);
        files::write(path + "/COMMIT", text_of(crc_of(text)) + "\n");
        to->commit();
    });
}

} // namespace detail

/// Writes a checkpoint of a session into a folder of its own. A folder of that name that holds a checkpoint is replaced, whoever reads it sees the old
/// one or the new one; a process that is killed leaves the old one. Of several processes all call it, and each writes a file. Throws tessera::error, in all
/// of them, where that fails or the folder holds something else.
template <KeepsTraining Session>
void save_checkpoint(const Session& s, const std::string& folder, const std::optional<data_position>& data = {}) {
    detail::checkpoint_writers all(detail::processes_of(s));
    detail::write_checkpoint(all, detail::checkpoint_part(s, data, all.rank(), all.size()), folder);
}
template <class Net, class B>
void save_checkpoint(trainer<Net, B>& t, const std::string& folder, const std::optional<data_position>& data = {}) {
    save_checkpoint(t.values(), folder, data);
}

namespace detail {

/// Reads state.json and holds every file of the checkpoint, whose names it adds to `names`, against its checksum.
inline checkpoint_state read_state(const std::string& folder, std::vector<std::string>& names) {
    const auto refuse = [&](const std::string& what) {
        throw error("tessera: '" + folder + "' is no whole checkpoint: " + what + "; use an older one");
    };
    const std::string commit = files::read_if_there(folder + "/COMMIT", 64);
    if (commit.empty()) {
        refuse("it has no COMMIT, so that it was not written to its end");
    }
    const std::string text = files::read(folder + "/state.json");
    if (commit != text_of(crc_of(text)) + "\n") {
        refuse("state.json is not what was written");
    }
    const json_document document(text, folder + "/state.json");
    json_object o(document.root());
    o.version("tessera_checkpoint", checkpoint_version);
    checkpoint_state state;
    state.step = whole_number(o.get("step"));
    state.seed = whole_number(o.get("seed"));
    state.learning_rate = real_number(o.get("learning_rate"));
    (void)o.get("optimizer"); // for people: the names of the tensors say it
    if (const json_value* const data = o.find("data"); data != nullptr) {
        json_object d(*data);
        data_position& at = state.data.emplace();
        if (const json_value* const seed = d.find("shuffle_seed"); seed != nullptr) {
            at.shuffle_seed = whole_number(*seed);
        }
        at.epoch = whole_number(d.get("epoch"));
        at.next_sample = d.get("next_sample").integer(0, INT64_MAX);
        at.set_size = d.get("set_size").integer(0, INT64_MAX);
        d.finish();
    }
    for (const json_value& f : o.get("files").items()) {
        json_object file(f);
        const std::string name = file.get("name").text();
        if (name.find('/') != std::string::npos) {
            file.get("name").refuse("is " + name + ", but must be a file of the folder");
        }
        std::string path = folder + "/";
        path += name;
        names.push_back(name);
        const files::open_file there(path);
        std::uint32_t crc = 0;
        std::string part(std::size_t{1} << 20U, '\0');
        for (std::int64_t at = 0; at < there.bytes();) {
            const auto count = static_cast<std::size_t>(
                std::min<std::int64_t>(there.bytes() - at, static_cast<std::int64_t>(part.size())));
            there.read(at, part.data(), count);
            crc = crc_of({part.data(), count}, crc);
            at += static_cast<std::int64_t>(count);
        }
        if (there.bytes() != file.get("bytes").integer(0, INT64_MAX) || text_of(crc) != file.get("crc32").text()) {
            refuse(name + " is not what was written");
        }
        file.finish();
    }
    o.finish();
    return state;
}

/// Sets in a session what a checkpoint holds, whose files are what was written.
template <KeepsTraining Session>
void take_checkpoint(Session& s, const std::string& folder, const std::vector<std::string>& names,
                     const checkpoint_state& state) {
    const checkpoint_files file(folder, names);
    require_same_tensors(s, file);
    const graph_view g = s.graph_of();
    for (int p = 0; p < g.parameter_count; ++p) {
        for (int k = -1; k < s.update().state_count(); ++k) {
            if (s.keeps(p, k)) {
                s.set_kept(p, k, file.numbers(tensor_name(g, s.update(), p, k)));
            }
        }
    }
    s.resume_after(state.step, state.seed, state.learning_rate);
}

} // namespace detail

/// Sets everything that a checkpoint holds: the next step computes bit for bit what it would have computed in the training that was saved, under the
/// same strategy; under another one from the same parameters, statistics and state. Throws tessera::error, and leaves the session as it was,
/// where the folder is no whole checkpoint, is damaged, or is of another network or kind of optimizer.
template <KeepsTraining Session>
checkpoint_state load_checkpoint(Session& s, const std::string& folder) {
    std::vector<std::string> names;
    const checkpoint_state state = detail::read_state(folder, names);
    detail::take_checkpoint(s, folder, names, state);
    return state;
}
template <class Net, class B>
checkpoint_state load_checkpoint(trainer<Net, B>& t, const std::string& folder) {
    return load_checkpoint(t.values(), folder);
}

/// Which tensors of a file of weights found their parameters.
struct loaded_weights {
    std::vector<std::string> matched;
    std::vector<std::string> missing;    ///< parameters that the file lacks; they stay what they were
    std::vector<std::string> unexpected; ///< tensors that no parameter is called like
};

/// Which layer's parameters a file of weights is to set, by its path or by one parameter's ("encoder.norm", "fc1/bias"), and what the file calls it, where
/// that is another name.
struct weights_of {
    std::string layer{};
    std::string called{};
};

/// Sets the parameters that a safetensors file has under their paths, such as those of somebody else's training; of one layer alone, where one is named:
/// load_weights(trainer, "lenet.safetensors", {.layer = "conv1", .called = "features"}). Throws tessera::error, and sets nothing, for a tensor of a
/// parameter's name and other extents; for a layer that the network does not have, or not all of whose parameters the file has.
template <KeepsTraining Session>
loaded_weights load_weights(Session& s, const std::string& path, const weights_of& which = {}) {
    const safetensors_file file(path);
    const graph_view g = s.graph_of();
    const network_paths paths = paths_of(g);
    const std::string& called = which.called.empty() ? which.layer : which.called;
    const auto is_of = [](const std::string& name, const std::string& layer) {
        return layer.empty() || name == layer || (name.starts_with(layer) && name[layer.size()] == '/');
    };
    loaded_weights found;
    std::map<std::string, int> parameters;
    for (int p = 0; p < g.parameter_count; ++p) {
        if (!is_of(paths.parameter(p), which.layer)) {
            continue;
        }
        const std::string name = called + paths.parameter(p).substr(which.layer.size()); // in the file
        parameters[name] = p;
        const auto there = file.tensors().find(name);
        if (there == file.tensors().end()) {
            found.missing.push_back(name);
        } else if (there->second.extents != detail::extents_in_file(g.parameters[p].extents)) {
            std::string text = "tessera: '" + path;
            text += "': " + name;
            text += " is " + detail::shown(there->second.extents);
            text += ", and the network's is " + detail::shown(detail::extents_in_file(g.parameters[p].extents));
            throw error(text);
        } else {
            found.matched.push_back(name);
        }
    }
    if (!which.layer.empty() && (parameters.empty() || !found.missing.empty())) {
        std::string text = "tessera: '" + path;
        text += parameters.empty() ? "': the network has no parameter of the layer '" + which.layer
                                   : "' has no tensor '" + found.missing[0];
        throw error(text + "'; give the layer's path, and with `called` what the file calls it");
    }
    for (const auto& [name, place] : file.tensors()) {
        if (parameters.count(name) == 0 && is_of(name, called)) {
            found.unexpected.push_back(name);
        }
    }
    for (const std::string& name : found.matched) {
        s.set_parameter(parameters[name], file.numbers(name));
    }
    return found;
}
template <class Net, class B>
loaded_weights load_weights(trainer<Net, B>& t, const std::string& path, const weights_of& which = {}) {
    return load_weights(t.values(), path, which);
}

} // namespace tessera::io
