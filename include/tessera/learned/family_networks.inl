// SPDX-License-Identifier: Apache-2.0
// Bodies of family_networks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/family_networks.hpp"

namespace tessera::learned::detail {

TESSERA_INLINE int one_of(random_numbers& pick, const std::vector<int>& values) {
    return values[to_size(pick(static_cast<int>(values.size())))];
}

TESSERA_INLINE int cell_operator(family_writer& w, const std::string& name, int from, int kind, double batch,
                                 double channels, double side) {
    const double elements = batch * channels * side * side;
    if (kind < 2) {
        const double window = kind == 0 ? 9 : 25;
        return w.node(name + (kind == 0 ? " separable 3" : " separable 5"), {from}, elements,
                      2 * elements * (window + channels), channels * (window + channels));
    }
    return kind == 2   ? w.node(name + " pool", {from}, elements, 9 * elements)
           : kind == 3 ? w.node(name + " average", {from}, elements, 9 * elements)
                       : from;
}

TESSERA_INLINE cost_graph image_cells(const std::string& name, random_numbers& pick, const family_device& d) {
    family_writer w(name, d);
    const int cells = 4 + pick(5);
    const int blocks = 4 + pick(2);
    double batch = one_of(pick, {32, 64, 128});
    double channels = one_of(pick, {48, 64, 96});
    double side = 32;
    std::vector<int> choice; // of every block: two inputs, two operators
    for (int b = 0; b < blocks; ++b) {
        for (const int limit : {2 + b, 2 + b, 5, 5}) {
            choice.push_back(pick(limit));
        }
    }
    const int images = w.node("images", {}, batch * 3 * side * side, 0);
    int before = w.node("stem", {images}, batch * channels * side * side, 2 * batch * channels * side * side * 27,
                        27 * channels);
    int last = before;
    for (int c = 0; c < cells; ++c) {
        const std::string cell = "cell " + std::to_string(c);
        if (c > 0 && (c == (cells + 1) / 3 || c == (2 * cells + 1) / 3)) {
            side /= 2;
            channels *= 2;
        }
        const double elements = batch * channels * side * side;
        std::vector<int> made;
        for (const int from : {before, last}) { // to this cell's size
            made.push_back(w.node(cell + " input " + std::to_string(made.size()), {from}, elements,
                                  2 * elements * channels, channels * channels));
        }
        std::vector<char> read(made.size() + to_size(blocks), 0);
        for (int b = 0; b < blocks; ++b) {
            std::vector<int> two;
            for (int k = 0; k < 2; ++k) {
                const auto input = to_size(choice[to_size(4 * b + k)]);
                read[input] = 1;
                two.push_back(cell_operator(w, cell + " block " + std::to_string(b), made[input],
                                            choice[to_size(4 * b + 2 + k)], batch, channels, side));
            }
            made.push_back(w.node(cell + " sum " + std::to_string(b), two, elements, elements));
        }
        std::vector<int> loose;
        for (std::size_t i = 2; i < made.size(); ++i) {
            if (read[i] == 0) {
                loose.push_back(made[i]);
            }
        }
        before = last;
        last = w.node(cell + " concatenate", loose, elements * static_cast<double>(loose.size()), 0);
    }
    const int pooled = w.node("mean", {last}, batch * channels, batch * channels * side * side);
    const int logits = w.node("classes", {pooled}, batch * 10, 2 * batch * channels * 10, channels * 10);
    w.node("loss", {logits}, batch, batch * 50);
    return w.take();
}

TESSERA_INLINE int lstm_step(family_writer& w, const std::string& name, std::vector<int> from, int weights,
                             double batch, double width) {
    from.push_back(weights);
    return w.node(name, from, 2 * batch * width, 2 * batch * 2 * width * 4 * width + 20 * batch * width);
}

TESSERA_INLINE cost_graph translation(const std::string& name, random_numbers& pick, const family_device& d) {
    family_writer w(name, d);
    const int length = 6 + pick(19);
    const double batch = one_of(pick, {32, 64, 128, 256});
    const double width = 512;
    const double words = 8000;
    constexpr int layers = 2;
    const int read = w.weights("words read", words * width);
    const int written = w.weights("words written", words * width);
    const int out = w.weights("projection", words * width);
    std::vector<int> weights;
    for (int l = 0; l < 2 * layers; ++l) {
        weights.push_back(
            w.weights((l < layers ? "encoder " : "decoder ") + std::to_string(l % layers), 8 * width * width));
    }
    std::vector<int> state(layers, -1);
    const auto stack = [&](const std::string& at, int x, int first) {
        for (int l = 0; l < layers; ++l) {
            std::vector<int> from{x};
            int& before = state[to_size(l)];
            if (before >= 0) {
                from.push_back(before);
            }
            x = before =
                lstm_step(w, at + " layer " + std::to_string(l), from, weights[to_size(first + l)], batch, width);
        }
        return x;
    };
    std::vector<int> made;
    for (int t = 0; t < length; ++t) {
        const std::string at = "encoder step " + std::to_string(t);
        made.push_back(stack(at, w.node(at + " word", {read}, batch * width, 0), 0));
    }
    const int encoded = w.node("encoded", made, batch * length * width, 0);
    for (int t = 0; t < length; ++t) {
        const std::string at = "decoder step " + std::to_string(t);
        const int top = stack(at, w.node(at + " word", {written}, batch * width, 0), layers);
        const int context = w.node(at + " attention", {encoded, top}, batch * width, 4 * batch * length * width);
        const int logits = w.node(at + " logits", {top, context, out}, batch * words, 2 * batch * width * words);
        w.node(at + " loss", {logits}, batch, 5 * batch * words);
    }
    return w.take();
}

TESSERA_INLINE cost_graph language_cells(const std::string& name, random_numbers& pick, const family_device& d) {
    family_writer w(name, d);
    const int inner = 5 + pick(5);
    const int length = 6 + pick(12);
    const double batch = one_of(pick, {64, 128, 256});
    const double width = one_of(pick, {512, 768, 1024});
    const double words = 10000;
    std::vector<int> choice;
    for (int i = 1; i < inner; ++i) {
        choice.push_back(pick(i));
    }
    const int table = w.weights("words", words * width);
    std::vector<int> weights;
    for (int i = 0; i < inner; ++i) {
        weights.push_back(w.weights("weights " + std::to_string(i), (i == 0 ? 4 : 2) * width * width));
    }
    int state = -1;
    for (int t = 0; t < length; ++t) {
        const std::string at = "step " + std::to_string(t);
        const int word = w.node(at + " word", {table}, batch * width, 0);
        std::vector<int> made;
        std::vector<char> read(to_size(inner), 0);
        for (int i = 0; i < inner; ++i) {
            std::vector<int> from{word};
            if (i > 0) {
                const auto source = to_size(choice[to_size(i - 1)]);
                read[source] = 1;
                from = {made[source]};
            } else if (state >= 0) {
                from.push_back(state);
            }
            from.push_back(weights[to_size(i)]);
            made.push_back(w.node(at + " node " + std::to_string(i), from, batch * width,
                                  2 * batch * width * width * (i == 0 ? 4 : 2) + 10 * batch * width));
        }
        std::vector<int> loose;
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (read[i] == 0) {
                loose.push_back(made[i]);
            }
        }
        state = w.node(at + " state", loose, batch * width, batch * width * static_cast<double>(loose.size()));
        const int logits = w.node(at + " logits", {state, table}, batch * words, 2 * batch * width * words);
        w.node(at + " loss", {logits}, batch, 5 * batch * words);
    }
    return w.take();
}

} // namespace tessera::learned::detail

#include "tessera/base/end_header.inl"
