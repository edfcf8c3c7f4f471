// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_state.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_state.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::uint64_t whole_number(const json_value& v) {
    std::uint64_t x = 0;
    const std::string& text = v.text();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty()) {
        v.refuse("is \"" + text + "\", but must be a whole number from 0 to 2^64 - 1");
    }
    return x;
}

TESSERA_INLINE std::string text_of(double x) {
    char text[40];
    const auto made = std::to_chars(text, text + sizeof text, x);
    return {text, made.ptr};
}

TESSERA_INLINE double real_number(const json_value& v) {
    double x = 0;
    const std::string& text = v.text();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty()) {
        v.refuse("is \"" + text + "\", but must be a number");
    }
    return x;
}

TESSERA_INLINE json json_of(const data_position& d) {
    json j = {{"epoch", std::to_string(d.epoch)}, {"next_sample", d.next_sample}, {"set_size", d.set_size}};
    if (d.shuffle_seed) {
        j["shuffle_seed"] = std::to_string(*d.shuffle_seed);
    }
    if (d.set_hash) {
        j["set_hash"] = std::to_string(*d.set_hash);
    }
    return j;
}

TESSERA_INLINE data_position position_in(const json_value& data) {
    json_object d(data);
    data_position at;
    if (const json_value* const seed = d.find("shuffle_seed"); seed != nullptr) {
        at.shuffle_seed = whole_number(*seed);
    }
    if (const json_value* const hash = d.find("set_hash"); hash != nullptr) {
        at.set_hash = whole_number(*hash);
    }
    at.epoch = whole_number(d.get("epoch"));
    at.next_sample = d.get("next_sample").integer(0, INT64_MAX);
    at.set_size = d.get("set_size").integer(0, INT64_MAX);
    d.finish();
    return at;
}

TESSERA_INLINE json json_of(const checkpoint_state& s, const std::vector<std::string>& optimizer) {
    json j = {{"tessera_checkpoint", checkpoint_version},
              {"step", std::to_string(s.step)},
              {"seed", std::to_string(s.seed)},
              {"learning_rate", text_of(s.learning_rate)},
              {"optimizer", optimizer},
              {"network", std::to_string(s.network)},
              {"plan", std::to_string(s.plan)}};
    for (const field_line& l : s.training.all()) {
        j["training"].push_back(l.name + " = " + l.value);
    }
    if (s.data) {
        j["data"] = json_of(*s.data);
    }
    return j;
}

TESSERA_INLINE std::string step_folder(std::uint64_t step) {
    char text[32];
    std::snprintf(text, sizeof text, "step-%012llu", static_cast<unsigned long long>(step));
    return text;
}

TESSERA_INLINE std::optional<std::uint64_t> step_of(const std::string& name) {
    std::uint64_t step = 0;
    if (name.starts_with("step-") &&
        std::from_chars(name.data() + 5, name.data() + name.size(), step).ptr == name.data() + name.size() &&
        name == step_folder(step)) {
        return step;
    }
    return {};
}

TESSERA_INLINE std::vector<std::uint64_t> saved_steps(const std::string& folder) {
    std::vector<std::uint64_t> steps;
    DIR* const all = ::opendir(folder.c_str());
    while (const dirent* const e = all != nullptr ? ::readdir(all) : nullptr) {
        std::string name = e->d_name;
        if (constexpr std::string_view replaced = ".replaced"; name.ends_with(replaced)) { // see files::replaced_name()
            name.resize(name.size() - replaced.size());
        }
        if (const auto step = step_of(name)) {
            steps.push_back(*step);
        }
    }
    if (all != nullptr) {
        ::closedir(all);
    }
    std::sort(steps.rbegin(), steps.rend());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
}

TESSERA_INLINE checkpoint_folder::checkpoint_folder(const std::string& path, bool offers)
    : path_(path), offers_(offers) {
    struct stat found {};
    if (::stat(path_.c_str(), &found) != 0 && ::stat(files::replaced_name(path_).c_str(), &found) == 0) {
        path_ = files::replaced_name(path_); // its writer ended between two renames
    }
    if (::stat(path_.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
        throw error("tessera: there is no checkpoint '" + path +
                    "': " + (::access(path.c_str(), F_OK) == 0 ? "that is no folder" : "there is no such folder") +
                    "; name the folder that save_checkpoint() or a checkpoint_saver has written");
    }
    const std::string commit = guarded([&] { return files::read_if_there(path_ + "/COMMIT", 64); });
    if (commit.empty()) {
        refuse("it has no COMMIT, so that it was not written to its end");
    }
    const std::string name = path_ + "/state.json";
    if (::access(name.c_str(), F_OK) != 0) {
        refuse("state.json is missing");
    }
    const std::string text = guarded([&] { return files::read(name); });
    if (commit != text_of(crc_of(text)) + "\n") {
        refuse("state.json is not what was written: its checksum is not that in COMMIT");
    }
    guarded([&] { read(json_document(text, name)); });
    text_ = text;
}

TESSERA_INLINE std::vector<std::string> checkpoint_folder::names() const {
    std::vector<std::string> all;
    for (const file& f : files_) {
        all.push_back(f.name);
    }
    return all;
}

TESSERA_INLINE void checkpoint_folder::verify(const file& f) const {
    std::string path = path_;
    path.append("/").append(f.name);
    if (::access(path.c_str(), F_OK) != 0) {
        refuse(f.name + " is missing");
    }
    guarded([&] {
        const files::open_file there(path);
        if (there.bytes() != f.bytes) {
            refuse(f.name + " is not what was written: it has " + std::to_string(there.bytes()) + " bytes of " +
                   std::to_string(f.bytes));
        }
        if (text_of(crc_of_file(there)) != f.crc) {
            refuse(f.name + " is not what was written: its checksum differs");
        }
    });
}

TESSERA_INLINE void checkpoint_folder::verify() const {
    for (const file& f : files_) {
        verify(f);
    }
}

TESSERA_INLINE std::uint32_t checkpoint_folder::crc_of_file(const files::open_file& file) {
    std::uint32_t crc = 0;
    std::string part(std::size_t{1} << 18U, '\0'); // stays in the cache
    for (std::int64_t at = 0; at < file.bytes();) {
        const auto count = to_size(std::min<std::int64_t>(file.bytes() - at, static_cast<std::int64_t>(part.size())));
        file.read(at, part.data(), count);
        crc = crc_of({part.data(), count}, crc);
        at += static_cast<std::int64_t>(count);
    }
    return crc;
}

TESSERA_INLINE void checkpoint_folder::refuse(const std::string& what) const {
    refused_ = true;
    std::string text = "tessera: '" + path_;
    text += "' is no whole checkpoint: " + what;
    const std::size_t end = path_.find_last_not_of('/') + 1;
    const std::size_t slash = path_.rfind('/', end - 1);
    const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
    const auto mine = step_of(path_.substr(slash == std::string::npos ? 0 : slash + 1, end - (slash + 1)));
    std::string older;
    for (const std::uint64_t step : mine&& offers_ ? saved_steps(parent) : std::vector<std::uint64_t>{}) {
        if (step < *mine && older.empty()) {
            older = parent;
            older.append("/").append(step_folder(step));
            older = is_whole(older) ? older : std::string();
        }
    }
    text += older.empty() ? "; use an older one" : "; the one before it, '" + older + "', is whole: use that one";
    throw error(text);
}

TESSERA_INLINE bool checkpoint_folder::is_whole(const std::string& path) {
    if (::access((path + "/COMMIT").c_str(), F_OK) != 0) {
        return false;
    }
    try {
        checkpoint_folder(path, false).verify();
    } catch (const error&) {
        return false;
    }
    return true;
}

TESSERA_INLINE void checkpoint_folder::read(const json_document& document) {
    json_object o(document.root());
    const std::int64_t version = o.get("tessera_checkpoint").integer(0, INT64_MAX);
    if (version < oldest_checkpoint_version || version > checkpoint_version) {
        refuse("it is of version " + std::to_string(version) + ", and this Tessera reads versions " +
               std::to_string(oldest_checkpoint_version) + " to " + std::to_string(checkpoint_version) +
               "; load it with the Tessera that wrote it");
    }
    state_.step = whole_number(o.get("step"));
    state_.seed = whole_number(o.get("seed"));
    state_.learning_rate = real_number(o.get("learning_rate"));
    for (const json_value& kept : o.get("optimizer").items()) {
        state_.optimizer.push_back(kept.text());
    }
    (void)o.find("saver"); // for savers alone
    if (version > 1) {
        state_.network = whole_number(o.get("network"));
        state_.plan = whole_number(o.get("plan"));
    }
    if (const json_value* const training = o.find("training"); training != nullptr && version > 2) {
        for (const json_value& line : training->items()) {
            const std::string& text = line.text();
            const std::size_t at = text.find(" = ");
            if (at == std::string::npos) {
                line.refuse("is no 'name = value'");
            }
            state_.training.add(text.substr(0, at), text.substr(at + 3));
        }
    }
    if (const json_value* const data = o.find("data"); data != nullptr) {
        state_.data = position_in(*data);
    }
    for (const json_value& f : o.get("files").items()) {
        json_object one(f);
        file added{one.get("name").text(), one.get("bytes").integer(0, INT64_MAX), one.get("crc32").text()};
        if (added.name.find('/') != std::string::npos) {
            one.get("name").refuse("is " + added.name + ", but must be a file of the folder");
        }
        one.finish();
        files_.push_back(std::move(added));
    }
    o.finish();
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
