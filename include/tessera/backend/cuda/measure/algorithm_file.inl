// SPDX-License-Identifier: Apache-2.0
// Bodies of algorithm_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/measure/algorithm_file.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE void to_numbers(const convolution& c, const algorithm_choice& choice, index_t (&n)[line_numbers]) {
    int k = 0;
    n[k++] = static_cast<index_t>(c.way);
    n[k++] = c.padding.size();
    for (int i = 0; i < max_rank; ++i) {
        n[k++] = c.x[i];
        n[k++] = c.w[i];
        n[k++] = c.y[i];
    }
    for (int i = 0; i < max_rank - 2; ++i) {
        n[k++] = c.padding[i];
        n[k++] = c.stride[i];
        n[k++] = c.dilation[i];
    }
    n[k++] = c.groups;
    n[k++] = static_cast<index_t>(c.math);
    n[k++] = choice.algorithm;
    n[k++] = static_cast<index_t>(choice.multipliers);
    n[k++] = choice.workspace;
    n[k++] = static_cast<index_t>(choice.milliseconds * 1000);
}

TESSERA_INLINE void to_numbers(const matrix_product& m, const algorithm_choice& choice, index_t (&n)[line_numbers]) {
    int k = 0;
    for (const index_t x : {product_line,
                            m.m,
                            m.n,
                            m.k,
                            index_t{m.transpose_a},
                            index_t{m.transpose_b},
                            index_t{m.bias},
                            index_t{m.positive},
                            index_t{m.sums},
                            m.batch,
                            m.lead[0],
                            m.lead[1],
                            m.lead[2],
                            m.apart[0],
                            m.apart[1],
                            m.apart[2],
                            m.alignment,
                            static_cast<index_t>(m.math),
                            static_cast<index_t>(m.result),
                            m.workspace,
                            index_t{choice.algorithm},
                            static_cast<index_t>(choice.milliseconds * 1000)}) {
        n[k++] = x;
    }
    while (k < line_numbers) {
        n[k++] = 0;
    }
}

TESSERA_INLINE void add_product(algorithm_table& table, const index_t (&n)[line_numbers]) {
    bool good = n[17] >= 0 && n[17] <= 2 && n[18] >= 0 && n[18] <= static_cast<index_t>(element::bf16) && n[20] >= 0 &&
                n[20] < most_proposals;
    for (int k = 4; k <= 8; ++k) {
        good = good && (n[k] == 0 || n[k] == 1);
    }
    if (!good) {
        return;
    }
    matrix_product m;
    m.m = n[1];
    m.n = n[2];
    m.k = n[3];
    m.transpose_a = n[4] == 1;
    m.transpose_b = n[5] == 1;
    m.bias = n[6] == 1;
    m.positive = n[7] == 1;
    m.sums = n[8] == 1;
    m.batch = n[9];
    for (int i = 0; i < 3; ++i) {
        m.lead[i] = n[10 + i];
        m.apart[i] = n[13 + i];
    }
    m.alignment = n[16];
    m.math = static_cast<precision>(n[17]);
    m.result = static_cast<element>(n[18]);
    m.workspace = n[19];
    table.add(m, {static_cast<int>(n[20]), m.workspace, static_cast<double>(n[21]) / 1000});
}

TESSERA_INLINE std::pair<convolution, algorithm_choice> from_numbers(const index_t (&n)[line_numbers]) {
    convolution c;
    int k = 0;
    c.way = static_cast<convolution::direction>(n[k++]);
    c.set_dimensions(static_cast<int>(n[k++]));
    for (int i = 0; i < max_rank; ++i) {
        c.x[i] = static_cast<int>(n[k++]);
        c.w[i] = static_cast<int>(n[k++]);
        c.y[i] = static_cast<int>(n[k++]);
    }
    for (int i = 0; i < max_rank - 2; ++i) {
        c.padding[i] = static_cast<int>(n[k++]);
        c.stride[i] = static_cast<int>(n[k++]);
        c.dilation[i] = static_cast<int>(n[k++]);
    }
    c.groups = static_cast<int>(n[k++]);
    c.math = static_cast<precision>(n[k++]);
    c.multipliers = math_type_of(c.math);
    algorithm_choice choice;
    choice.algorithm = static_cast<int>(n[k++]);
    choice.multipliers = static_cast<math_type>(n[k++]);
    choice.workspace = n[k++];
    choice.milliseconds = static_cast<double>(n[k++]) / 1000;
    return {c, choice};
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
            rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
            ++count;
        }
        if (count < detail::line_numbers || !rest.empty()) {
            return;
        }
        if (n[0] == detail::product_line) {
            detail::add_product(table, n);
        } else if (n[0] >= 0 && n[0] <= 2 && n[1] >= 2 && n[1] <= max_rank - 2 && n[27] >= 0 && n[27] <= 2 &&
                   n[29] >= 0 && n[29] <= 3) {
            const auto [c, choice] = detail::from_numbers(n);
            if (rounds_as_little(choice.multipliers, c.math)) {
                table.add(c, choice);
            }
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
        detail::to_numbers(what, choice, n);
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
