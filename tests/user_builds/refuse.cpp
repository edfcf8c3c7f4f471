// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <cstring>
#include <exception>
#include <string>

namespace user {

namespace {

/// Whether two trainings of one seed have the same weights, bit for bit.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

const char* refuse() {
    static std::string said;
    ts::trainer<network> trainer(ts::host::devices(2), halves{}, ts::sgd{.learning_rate = 0.1F});
    trainer.step(made_batch(1));
    const std::vector<float> before = trainer.weights<fc1>();
    batch bad = made_batch(2);
    const std::uint32_t bits = 0x7fc00000; // NaN, by its bits: some flags of compilers know no such number
    std::memcpy(&bad.inputs[5 * 64 + 9], &bits, sizeof bits);
    try {
        trainer.step(bad);
    } catch (const std::exception& e) {
        said = e.what();
    }
    return !said.empty() && same(before, trainer.weights<fc1>()) ? said.c_str() : "";
}

} // namespace user
