// SPDX-License-Identifier: Apache-2.0
// A text as a language model reads it: a vocabulary of it in a file, windows of tokens with the tokens that come next,
// batches made ahead.
// Usage: text_data [TOKENS [VOCABULARY_FILE]]
#include "examples/output.hpp"
#include "examples/texts.hpp"

#include <tessera/io/data/build_vocabulary.hpp>
#include <tessera/io/data/prefetch.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ts = tessera;

namespace {

std::int32_t number(std::string_view text) {
    std::int32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) {
        throw ts::error("'" + std::string(text) + "' is no number of tokens; say how many, such as 512");
    }
    return value;
}

void show(std::int32_t size, const std::string& file) {
    const texts::text text = texts::find();
    const ts::io::vocabulary words = ts::io::build_vocabulary(text.contents, size, true);
    if (!file.empty()) {
        ts::io::write_vocabulary(words, file);
    }
    const auto [known, unseen] = ts::io::cut(words.encode(text.contents), 0.9);
    std::printf("%s: %zu bytes are %zu tokens of %d\n", text.name.c_str(), text.contents.size(),
                known.size() + unseen.size(), words.size());
    const ts::io::text_set windows(known, 16);
    std::printf(
        "%lld windows of %lld tokens to train with; three of a shuffled epoch, with the token that comes last:\n",
        static_cast<long long>(windows.size()), static_cast<long long>(windows.length()));
    for (const auto& batch : ts::io::prefetched(windows.batches(3, {.shuffle_seed = 1}))) {
        for (std::int64_t i = 0; i < batch.size; ++i) {
            std::string line;
            for (std::int64_t k = 0; k < windows.length(); ++k) {
                line += words.text_of(batch.inputs[ts::to_size(i * windows.length() + k)]) + "|";
            }
            line += words.text_of(batch.labels[ts::to_size((i + 1) * windows.length() - 1)]);
            std::replace(line.begin(), line.end(), '\n', '/');
            std::printf("  %s\n", line.c_str());
        }
        break;
    }
}

} // namespace

int main(int count, char** arguments) {
    try {
        show(count > 1 ? number(arguments[1]) : 512, count > 2 ? arguments[2] : "");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "text_data: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("text_data");
}
