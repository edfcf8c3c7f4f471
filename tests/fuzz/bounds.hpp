// SPDX-License-Identifier: Apache-2.0
// What reading a file may take, by its size: held by fuzz_files for every input that it makes, and said in
// docs/limits.md.
#pragma once

namespace fuzz {

struct bound {
    const char* target;
    const char* files;     ///< that it is about, in words
    double bytes;          ///< of memory, whatever the size
    double bytes_per_byte; ///< more for each byte of the file
    double milliseconds;   ///< of one processor, whatever the size
    double microseconds_per_byte;
};

/// Times are those of a build without optimization under the address and undefined-behaviour sanitizers, on a processor
/// that others use too; one that is optimized takes a tenth or less.
inline constexpr bound bounds[] = {
    {"json", "JSON texts", 1 << 20, 128, 250, 3},
    {"network", "network files", 8 << 20, 256, 500, 10},
    {"strategy", "strategy files", 4 << 20, 256, 500, 10},
    {"machine", "machine files", 4 << 20, 256, 500, 10},
    {"onnx", "ONNX models", 1 << 30, 256, 10'000, 10},
    {"safetensors", "safetensors files", 2 << 20, 256, 250, 3},
    {"checkpoint", "checkpoints' states", 4 << 20, 128, 500, 5},
    {"index", "indices of files of weights", 1 << 20, 256, 250, 5},
    {"search", "searches under way (MCMC `--resume`)", 4 << 20, 256, 500, 10},
    {"coarse", "coarse searches under way", 1 << 20, 64, 250, 3},
    {"split", "split problems", 4 << 20, 256, 500, 10},
    {"answer", "answers to split problems of 20 000 nodes", 4 << 20, 128, 500, 5},
    {"layers", "PipeDream's profiles of layers", 2 << 20, 128, 250, 5},
    {"contest", "contest problems", 2 << 20, 128, 250, 5},
    {"csv", "CSV tables", 1 << 20, 256, 250, 3},
    {"rows", "rows of a table, as CSV and JSON", 1 << 20, 512, 250, 5},
    {"metrics", "logs of metrics", 2 << 20, 256, 250, 5},
    {"vocabulary", "vocabularies", 1 << 20, 256, 250, 5},
    {"idx", "IDX files", 2 << 20, 64, 250, 3},
    {"cifar", "CIFAR's batches", 2 << 20, 64, 250, 3},
    {"names", "names that do not exist, and what is suggested for them", 1 << 20, 64, 250, 10},
    {"profile", "profiles of the host's times", 2 << 20, 256, 250, 5},
    {"gpu", "measured algorithms and times of GPU calls", 1 << 20, 256, 250, 5},
};

constexpr const bound* bound_of(const char* target) {
    for (const bound& b : bounds) {
        const char* x = b.target;
        const char* y = target;
        while (*x != '\0' && *x == *y) {
            ++x;
            ++y;
        }
        if (*x == *y) {
            return &b;
        }
    }
    return nullptr;
}

} // namespace fuzz
