// SPDX-License-Identifier: Apache-2.0
// No plan of the zoo's Transformers holds a number for each pair of positions: attention keeps two for each row.
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;

/// Extents of sequences in a network: those of its tokens and embeddings.
std::vector<ts::index_t> lengths_in(const ts::graph_view& g) {
    std::vector<ts::index_t> all;
    for (int op = 0; op < g.op_count; ++op) {
        const ts::op_kind kind = g.ops[op].attributes.kind;
        if (kind == ts::op_kind::attention || kind == ts::op_kind::padded_attention) {
            for (int slot = 0; slot < 2; ++slot) {
                all.push_back(g.tensors[g.ops[op].inputs[slot]].extents[1]);
            }
        }
    }
    return all;
}

/// Tiles of rank 4 with a length in each of their last two dimensions.
int tiles_of_pairs(const ts::plan& p, const std::vector<ts::index_t>& lengths) {
    const auto is_length = [&](ts::index_t extent) {
        return std::find(lengths.begin(), lengths.end(), extent) != lengths.end();
    };
    int found = 0;
    for (const ts::tile& t : p.tiles) {
        found += t.region.rank == 4 && is_length(t.region.dim[2].size()) && is_length(t.region.dim[3].size()) ? 1 : 0;
    }
    return found;
}

struct words : ts::embedding<50, 8> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<50> {};
struct weights : ts::softmax<ts::causal> {};
using network =
    ts::sequential<ts::tokens<16>, words, ts::self_attention<2, query, key, value, merge, weights>, ts::cross_entropy>;

} // namespace

TEST_CASE("no tile of a Transformer's plan has a number for each pair of positions") {
    int transformers = 0;
    for (const networks::zoo_entry& entry : networks::zoo()) {
        const ts::graph g = entry.describe(2);
        const std::vector<ts::index_t> lengths = lengths_in(g.view());
        if (lengths.empty()) {
            continue;
        }
        CAPTURE(std::string(entry.name));
        const ts::plan p = ts::lower(g.view(), ts::search::data_parallel(g.view(), 2).view(), 2);
        CHECK(tiles_of_pairs(p, lengths) == 0);
        ++transformers;
    }
    CHECK(transformers >= 29);
}

TEST_CASE("with a softmax of one's own there are such tiles") {
    const ts::graph g = ts::describe<network>(2);
    const ts::plan p = ts::lower(g.view(), ts::search::data_parallel(g.view(), 2).view(), 2);
    CHECK(tiles_of_pairs(p, {16}) > 0);
}
