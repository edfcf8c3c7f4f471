// SPDX-License-Identifier: Apache-2.0
// What communicators of make-believe GPUs need between processes: a segment of shared memory, made from the unique
// identifier, through which each pair of ranks has a stream of bytes in each direction. It loses its name when all
// members have come.
#pragma once

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cuda_fake {

/// Bytes from one rank to another, in order.
struct byte_ring {
    static constexpr std::size_t room = std::size_t{1} << 16U;

    alignas(64) std::atomic<std::uint64_t> written{0};
    alignas(64) std::atomic<std::uint64_t> taken{0};
    std::byte bytes[room];

    /// As many of `all` as there is room for, from `done` on; returns where it stands.
    std::size_t write(const std::vector<std::byte>& all, std::size_t done) {
        std::uint64_t at = written.load(std::memory_order_relaxed);
        const std::uint64_t end = taken.load(std::memory_order_acquire) + room;
        for (; done < all.size() && at < end; ++at) {
            bytes[at % room] = all[done++];
        }
        written.store(at, std::memory_order_release);
        return done;
    }
    std::size_t take(std::vector<std::byte>& all, std::size_t done) {
        std::uint64_t at = taken.load(std::memory_order_relaxed);
        const std::uint64_t end = written.load(std::memory_order_acquire);
        for (; done < all.size() && at < end; ++at) {
            all[done++] = bytes[at % room];
        }
        taken.store(at, std::memory_order_release);
        return done;
    }
};

/// The memory that the members of a communicator share.
class segment {
public:
    static constexpr int most_ranks = 16;
    static constexpr int most_splits = 256;

    /// Comes into the segment of a name as one of `ranks`.
    segment(const std::string& name, int ranks) : name_(name), ranks_(ranks) {
        if (ranks > most_ranks) {
            throw tessera::error("a make-believe communicator has at most 16 ranks");
        }
        bytes_ = sizeof(page) + tessera::to_size(ranks * ranks) * sizeof(byte_ring);
        const int fd = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
        void* const memory = fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes_)) == 0
                                 ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                 : MAP_FAILED;
        if (fd >= 0) {
            close(fd);
        }
        if (memory == MAP_FAILED) {
            throw tessera::error("no shared memory for a make-believe communicator");
        }
        page_ = static_cast<page*>(memory); // zeroed, which is how it starts
        int none = 0;
        fits_ = page_->ranks.compare_exchange_strong(none, ranks) || none == ranks;
    }
    segment(const segment&) = delete;
    segment& operator=(const segment&) = delete;
    ~segment() {
        lose_name();
        munmap(page_, bytes_);
    }

    const std::string& name() const { return name_; }
    /// False where the members do not agree on how many they are.
    bool fits() const { return fits_; }
    void arrive() { page_->arrived.fetch_add(1); }
    bool have_all_arrived() {
        const bool all = page_->arrived.load() == ranks_;
        if (all) {
            lose_name();
        }
        return all;
    }
    /// Nothing of it stays when its processes have ended.
    void lose_name() {
        if (!nameless_) {
            shm_unlink(name_.c_str()); // the first of them finds it
            nameless_ = true;
        }
    }
    byte_ring& ring(int from, int to) const {
        return reinterpret_cast<byte_ring*>(page_ + 1)[tessera::to_size(from * ranks_ + to)];
    }

    /// What a rank says of itself in the split number `split`.
    void choose(int split, int rank, int color, int key) {
        page::choice& mine = page_->choices[split % most_splits][rank];
        mine.color.store(color);
        mine.key.store(key);
        mine.made.store(split + 1);
    }
    bool has_chosen(int split, int rank) const { return page_->choices[split % most_splits][rank].made.load() > split; }
    int color(int split, int rank) const { return page_->choices[split % most_splits][rank].color.load(); }
    int key(int split, int rank) const { return page_->choices[split % most_splits][rank].key.load(); }

private:
    struct page {
        struct choice {
            std::atomic<int> made;
            std::atomic<int> color;
            std::atomic<int> key;
        };
        std::atomic<int> ranks;
        std::atomic<int> arrived;
        choice choices[most_splits][most_ranks];
        alignas(64) std::byte end[64];
    };

    std::string name_;
    int ranks_;
    std::size_t bytes_ = 0;
    page* page_ = nullptr;
    bool fits_ = false;
    bool nameless_ = false;
};

/// A message that is on its way, with what tells the receiver whether it is the one that it waits for.
struct letter {
    struct head {
        std::uint64_t kind = 0;
        std::uint64_t bytes = 0;
    };
    byte_ring* ring = nullptr;
    std::vector<std::byte> all; ///< the head and what is said
    std::size_t done = 0;

    letter(byte_ring& r, std::uint64_t kind, std::size_t bytes) : ring(&r), all(sizeof(head) + bytes) {
        const head h{kind, bytes};
        std::memcpy(all.data(), &h, sizeof h);
    }
    std::byte* text() { return all.data() + sizeof(head); }
};

/// All messages of a group of calls on a communicator, of the members in this process. Those of one ring go and come in
/// order.
class mail_of_group {
public:
    letter& send(byte_ring& r, std::uint64_t kind, const void* from, std::size_t bytes) {
        out_.push_back(std::make_unique<letter>(r, kind, bytes));
        std::memcpy(out_.back()->text(), from, bytes);
        return *out_.back();
    }
    letter& receive(byte_ring& r, std::uint64_t kind, std::size_t bytes) {
        in_.push_back(std::make_unique<letter>(r, kind, bytes));
        expected_.push_back({kind, bytes});
        return *in_.back();
    }
    /// Goes on; true when all have gone and come. Throws where something else comes than what is waited for.
    bool is_done() {
        bool done = true;
        for (std::size_t i = 0; i < out_.size(); ++i) {
            letter& l = *out_[i];
            if (!is_behind_another(out_, i)) {
                l.done = l.ring->write(l.all, l.done);
            }
            done = done && l.done == l.all.size();
        }
        for (std::size_t i = 0; i < in_.size(); ++i) {
            letter& l = *in_[i];
            if (!is_behind_another(in_, i)) {
                l.done = l.ring->take(l.all, l.done);
            }
            letter::head h;
            std::memcpy(&h, l.all.data(), sizeof h);
            if (l.done >= sizeof h && (h.kind != expected_[i].kind || h.bytes != expected_[i].bytes)) {
                throw tessera::error("make-believe NCCL: a rank sends " + std::to_string(h.bytes) + " bytes of kind " +
                                     std::to_string(h.kind) + " where another waits for " +
                                     std::to_string(expected_[i].bytes) + " of kind " +
                                     std::to_string(expected_[i].kind));
            }
            done = done && l.done == l.all.size();
        }
        return done;
    }

private:
    static bool is_behind_another(const std::vector<std::unique_ptr<letter>>& all, std::size_t i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (all[k]->ring == all[i]->ring && all[k]->done < all[k]->all.size()) {
                return true;
            }
        }
        return false;
    }

    std::vector<std::unique_ptr<letter>> out_;
    std::vector<std::unique_ptr<letter>> in_;
    std::vector<letter::head> expected_;
};

} // namespace cuda_fake
