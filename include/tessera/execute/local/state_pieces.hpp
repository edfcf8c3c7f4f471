// SPDX-License-Identifier: Apache-2.0
// What a store keeps between steps, piece by piece as devices hold it: for files that no process has to hold whole
// (io/files/checkpoint.hpp).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/function_ref.hpp"
#include "tessera/execute/backend.hpp"
#include "tessera/execute/local/stored_values.hpp"
#include "tessera/execute/local/streamed_copy.hpp"

#include <utility>

namespace tessera {

/// Elements of a parameter, or of a number that the optimizer keeps for each of its elements, that lie together on
/// devices.
struct state_piece {
    box region;               ///< of the parameter
    interval elements;        ///< of the region's, in row-major order: all of them, or a slice
    std::vector<int> devices; ///< that hold them
    int number = 0;           ///< of the region, as the store counts them
    bool gathered =
        false; ///< a format in slices: the devices hold some of them, which all processes must bring together
};

/// Takes a parameter, or a number that the optimizer keeps, part by part.
class state_sink {
public:
    /// Whether a device of this process keeps any of these elements.
    virtual bool wants(const box& what) const = 0;
    /// Sets them, row-major; those that no device of this process keeps are left out.
    virtual void put(const box& what, const float* numbers) = 0;

protected:
    state_sink() = default;
    ~state_sink() = default;
};

/// Hands a sink all elements.
using state_source = function_ref<void(state_sink&)>;

namespace detail {

/// Calls body(box, first) for the boxes of which these elements of a region, counted row-major, consist: at most 2*rank
/// - 1, the elements of each consecutive from `first` on.
template <class Body>
void for_each_box(const box& region, interval elements, Body&& body, int d = 0, index_t before = 0) {
    if (elements.empty()) {
        return;
    }
    const index_t all = region.volume(); // it has one index in all dimensions before d
    if (elements.size() == all) {
        body(region, before);
        return;
    }
    const index_t inner = all / region.dim[d].size();
    const auto slab = [&](index_t begin, index_t end) {
        box b = region;
        b.dim[d] = {region.dim[d].begin + begin, region.dim[d].begin + end};
        return b;
    };
    index_t at = elements.begin;
    const auto part_of = [&](index_t end) { // within one index
        const index_t i = at / inner;
        for_each_box(slab(i, i + 1), {at - i * inner, end - i * inner}, body, d + 1, before + i * inner);
        at = end;
    };
    if (at % inner != 0) {
        const index_t next = (at / inner + 1) * inner;
        part_of(next < elements.end ? next : elements.end);
    }
    const index_t full = elements.end / inner;
    if (at / inner < full) {
        body(slab(at / inner, full), before + at / inner * inner);
        at = full * inner;
    }
    if (at < elements.end) {
        part_of(elements.end);
    }
}

/// True where a region's elements lie row-major, so that a slice is a range of them.
inline bool lies_plain(const stored_region& r) { return r.form.format == 0; }

/// All pieces; regions that several operators keep may overlap.
std::vector<state_piece> pieces_of(const parameter_store& store, int parameter, int state);

/// Copies the elements of a piece that lie in the box `to` into `out`, which holds all of that box, row-major: in one
/// pass where they lie plain in memory of the processor. Of copies it takes the one of a device of this process, where
/// there is one.
template <class B>
void copy_piece(B& backend, const parameter_store& store, int parameter, int state, const state_piece& piece,
                const box& to, float* out, const process_group* group) {
    const stored_region r = regions_of(store, parameter, state)[to_size(piece.number)];
    const auto here = [&](std::size_t s) {
        const parameter_store::entry* found = r.slice[s][0];
        for (const parameter_store::entry* e : r.slice[s]) {
            found = group != nullptr && group->owns(e->what.device) ? e : found;
        }
        return found;
    };
    const index_t elements = lies_plain(r) ? r.form.region.volume() : r.elements();
    std::vector<float> raw; // of a format, or from memory of the backend's own
    const auto slice_at = [&](std::size_t s, float* numbers) -> const float* {
        const interval part = even_part(elements, r.slices, static_cast<index_t>(s));
        const parameter_store::entry& e = *here(s);
        const index_t first = state < 0 ? 0 : state * part.size();
        const std::byte* const from = store.address(e) + first * static_cast<index_t>(sizeof(float));
        if (!has_memory<B> && numbers == nullptr) {
            return reinterpret_cast<const float*>(from);
        }
        if (numbers == nullptr) {
            raw.resize(to_size(part.size()));
            numbers = raw.data();
        }
        backend.to_plain(raw_tile(e.what, part.size()), from, numbers);
        return numbers;
    };
    if (lies_plain(r)) {
        for (std::size_t s = 0; s < r.slice.size(); ++s) {
            const interval part = even_part(elements, r.slices, static_cast<index_t>(s));
            if (r.slice[s].empty() || !piece.elements.contains(part) || part.empty()) {
                continue;
            }
            const float* const from = slice_at(s, nullptr);
            for_each_box(r.form.region, part, [&](const box& b, index_t first) {
                const box common = intersect(b, to);
                if (!common.empty()) {
                    const box_copy copy(common, b, to);
                    copy.for_each_row([&](index_t f, index_t t) {
                        copy_streamed(from + (first - part.begin) + f, out + t, to_size(copy.row) * sizeof(float));
                    });
                }
            });
        }
        return;
    }
    std::vector<float> all(to_size(elements), 0.0F);
    for (std::size_t s = 0; s < r.slice.size(); ++s) {
        if (!r.slice[s].empty()) {
            slice_at(s, all.data() + even_part(elements, r.slices, static_cast<index_t>(s)).begin);
        }
    }
    std::vector<float> plain(to_size(r.form.region.volume()));
    backend.to_plain(r.form, reinterpret_cast<const std::byte*>(all.data()), plain.data());
    const box common = intersect(r.form.region, to);
    if (!common.empty()) {
        box_copy(common, r.form.region, to).apply(plain.data(), out, true, reducer::sum);
    }
}

/// Puts numbers where devices of this process keep them, or the node's copy of those of devices on other nodes; those
/// of a format when all have come.
template <class B>
class store_sink final : public state_sink {
public:
    store_sink(B& backend, const parameter_store& store, int parameter, int state, const process_group* group)
        : backend_(backend), store_(store), state_(state) {
        for (stored_region& r : regions_of(store, parameter, state)) {
            const index_t elements = lies_plain(r) ? r.form.region.volume() : r.elements();
            bool any = false;
            for (std::size_t s = 0; s < r.slice.size(); ++s) {
                slice mine{even_part(elements, r.slices, static_cast<index_t>(s)), {}, {}, {}};
                for (const parameter_store::entry* e : r.slice[s]) {
                    if (group == nullptr || group->writes_for(e->what.device)) {
                        mine.entries.push_back(e);
                    }
                }
                if (mine.entries.empty() || mine.elements.empty()) {
                    continue;
                }
                any = true;
                if (lies_plain(r)) {
                    for_each_box(r.form.region, mine.elements, [&](const box& b, index_t first) {
                        mine.boxes.push_back({b, first - mine.elements.begin});
                    });
                    if (has_memory<B>) {
                        mine.numbers.resize(to_size(mine.elements.size()));
                    }
                }
                slices_.push_back(std::move(mine));
                of_.push_back(static_cast<int>(formatted_.size()));
            }
            if (any && !lies_plain(r)) {
                formatted_.push_back({r.form, std::vector<float>(to_size(r.form.region.volume())), r.elements()});
            }
        }
    }

    bool wants(const box& what) const override {
        for (const slice& s : slices_) {
            for (const part& p : s.boxes) {
                if (common_volume(p.where, what) > 0) {
                    return true;
                }
            }
        }
        for (const formatted& f : formatted_) {
            if (common_volume(f.form.region, what) > 0) {
                return true;
            }
        }
        return false;
    }
    void put(const box& what, const float* numbers) override {
        for (slice& s : slices_) {
            for (const part& p : s.boxes) {
                const box common = intersect(p.where, what);
                if (common.empty()) {
                    continue;
                }
                const box_copy copy(common, what, p.where);
                if (has_memory<B>) {
                    copy.apply(numbers, s.numbers.data() + p.first, true, reducer::sum);
                    continue;
                }
                for (const parameter_store::entry* e : s.entries) {
                    copy.apply(numbers, reinterpret_cast<float*>(address(s, *e)) + p.first, true, reducer::sum);
                }
            }
        }
        for (formatted& f : formatted_) {
            const box common = intersect(f.form.region, what);
            if (!common.empty()) {
                box_copy(common, what, f.form.region).apply(numbers, f.plain.data(), true, reducer::sum);
            }
        }
    }
    /// When all have come.
    void finish() {
        std::vector<float> raw;
        for (std::size_t i = 0, made = formatted_.size(); i < slices_.size(); ++i) {
            const slice& s = slices_[i];
            const float* numbers = s.numbers.data();
            if (s.boxes.empty()) {
                const formatted& f = formatted_[to_size(of_[i])];
                if (made != to_size(of_[i])) {
                    made = to_size(of_[i]);
                    raw.assign(to_size(f.elements), 0.0F);
                    backend_.from_plain(f.form, f.plain.data(), reinterpret_cast<std::byte*>(raw.data()));
                }
                numbers = raw.data() + s.elements.begin;
            } else if (!has_memory<B>) {
                continue;
            }
            for (const parameter_store::entry* e : s.entries) {
                backend_.from_plain(raw_tile(e->what, s.elements.size()), numbers, address(s, *e));
            }
        }
    }

private:
    struct part {
        box where;
        index_t first = 0; ///< of the slice's elements
    };
    struct slice {
        interval elements; ///< of the region's
        std::vector<const parameter_store::entry*> entries;
        std::vector<part> boxes;    ///< none: of a format
        std::vector<float> numbers; ///< until they go into memory of the backend's own
    };
    struct formatted {
        tile form;
        std::vector<float> plain;
        index_t elements = 0; ///< with the format's padding
    };

    std::byte* address(const slice& s, const parameter_store::entry& e) const {
        const index_t first = state_ < 0 ? 0 : state_ * s.elements.size();
        return store_.address(e) + first * static_cast<index_t>(sizeof(float));
    }

    B& backend_;
    const parameter_store& store_;
    int state_;
    std::vector<slice> slices_;
    std::vector<int> of_; ///< of each slice that is of a format, which
    std::vector<formatted> formatted_;
};

} // namespace detail

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/state_pieces.inl"
#endif

#include "tessera/base/end_header.inl"
