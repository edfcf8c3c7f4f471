// SPDX-License-Identifier: Apache-2.0
// Bodies of onnx_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/exchange/onnx_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string whole_file(const std::string& path, std::int64_t most) {
    const files::open_file file(path);
    if (file.bytes() > most) {
        throw error("tessera: '" + path + "' has " + std::to_string(file.bytes()) + " bytes, and a model has at most " +
                    std::to_string(most) + "; export it with external data");
    }
    std::string bytes(to_size(file.bytes()), '\0');
    file.read(0, bytes.data(), bytes.size());
    return bytes;
}

TESSERA_INLINE void external_data::find(onnx::tensor& t) {
    if (!t.external) {
        return;
    }
    const std::string& bytes = file_at(t);
    const auto total = static_cast<std::int64_t>(bytes.size());
    std::int64_t needed = onnx::bytes_of(t.type);
    for (const std::int64_t e : t.extents) {
        if (e < 0 || __builtin_mul_overflow(needed, e, &needed)) {
            refuse(t, "has the extent " + std::to_string(e));
        }
    }
    const std::int64_t length = t.length < 0 ? needed : t.length;
    if (t.offset > total || length > total - t.offset) {
        refuse(t, "ends at byte " + std::to_string(t.offset) + " + " + std::to_string(length) + " of '" + t.location +
                      "', which has " + std::to_string(total));
    }
    t.raw = std::string_view(bytes).substr(to_size(t.offset), to_size(length));
    t.has_raw = true;
}

TESSERA_INLINE void external_data::refuse(const onnx::tensor& t, const std::string& what) const {
    throw error("tessera: '" + called_ + "': the tensor '" + t.name + "' " + what +
                "; put the model's external data beside it as they were written");
}

TESSERA_INLINE const std::string& external_data::file_at(const onnx::tensor& t) {
    const auto found = file_.external->find(t.location);
    if (found != file_.external->end()) {
        return found->second;
    }
    if (folder_.empty()) {
        refuse(t, "lies in another file, '" + t.location + "', and the model in none");
    }
    bool inside = !t.location.empty() && t.location[0] != '/' && t.location.find('\0') == std::string::npos;
    for (std::size_t at = 0; at < t.location.size();) {
        const std::size_t end = std::min(t.location.find('/', at), t.location.size());
        inside = inside && t.location.compare(at, end - at, "..") != 0;
        at = end + 1;
    }
    const std::string path = folder_ + "/" + t.location;
    // Links may lead out of the folder as well.
    const std::string folder = files::detail::target_of(folder_) + "/";
    inside = inside && (files::detail::target_of(path).starts_with(folder) || files::detail::target_of(path) == path);
    if (!inside) {
        refuse(t, "lies in '" + t.location + "', which is outside of the model's folder");
    }
    return file_.external->emplace(t.location, whole_file(path, INT64_MAX)).first->second;
}

TESSERA_INLINE onnx_file onnx_of(std::string bytes, const std::string& folder, const std::string& called) {
    onnx_file file;
    file.external = std::make_shared<std::map<std::string, std::string>>();
    file.bytes = std::make_shared<const std::string>(std::move(bytes));
    const std::string& all = *file.bytes;
    file.model = read_onnx_model(wire_reader(all, called, all.data()));
    if (!file.model.has_graph) {
        throw error("tessera: '" + called + "' has no graph, and so is no ONNX model; export it again");
    }
    external_data external(file, folder, called);
    for (onnx::tensor& t : file.model.graph.initializers) {
        external.find(t);
    }
    for (onnx::node& n : file.model.graph.nodes) {
        for (onnx::attribute& a : n.attributes) {
            external.find(a.value);
        }
    }
    file.model.bytes = static_cast<std::int64_t>(all.size());
    for (const auto& [location, other] : *file.external) {
        file.model.bytes += static_cast<std::int64_t>(other.size());
    }
    return file;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE onnx_file read_onnx_file(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    return detail::onnx_of(detail::whole_file(path, std::int64_t{1} << 31U), folder, path);
}

TESSERA_INLINE onnx_file onnx_file_from_bytes(std::string bytes, const std::string& called) {
    return detail::onnx_of(std::move(bytes), "", called);
}

TESSERA_INLINE bool is_onnx_file(const std::string& path) {
    if (path.ends_with(".onnx")) {
        return true;
    }
    if (path.ends_with(".json")) {
        return false;
    }
    const files::open_file file(path);
    char first[2] = {};
    file.read(0, first, file.bytes() < 2 ? 0 : 2);
    return first[0] == 8 && first[1] > 0 && first[1] < 32; // field 1, a small number: JSON begins with other bytes
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
