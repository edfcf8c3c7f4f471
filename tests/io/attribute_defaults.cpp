// SPDX-License-Identifier: Apache-2.0
// What a network file does not say of an operator is what the operator's header says: its layer without options.
#include "tessera/io/exchange/network_file.hpp"

#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace {

using test_support::contains;
using test_support::message_of;
namespace ts = tessera;
namespace io = tessera::io;

/// What a file of a version makes of an operator with these attributes ("" for none at all).
ts::op_attributes read(const ts::op_record& r, const std::string& attributes, int version) {
    const io::json_document document(attributes.empty() ? "{}" : attributes, "file");
    ts::op_attributes a{.kind = {&r}};
    const io::json_value root = document.root();
    io::detail::read_attributes(attributes.empty() ? nullptr : &root, root, "x", version, a);
    return a;
}

/// A layer, with the least that a file must say of it; and what it says when one of these is left out.
struct layer_case {
    ts::op_attributes layer;
    std::string said;
    std::string lacks;
};

template <class L>
layer_case of(const char* said = "", const char* lacks = "") {
    return {L::attributes, said, lacks};
}

const std::vector<layer_case>& cases() {
    static const std::vector<layer_case> all{
        of<ts::conv2d<8>>(R"({"out": 8})", "out"),
        of<ts::conv3d<8>>(R"({"out": 8})", "out"),
        of<ts::transposed_conv2d<8>>(R"({"out": 8})", "out"),
        of<ts::linear<8>>(R"({"out": 8})", "out"),
        of<ts::bilinear<8>>(R"({"out": 8})", "out"),
        of<ts::max_pool<3>>(R"({"window": [3, 3]})", "window"),
        of<ts::average_pool<3>>(R"({"window": [3, 3]})", "window"),
        of<ts::max_pool3d<2>>(R"({"window": [2, 2, 2]})", "window"),
        of<ts::average_pool3d<2>>(R"({"window": [2, 2, 2]})", "window"),
        of<ts::leaky_relu<>>(),
        of<ts::elu<>>(),
        of<ts::scale<3>>(R"({"number": [3, 0]})", "number"),
        of<ts::add_constant<3>>(R"({"number": [3, 0]})", "number"),
        of<ts::power<3>>(R"({"number": [3, 0]})", "number"),
        of<ts::clamp<-1, 3>>(R"({"number": [-1, 3]})", "number"),
        of<ts::dropout<30>>(R"({"percent": 30})", "percent"),
        of<ts::channel_dropout<30>>(R"({"percent": 30})", "percent"),
        of<ts::stochastic_depth<30>>(R"({"percent": 30})", "percent"),
        of<ts::batch_norm<>>(),
        of<ts::fixed_batch_norm<>>(),
        of<ts::layer_norm<>>(),
        of<ts::group_norm<4>>(R"({"groups": 4})", "groups"),
        of<ts::rms_norm<>>(),
        of<ts::head_rms_norm<>>(),
        of<ts::instance_norm<>>(),
        of<ts::image_layer_norm<>>(),
        of<ts::pixel_norm<>>(),
        of<ts::softmax<>>(),
        of<ts::padded_softmax<>>(),
        of<ts::attention<>>(),
        of<ts::padded_attention<>>(),
        of<ts::matmul<>>(),
        of<ts::rotary<>>(),
        of<ts::concat>(),
        of<ts::embedding<9, 4>>(R"({"vocabulary": 9, "out": 4})", "vocabulary"),
        of<ts::position_embedding<>>(),
        of<ts::slice<1, 2>>(R"({"begin": 1, "out": 2})", "begin"),
        of<ts::dispatch_mask<5>>(R"({"slots": 5})", "slots"),
        of<ts::expert_linear<3, 7>>(R"({"groups": 3, "out": 7})", "out"),
        of<ts::token_slots<>>(),
        of<ts::keep_top<>>(),
        of<ts::routed_linear<7>>(R"({"out": 7})", "out"),
        of<ts::permute<0, 2, 1>>(R"({"order": [0, 2, 1, 0, 0], "rank": 3})", "order"),
        of<ts::reshape<4, 6>>(R"({"extent": [4, 6, 0, 0], "rank": 2})", "extent"),
        of<ts::broadcast_to<4, 6>>(R"({"extent": [4, 6, 0, 0], "rank": 2})", "extent"),
        of<ts::pad<>>(),
        of<ts::crop<>>(),
        of<ts::roll<ts::shift<2, 3>>>(R"({"shift": [0, 0, 3, 0, 0]})", "shift"),
        of<ts::flip<3>>(R"({"turned": [0, 0, 0, 1, 0]})", "turned"),
        of<ts::upsample_nearest<2>>(R"({"factor": [2, 2]})", "factor"),
        of<ts::upsample_bilinear<2>>(R"({"factor": [2, 2]})", "factor"),
        of<ts::scatter_sum<6>>(R"({"out": 6})", "out"),
        of<ts::length_mask<6>>(R"({"positions": 6})", "positions"),
        of<ts::smooth_cross_entropy<>>(),
        of<ts::soft_cross_entropy<>>(),
        of<ts::masked_cross_entropy<>>(),
        of<ts::class_weighted_cross_entropy<>>(),
        of<ts::row_weighted_cross_entropy<>>(),
        of<ts::vocabulary_loss<3>>(R"({"out": 3})", "out"),
        of<ts::masked_vocabulary_loss<3>>(R"({"out": 3})", "out"),
        of<ts::info_nce_loss<>>(),
        of<ts::contrastive_loss<>>(),
        of<ts::clip_loss<>>(),
        of<ts::load_balance_loss<>>(),
        of<ts::choice_bias_loss<>>(),
    };
    return all;
}

} // namespace

TEST_CASE("attributes: what a file leaves out is what the layer has by itself, of every operator") {
    std::map<const ts::op_record*, int> seen;
    for (const layer_case& c : cases()) {
        const ts::op_record& r = *c.layer.kind.record;
        CAPTURE(std::string(r.name));
        ++seen[&r];
        CHECK(read(r, c.said, 2) == c.layer);
        if (c.lacks.empty()) {
            CHECK(read(r, "{}", 2) == c.layer);
            CHECK(read(r, "", 1) == c.layer);
            continue;
        }
        const std::string words =
            "(" + std::string(r.name) + " 'x') lacks the attribute '" + c.lacks + "', which has no default; say it";
        for (const char* nothing : {"", "{}"}) {
            const std::string message = message_of([&] { read(r, nothing, 2); });
            CHECK_MESSAGE(contains(message, words), message);
        }
    }
    for (const ts::known_operator& k : ts::known_operators()) { // none is forgotten
        CAPTURE(std::string(k.record->name));
        if (k.record->own != nullptr && k.record->formula == nullptr && k.record != &ts::op::opaque_record) {
            CHECK(seen[k.record] == 1);
        }
        if (k.record->formula != nullptr && ts::defaults_of(*k.record) == nullptr) { // those take no number
            CHECK(k.record->formula->attributes == 0);
        }
    }
}

TEST_CASE("attributes: every record is in the table of defaults once") {
    std::map<const ts::op_record*, int> rows;
    for (const ts::attribute_defaults& d : ts::library_attribute_defaults) {
        CAPTURE(std::string(d.usual.kind.record->name));
        CHECK(++rows[d.usual.kind.record] == 1);
        for (const char* name : {d.must_say[0], d.must_say[1], d.follows, d.followed}) {
            bool known = name == nullptr;
            const ts::attribute_list& list = *d.usual.kind.record->own;
            for (int f = 0; f < list.count; ++f) {
                known = known || std::string(list.fields[f].name) == name;
            }
            CHECK(known);
        }
    }
}

TEST_CASE("attributes: a file of version 1 has no bias and a stride of 1 where it does not say them") {
    CHECK(read(*ts::linear<8>::attributes.kind.record, R"({"out": 8})", 1) == ts::linear<8, ts::no_bias>::attributes);
    CHECK(read(*ts::max_pool<3>::attributes.kind.record, R"({"window": [3, 3]})", 1) ==
          ts::max_pool<3, ts::stride<1>>::attributes);
    CHECK(read(ts::op::slice_record, R"({"out": 2})", 1) == ts::slice<0, 2>::attributes);
    for (const ts::op_record* r : {&ts::op::scale_record, &ts::op::clamp_record, &ts::op::power_record}) {
        CHECK(contains(message_of([&] { read(*r, "", 1); }), "lacks the attribute 'number'")); // 0 in silence, once
    }
}

TEST_CASE("attributes: leaky_relu and elu of a file without attributes are those of the header, scale and the like are "
          "refused") {
    const auto text = [](const std::string& kind, const std::string& version) {
        return R"({"tessera_network": )" + version + R"(, "name": "n", "batch": 2, "nodes": [
            {"input": "x", "sample": [4], "type": "f32"}, {"name": "op", "kind": ")" +
               kind + R"(", "reads": ["x"]}, {"input": "labels", "sample": [], "type": "i32"},
            {"name": "loss", "kind": "cross_entropy", "reads": ["op", "labels"]}]})";
    };
    for (const char* version : {"1", "2"}) {
        CHECK(io::network_from_text(text("leaky_relu", version)).network.ops[0].attributes ==
              ts::leaky_relu<0.01>::attributes);
        CHECK(io::network_from_text(text("elu", version)).network.ops[0].attributes == ts::elu<1>::attributes);
        for (const char* kind : {"scale", "add_constant", "power", "clamp"}) {
            const std::string said = message_of([&] { io::network_from_text(text(kind, version)); });
            CHECK_MESSAGE(contains(said, "lacks the attribute 'number'"), said);
        }
    }
}
