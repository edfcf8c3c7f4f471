// SPDX-License-Identifier: Apache-2.0
// Bodies of load_weights.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/load_weights.hpp"

namespace tessera::io::detail {

TESSERA_INLINE void whole_tensor::put(const box& what, const float* numbers) {
    box_copy(what, what, all_).apply(numbers, numbers_.data(), true, reducer::sum);
}

TESSERA_INLINE std::vector<std::int64_t> extents_wanted(const weight_move& m, const shape& parameter) {
    std::vector<std::int64_t> e = extents_in_file(parameter);
    if (m.row >= 0) {
        e.erase(e.begin());
    }
    if (m.rule != nullptr && m.rule->rows > 0) {
        e[0] = -1;
    }
    if (m.transposed) {
        std::swap(e[0], e[1]);
    }
    return e;
}

TESSERA_INLINE bool fits(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& wanted,
                         const weight_move& m, const shape& parameter) {
    if (found.size() != wanted.size()) {
        return false;
    }
    for (std::size_t d = 0; d < found.size(); ++d) {
        if (wanted[d] < 0 ? found[d] < m.rule->first + m.rule->rows : found[d] != wanted[d]) {
            return false;
        }
    }
    return m.rule == nullptr || m.rule->rows == 0 || m.rule->rows == (m.row >= 0 ? parameter[1] : parameter[0]);
}

TESSERA_INLINE std::vector<float> moved(const weight_move& m, const tensor_files& file, const shape& parameter) {
    const std::vector<std::int64_t>& extents = *file.extents_of(m.tensor);
    shape s;
    s.rank = static_cast<int>(extents.size());
    for (std::size_t d = 0; d < extents.size(); ++d) {
        s.extent[d] = extents[d];
    }
    whole_tensor tensor(s);
    file.pour(m.tensor, tensor);
    std::vector<float>& x = tensor.numbers();
    if (m.transposed) {
        std::vector<float> y(x.size());
        const auto rows = to_size(s[0]);
        const auto columns = to_size(s[1]);
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t k = 0; k < columns; ++k) {
                y[k * rows + i] = x[i * columns + k];
            }
        }
        x.swap(y);
        std::swap(s.extent[0], s.extent[1]);
    }
    if (m.rule != nullptr && m.rule->rows > 0) {
        const auto each = static_cast<std::ptrdiff_t>(s.volume() / s[0]);
        x = std::vector<float>(x.begin() + m.rule->first * each, x.begin() + (m.rule->first + m.rule->rows) * each);
    }
    (void)parameter;
    return std::move(x);
}

TESSERA_INLINE std::string some_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < 2; ++i) {
        text += (i > 0 ? ", " : "") + ("'" + names[i] + "'");
    }
    return text + (names.size() > 2 ? " and " + std::to_string(names.size() - 2) + " more" : "");
}

TESSERA_INLINE bool is_of(const std::string& name, const std::string& layer) {
    return layer.empty() || name == layer ||
           (name.starts_with(layer) && (name[layer.size()] == '/' || name[layer.size()] == '.'));
}

TESSERA_INLINE weight_matches::weight_matches(const graph_view& g, const std::string& path, const tensor_files& file,
                                              const weights_of& which)
    : g_(g), path_(path), file_(file), which_(which) {
    const network_paths paths = paths_of(g);
    const std::string& called = which.called.empty() ? which.layer : which.called;
    for (int p = 0; p < g.parameter_count; ++p) {
        const std::string own = paths.parameter(p);
        if (which.layer.empty() || own == which.layer || own.starts_with(which.layer + "/")) {
            match(p, called + own.substr(which.layer.size()), own);
        }
    }
    require_layer();
    for (const std::string& name : file.names()) {
        if (used_.count(name) == 0 && is_of(name, called)) {
            found.unexpected.push_back(name);
        }
    }
    require_some();
}

/// Finds the tensor of a parameter, or the two of running statistics. `name`: in the file.
TESSERA_INLINE void weight_matches::match(int parameter, const std::string& name, const std::string& own_path) {
    const shape& extents = g_.parameters[parameter].extents;
    std::size_t rows = 0;
    std::string first;
    for (const weight_place& place : places_of(name, which_.names)) {
        weight_move m{parameter, {}, place.row, place.rule, false};
        for (const std::string& tensor : place.names) {
            m.tensor = m.tensor.empty() && file_.extents_of(tensor) != nullptr ? tensor : m.tensor;
        }
        first = first.empty() ? place.names[0] : first;
        if (m.tensor.empty()) {
            continue;
        }
        m.transposed = place.rule != nullptr && place.rule->transposed && extents.rank == 2 && place.row < 0;
        require_fit(m, extents);
        used_.insert(m.tensor);
        rows += place.row < 0 ? 2 : 1;
        found.matched.push_back(m.tensor);
        moves.push_back(std::move(m));
        if (place.row < 0) {
            break;
        }
    }
    if (rows == 1) {
        throw error("tessera: '" + path_ + "' has one of the running mean and variance of " + own_path + ", '" +
                    found.matched.back() + "', and not the other");
    }
    wanted_.push_back(first);
    if (rows == 0) {
        found.missing.push_back(first);
    }
}

/// Refuses a tensor of other extents than its parameter, or of integers.
TESSERA_INLINE void weight_matches::require_fit(const weight_move& m, const shape& extents) const {
    const std::vector<std::int64_t> needed = extents_wanted(m, extents);
    const std::vector<std::int64_t>& has = *file_.extents_of(m.tensor);
    if (!fits(has, needed, m, extents)) {
        std::string text = "tessera: '" + path_;
        text += "': " + m.tensor;
        text += " is " + shown(has);
        text += ", and the network's is " + shown(extents_in_file(extents));
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
    if (const std::string* const type = file_.other_type_of(m.tensor); type != nullptr) {
        std::string text = "tessera: '" + path_;
        text += "': " + m.tensor;
        text += " is of " + *type;
        throw error(text + ", and parameters are read from F64, F32, F16 and BF16");
    }
}

/// Refuses a layer that the network does not have, or not all of whose parameters the file has.
TESSERA_INLINE void weight_matches::require_layer() const {
    if (!which_.layer.empty() && (wanted_.empty() || !found.missing.empty())) {
        std::string text = "tessera: '" + path_;
        text += wanted_.empty() ? "': the network has no parameter of the layer '" + which_.layer
                                : "' has no tensor '" + found.missing[0];
        throw error(text + "'; give the layer's path, and with `called` what the file calls it");
    }
}

/// Refuses a file in which no tensor is called like a parameter.
TESSERA_INLINE void weight_matches::require_some() const {
    if (moves.empty()) {
        throw error("tessera: no tensor of '" + path_ + "' is called like a parameter of the network: 0 of its " +
                    std::to_string(wanted_.size()) + " parameters were found, and " +
                    std::to_string(found.unexpected.size()) + " tensors are of none. The network has " +
                    some_of(wanted_) + ", the file " + some_of(found.unexpected) +
                    "; say with `names` what it calls the layers");
    }
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
