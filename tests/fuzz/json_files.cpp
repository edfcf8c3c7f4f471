// SPDX-License-Identifier: Apache-2.0
// JSON, and what holds it: headers of safetensors files, states of checkpoints.
#include "fuzz/target.hpp"
#include "tessera/io/files/checkpoint_identity.hpp"
#include "tessera/io/files/checkpoint_state.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/io/files/weight_files.hpp"

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

const std::string good_file = R"({"name": "part.safetensors", "bytes": 0, "crc32": "0"})";
const std::string good_lines = R"("network.name = x", "optimizer.momentum = 0.9", "optimizer.decay = 0")";
std::string state(const std::string& files = good_file, const std::string& training = {}) {
    return R"({"tessera_checkpoint": 2, "step": "7", "seed": "18446744073709551615", "learning_rate": "0.1",
  "optimizer": ["momentum"], "network": "5", "plan": "6",
)" + (training.empty() ? "" : "  \"training\": [" + training + "],\n") +
           R"(  "data": {"epoch": "1", "next_sample": 64, "set_size": 60000, "shuffle_seed": "3", "set_hash": "9"},
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
    const auto read = counted([&] {
        auto found = std::make_unique<io::detail::checkpoint_folder>(folder, false);
        if (!found->state()
                 .training.all()
                 .empty()) { // compared with that of a training; what it says of an optimizer is kept
            ts::field_lines here;
            here.add("optimizer.momentum", 0.9);
            here.add("optimizer.decay", 0);
            (void)io::detail::difference_of_part(here, found->state().training, "optimizer.");
        }
        return found;
    });
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
           back.state().data.has_value() == read->state().data.has_value() &&
           back.state().training.text() == read->state().training.text();
}

/// An index beside the files that good ones name.
bool read_index(const std::string& text) {
    static const std::string folder = fuzz::path_for("index");
    std::filesystem::create_directories(folder);
    for (const char* name : {"/a.safetensors", "/b.safetensors"}) {
        fuzz::put(folder + name, safetensors("{}", ""));
    }
    const std::string path = folder + "/model.safetensors.index.json";
    fuzz::put(path, text);
    const io::detail::weight_files found = counted([&] { return io::detail::files_of_weights(path); });
    io::json again = io::json::object();
    for (const auto& [name, file] : found.index) {
        again["weight_map"][name] = file;
    }
    fuzz::put(path, io::text_of_json(again));
    const io::detail::weight_files back = io::detail::files_of_weights(folder);
    return back.index == found.index && back.paths == found.paths;
}

/// So many numbers in a list.
std::string ones(int count) {
    std::string all(ts::to_size(2 * count - 1), '1');
    for (std::size_t i = 1; i < all.size(); i += 2) {
        all[i] = ',';
    }
    return "[" + all + "]";
}
/// So many parts, with commas between them.
template <class Part>
std::string parts(int count, Part&& part) {
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += (i == 0 ? "" : ",") + part(std::to_string(i));
    }
    return all;
}

} // namespace

std::vector<fuzz::target> fuzz::json_targets() {
    const auto times = [](int count, char c) { return std::string(ts::to_size(count), c); };
    const auto names = [](int n) {
        return "{" + parts(n, [](const std::string& i) { return "\"n" + i + "\":" + i; }) + "}";
    };
    const auto nested = [](int n) { // what holds much, within objects each of which goes on to grow
        std::string text = "{\"first\":" + ones(n);
        for (int i = 0; i < 90; ++i) {
            text.insert(0, "{\"a\":");
            text += "}";
            for (int k = 0; k < 17; ++k) {
                text += ",\"b" + std::to_string(k) + "\":0";
            }
        }
        return text + "}";
    };
    const auto list = [=](int n) { return "{\"" + times(15 * n, 'k') + "\":" + ones(n) + "}"; };
    const auto tensors = [=](int n) {
        const auto tensor = [](const std::string& i) {
            const int k = std::stoi(i);
            return "\"model.layers.0.t" + i + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
                   std::to_string(4 * k) + "," + std::to_string(4 * k + 4) + "]}";
        };
        return safetensors("{" + parts(n, tensor) + "}", times(4 * n, 'x'));
    };
    const auto wide = [=](int n) {
        return safetensors("{\"" + times(3 * n, 'k') + R"(":{"dtype":"F32","shape":)" + ones(n) +
                               R"(,"data_offsets":[0,4]}})",
                           "0123");
    };
    const auto files = [](int n) {
        return state(
            parts(n, [](const std::string& i) { return R"({"name": "p)" + i + R"(", "bytes": 0, "crc32": "0"})"; }));
    };
    const auto lines = [](int n) {
        return state(good_file, parts(n, [](const std::string& i) { return "\"optimizer.x" + i + " = 1\""; }));
    };
    const auto index = [](int n) {
        return "{\"weight_map\": {" +
               parts(n, [](const std::string& i) { return "\"t" + i + "\": \"a.safetensors\""; }) + "}}";
    };
    const std::string small =
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
        R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}})";
    const std::string sharded =
        R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"a\":{\"saved_offsets\":[3]}}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
    return {
        {"json",
         {"{\"a\": [1, 2.5, -3e7, true, null], \"b\": {\"c\": \"x\\u00e4\\n\", \"d\": {}}}",
          "[[], [[1]], {\"x\": \"\\ud83d\\ude00\"}]", "\"text\"", "18446744073709551615"},
         {{20'000, names},
          {20'000, nested},
          {20'000, list},
          {500'000, [=](int n) { return "[" + times(n, '\n') + "]"; }},
          {500'000, [=](int n) { return "\"" + times(n, 'x') + "\""; }}},
         read_json},
        {"safetensors",
         {safetensors(small, "0123456789"), safetensors(sharded, "01234567"), safetensors("{}", "")},
         {{10'000, tensors}, {50'000, wide}},
         read_tensors},
        {"checkpoint", {state(), state(good_file, good_lines)}, {{10'000, files}, {20'000, lines}}, read_checkpoint},
        {"index",
         {R"({"metadata": {"total_size": 9}, "weight_map": {"a.weight": "a.safetensors", "b": "b.safetensors"}})",
          index(3)},
         {{10'000, index}},
         read_index},
    };
}
