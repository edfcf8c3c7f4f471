// SPDX-License-Identifier: Apache-2.0
// Checkpoints whose tensors lie in boxes over several files (io/files/checkpoint_layout.hpp): what a device holds its
// own process writes; any strategy reads it.
#include "tessera/io/files/checkpoint_layout.hpp"

#include "support/kept_training.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/random_strategy.hpp"
#include "support/ranks_as_threads.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/checkpoint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

namespace {

namespace ts = tessera;
namespace fs = std::filesystem;
using namespace test_support;

std::vector<ts::strategy> strategies(int drawn) {
    const ts::graph g = ts::describe<net>(samples);
    std::vector<ts::strategy> all{ts::strategy(g.view())};
    coverage seen;
    for (int seed = 0; seed < drawn; ++seed) {
        all.push_back(random_strategy(g.view(), 4, static_cast<std::uint64_t>(seed), seen));
    }
    for (const auto& [name, sync] : small_policies(g.view(), 4)) {
        all.push_back(data_parallel(g.view(), 4));
        all.back().sync = sync;
    }
    return all;
}

const ts::optimizer moments = ts::adam{.learning_rate = 0.01F};

std::size_t files_in(const std::string& folder) {
    return ts::to_size(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

} // namespace

TEST_CASE("a range of a region's elements is few boxes, in order and without holes") {
    std::mt19937 random(4);
    for (int i = 0; i < 3000; ++i) {
        ts::box region{static_cast<int>(random() % 6), {}};
        for (int d = 0; d < region.rank; ++d) {
            const auto begin = static_cast<ts::index_t>(random() % 5);
            region.dim[d] = {begin, begin + 1 + static_cast<ts::index_t>(random() % 6)};
        }
        const auto volume = static_cast<std::uint64_t>(region.volume());
        auto begin = static_cast<ts::index_t>(random() % (volume + 1));
        auto end = static_cast<ts::index_t>(random() % (volume + 1));
        if (begin > end) {
            std::swap(begin, end);
        }
        ts::index_t at = begin;
        int boxes = 0;
        ts::detail::for_each_box(region, {begin, end}, [&](const ts::box& b, ts::index_t first) {
            CHECK(first == at);
            CHECK(region.contains(b));
            ts::index_t corner = 0; // of the box, counted in the region
            for (int d = 0; d < b.rank; ++d) {
                corner = corner * region.dim[d].size() + b.dim[d].begin - region.dim[d].begin;
            }
            CHECK(corner == first);
            bool is_within = true; // consecutive: whole below the first dimension that is more than one index
            for (int d = 0, seen = 0; d < b.rank; ++d) {
                is_within = is_within && (seen == 0 || b.dim[d] == region.dim[d]);
                seen += b.dim[d].size() > 1 ? 1 : 0;
            }
            CHECK(is_within);
            at += b.volume();
            ++boxes;
        });
        CHECK(at == end);
        CHECK(boxes <= std::max(1, 2 * region.rank - 1));
    }
}

TEST_CASE_TEMPLATE("what one session keeps goes into another of any strategy, part by part", B, ts::reference::backend,
                   ts::host::backend) {
    const std::vector<ts::strategy> all = strategies(6);
    std::mt19937 random(2);
    for (const ts::strategy& s : all) {
        training<B> first(s, moments);
        first.step();
        training<B> second(all[random() % all.size()], moments);
        second.step();
        for (int p = 0; p < first.graph.view().parameter_count; ++p) {
            const ts::box whole = ts::whole(first.graph.view().parameters[p].extents);
            for (int k = -1; k < moments.state_count(); ++k) {
                if (!first.session.keeps(p, k)) {
                    continue;
                }
                // Whole from its pieces, then into the other one in parts that have nothing to do with either strategy.
                std::vector<float> numbers(ts::to_size(whole.volume()));
                for (const ts::state_piece& piece : first.session.state_pieces(p, k)) {
                    first.session.copy_state(p, k, piece, whole, numbers.data());
                }
                CHECK(numbers == first.session.state_of(p, k));
                second.session.load_state(p, k, [&](ts::state_sink& to) {
                    for (ts::index_t at = 0; at < whole.volume(); at += 11) {
                        ts::detail::for_each_box(whole, {at, std::min(at + 11, whole.volume())},
                                                 [&](const ts::box& b, ts::index_t from) {
                                                     CHECK(to.wants(b));
                                                     to.put(b, numbers.data() + from);
                                                 });
                    }
                });
                CHECK(second.session.state_of(p, k) == numbers);
            }
        }
    }
}

TEST_CASE("who holds what: slices of ZeRO lie on one device each, replicas on all, boxes on those of the strategy") {
    const ts::graph g = ts::describe<net>(samples);
    ts::strategy s = data_parallel(g.view(), 4);
    s.sync = small_policy(g.view(), 4, "zero-1").second;
    training<ts::reference::backend> t(s, moments);
    for (const int p : {0, 5}) {
        const ts::box whole = ts::whole(g.parameters[ts::to_size(p)].extents);
        const std::vector<ts::state_piece> copies = t.session.state_pieces(p, -1);
        REQUIRE(copies.size() == 1);
        CHECK(copies[0].region == whole);
        CHECK(copies[0].elements == ts::interval{0, whole.volume()});
        CHECK(copies[0].devices == std::vector<int>{0, 1, 2, 3});
        for (int k = 0; k < 2; ++k) {
            const std::vector<ts::state_piece> slices = t.session.state_pieces(p, k);
            REQUIRE(slices.size() == 4);
            for (int d = 0; d < 4; ++d) {
                const ts::state_piece& x = slices[ts::to_size(d)];
                CHECK(x.devices == std::vector<int>{d});
                CHECK(x.elements == ts::even_part(whole.volume(), 4, d));
            }
        }
    }
    // Of four ranks each writes its device's slice; of two, two devices' slices are one box.
    for (const int ranks : {2, 4}) {
        const test_folder here;
        REQUIRE(save_as_ranks(t.session, ranks, 4 / ranks, here / "saved") ==
                std::vector<std::string>(ts::to_size(ranks)));
        CHECK(files_in(here / "saved") == ts::to_size(ranks) + 2);
        char name[64];
        for (int r = 0; r < ranks; ++r) {
            std::snprintf(name, sizeof name, "saved/model-%05d-of-%05d.safetensors", r + 1, ranks);
            const ts::io::safetensors_file file(here / name);
            const auto& box = file.tensors().at("optimizer/first_moment/fc1/weight"); // [24, 720]
            CHECK(box.extents == std::vector<std::int64_t>{24 / ranks, 720});
            CHECK(box.offsets == std::vector<std::int64_t>{24 / ranks * r, 0});
        }
    }
}

TEST_CASE_TEMPLATE("ranks write what they hold, and any strategy reads it bit for bit", B, ts::reference::backend,
                   ts::host::backend) {
    const std::vector<ts::strategy> all = strategies(12);
    std::mt19937 random(3);
    int in_boxes = 0;
    int whole = 0;
    std::size_t most_files = 0;
    for (const ts::strategy& s : all) {
        const test_folder here;
        training<B> first(s, moments);
        for (int i = 0; i < 2; ++i) {
            first.step();
        }
        const int ranks = random() % 2 == 0 ? 2 : 4;
        CHECK(save_as_ranks(first.session, ranks, 4 / ranks, here / "saved") ==
              std::vector<std::string>(ts::to_size(ranks)));
        most_files = std::max(most_files, files_in(here / "saved"));
        // What is in the files: every number once, and in boxes only where no rank has all.
        std::map<std::string, std::vector<const ts::io::safetensors_file::place*>> places;
        std::deque<ts::io::safetensors_file> files;
        for (const auto& e : fs::directory_iterator(here / "saved")) {
            if (e.path().extension() == ".safetensors") {
                files.emplace_back(e.path().string());
                for (const auto& [name, where] : files.back().tensors()) {
                    places[name].push_back(&where);
                }
            }
        }
        for (const auto& [name, boxes] : places) {
            boxes.size() > 1 ? ++in_boxes : ++whole;
        }
        training<B> second(all[random() % all.size()], moments);
        second.step();
        CHECK(ts::io::load_checkpoint(second.session, here / "saved").step == 2);
        CHECK(everything(second.session) == everything(first.session));
        CHECK(ts::io::load_weights(second.session, here / "saved").missing.empty()); // of all files together
    }
    CHECK(in_boxes > 100);
    CHECK(whole > 100);
    CHECK(most_files > 6); // four ranks, some of which hold several boxes of a tensor
}

TEST_CASE("a rank that cannot write its file ends the save in all of them, and the older checkpoint stays") {
    const test_folder here;
    training<ts::reference::backend> t(strategies(3)[2], moments);
    REQUIRE(save_as_ranks(t.session, 4, 1, here / "one") == std::vector<std::string>(4));
    const auto before = fs::last_write_time(here / "one/state.json");
    t.step();
    fs::create_directory(here / "none");
    for (const std::string& said : save_as_ranks(t.session, 4, 1, here / "no/such/folder")) {
        CHECK(contains(said, "no/such/folder"));
    }
    CHECK(fs::last_write_time(here / "one/state.json") == before);
    CHECK(ts::io::load_checkpoint(t.session, here / "one").step == 0);
}

TEST_CASE("boxes that are not those of one checkpoint are refused") {
    const test_folder here;
    const auto write = [&](const char* name, std::vector<std::int64_t> extents, std::vector<std::int64_t> offsets) {
        std::vector<float> numbers(24, 1.0F);
        ts::io::named_tensor t{"w", std::move(extents), {}, std::move(offsets)};
        t.numbers = std::span<const float>(numbers).first(ts::to_size(t.elements()));
        ts::io::write_safetensors(here / name, std::span<const ts::io::named_tensor>(&t, 1));
    };
    const auto said = [&] {
        return message_of([&] { ts::io::detail::tensor_files("all", {here / "a", here / "b"}); });
    };
    write("a", {2, 4}, {0, 0});
    write("b", {2, 4}, {2, 0});
    CHECK(said() == "accepted");
    write("b", {2, 4}, {1, 0});
    CHECK(contains(said(), "the tensor w of 'all' has a part twice"));
    write("b", {2, 4}, {3, 0});
    CHECK(contains(said(), "of [5, 4] lacks 4 numbers"));
    write("b", {8}, {2});
    CHECK(contains(said(), "boxes of different ranks"));
    write("b", {2, 3}, {2, 0});
    CHECK(contains(said(), "lacks 2 numbers"));
}
