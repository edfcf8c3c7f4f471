// SPDX-License-Identifier: Apache-2.0
// Bodies of algorithm_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/algorithm_file.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE convolution_line line_of(const convolution& c, const algorithm_choice& choice) {
    convolution_line line;
    line.way = static_cast<index_t>(c.way);
    line.dimensions = c.padding.size();
    for (int i = 0; i < max_rank; ++i) {
        line.extents[i] = {c.x[i], c.w[i], c.y[i]};
    }
    for (int i = 0; i < max_rank - 2; ++i) {
        line.windows[i] = {c.padding[i], c.stride[i], c.dilation[i]};
    }
    line.groups = c.groups;
    line.math = static_cast<index_t>(c.math);
    line.algorithm = choice.algorithm;
    line.multipliers = static_cast<index_t>(choice.multipliers);
    line.workspace = choice.workspace;
    line.microseconds = static_cast<index_t>(choice.milliseconds * 1000);
    return line;
}

TESSERA_INLINE product_line line_of(const matrix_product& m, const algorithm_choice& choice) {
    product_line line;
    line.m = m.m;
    line.n = m.n;
    line.k = m.k;
    line.transpose_a = index_t{m.transpose_a};
    line.transpose_b = index_t{m.transpose_b};
    line.bias = index_t{m.bias};
    line.positive = index_t{m.positive};
    line.sums = index_t{m.sums};
    line.batch = m.batch;
    for (int i = 0; i < 3; ++i) {
        line.lead[i] = m.lead[i];
        line.apart[i] = m.apart[i];
    }
    line.alignment = m.alignment;
    line.math = static_cast<index_t>(m.math);
    line.result = static_cast<index_t>(m.result);
    line.workspace = m.workspace;
    line.algorithm = choice.algorithm;
    line.microseconds = static_cast<index_t>(choice.milliseconds * 1000);
    return line;
}

TESSERA_INLINE void add_line(algorithm_table& table, const product_line& line) {
    bool good = line.math >= 0 && line.math <= 2 && line.result >= 0 &&
                line.result <= static_cast<index_t>(element::bf16) && line.algorithm >= 0 &&
                line.algorithm < most_proposals;
    for (const index_t x : {line.transpose_a, line.transpose_b, line.bias, line.positive, line.sums}) {
        good = good && (x == 0 || x == 1);
    }
    if (!good) {
        return;
    }
    matrix_product m;
    m.m = line.m;
    m.n = line.n;
    m.k = line.k;
    m.transpose_a = line.transpose_a == 1;
    m.transpose_b = line.transpose_b == 1;
    m.bias = line.bias == 1;
    m.positive = line.positive == 1;
    m.sums = line.sums == 1;
    m.batch = line.batch;
    for (int i = 0; i < 3; ++i) {
        m.lead[i] = line.lead[i];
        m.apart[i] = line.apart[i];
    }
    m.alignment = line.alignment;
    m.math = static_cast<precision>(line.math);
    m.result = static_cast<element>(line.result);
    m.workspace = line.workspace;
    table.add(m, {static_cast<int>(line.algorithm), m.workspace, static_cast<double>(line.microseconds) / 1000});
}

TESSERA_INLINE void add_line(algorithm_table& table, const convolution_line& line) {
    if (line.way < 0 || line.way > 2 || line.dimensions < 2 || line.dimensions > max_rank - 2 || line.math < 0 ||
        line.math > 2 || line.multipliers < 0 || line.multipliers > 3) {
        return;
    }
    convolution c;
    c.way = static_cast<convolution::direction>(line.way);
    c.set_dimensions(static_cast<int>(line.dimensions));
    for (int i = 0; i < max_rank; ++i) {
        c.x[i] = static_cast<int>(line.extents[i].x);
        c.w[i] = static_cast<int>(line.extents[i].w);
        c.y[i] = static_cast<int>(line.extents[i].y);
    }
    for (int i = 0; i < max_rank - 2; ++i) {
        c.padding[i] = static_cast<int>(line.windows[i].padding);
        c.stride[i] = static_cast<int>(line.windows[i].stride);
        c.dilation[i] = static_cast<int>(line.windows[i].dilation);
    }
    c.groups = static_cast<int>(line.groups);
    c.math = static_cast<precision>(line.math);
    c.multipliers = math_type_of(c.math);
    algorithm_choice choice;
    choice.algorithm = static_cast<int>(line.algorithm);
    choice.multipliers = static_cast<math_type>(line.multipliers);
    choice.workspace = line.workspace;
    choice.milliseconds = static_cast<double>(line.microseconds) / 1000;
    if (rounds_as_little(choice.multipliers, c.math)) {
        table.add(c, choice);
    }
}

TESSERA_INLINE void add_algorithms(algorithm_table& table, const std::string& text, const std::string& machine) {
    for_each_line(text, machine, [&](std::string_view line) {
        index_t n[detail::line_numbers];
        std::string_view rest = line;
        int count = 0;
        while (count < detail::line_numbers) {
            const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), n[count]);
            if (problem != std::errc() || end == rest.data() + rest.size()) {
                break;
            }
            rest.remove_prefix(to_size(end - rest.data()) + 1);
            ++count;
        }
        if (count < detail::line_numbers || !rest.empty()) {
            return;
        }
        if (*n == product_line::first) {
            add_line(table, std::bit_cast<product_line>(n));
        } else {
            add_line(table, std::bit_cast<convolution_line>(n));
        }
    });
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE void read_algorithms(algorithm_table& table, const std::string& path, const std::string& machine) {
    detail::add_algorithms(table, files::read_if_there(path, detail::most_file_bytes), machine);
}

TESSERA_INLINE std::string text_of(const algorithm_table& table, const std::string& machine) {
    std::string text = machine + "\n";
    const auto write = [&](const auto& what, const algorithm_choice& choice) {
        index_t n[detail::line_numbers];
        const auto line = detail::line_of(what, choice);
        std::memcpy(n, &line, sizeof line);
        for (index_t x : n) {
            text += std::to_string(x) + ' ';
        }
        text.back() = '\n';
    };
    for (const auto& [c, choice] : table.known()) {
        write(c, choice);
    }
    for (const auto& [m, choice] : table.known_products()) {
        write(m, choice);
    }
    return text;
}

TESSERA_INLINE void write_algorithms(const algorithm_table& table, const std::string& path,
                                     const std::string& machine) {
    files::update(path, detail::most_file_bytes, [&](const std::string& old) {
        algorithm_table all;
        algorithm_table others;
        detail::add_algorithms(others, old, machine);
        const auto add_new = [&](const auto& what, const auto& known) { // what is measured again is as it is now
            for (const auto& [c, choice] : what) {
                bool again = false;
                for (const auto& mine : known) {
                    again = again || mine.first == c;
                }
                if (!again) {
                    all.add(c, choice);
                }
            }
        };
        add_new(table.known(), all.known());
        add_new(table.known_products(), all.known_products());
        add_new(others.known(), table.known());
        add_new(others.known_products(), table.known_products());
        return text_of(all, machine);
    });
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
