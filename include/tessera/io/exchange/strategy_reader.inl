// SPDX-License-Identifier: Apache-2.0
// Bodies of strategy_reader.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/strategy_reader.hpp"

namespace tessera::io::detail {

TESSERA_INLINE strategy_file strategy_reader::read(const json_document& document) {
    json_object top(document.root());
    top.version("tessera_strategy", strategy_file_version);
    strategy_file file;
    file.devices = top.get("devices").small(1, most);
    strategy& s = file.value = strategy(g_);
    read_fields(top, s);
    if (const json_value* schedule = top.find("schedule")) {
        s.schedule = read_schedule(*schedule, s.micro_batches);
    }
    if (const json_value* sync = top.find("synchronization")) {
        s.sync = synchronization_reader(g_).read(*sync);
    }
    read_layers(top, s);
    top.finish();
    if (const problem p = check_strategy(g_, s.view(), file.devices)) {
        const std::string words = to_text(p, p.op >= 0 ? path_of(g_, p.op) : std::string());
        const auto& layers = top.get("layers").items();
        const bool has_line = p.op >= 0 && to_size(p.op) < layers.size();
        (has_line ? layers[to_size(p.op)] : document.root()).refuse("cannot be: " + words);
    }
    return file;
}

TESSERA_INLINE pipeline_schedule strategy_reader::read_schedule(const json_value& v, int micro_batches) {
    json_object o(v);
    pipeline_schedule s;
    read_fields(o, s);
    s.micro_batches = micro_batches;
    index_t actions = 0;
    for (const json_value& worker : o.get("workers").items()) {
        s.workers.push_back(read_actions(worker));
        actions += static_cast<index_t>(s.workers.back().size());
    }
    const auto marks = [&](const char* name, std::vector<char>& out) {
        if (const json_value* list = o.find(name)) {
            out.assign(to_size(micro_batches), 0);
            for (const json_value& m : list->items()) {
                out[to_size(m.small(0, micro_batches - 1))] = 1;
            }
        }
    };
    marks("mirrored", s.mirrored);
    marks("keeps", s.keeps);
    o.finish();
    if (actions < 2 * index_t{s.stages} * micro_batches) {
        v.refuse("has " + std::to_string(actions) +
                 " actions; every stage takes every micro-batch forward and backward");
    }
    try { // each action is there, once, on one worker; what the stages wait for depends on the network
        schedule::timetable_of(s, {schedule::action_times{}}, std::vector<std::vector<int>>(to_size(s.stages)));
    } catch (const error& e) {
        v.refuse(std::string("does not hold together: ") + e.what());
    }
    return s;
}

TESSERA_INLINE std::vector<action> strategy_reader::read_actions(const json_value& v) {
    std::vector<action> list;
    const std::string& text = v.text();
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        action x;
        const std::size_t letter = action_letters.find(*at);
        const auto stage = std::from_chars(at + 1, end, x.stage);
        bool good = letter != std::string_view::npos && stage.ec == std::errc() && stage.ptr != end &&
                    *stage.ptr == '.' && x.stage >= 0;
        const auto micro_batch = good ? std::from_chars(stage.ptr + 1, end, x.micro_batch) : stage;
        good = good && micro_batch.ec == std::errc() && x.micro_batch >= 0 &&
               (micro_batch.ptr == end || (*micro_batch.ptr == ' ' && micro_batch.ptr + 1 != end));
        if (!good) {
            v.refuse("has the action \"" + std::string(at, std::find(at, end, ' ')) +
                     "\", but actions are a letter of F, R, B, I, W, the stage, a point and the micro-batch: F0.3");
        }
        x.what = static_cast<action_kind>(letter);
        list.push_back(x);
        at = micro_batch.ptr == end ? end : micro_batch.ptr + 1;
    }
    return list;
}

TESSERA_INLINE void strategy_reader::read_layers(json_object& top, strategy& s) {
    const std::vector<json_value> layers = top.get("layers").items();
    for (std::size_t i = 0; i < layers.size(); ++i) {
        json_object o(layers[i]);
        const json_value& name = o.get("layer");
        if (i >= names_.size() || name.text() != names_[i]) {
            name.refuse("is '" + name.text() + "', but " +
                        (i < names_.size() ? "layer " + std::to_string(i) + " of this network is '" + names_[i] + "'"
                                           : "this network has only " + std::to_string(names_.size()) + " layers") +
                        "; the strategy is for another network, or older than these names");
        }
        read_layer(o, layers[i], s, static_cast<int>(i));
        o.finish();
    }
    if (layers.size() < names_.size()) {
        top.get("layers").refuse("have no layer '" + names_[layers.size()] +
                                 "', which this network has; the strategy is for another network");
    }
}

TESSERA_INLINE void strategy_reader::read_layer(json_object& o, const json_value& at, strategy& s, int op) {
    const char* kind = to_text(g_.ops[op].attributes.kind);
    if (const json_value& found = o.get("kind"); found.text() != kind) {
        found.refuse("is '" + found.text() + "', but the layer '" + names_[to_size(op)] + "' of this network is a " +
                     kind + "; the strategy is for another network");
    }
    configuration& c = s.ops[to_size(op)];
    if (const json_value* splits = o.find("splits")) {
        for (const auto& [name, split] : splits->members()) {
            read_split(split, name, s, op);
        }
    }
    read_fields(o, c);
    const json_value* list = o.find("devices");
    if (list == nullptr) {
        (void)o.get("start"); // whoever leaves out where shards run has forgotten it
        (void)o.get("stride");
        return;
    }
    for (const char* other : {"start", "stride"}) {
        if (const json_value* v = o.find(other)) {
            v->refuse("is said beside a list of devices, which says where shards run; leave one of the two out");
        }
    }
    std::vector<int> devices;
    for (const json_value& d : list->items()) {
        devices.push_back(d.small(0, most));
    }
    if (static_cast<index_t>(devices.size()) != tessera::detail::count_shards(c)) {
        at.refuse("lists " + std::to_string(devices.size()) + " devices for the layer '" + names_[to_size(op)] +
                  "', which has " + std::to_string(tessera::detail::count_shards(c)) + " shards");
    }
    s.place(op, devices);
}

TESSERA_INLINE void strategy_reader::read_split(const json_value& v, const std::string& name, strategy& s, int op) {
    const description d = g_.describe(op);
    for (int l = 0; l < d.loops.size(); ++l) {
        if (name != to_text(d.loops[l].name)) {
            continue;
        }
        if (!v.is_object()) {
            s.ops[to_size(op)].degree[l] = v.small(1, most);
            return;
        }
        json_object o(v);
        std::vector<index_t> at;
        for (const json_value& x : o.get("cuts").items()) {
            at.push_back(x.integer(1, INT64_MAX));
        }
        o.finish();
        s.cut(op, l, at);
        return;
    }
    v.refuse("splits the layer '" + names_[to_size(op)] + "' along a dimension that it does not have");
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
