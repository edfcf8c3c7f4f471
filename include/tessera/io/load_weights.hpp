// SPDX-License-Identifier: Apache-2.0
// Weights from safetensors files, such as those of somebody else's training: by the paths of parameters, of all layers or of one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/io/checkpoint_files.hpp"
#include "tessera/net/paths.hpp"

#include <algorithm>

#include <dirent.h>

namespace tessera::io {

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

namespace detail {

/// The file, or all safetensors files of a folder.
inline std::vector<std::string> files_of_weights(const std::string& path) {
    DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr) {
        return {path};
    }
    std::vector<std::string> all;
    while (const dirent* const e = ::readdir(folder)) {
        const std::string name = e->d_name;
        if (name.ends_with(".safetensors")) {
            all.push_back(path);
            all.back().append("/").append(name);
        }
    }
    ::closedir(folder);
    std::sort(all.begin(), all.end());
    if (all.empty()) {
        throw error("tessera: the folder '" + path + "' has no files of weights; name one that has *.safetensors");
    }
    return all;
}

/// All numbers of a tensor.
class whole_tensor final : public kept_sink {
public:
    explicit whole_tensor(const shape& s) : all_(whole(s)), numbers_(static_cast<std::size_t>(s.volume())) {}
    bool wants(const box&) const override { return true; }
    void put(const box& what, const float* numbers) override {
        box_copy(what, what, all_).apply(numbers, numbers_.data(), true, reducer::sum);
    }
    const std::vector<float>& numbers() const { return numbers_; }

private:
    box all_;
    std::vector<float> numbers_;
};

} // namespace detail

/// Sets the parameters that a safetensors file, or all files of a folder together (a checkpoint's, a foreign model's in parts), have under their paths, such as
/// those of somebody else's training; of one layer alone, where one is named: load_weights(trainer, "lenet.safetensors", {.layer = "conv1", .called = "features"}).
/// Throws tessera::error, and sets nothing, for a tensor of a parameter's name and other extents or of integers; for a layer that the network does not have, or not all
/// of whose parameters the file has.
template <class Session>
requires requires(Session& s, std::span<const float> values) { s.set_parameter(0, values); }
loaded_weights load_weights(Session& s, const std::string& path, const weights_of& which = {}) {
    const detail::tensor_files file(path, detail::files_of_weights(path));
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
        const std::vector<std::int64_t>* const extents = file.extents_of(name);
        if (extents == nullptr) {
            found.missing.push_back(name);
        } else if (*extents != detail::extents_in_file(g.parameters[p].extents)) {
            std::string text = "tessera: '" + path;
            text += "': " + name;
            text += " is " + detail::shown(*extents);
            text += ", and the network's is " + detail::shown(detail::extents_in_file(g.parameters[p].extents));
            throw error(text);
        } else if (const std::string* const type = file.other_type_of(name); type != nullptr) {
            std::string text = "tessera: '" + path;
            text += "': " + name;
            text += " is of " + *type;
            throw error(text + ", and parameters are read from F64, F32, F16 and BF16");
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
    for (const std::string& name : file.names()) {
        if (parameters.count(name) == 0 && is_of(name, called)) {
            found.unexpected.push_back(name);
        }
    }
    for (const std::string& name : found.matched) {
        detail::whole_tensor tensor(g.parameters[parameters[name]].extents);
        file.pour(name, tensor);
        s.set_parameter(parameters[name], tensor.numbers()); // before the first step also where its average begins
    }
    return found;
}
template <class Net, class B>
loaded_weights load_weights(trainer<Net, B>& t, const std::string& path, const weights_of& which = {}) {
    return load_weights(t.values(), path, which);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
