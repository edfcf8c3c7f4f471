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

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
