// SPDX-License-Identifier: Apache-2.0
// Bodies of safetensors.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/files/safetensors.hpp"

namespace tessera::io {

TESSERA_INLINE std::int64_t named_tensor::elements() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) {
        n *= e;
    }
    return n;
}

} // namespace tessera::io

namespace tessera::io::detail {

TESSERA_INLINE std::string_view bytes_of_numbers(std::span<const float> x) {
    return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)};
}

TESSERA_INLINE std::string safetensors_header(std::span<const named_tensor> tensors) {
    std::deque<std::string> names{"__metadata__"};
    std::deque<std::string> sharded;
    std::vector<json> places(1);
    std::vector<json> offsets;
    std::int64_t at = 0;
    for (const named_tensor& t : tensors) {
        const auto end = at + t.elements() * static_cast<std::int64_t>(sizeof(float));
        names.push_back(t.name);
        places.push_back({{"dtype", "F32"}, {"shape", t.extents}, {"data_offsets", {at, end}}});
        sharded.push_back(t.name);
        offsets.push_back(
            {{"saved_offsets", t.offsets.empty() ? std::vector<std::int64_t>(t.extents.size(), 0) : t.offsets}});
        at = end;
    }
    places[0] = {{"format", "pt"},
                 {"DCP_VERSION", "1.0"},
                 {sharding_key, text_of_json(object_of(std::move(sharded), std::move(offsets)))}};
    std::string text = text_of_json(object_of(std::move(names), std::move(places)));
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE written_file write_safetensors(const std::string& path, std::span<const named_tensor> tensors,
                                              function_ref<std::span<const float>(std::size_t)> numbers_of) {
    std::map<std::string_view, int> seen;
    std::int64_t bytes = 0;
    for (const named_tensor& t : tensors) {
        if (++seen[t.name] > 1) {
            throw error("tessera: two tensors of '" + path + "' are called " + quoted::shown(t.name) +
                        "; give each a name of its own");
        }
        if (t.name == "__metadata__" || !quoted::is_utf8(t.name)) { // another name would be read back
            throw error(
                "tessera: a tensor of '" + path + "' is called " + quoted::tsv(quoted::shown(t.name)) +
                (t.name == "__metadata__" ? ", which is the name of the header's own member" : ", which is no UTF-8") +
                "; give it another name");
        }
        bytes += t.elements() * static_cast<std::int64_t>(sizeof(float));
    }
    const std::string header = detail::safetensors_header(tensors);
    const std::uint64_t length = header.size();
    files::new_file file(path);
    file.reserve(bytes + static_cast<std::int64_t>(sizeof length + length));
    written_file written;
    const auto put = [&](std::string_view text) {
        constexpr std::size_t most = std::size_t{1}
                                     << 20U; // what has been summed is still in the cache when it is written
        for (std::size_t at = 0; at < text.size(); at += most) {
            const std::string_view part = text.substr(at, most);
            written.crc = detail::crc_of(part, written.crc);
            file.write(part);
        }
        written.bytes += static_cast<std::int64_t>(text.size());
    };
    put({reinterpret_cast<const char*>(&length), sizeof length});
    put(header);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        put(detail::bytes_of_numbers(numbers_of(i)));
    }
    file.commit();
    return written;
}

TESSERA_INLINE written_file write_safetensors(const std::string& path, std::span<const named_tensor> tensors) {
    return write_safetensors(path, tensors, [&](std::size_t i) { return tensors[i].numbers; });
}

TESSERA_INLINE std::int64_t safetensors_file::place::elements() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) {
        n *= e;
    }
    return n;
}

TESSERA_INLINE safetensors_file::safetensors_file(const std::string& path) : path_(path), file_(path) {
    std::uint64_t length = 0;
    if (file_.bytes() < 8) {
        refuse("it has " + std::to_string(file_.bytes()) + " bytes, and the length of the header alone takes 8");
    }
    file_.read(0, &length, sizeof length);
    if (length > static_cast<std::uint64_t>(detail::most_header_bytes) ||
        static_cast<std::int64_t>(length) > file_.bytes() - 8) {
        refuse("its header is to have " + std::to_string(length) + " bytes, the file has " +
               std::to_string(file_.bytes()));
    }
    data_ = 8 + static_cast<std::int64_t>(length);
    std::string header(static_cast<std::size_t>(length), ' ');
    file_.read(8, header.data(), header.size());
    if (header.empty() || header[0] != '{') {
        refuse("its header does not begin with {");
    }
    const json_document document(header, path + ", header");
    for (const auto& [name, value] : document.root().members()) {
        if (name != "__metadata__") {
            add(name, value);
        }
    }
    for (const auto& [name, value] : document.root().members()) {
        if (name == "__metadata__" && value.is_object()) {
            take_offsets(value);
        }
    }
    check_cover();
}

TESSERA_INLINE bool safetensors_file::is_read(const place& p) {
    return p.type == "F32" || p.type == "F64" || p.type == "F16" || p.type == "BF16";
}

TESSERA_INLINE std::vector<float> safetensors_file::numbers(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        refuse("it has no tensor " + name);
    }
    const place& p = found->second;
    std::vector<float> out(to_size(p.elements()));
    read(p, 0, out);
    return out;
}

TESSERA_INLINE void safetensors_file::read(const place& p, std::int64_t first, std::span<float> to) const {
    if (!is_read(p)) {
        throw error("tessera: '" + path_ + "': tensors of " + p.type +
                    " are not read as numbers; F64, F32, F16 and BF16 are");
    }
    const std::int64_t each = size_of(p.type);
    const std::int64_t from = data_ + p.begin + first * each;
    if (p.type == "F32") {
        file_.read(from, to.data(), to.size_bytes());
        return;
    }
    std::string bytes(to.size() * to_size(each), '\0');
    file_.read(from, bytes.data(), bytes.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = number(p.type, bytes.data(), i);
    }
}

TESSERA_INLINE void safetensors_file::refuse(const std::string& what) const {
    throw error("tessera: '" + path_ + "' is no whole safetensors file: " + what);
}

TESSERA_INLINE std::int64_t safetensors_file::size_of(const std::string& type) {
    for (const char* eight : {"F64", "I64", "U64"}) {
        if (type == eight) {
            return 8;
        }
    }
    for (const char* four : {"F32", "I32", "U32"}) {
        if (type == four) {
            return 4;
        }
    }
    for (const char* two : {"F16", "BF16", "I16", "U16"}) {
        if (type == two) {
            return 2;
        }
    }
    for (const char* one : {"I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"}) {
        if (type == one) {
            return 1;
        }
    }
    return 0;
}

TESSERA_INLINE float safetensors_file::number(const std::string& type, const char* bytes, std::size_t i) {
    if (type == "F32") {
        return at<float>(bytes, i);
    }
    if (type == "F64") {
        return static_cast<float>(at<double>(bytes, i));
    }
    const auto half = at<std::uint16_t>(bytes, i);
    return type == "BF16" ? static_cast<float>(bfloat16::of_bits(half)) : float_of_half(half);
}

TESSERA_INLINE void safetensors_file::add(const std::string& name, const json_value& value) {
    json_object o(value);
    place p;
    p.type = o.get("dtype").text();
    const std::int64_t each = size_of(p.type);
    if (each == 0) {
        o.get("dtype").refuse("is " + p.type + ", a type that is not known");
    }
    std::int64_t bytes = each;
    for (const json_value& e : o.get("shape").items()) {
        p.extents.push_back(e.integer(0, std::numeric_limits<std::int64_t>::max()));
        if (__builtin_mul_overflow(bytes, p.extents.back(), &bytes)) {
            e.refuse("makes the tensor larger than anything can be");
        }
    }
    const std::vector<json_value> offsets = o.get("data_offsets").items();
    if (offsets.size() != 2) {
        o.get("data_offsets").refuse("has " + std::to_string(offsets.size()) + " numbers, and needs 2");
    }
    p.begin = offsets[0].integer(0, file_.bytes() - data_);
    p.end = offsets[1].integer(p.begin, file_.bytes() - data_);
    if (p.end - p.begin != bytes) {
        o.get("data_offsets")
            .refuse("are " + std::to_string(p.end - p.begin) + " bytes, and the shape needs " + std::to_string(bytes));
    }
    o.finish();
    p.offsets.assign(p.extents.size(), 0);
    tensors_.emplace(name, std::move(p));
}

TESSERA_INLINE void safetensors_file::take_offsets(const json_value& metadata) {
    for (const auto& [key, value] : metadata.members()) {
        if (key != detail::sharding_key) {
            continue;
        }
        const json_document document(value.text(), path_ + ", " + key);
        for (const auto& [name, what] : document.root().members()) {
            const auto found = tensors_.find(name);
            if (found == tensors_.end()) {
                what.refuse("is said of a tensor that the file does not have");
            }
            json_object o(what);
            const std::vector<json_value> offsets = o.get("saved_offsets").items();
            if (offsets.size() != found->second.extents.size()) {
                o.get("saved_offsets")
                    .refuse("has " + std::to_string(offsets.size()) + " numbers, and the tensor has " +
                            std::to_string(found->second.extents.size()) + " dimensions");
            }
            for (std::size_t d = 0; d < offsets.size(); ++d) {
                found->second.offsets[d] =
                    offsets[d].integer(0, std::numeric_limits<std::int64_t>::max() - found->second.extents[d]);
            }
        }
    }
}

TESSERA_INLINE void safetensors_file::check_cover() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const auto& [name, p] : tensors_) {
        all.emplace_back(p.begin, p.end);
    }
    std::sort(all.begin(), all.end());
    std::int64_t at = 0;
    for (const auto& [begin, end] : all) {
        if (begin != at) {
            refuse("its tensors " + std::string(begin < at ? "overlap" : "leave a hole") + " at byte " +
                   std::to_string(begin));
        }
        at = end;
    }
    if (at != file_.bytes() - data_) {
        refuse("its tensors end at byte " + std::to_string(at) + " of " + std::to_string(file_.bytes() - data_));
    }
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
