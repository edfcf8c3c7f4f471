// SPDX-License-Identifier: Apache-2.0
// The laws of layouts and redistributions: as constants for layouts that are types, and element by element for all
// small ones.
#include "tessera/layout/typed_redistribution.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;
using ts::tensor_layout;

// ---- the laws, for the compiler and for the program -----------------------------------------------------------------

/// Every shard's elements together are the tensor's, once for each summand and copy.
constexpr bool has_volume(const tensor_layout& l) {
    index_t sum = 0;
    for (const ts::piece& p : l.pieces()) {
        sum += p.region.volume();
    }
    return sum == l.extents.volume() * l.partial * l.replicate;
}

/// Element number `flat` of a tensor.
constexpr ts::box element(const ts::shape& s, index_t flat) {
    ts::box one{s.rank, {}};
    for (int d = s.rank - 1; d >= 0; --d) {
        one.dim[d] = {flat % s[d], flat % s[d] + 1};
        flat /= s[d];
    }
    return one;
}

/// Every element lies in as many copies of every summand as the layout says.
constexpr bool covers(const tensor_layout& l) {
    const std::vector<ts::piece> pieces = l.pieces();
    for (index_t e = 0; e < l.extents.volume(); ++e) {
        for (int part = 0; part < l.partial; ++part) {
            int copies = 0;
            for (const ts::piece& p : pieces) {
                copies += p.summand == part && p.region.contains(element(l.extents, e)) ? 1 : 0;
            }
            if (copies != l.replicate) {
                return false;
            }
        }
    }
    return true;
}

// ---- as constants ---------------------------------------------------------------------------------------------------

template <int Rows, int Columns, class... Rest>
using split_in = ts::layout<ts::extents<8, 12>, ts::dims<ts::shards<Rows>, ts::shards<Columns>>, Rest...>;
using whole = split_in<1, 1>;
using copies = split_in<1, 1, ts::replicate<4>>;
using summands = split_in<1, 1, ts::replicate<1>, ts::partial<4>>;
using rows = split_in<4, 1>;
using columns = split_in<1, 4>;
using mesh = split_in<2, 2>;
using mesh_rows = split_in<2, 1, ts::replicate<2>>;
using elsewhere = split_in<4, 1, ts::replicate<1>, ts::partial<1>, ts::place<1, 2, 3, 0>>;
using cut = ts::layout<ts::extents<8, 12>, ts::dims<ts::shards_at<1, 3, 4>, ts::shards<1>>>;
using halo = ts::layout<
    ts::extents<8, 12>,
    ts::dims<ts::shards_over<ts::range<0, 3>, ts::range<1, 5>, ts::range<3, 7>, ts::range<5, 8>>, ts::shards<1>>>;
using halo_sums = ts::layout<
    ts::extents<8, 12>,
    ts::dims<ts::sums_over<ts::range<0, 3>, ts::range<1, 5>, ts::range<3, 7>, ts::range<5, 8>>, ts::shards<1>>>;

template <class Layout>
constexpr bool is_lawful = has_volume(Layout::value()) && covers(Layout::value());
static_assert(is_lawful<whole> && is_lawful<copies> && is_lawful<summands> && is_lawful<rows> && is_lawful<columns>);
static_assert(is_lawful<mesh> && is_lawful<mesh_rows> && is_lawful<elsewhere> && is_lawful<cut>);
static_assert(!has_volume(halo::value()) && !covers(halo::value())); // borders are there twice

constexpr index_t tensor = index_t{8} * 12 * 4; // bytes
template <class From, class To>
constexpr bool moves(ts::collective kind, index_t bytes) {
    using r = ts::redistribution<From, To>;
    index_t received = 0;
    index_t sent = 0;
    for (int d = 0; d < 4; ++d) {
        received += r::received(d);
        sent += r::sent(d);
    }
    return r::kind == kind && r::bytes == bytes && received == bytes && sent == bytes;
}
using ts::collective;
static_assert(moves<rows, rows>(collective::none, 0));
static_assert(moves<copies, rows>(collective::none, 0)); // a slice of what is there
static_assert(moves<whole, elsewhere>(collective::scatter, 3 * tensor / 4));
static_assert(moves<whole, copies>(collective::broadcast, 3 * tensor));
static_assert(moves<rows, whole>(collective::gather, 3 * tensor / 4));
static_assert(moves<summands, whole>(collective::reduce, 3 * tensor));
static_assert(moves<rows, copies>(collective::all_gather, 3 * tensor));
static_assert(moves<summands, rows>(collective::reduce_scatter, 3 * tensor));
static_assert(moves<summands, copies>(collective::all_reduce, 4 * 3 * tensor));
static_assert(moves<rows, columns>(collective::all_to_all, 3 * tensor / 4));
static_assert(moves<rows, elsewhere>(collective::send, tensor)); // each to one other
static_assert(moves<rows, halo>(collective::halo_exchange, 6 * 12 * 4));
static_assert(moves<halo_sums, rows>(collective::halo_exchange, 6 * 12 * 4)); // what it is backward
static_assert(moves<mesh, mesh_rows>(collective::all_gather, tensor));        // within each row of the mesh
static_assert(moves<summands, summands>(collective::none, 0));
static_assert(ts::redistribution<rows, columns>::received(2) == 3 * tensor / 16);
static_assert(ts::redistribution<rows, columns>::worst_bytes == 3 * tensor / 16);

// The way back, and two ways as one.
static_assert(
    std::is_same_v<ts::inverse<ts::inverse<ts::redistribution<rows, columns>>>, ts::redistribution<rows, columns>>);
static_assert(ts::inverse<ts::redistribution<rows, columns>>::bytes == ts::redistribution<rows, columns>::bytes);
template <class A, class B, class C>
constexpr bool composes =
    std::is_same_v<ts::composed<ts::redistribution<A, B>, ts::redistribution<B, C>>, ts::redistribution<A, C>>&&
        ts::redistribution<A, C>::bytes <= ts::redistribution<A, B>::bytes + ts::redistribution<B, C>::bytes;
static_assert(composes<rows, columns, mesh> && composes<rows, copies, columns> && composes<cut, mesh, elsewhere>);
static_assert(ts::composed<ts::redistribution<rows, columns>, ts::redistribution<columns, rows>>::kind ==
              collective::none);
// Where summands are added up on the way it is less than at once: why sums go as reduce-scatter and all-gather.
static_assert(ts::redistribution<summands, rows>::bytes + ts::redistribution<rows, copies>::bytes <
              ts::redistribution<summands, copies>::bytes);

// ---- element by element ---------------------------------------------------------------------------------------------

using values = std::vector<std::vector<long>>; ///< of every piece, its elements in order

long value_of(index_t element, int part) { return 1 + element * 7 + part * 1000; }

/// What the pieces of a layout hold of a tensor.
values filled(const tensor_layout& l) {
    values all;
    for (const ts::piece& p : l.pieces()) {
        all.emplace_back();
        for (index_t e = 0; e < l.extents.volume(); ++e) {
            if (p.region.contains(element(l.extents, e))) {
                all.back().push_back(value_of(e, p.summand));
            }
        }
    }
    return all;
}

/// What the pieces of `to` hold after the gathers of a redistribution; `moved` grows by the numbers that crossed.
values redistributed_values(const tensor_layout& from, const tensor_layout& to, const values& before, index_t& moved) {
    const std::vector<ts::piece> sources = from.pieces();
    const std::vector<ts::piece> targets = ts::needed_once(to);
    const ts::redistributed r = ts::redistribute(from, to);
    values after;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        after.emplace_back();
        for (index_t e = 0; e < to.extents.volume(); ++e) {
            const ts::box one = element(to.extents, e);
            if (!targets[i].region.contains(one)) {
                continue;
            }
            long sum = 0;
            for (const ts::segment& s : r.recipes[i].segments) {
                const ts::piece& source = sources[ts::to_size(s.source)];
                if (!s.region.contains(one)) {
                    continue;
                }
                std::size_t at = 0;
                for (index_t k = 0; k < e; ++k) {
                    at += source.region.contains(element(from.extents, k)) ? 1 : 0;
                }
                sum = (s.first ? 0 : sum) + before[ts::to_size(s.source)][at];
                moved += source.device != targets[i].device ? 1 : 0;
            }
            after.back().push_back(sum);
        }
    }
    return after;
}

/// All layouts of a tensor in few even or uneven shards, with copies and summands, on devices in order, in reverse, and
/// two to a device.
std::vector<tensor_layout> all_layouts(const ts::shape& s, int most) {
    std::vector<tensor_layout> all;
    tensor_layout l;
    l.extents = s;
    for (l.shards[0] = 1; l.shards[0] <= s[0] && l.shards[0] <= most; ++l.shards[0]) {
        for (l.shards[1] = 1; l.shards[1] <= s[1] && l.shards[1] <= most; ++l.shards[1]) {
            l.ranges.clear();
            for (int d = 0; d < 2; ++d) {
                for (int i = 0; i < l.shards[d]; ++i) {
                    l.ranges.push_back(ts::even_part(s[d], l.shards[d], i));
                }
            }
            for (l.replicate = 1; l.replicate <= 2; ++l.replicate) {
                for (l.partial = 1; l.partial <= 2; ++l.partial) {
                    for (int order = 0; order < 3; ++order) {
                        l.devices.clear();
                        for (int i = 0; i < l.count(); ++i) {
                            l.devices.push_back(order == 0 ? i : order == 1 ? l.count() - 1 - i : i / 2);
                        }
                        all.push_back(l);
                    }
                }
            }
        }
    }
    return all;
}

bool one_to_a_device(const tensor_layout& l) { return l.count() < 2 || l.devices[0] != l.devices[1]; }

} // namespace

TEST_CASE("volume and cover: all small layouts") {
    int count = 0;
    for (index_t rows = 1; rows <= 4; ++rows) {
        for (index_t columns = 1; columns <= 5; ++columns) {
            for (const tensor_layout& l : all_layouts(ts::make_shape(rows, columns), 4)) {
                CHECK(has_volume(l));
                CHECK(covers(l));
                ++count;
            }
        }
    }
    CHECK(count == 1680);
}

TEST_CASE("a redistribution delivers what was there, and its bytes are the numbers that cross") {
    for (const ts::shape& s : {ts::make_shape(2, 3), ts::make_shape(3, 4)}) {
        const std::vector<tensor_layout> all = all_layouts(s, 3);
        for (const tensor_layout& from : all) {
            const values before = filled(from);
            for (const tensor_layout& to : all) {
                if (to.partial > 1) {
                    continue;
                }
                index_t moved = 0;
                const values after = redistributed_values(from, to, before, moved);
                const std::vector<ts::piece> targets = ts::needed_once(to);
                bool right = after.size() == targets.size();
                for (std::size_t i = 0; right && i < targets.size(); ++i) {
                    std::size_t k = 0;
                    for (index_t e = 0; e < s.volume(); ++e) {
                        if (targets[i].region.contains(element(s, e))) {
                            long sum = 0;
                            for (int part = 0; part < from.partial; ++part) {
                                sum += value_of(e, part);
                            }
                            right = right && after[i][k++] == sum;
                        }
                    }
                }
                const ts::redistributed r = ts::redistribute(from, to);
                right = right && r.bytes == 4 * moved && (r.kind == collective::none) == (moved == 0);
                REQUIRE(right);
            }
        }
    }
}

TEST_CASE("composition and inverse: all triples of small layouts") {
    const ts::shape s = ts::make_shape(2, 3);
    std::vector<tensor_layout> all;
    for (const tensor_layout& l : all_layouts(s, 3)) {
        if (l.partial == 1) {
            all.push_back(l);
        }
    }
    int shorter = 0;
    const auto bytes = [&](const tensor_layout& a, const tensor_layout& b) { return ts::redistribute(a, b).bytes; };
    for (const tensor_layout& a : all) {
        for (const tensor_layout& b : all) {
            if (!one_to_a_device(a) || !one_to_a_device(b)) { // of two shards on a device one may be needed twice
                continue;
            }
            index_t ignored = 0;
            const values there = redistributed_values(a, b, filled(a), ignored);
            REQUIRE(there == filled(b));
            REQUIRE(redistributed_values(b, a, there, ignored) == filled(a)); // and back
            if (a.replicate == 1 && b.replicate == 1) {
                REQUIRE(bytes(a, b) == bytes(b, a));
            }
            for (const tensor_layout& c : all) {
                if (one_to_a_device(c)) {
                    REQUIRE(bytes(a, c) <= bytes(a, b) + bytes(b, c));
                    shorter += bytes(a, c) < bytes(a, b) + bytes(b, c) ? 1 : 0;
                }
            }
        }
    }
    CHECK(shorter > 1000);
}

TEST_CASE("layouts and redistributions as texts, and their names in a compiler's message") {
    const std::string name(ts::full_type_name<cut>());
    CHECK(name.find("extents<8, 12>") != std::string::npos);
    CHECK(name.find("dims<tessera::shards_at<1, 3, 4>, tessera::shards<1>") != std::string::npos);
    CHECK(ts::full_type_name<elsewhere>().find("place<1, 2, 3, 0>") != std::string_view::npos);
    CHECK(rows::text() == "8x12 f32, dimension 0 in 4, on devices 0 1 2 3");
    CHECK(summands::text() == "8x12 f32, 4 summands, on devices 0 1 2 3");
    CHECK(halo::text() == "8x12 f32, dimension 0 in 0:3 1:5 3:7 5:8, on devices 0 1 2 3");
    CHECK(halo_sums::text() == "8x12 f32, dimension 0 in 0:3 1:5 3:7 5:8, overlaps added up, on devices 0 1 2 3");
    CHECK(mesh_rows::text() == "8x12 f32, dimension 0 in 2, 2 copies, on devices 0 1 2 3");
    CHECK(ts::redistribution<rows, rows>::text() == "nothing moves");
    CHECK(ts::redistribution<whole, split_in<1, 1, ts::replicate<1>, ts::partial<1>, ts::from_device<1>>>::text() ==
          "send, 384 bytes: device 0 receives 0 and sends 384, device 1 receives 384 and sends 0");
}
