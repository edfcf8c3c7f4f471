// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_files.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_files.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string shown(const std::vector<std::int64_t>& extents) {
    std::string text = "[";
    for (const std::int64_t e : extents) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(e);
    }
    return text + "]";
}

TESSERA_INLINE tensor_files::tensor_files(const std::string& called, const std::vector<std::string>& paths)
    : called_(called) {
    for (const std::string& path : paths) {
        files_.emplace_back(path);
        for (const auto& [name, place] : files_.back().tensors()) {
            tensor& t = tensors_[name];
            t.boxes.push_back({&files_.back(), &place});
            if (place.extents.size() != t.boxes[0].place->extents.size()) {
                refuse(name, "has boxes of different ranks");
            }
            t.extents.resize(place.extents.size(), 0);
            for (std::size_t d = 0; d < t.extents.size(); ++d) {
                t.extents[d] = std::max(t.extents[d], place.offsets[d] + place.extents[d]);
            }
        }
    }
    for (const auto& [name, t] : tensors_) {
        require_cover(name, t);
    }
}

TESSERA_INLINE std::vector<std::string> tensor_files::names() const {
    std::vector<std::string> all;
    for (const auto& [name, t] : tensors_) {
        all.push_back(name);
    }
    return all;
}

TESSERA_INLINE const std::vector<std::int64_t>* tensor_files::extents_of(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.extents;
}

TESSERA_INLINE const std::string* tensor_files::other_type_of(const std::string& name) const {
    for (const stored_box& b : tensors_.at(name).boxes) {
        if (!safetensors_file::is_read(*b.place)) {
            return &b.place->type;
        }
    }
    return nullptr;
}

TESSERA_INLINE void tensor_files::pour(const std::string& name, state_sink& to) const {
    constexpr index_t most = index_t{1} << 17U;
    std::vector<float> part;
    for (const stored_box& b : tensors_.at(name).boxes) {
        box all{static_cast<int>(b.place->extents.size()), {}};
        for (int d = 0; d < all.rank; ++d) {
            const auto k = to_size(d);
            all.dim[d] = {b.place->offsets[k], b.place->offsets[k] + b.place->extents[k]};
        }
        const index_t volume = all.volume();
        const index_t row = all.rank > 0 && volume > 0 ? volume / all.dim[0].size() : 1;
        const index_t step = row < most ? most / row * row : most; // whole rows, where they are short
        for (index_t at = 0; at < volume; at += step) {
            tessera::detail::for_each_box(all, {at, std::min(at + step, volume)}, [&](const box& what, index_t first) {
                if (to.wants(what)) {
                    part.resize(to_size(what.volume()));
                    b.file->read(*b.place, first, part);
                    to.put(what, part.data());
                }
            });
        }
    }
}

TESSERA_INLINE void tensor_files::refuse(const std::string& name, const std::string& what) const {
    std::string text = "tessera: the tensor ";
    text += name + " of '" + called_;
    text += "' " + what;
    throw error(text + "; its files are not of one checkpoint, or some are not there");
}

TESSERA_INLINE void tensor_files::require_cover(const std::string& name, const tensor& t) const {
    std::int64_t missing = 1;
    for (const std::int64_t e : t.extents) {
        if (__builtin_mul_overflow(missing, e, &missing)) {
            refuse(name, "is larger than anything can be");
        }
    }
    for (std::size_t i = 0; i < t.boxes.size(); ++i) {
        missing -= t.boxes[i].place->elements();
        for (std::size_t k = 0; k < i; ++k) {
            if (overlap(*t.boxes[i].place, *t.boxes[k].place)) {
                refuse(name, "has a part twice, in '" + t.boxes[k].file->path() + "' and in '" +
                                 t.boxes[i].file->path() + "'");
            }
        }
    }
    if (missing != 0) {
        refuse(name, "of " + shown(t.extents) + " lacks " + std::to_string(missing) + " numbers");
    }
}

TESSERA_INLINE bool tensor_files::overlap(const safetensors_file::place& a, const safetensors_file::place& b) {
    bool both = true;
    for (std::size_t d = 0; d < a.extents.size(); ++d) {
        both = both && a.offsets[d] < b.offsets[d] + b.extents[d] && b.offsets[d] < a.offsets[d] + a.extents[d];
    }
    return both;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
