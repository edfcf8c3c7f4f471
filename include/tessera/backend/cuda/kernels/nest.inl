// SPDX-License-Identifier: Apache-2.0
// Bodies of nest.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/nest.hpp"

namespace tessera::cuda {

TESSERA_INLINE nest_text::nest_text(const nests::program& p, const nests::nest_pass& pass) : p_(p), pass_(pass) {
    const operand& target = p.d.operands[pass.target];
    for (int o = 0; o < p.d.operands.size(); ++o) {
        if (has(pass.values, o)) {
            pointers_.push_back({o, false});
        }
    }
    for (int o = 0; o < p.d.operands.size(); ++o) {
        if (has(pass.gradients, o)) {
            pointers_.push_back({o, true});
        }
    }
    pointers_.push_back({pass.target, pass.to_gradient});
    for (int k = 0; k < target.extents.rank; ++k) { // a dimension gives one loop; others in its index are gone through
        const affine& a = target.dim[k];
        int solved = -1;
        for (int t = 0; t < a.terms.size(); ++t) {
            const bool better =
                solved < 0 || (p.d.loops[a.terms[solved].loop].whole && !p.d.loops[a.terms[t].loop].whole);
            solved = better ? t : solved;
        }
        solved_[k] = solved;
        given_ |= solved < 0 ? 0 : bit(a.terms[solved].loop);
    }
    for (int l = 0; l < p.d.loops.size(); ++l) {
        if (has(pass.loops & ~given_, l)) {
            inner_.push_back(l);
        }
    }
    for (int i = 0; i <= pass.root; ++i) {
        const expression::node& n = pass.nodes.nodes[i];
        const bool needed = (expression::nodes_for(pass.nodes, pass.root) >> static_cast<unsigned>(i) & 1U) != 0;
        if (needed && nests::is_scalar(n)) {
            const int number = n.of[0] - nests::first_scalar;
            if (p.scalars[number].kind != nests::scalar_kind::index) {
                reals_.push_back(number);
            }
        }
    }
}

TESSERA_INLINE int nest_text::pointer_at(int number) const { // base, then a step for each loop
    return dimension_at(p_.d.operands[pass_.target].extents.rank) + number * (1 + p_.d.loops.size());
}

TESSERA_INLINE std::vector<std::pair<int, int>> nest_text::windows() const {
    std::vector<std::pair<int, int>> all;
    for (int o = 0; o < p_.d.operands.size(); ++o) {
        const bool is_target = o == pass_.target;
        for (int k = 0; k < p_.d.operands[o].extents.rank && (has(pass_.inside, o) || is_target); ++k) {
            const affine& a = p_.d.operands[o].dim[k];
            if (a.offset != 0 || a.terms.size() > 1 || (a.terms.size() == 1 && a.terms[0].coefficient != 1)) {
                all.push_back({o, k});
            }
        }
    }
    return all;
}

TESSERA_INLINE std::string nest_text::kernels(const std::string& name) const {
    return one(name, false) + (reduces() ? one(name + "_rows", true) : std::string());
}

TESSERA_INLINE const char* nest_text::type_of(const pointer& x) const {
    const operand& o = p_.d.operands[x.operand];
    return o.type == element::f64                                            ? "double"
           : o.type == element::i32                                          ? "int"
           : o.kind == operand_kind::output && p_.loss                       ? "float"
           : o.kind == operand_kind::input || o.kind == operand_kind::output ? "T"
                                                                             : "float";
}

TESSERA_INLINE std::string nest_text::one(const std::string& name, bool by_block) const {
    const char* const sum = in_double() || by_block ? "double" : "float";
    const std::string start = is_max() ? "__uint_as_float(0xff800000u)" : "0";
    std::string text = "\ntemplate <class T>\n__device__ void " + name + "_of(const arguments& a) {\n";
    for (std::size_t k = 0; k < pointers_.size(); ++k) {
        const bool last = k + 1 == pointers_.size();
        const std::string type = std::string(last ? "" : "const ") + type_of(pointers_[k]);
        put(text, "    ", type, "* ", (last ? "to" : "x" + std::to_string(k)), " = pointer<", type, ">(a, ",
            std::to_string(k), ");\n");
    }
    if (by_block) {
        text += is_max() ? "    __shared__ float shared[256];\n" : "    __shared__ double shared[256];\n";
        text += "    {\n        const long long e = blockIdx.x;\n";
    } else {
        put(text, "    for (long long e = first_index(); e < ", n(count_at), "; e += index_step()) {\n");
    }
    text += "        long long rest = e;\n";
    const operand& target = p_.d.operands[pass_.target];
    for (int k = target.extents.rank - 1; k >= 0; --k) {
        const int at = dimension_at(k);
        put(text, "        const long long i", std::to_string(k), " = rest % ", n(at), " + ", n(at + 1),
            ";\n        rest /= ", n(at), ";\n");
    }
    const std::string total = is_max() ? "float" : sum;
    put(text, "        ", total, " all = ", start, ";\n");
    text += loops(by_block);
    text += point();
    if (by_block) {
        text += "        }\n        all = " + std::string(is_max() ? "block_maximum" : "block_sum") +
                "(all, shared);\n        if (threadIdx.x == 0) {\n";
    } else {
        text += inner_.empty() ? "        } while (false);\n        {\n"
                               : std::string("        ") + std::string(inner_.size(), '}') + "\n        {\n";
    }
    const std::string made = in_double() ? "all" : "static_cast<float>(all)";
    if (pass_.to_gradient) {
        text += "            to[e] = " + n(adds_at) + " == 1 ? " + made + " + to[e] : " + made + ";\n";
    } else {
        text += "            to[e] = " + made + ";\n";
    }
    text += "        }\n    }\n}\nTYPED_KERNEL(" + name + ")\n";
    return text;
}

TESSERA_INLINE std::string nest_text::loops(bool by_block) const {
    std::string text;
    if (by_block) {
        std::string points = "1";
        for (const int loop : inner_) {
            points += " * " + n(size_at(loop));
        }
        put(text, "        const long long points = ", points,
            ";\n        for (long long p = threadIdx.x; p < points; p += blockDim.x) {\n            long long "
            "left = p;\n");
        for (std::size_t k = inner_.size(); k-- > 0;) {
            const int loop = inner_[k];
            put(text, "            const long long ", l(loop), " = left % ", n(size_at(loop)), " + ", n(begin_at(loop)),
                ";\n            left /= ", n(size_at(loop)), ";\n");
        }
        return text;
    }
    if (inner_.empty()) {
        return "        do {\n";
    }
    text = "        ";
    for (const int loop : inner_) {
        put(text, "for (long long ", l(loop), " = ", n(begin_at(loop)), "; ", l(loop), " < ", n(begin_at(loop)), " + ",
            n(size_at(loop)), "; ++", l(loop), ") {\n        ");
    }
    return text;
}

TESSERA_INLINE int nest_text::window_at(int o, int k) const {
    const auto all = windows();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == std::pair{o, k}) {
            return windows_at() + window_size * static_cast<int>(i);
        }
    }
    return -1;
}

TESSERA_INLINE std::string nest_text::point() const {
    std::string text;
    const std::string in = "            ";
    const operand& target = p_.d.operands[pass_.target];
    for (int k = 0; k < target.extents.rank; ++k) {
        if (solved_[k] < 0) {
            continue;
        }
        const affine& a = target.dim[k];
        const std::string loop = l(a.terms[solved_[k]].loop);
        const int at = window_at(pass_.target, k);
        if (at < 0) {
            put(text, in, "const long long ", loop, " = i", std::to_string(k), ";\n");
            continue;
        }
        std::string left = "i" + std::to_string(k) + " - " + n(at);
        for (int t = 0; t < a.terms.size(); ++t) {
            if (t != solved_[k]) {
                put(left, " - ", n(at + 2 + t), " * ", l(a.terms[t].loop));
            }
        }
        const std::string by = n(at + 2 + solved_[k]);
        const std::string own = "s" + std::to_string(k);
        put(text, in, "const long long ", own, " = ", left, ";\n");
        put(text, in, "const long long ", loop, " = ", own, " / ", by, ";\n");
        const int number = a.terms[solved_[k]].loop;
        put(text, in, "if (", own, " % ", by, " != 0 || ", loop, " < ", n(begin_at(number)), " || ", loop,
            " >= ", n(begin_at(number)), " + ", n(size_at(number)), ") continue;\n");
    }
    for (const auto& [o, k] : windows()) {
        if (o == pass_.target) {
            continue;
        }
        const affine& a = p_.d.operands[o].dim[k];
        const int at = window_at(o, k);
        const std::string own = "w" + std::to_string(o) + "_" + std::to_string(k);
        put(text, in, "const long long ", own, " = ", n(at));
        for (int t = 0; t < a.terms.size(); ++t) {
            put(text, " + ", n(at + 2 + t), " * ", l(a.terms[t].loop));
        }
        put(text, ";\n", in, "if (", own, " < 0 || ", own, " >= ", n(at + 1), ") continue;\n");
    }
    const std::uint64_t needed = expression::nodes_for(pass_.nodes, pass_.root);
    for (int i = 0; i <= pass_.root; ++i) {
        if ((needed >> static_cast<unsigned>(i) & 1U) != 0) {
            put(text, in, "const float v", std::to_string(i), " = ", value(pass_.nodes.nodes[i]), ";\n");
        }
    }
    const std::string made = "v" + std::to_string(pass_.root);
    put(text, in, (is_max() ? "all = larger(all, " + made + ");\n" : "all += " + made + ";\n"));
    return text;
}

TESSERA_INLINE std::string nest_text::value(const expression::node& x) const {
    using expression::opcode;
    const auto operand = [&](int k) { return x.of[k] < 0 ? std::string() : "v" + std::to_string(x.of[k]); };
    if (x.what == opcode::constant) {
        return detail::float_literal(x.constant);
    }
    if (expression::operands_of(x.what) > 0) {
        return detail::node_text(x.what, operand(0), operand(1), operand(2));
    }
    if (nests::is_scalar(x)) {
        const int number = x.of[0] - nests::first_scalar;
        if (p_.scalars[number].kind == nests::scalar_kind::index) {
            return "static_cast<float>(" + l(p_.scalars[number].loop) + ")";
        }
        int at = 0;
        while (reals_[to_size(at)] != number) {
            ++at;
        }
        return "static_cast<float>(a.f[" + std::to_string(at) + "])";
    }
    int number = 0;
    while (pointers_[to_size(number)].operand != x.of[0] ||
           pointers_[to_size(number)].gradient != (x.what == opcode::gradient)) {
        ++number;
    }
    std::string place = n(pointer_at(number));
    for (int loop = 0; loop < p_.d.loops.size(); ++loop) {
        if (has(nests::loops_of(p_.d.operands[x.of[0]]), loop)) {
            place += " + " + n(pointer_at(number) + 1 + loop) + " * " + l(loop);
        }
    }
    return "static_cast<float>(x" + std::to_string(number) + "[" + place + "])";
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
