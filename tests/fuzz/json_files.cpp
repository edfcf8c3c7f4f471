// SPDX-License-Identifier: Apache-2.0
// JSON, and what holds it: headers of safetensors files, states of checkpoints.
#include "fuzz/target.hpp"
#include "tessera/io/checkpoint_state.hpp"
#include "tessera/io/json_text.hpp"

#include <filesystem>
#include <memory>

namespace {

namespace ts = tessera;
namespace io = tessera::io;
using fuzz::counted;

/// Every member is asked for by its name, as readers do; a value is written as people read it, and on one line.
void ask(const io::json_value& value) {
    if (!value.is_object()) {
        return;
    }
    io::json_object members(value);
    const auto names = value.members();
    for (const auto& [name, inside] : names) {
        (void)members.get(name);
        ask(inside);
    }
    members.finish();
}

bool read_json(const std::string& text) {
    const auto document = counted([&] {
        auto read = std::make_unique<io::json_document>(text, "text");
        ask(read->root());
        return read;
    });
    if (text.size() > 100'000) {
        return true;
    }
    const std::string people = io::to_text(document->value());
    const std::string line = io::text_of_json(document->value());
    return io::json_document(people, "text").value() == document->value() &&
           io::json_document(line, "text").value() == document->value() &&
           io::to_text(io::json_document(line, "text").value()) == people;
}

std::string little_endian(std::uint64_t n) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
        bytes += static_cast<char>(n >> (8 * i) & 0xffU);
    }
    return bytes;
}
std::string safetensors(const std::string& header, const std::string& data) {
    return little_endian(header.size()) + header + data;
}

/// Those of all tensors are read; a file of F32 tensors is written again with the same names and numbers.
bool read_tensors(const std::string& bytes) {
    static const std::string path = fuzz::path_for("safetensors");
    fuzz::put(path, bytes);
    const auto file = counted([&] { return std::make_unique<io::safetensors_file>(path); });
    std::vector<io::named_tensor> all;
    std::vector<std::vector<float>> numbers;
    for (const auto& [name, place] : file->tensors()) {
        if (!io::safetensors_file::is_read(place)) {
            return true;
        }
        numbers.push_back(file->numbers(name));
        all.push_back({name, place.extents, {}, place.offsets});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].numbers = numbers[i];
    }
    static const std::string copy = fuzz::path_for("safetensors.copy");
    io::write_safetensors(copy, all);
    const io::safetensors_file back(copy);
    bool same = back.tensors().size() == all.size();
    for (std::size_t i = 0; same && i < all.size(); ++i) {
        const std::vector<float> now = back.numbers(all[i].name);
        same = now.size() == numbers[i].size() &&
               (now.empty() || std::memcmp(now.data(), numbers[i].data(), now.size() * sizeof(float)) == 0) &&
               back.tensors().at(all[i].name).offsets == all[i].offsets;
    }
    return same;
}

std::string state(const std::string& files = R"({"name": "part.safetensors", "bytes": 0, "crc32": "0"})") {
    return R"({"tessera_checkpoint": 2, "step": "7", "seed": "18446744073709551615", "learning_rate": "0.1",
  "optimizer": ["momentum"], "network": "5", "plan": "6",
  "data": {"epoch": "1", "next_sample": 64, "set_size": 60000, "shuffle_seed": "3", "set_hash": "9"},
  "files": [)" +
           files + "]}\n";
}

/// The state of a folder whose COMMIT agrees with it.
bool read_checkpoint(const std::string& text) {
    static const std::string folder = fuzz::path_for("checkpoint");
    std::filesystem::create_directories(folder);
    fuzz::put(folder + "/state.json", text);
    fuzz::put(folder + "/COMMIT", io::detail::text_of(io::detail::crc_of(text)) + "\n");
    fuzz::put(folder + "/part.safetensors", "");
    const auto read = counted([&] { return std::make_unique<io::detail::checkpoint_folder>(folder, false); });
    read->verify();
    io::json again = io::detail::json_of(read->state(), {"momentum"});
    again["files"] = io::json::array();
    for (const auto& f : read->list()) {
        again["files"].push_back({{"name", f.name}, {"bytes", f.bytes}, {"crc32", f.crc}});
    }
    const std::string written = io::text_of_json(again, 2);
    fuzz::put(folder + "/state.json", written);
    fuzz::put(folder + "/COMMIT", io::detail::text_of(io::detail::crc_of(written)) + "\n");
    const io::detail::checkpoint_folder back(folder, false);
    return back.state().step == read->state().step && back.names() == read->names() &&
           back.state().data.has_value() == read->state().data.has_value();
}

} // namespace

std::vector<fuzz::target> fuzz::json_targets() {
    std::string names;
    std::string tensors;
    std::string files;
    for (int i = 0; i < 20'000; ++i) {
        names += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":" + std::to_string(i);
        tensors += (i == 0 ? "\"model.layers.0.t" : ",\"model.layers.0.t") + std::to_string(i) +
                   R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" + std::to_string(4 * i) + "," +
                   std::to_string(4 * i + 4) + "]}";
        files += i > 20'000
                     ? ""
                     : (i == 0 ? "" : ",") + (R"({"name": "p)" + std::to_string(i)) + R"(", "bytes": 0, "crc32": "0"})";
    }
    std::string deep = "{\"first\":[" + std::string(20'000, '1');
    for (std::size_t i = 11; i < deep.size(); i += 2) {
        deep[i] = ',';
    }
    deep.back() = '1';
    deep += "]";
    std::string nested = deep; // what holds much, within objects each of which goes on to grow
    for (int i = 0; i < 90; ++i) {
        nested.insert(0, "{\"a\":");
        nested += "}";
        for (int k = 0; k < 17; ++k) {
            nested += ",\"b" + std::to_string(k) + "\":0";
        }
    }
    nested += "}";
    const std::string long_name(300'000, 'k');
    const std::string list = "{\"" + long_name + "\":" + deep.substr(9) + "}";
    const std::string small =
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
        R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}})";
    const std::string sharded =
        R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"a\":{\"saved_offsets\":[3]}}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
    std::string wide = R"({")" + long_name + R"(":{"dtype":"F32","shape":[)";
    for (int i = 0; i < 100'000; ++i) {
        wide += i == 0 ? "1" : ",1";
    }
    wide += R"(],"data_offsets":[0,4]}})";
    return {
        {"json",
         {"{\"a\": [1, 2.5, -3e7, true, null], \"b\": {\"c\": \"x\\u00e4\\n\", \"d\": {}}}",
          "[[], [[1]], {\"x\": \"\\ud83d\\ude00\"}]", "\"text\"", "18446744073709551615"},
         {"{" + names + "}", nested, list, "[" + std::string(500'000, '\n') + "]", "\"" + std::string(500'000, 'x')},
         read_json},
        {"safetensors",
         {safetensors(small, "0123456789"), safetensors(sharded, "01234567"), safetensors("{}", "")},
         {safetensors("{" + tensors + "}", std::string(240'000, 'x')), safetensors(wide, "0123")},
         read_tensors},
        {"checkpoint", {state()}, {state(files)}, read_checkpoint},
    };
}
