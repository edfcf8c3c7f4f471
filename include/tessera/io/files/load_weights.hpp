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
    const network_paths paths = paths_of(g);
    const std::string& called = which.called.empty() ? which.layer : which.called;
    const auto is_of = [](const std::string& name, const std::string& layer) {
        return layer.empty() || name == layer ||
               (name.starts_with(layer) && (name[layer.size()] == '/' || name[layer.size()] == '.'));
    };
    loaded_weights found;
    std::vector<detail::weight_move> moves;
    std::set<std::string> used;
    std::vector<std::string> wanted;
    for (int p = 0; p < g.parameter_count; ++p) {
        const shape& extents = g.parameters[p].extents;
        if (!(which.layer.empty() || paths.parameter(p) == which.layer ||
              paths.parameter(p).starts_with(which.layer + "/"))) {
            continue;
        }
        const std::string name = called + paths.parameter(p).substr(which.layer.size()); // in the file
        std::size_t rows = 0;
        std::string first;
        for (const detail::weight_place& place : detail::places_of(name, which.names)) {
            detail::weight_move m{p, {}, place.row, place.rule, false};
            for (const std::string& tensor : place.names) {
                m.tensor = m.tensor.empty() && file.extents_of(tensor) != nullptr ? tensor : m.tensor;
            }
            first = first.empty() ? place.names[0] : first;
            if (m.tensor.empty()) {
                continue;
            }
            m.transposed = place.rule != nullptr && place.rule->transposed && extents.rank == 2 && place.row < 0;
            const std::vector<std::int64_t> needed = detail::extents_wanted(m, extents);
            const std::vector<std::int64_t>& has = *file.extents_of(m.tensor);
            if (!detail::fits(has, needed, m, extents)) {
                std::string text = "tessera: '" + path;
                text += "': " + m.tensor;
                text += " is " + detail::shown(has);
                text += ", and the network's is " + detail::shown(detail::extents_in_file(extents));
                text += m.transposed ? ", of which a transposed one is wanted" : "";
                if (m.rule != nullptr && m.rule->rows > 0) {
                    text += ", from rows " + std::to_string(m.rule->first) + " to " +
                            std::to_string(m.rule->first + m.rule->rows - 1);
                } else if (!m.transposed && has.size() == 2 && needed.size() == 2 && has[0] == needed[1] &&
                           has[1] == needed[0]) {
                    text += "; a file with transposed weights wants a name with {.transposed = true}";
                }
                throw error(text);
            }
            if (const std::string* const type = file.other_type_of(m.tensor); type != nullptr) {
                std::string text = "tessera: '" + path;
                text += "': " + m.tensor;
                text += " is of " + *type;
                throw error(text + ", and parameters are read from F64, F32, F16 and BF16");
            }
            used.insert(m.tensor);
            rows += place.row < 0 ? 2 : 1;
            found.matched.push_back(m.tensor);
            moves.push_back(std::move(m));
            if (place.row < 0) {
                break;
            }
        }
        if (rows == 1) {
            throw error("tessera: '" + path + "' has one of the running mean and variance of " + paths.parameter(p) +
                        ", '" + found.matched.back() + "', and not the other");
        }
        wanted.push_back(first);
        if (rows == 0) {
            found.missing.push_back(first);
        }
    }
    if (!which.layer.empty() && (wanted.empty() || !found.missing.empty())) {
        std::string text = "tessera: '" + path;
        text += wanted.empty() ? "': the network has no parameter of the layer '" + which.layer
                               : "' has no tensor '" + found.missing[0];
        throw error(text + "'; give the layer's path, and with `called` what the file calls it");
    }
    for (const std::string& name : file.names()) {
        if (used.count(name) == 0 && is_of(name, called)) {
            found.unexpected.push_back(name);
        }
    }
    if (moves.empty()) {
        throw error("tessera: no tensor of '" + path + "' is called like a parameter of the network: 0 of its " +
                    std::to_string(wanted.size()) + " parameters were found, and " +
                    std::to_string(found.unexpected.size()) + " tensors are of none. The network has " +
                    detail::some_of(wanted) + ", the file " + detail::some_of(found.unexpected) +
                    "; say with `names` what it calls the layers");
    }
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const shape& extents = g.parameters[moves[i].parameter].extents;
        std::vector<float> numbers = detail::moved(moves[i], file, extents);
        if (moves[i].row == 0) { // the means; the variances come next
            const std::vector<float> second = detail::moved(moves[++i], file, extents);
            numbers.insert(numbers.end(), second.begin(), second.end());
        }
        s.set_parameter(moves[i].parameter, numbers); // before the first step also where its average begins
    }
    return found;
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
