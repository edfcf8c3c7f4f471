// SPDX-License-Identifier: Apache-2.0
// Lowering of an operator whose keys and values go round a ring of its devices (configuration::ring). Every piece of
// them starts where its own queries are. In each step a device takes the pieces that the device before it has, unless
// none of its queries sees any of one, and computes its queries against them. A piece that nobody behind needs stays.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/placement.hpp"

namespace tessera::lowering {

/// True for an operator whose keys go round.
bool goes_round(const lowering_input& in, int op);

/// The shards that share keys, in the order of their positions.
struct key_ring {
    std::vector<int> shards;     ///< numbers
    std::vector<int> at;         ///< the device of each
    std::vector<int> devices;    ///< round the ring
    std::vector<interval> keys;  ///< of every shard's piece
    std::vector<char> meets;     ///< of shard * shards + piece: it has a turn
    std::vector<int> turns_left; ///< of every shard
    std::vector<int> stops_left; ///< of every piece: devices that it has still to come to

    int count() const { return static_cast<int>(shards.size()); }
    bool has_turn(int s, int piece) const { return meets[to_size(s * count() + piece)] != 0; }
};

/// The rings of a micro-batch: one for each part of everything but positions.
std::vector<key_ring> rings_of(const lowering_input& in, const micro_batch_places& m, int op);

/// Notes which shards of a ring see which pieces.
void note_turns(const lowering_input& in, const micro_batch_places& m, int op, key_ring& r);

/// A shard of a ring, confined to the keys of a piece.
shard of_piece(const lowering_input& in, const micro_batch_places& m, int op, const key_ring& r, int s, int piece);

/// The inputs that go round, as a bit mask.
std::uint32_t keys_and_values(const description& d);

/// Where a piece of keys and values is by now.
struct travelling_piece {
    operand_tiles tile;
    int device = -1; ///< it has not begun
};

/// Brings a piece to the device of a shard, from where it is.
void take_piece(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op, travelling_piece& x,
                const shard& s, pass what);

/// Goes through all turns of a ring: arrive(piece, the shard with the first turn), turn(shard, piece), leave(piece, the
/// shard with the last turn, whether at home), the latter two on one device.
template <class Arrive, class Turn, class Leave>
void go_round(const key_ring& r, Arrive&& arrive, Turn&& turn, Leave&& leave) {
    const int n = static_cast<int>(r.devices.size());
    for (int step = 0; step < n; ++step) {
        for (int place = 0; place < n; ++place) {
            const int here = r.devices[to_size(place)];
            const int home = r.devices[to_size((place - step + n) % n)];
            for (int piece = 0; piece < r.count(); ++piece) {
                int last = -1;
                for (int s = 0; s < r.count() && r.at[to_size(piece)] == home; ++s) {
                    if (r.at[to_size(s)] == here && r.has_turn(s, piece)) {
                        if (last < 0) {
                            arrive(piece, s);
                        }
                        last = s;
                        turn(s, piece);
                    }
                }
                if (last >= 0) {
                    leave(piece, last, step == 0);
                }
            }
        }
    }
}

/// Forward of all shards, piece by piece: each continues what it has made of the pieces before.
void forward_round(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                   pass what);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/ring.inl"
#endif

#include "tessera/base/end_header.inl"
