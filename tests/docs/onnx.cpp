// SPDX-License-Identifier: Apache-2.0
// The block of docs/onnx.md, word for word. There is no model here, so that it is told which file is missing;
// tests/io/onnx_*.cpp read models.
#include <tessera/base/error.hpp>
#include <tessera/io/exchange/onnx_network.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

namespace ts = tessera;

namespace {

void read_a_model() {
    ts::io::onnx_network net = ts::io::read_onnx("resnet18.onnx", {.batch = 128});
    for (const std::string& note : net.notes) std::puts(note.c_str()); // what the network says otherwise than the model
}

} // namespace

TEST_CASE("docs/onnx.md: a model that is not there is refused") {
    std::string words;
    try {
        read_a_model();
    } catch (const ts::error& e) {
        words = e.what();
    }
    CHECK(words.find("resnet18.onnx") != std::string::npos);
}
