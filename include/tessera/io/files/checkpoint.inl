// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::vector<std::string> names_of_states(const optimizer& o) {
    std::vector<std::string> names;
    switch (o.which) {
    case update_rule::kind::adam:
        names = {"first_moment", "second_moment"};
        break;
    case update_rule::kind::rmsprop:
        names = {"second_moment"};
        if (o.centered) {
            names.emplace_back("first_moment");
        }
        [[fallthrough]];
    case update_rule::kind::sgd:
        if (o.momentum != 0) {
            names.emplace_back("velocity");
        }
    }
    if (o.average != 0) {
        names.emplace_back("average");
    }
    return names;
}

TESSERA_INLINE std::string tensor_name(const graph_view& g, const optimizer& o, int parameter, int state) {
    const std::string path = parameter_path_of(g, parameter);
    return state < 0 ? path : "optimizer/" + names_of_states(o)[to_size(state)] + "/" + path;
}

TESSERA_INLINE std::string shown_states(const std::vector<std::string>& kept) {
    const auto has = [&](const char* name) { return std::find(kept.begin(), kept.end(), name) != kept.end(); };
    std::string text = has("first_moment") && has("velocity")        ? "what RMSprop keeps"
                       : has("first_moment") && has("second_moment") ? "what Adam, AdamW and LAMB keep"
                       : has("second_moment")                        ? "what RMSprop keeps"
                       : has("velocity")                             ? "what SGD and LARS keep with momentum"
                                                                     : "what SGD keeps without momentum: nothing";
    for (std::size_t i = 0; i < kept.size(); ++i) {
        text += (i == 0 ? " (" : ", ") + kept[i] + (i + 1 == kept.size() ? ")" : "");
    }
    return text;
}

TESSERA_INLINE void write_checkpoint(checkpoint_writers& all, const checkpoint_part& part, const std::string& folder,
                                     function_ref<std::span<const float>(int, std::size_t)> numbers_of,
                                     const std::string& saver) {
    const checkpoint_layout& layout = part.layout();
    std::optional<files::new_folder> to;
    all.together([&] {
        if (all.rank() == 0) {
            to.emplace(folder, checkpoint_kind(saver));
            all.set_path(to->path());
        }
    });
    const std::string prefix = all.path() + "/";
    all.together([&] {
        for (int f = 0; f < layout.files(); ++f) {
            if (layout.writer(f) == all.rank()) {
                all.set_file(f, write_safetensors(prefix + layout.name(f), part.tensors(f),
                                                  [&](std::size_t i) { return numbers_of(f, i); }));
            }
        }
    });
    all.together([&] {
        if (all.rank() != 0) {
            return;
        }
        json state = part.state_as_json();
        if (!saver.empty()) {
            state["saver"] = saver;
        }
        state["files"] = json::array();
        for (int f = 0; f < layout.files(); ++f) {
            const written_file file = all.file(f);
            state["files"].push_back({{"name", layout.name(f)}, {"bytes", file.bytes}, {"crc32", text_of(file.crc)}});
        }
        const std::string text = text_of_json(state, 2) + "\n";
        files::write(prefix + "state.json", text);
        files::write(prefix + "COMMIT", text_of(crc_of(text)) + "\n");
        to->commit();
    });
}

TESSERA_INLINE checkpoint_folder whole_checkpoint(checkpoint_writers& all, const std::string& folder) {
    std::optional<checkpoint_folder> found;
    all.together([&] {
        found.emplace(folder);
        for (std::size_t i = 0; i < found->list().size(); ++i) {
            if (static_cast<int>(i) % all.size() == all.rank()) {
                found->verify(found->list()[i]);
            }
        }
    });
    return *found;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
