// SPDX-License-Identifier: Apache-2.0
// Weights of somebody else's training (io/files/load_weights.hpp): of one file or of several, of types of their own,
// with tensors that the network does not have. What matched and what did not is listed; what cannot be taken is
// refused, and nothing is set.
#include "tessera/io/files/load_weights.hpp"

#include "support/kept_training.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

const ts::optimizer how = ts::adam{.learning_rate = 0.01F};

/// A file as other writers make it: tensors of several types, in their own order.
class foreign_file {
public:
    void add(const std::string& name, const char* type, const std::string& shape, const std::string& bytes) {
        header_ += ",\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
                   std::to_string(data_.size()) + "," + std::to_string(data_.size() + bytes.size()) + "]}";
        data_ += bytes;
    }
    void write(const std::string& path) const {
        const std::string header = R"({"__metadata__":{"format":"pt"})" + header_ + "}";
        const std::uint64_t length = header.size();
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&length), sizeof length);
        file << header << data_;
    }

private:
    std::string header_, data_;
};

template <class T>
std::string bytes(const std::vector<T>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T)};
}

} // namespace

TEST_CASE("a foreign file: tensors of other types are read, others are listed, what the file lacks stays") {
    const test_folder here;
    training<ts::reference::backend> t(ts::strategy(ts::describe<net>(samples).view()), how);
    const ts::network_paths paths = ts::paths_of(t.graph.view());
    std::vector<std::string> names;
    for (int p = 0; p < t.graph.view().parameter_count; ++p) {
        names.push_back(paths.parameter(p));
    }
    const auto number_of = [&](const char* name) {
        return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    foreign_file file;
    file.add("norm/num_batches_tracked", "I64", "[]", bytes<std::int64_t>({7}));
    file.add("conv1/bias", "F16", "[20]", bytes(std::vector<std::uint16_t>(20, 0x3e00))); // 1.5
    file.add("fc2/weight", "F64", "[4,24]", bytes(std::vector<double>(96, 0.1)));
    file.add("fc2/bias", "BF16", "[4]",
             bytes(std::vector<std::uint16_t>{0x4000, 0x4040, 0xbf80, 0x0000})); // 2, 3, -1, 0
    file.add("head/weight", "F32", "[1000,24]", bytes(std::vector<float>(24000, 1.0F)));
    file.write(here / "file");
    const std::vector<float> fc1 = t.session.parameter(number_of("fc1/weight"));
    const ts::io::loaded_weights found = ts::io::load_weights(t.session, here / "file");
    CHECK(found.matched == std::vector<std::string>{"conv1/bias", "fc2/weight", "fc2/bias"});
    CHECK(found.missing.size() + 3 == names.size());
    CHECK(std::find(found.missing.begin(), found.missing.end(), "fc1/weight") != found.missing.end());
    CHECK(found.unexpected == std::vector<std::string>{"head/weight", "norm/num_batches_tracked"});
    CHECK(t.session.parameter(number_of("conv1/bias")) == std::vector<float>(20, 1.5F));
    CHECK(t.session.parameter(number_of("fc2/weight")) == std::vector<float>(96, 0.1F));
    CHECK(t.session.parameter(number_of("fc2/bias")) == std::vector<float>{2, 3, -1, 0});
    CHECK(t.session.parameter(number_of("fc1/weight")) == fc1);
}

TEST_CASE("all files of a folder together, and one layer of them under another name") {
    const test_folder here;
    training<ts::reference::backend> t(ts::strategy(ts::describe<net>(samples).view()), how);
    fs::create_directory(here / "model");
    CHECK(contains(message_of([&] { ts::io::load_weights(t.session, here / "model"); }), "has no files of weights"));
    foreign_file first;
    foreign_file second;
    first.add("blocks.0/weight", "F32", "[4,24]", bytes(std::vector<float>(96, 3.0F)));
    second.add("blocks.0/bias", "F32", "[4]", bytes(std::vector<float>(4, 4.0F)));
    second.add("blocks.1/bias", "F32", "[9]", bytes(std::vector<float>(9, 4.0F)));
    first.write(here / "model/model-00001-of-00002.safetensors");
    second.write(here / "model/model-00002-of-00002.safetensors");
    std::ofstream(here / "model/config.json") << "{}";
    const ts::io::loaded_weights found =
        ts::io::load_weights(t.session, here / "model", {.layer = "fc2", .called = "blocks.0"});
    CHECK(found.matched == std::vector<std::string>{"blocks.0/weight", "blocks.0/bias"});
    CHECK(found.unexpected.empty());
    const int last = t.graph.view().parameter_count - 1;
    CHECK(t.session.parameter(last - 1) == std::vector<float>(96, 3.0F));
    CHECK(t.session.parameter(last) == std::vector<float>(4, 4.0F));
    // The same tensor in two files.
    first.write(here / "model/model-00003-of-00002.safetensors");
    CHECK(contains(message_of([&] { ts::io::load_weights(t.session, here / "model"); }),
                   "blocks.0/weight of '" + (here / "model") + "' has a part twice"));
}

TEST_CASE("what cannot be taken is refused by name, and nothing is set") {
    const test_folder here;
    training<ts::reference::backend> t(ts::strategy(ts::describe<net>(samples).view()), how);
    const auto before = everything(t.session);
    const std::pair<const char*, std::pair<const char*, const char*>> wrong[] = {
        {"F32", {"[24,4]", "fc2/weight is [24, 4], and the network's is [4, 24]"}},
        {"I32", {"[4,24]", "fc2/weight is of I32"}},
    };
    for (const auto& [type, how_said] : wrong) {
        foreign_file file;
        file.add("conv1/bias", "F32", "[20]", bytes(std::vector<float>(20, 1.0F)));
        file.add("fc2/weight", type, how_said.first, bytes(std::vector<float>(96, 1.0F)));
        file.write(here / "file");
        const std::string said = message_of([&] { ts::io::load_weights(t.session, here / "file"); });
        CHECK_MESSAGE(contains(said, how_said.second), said);
        CHECK(everything(t.session) == before);
    }
    CHECK(contains(message_of([&] { ts::io::load_weights(t.session, here / "none"); }), "none"));
}
