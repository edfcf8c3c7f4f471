// SPDX-License-Identifier: Apache-2.0
// Weights from safetensors files, such as those of somebody else's training: by the paths of parameters or by other
// names, of all layers or of one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/typed_trainer.hpp"
#include "tessera/io/files/checkpoint_files.hpp"
#include "tessera/io/files/weight_files.hpp"
#include "tessera/io/files/weight_names.hpp"
#include "tessera/net/paths.hpp"

#include <algorithm>
#include <set>

namespace tessera::io {

/// Which tensors of a file of weights found their parameters.
struct loaded_weights {
    std::vector<std::string> matched;
    std::vector<std::string>
        missing; ///< parameters that the file lacks, by what it would call them; they stay what they were
    std::vector<std::string> unexpected; ///< tensors that no parameter is called like
};

/// Which layer's parameters a file of weights is to set, by its path or by one parameter's ("encoder.norm",
/// "fc1/bias"), and what the file calls it, where that is another name; or what it calls several.
struct weights_of {
    std::string layer{};              ///< empty: all
    std::string called{};             ///< of that layer; empty: as it is
    std::vector<weight_name> names{}; ///< of layers and parameters: the first that fits a parameter counts
};

namespace detail {

/// All numbers of a tensor.
class whole_tensor final : public state_sink {
public:
    explicit whole_tensor(const shape& s) : all_(whole(s)), numbers_(to_size(s.volume())) {}
    bool wants(const box&) const override { return true; }
    void put(const box& what, const float* numbers) override;
    std::vector<float>& numbers() { return numbers_; }

private:
    box all_;
    std::vector<float> numbers_;
};

/// One tensor of a file on its way to a parameter.
struct weight_move {
    int parameter = -1;
    std::string tensor;
    int row = -1; ///< of the parameter; -1: all
    const weight_name* rule = nullptr;
    bool transposed = false;
};

/// The extents that a file's tensor must have: a parameter's, of one of its rows, or transposed; with -1 for rows of
/// which some are taken.
std::vector<std::int64_t> extents_wanted(const weight_move& m, const shape& parameter);

bool fits(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& wanted, const weight_move& m,
          const shape& parameter);

/// The numbers of a parameter, or of its row, from what the file's tensor holds.
std::vector<float> moved(const weight_move& m, const tensor_files& file, const shape& parameter);

/// "conv1/weight, fc1/bias and 3 more"
std::string some_of(const std::vector<std::string>& names);

/// Whether a tensor is called like one of the layer's; of every layer where `layer` is empty.
bool is_of(const std::string& name, const std::string& layer);

/// Which tensors of a file go to which parameters of a network.
class weight_matches {
public:
    weight_matches(const graph_view& g, const std::string& path, const tensor_files& file, const weights_of& which);

    loaded_weights found;
    std::vector<weight_move> moves; ///< in the order of parameters; a mean is followed by its variance

private:
    void match(int parameter, const std::string& name, const std::string& own_path);
    void require_fit(const weight_move& m, const shape& extents) const;
    void require_layer() const;
    void require_some() const;

    const graph_view& g_;
    const std::string& path_; ///< of the file
    const tensor_files& file_;
    const weights_of& which_;
    std::vector<std::string> wanted_; ///< every parameter, by what the file would call it
    std::set<std::string> used_;      ///< tensors
};

} // namespace detail

/// Sets the parameters that a safetensors file, all files of a folder together (a checkpoint's, a foreign model's in
/// parts) or those that an index names (model.safetensors.index.json, itself or in its folder) have under their paths,
/// such as those of somebody else's training; of one layer alone, where one is named: load_weights(trainer,
/// "lenet.safetensors", {.layer = "conv1", .called = "features"}). A parameter "conv1/weight" is also found as
/// "conv1.weight", and the statistics of a batch norm as "running_mean" and "running_var"; what else the file calls
/// layers, or has transposed, `names` say (weight_names.hpp). Throws tessera::error, and sets nothing, where no tensor
/// is called like a parameter; for a tensor of a parameter's name and other extents or of integers; for a layer that
/// the network does not have, or not all of whose parameters the file has; and for files that are not those of their
/// index.
template <class Session>
requires requires(Session& s, std::span<const float> values) { s.set_parameter(0, values); }
loaded_weights load_weights(Session& s, const std::string& path, const weights_of& which = {}) {
    detail::require_names(which.names);
    const detail::weight_files where = detail::files_of_weights(path);
    const detail::tensor_files file(path, where.paths);
    where.require_index(file);
    const graph_view g = s.graph_of();
    detail::weight_matches matches(g, path, file, which);
    const std::vector<detail::weight_move>& moves = matches.moves;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const shape& extents = g.parameters[moves[i].parameter].extents;
        std::vector<float> numbers = detail::moved(moves[i], file, extents);
        if (moves[i].row == 0) { // the means; the variances come next
            const std::vector<float> second = detail::moved(moves[++i], file, extents);
            numbers.insert(numbers.end(), second.begin(), second.end());
        }
        s.set_parameter(moves[i].parameter, numbers); // before the first step also where its average begins
    }
    return std::move(matches.found);
}
template <class Net, class B>
loaded_weights load_weights(trainer<Net, B>& t, const std::string& path, const weights_of& which = {}) {
    return load_weights(t.values(), path, which);
}

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/load_weights.inl"
#endif

#include "tessera/base/end_header.inl"
