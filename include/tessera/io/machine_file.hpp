// SPDX-License-Identifier: Apache-2.0
// Machines as JSON, in and out: every number by its name, versioned, and read strictly.
#pragma once

#include "tessera/io/json.hpp"
#include "tessera/machine/device_graph.hpp"

namespace tessera::io {

inline constexpr std::int64_t machine_file_version = 1;

namespace detail {

/// Reads the members of an object by name; every one must be asked for, so that a misspelt one is found.
class members {
public:
    members(const json& of, std::string where) : of_(of), where_(static_cast<std::string&&>(where)) {
        if (of.kind != json::type::object) {
            refuse(std::string("is ") + to_text(of.kind) + ", but must be an object");
        }
    }
    const json& get(const char* name, json::type wanted) {
        seen_.push_back(name);
        const json* found = of_.find(name);
        if (found == nullptr) {
            refuse(std::string("has no \"") + name + "\"");
        }
        if (found->kind != wanted) {
            refuse(std::string("\"") + name + "\" is " + to_text(found->kind) + ", but must be " + to_text(wanted));
        }
        return *found;
    }
    std::int64_t integer(const char* name) { return get(name, json::type::integer).integer; }
    int small(const char* name) {
        const std::int64_t i = integer(name);
        if (i < INT32_MIN || i > INT32_MAX) {
            refuse(std::string("\"") + name + "\" is " + std::to_string(i) + ", which is out of range");
        }
        return static_cast<int>(i);
    }
    const std::string& text(const char* name) { return get(name, json::type::text).text; }
    bool boolean(const char* name) { return get(name, json::type::boolean).boolean; }
    const std::vector<json>& array(const char* name) { return get(name, json::type::array).items; }
    /// To be called last: nothing else may be there.
    void finish() const {
        for (const auto& [name, value] : of_.members) {
            bool known = false;
            for (const char* s : seen_) {
                known = known || name == s;
            }
            if (!known) {
                refuse("has \"" + name + "\", which means nothing here; remove or correct it");
            }
        }
    }
    [[noreturn]] void refuse(const std::string& what) const {
        throw error("tessera: machine file: " + where_ + " " + what);
    }

private:
    const json& of_;
    std::string where_;
    std::vector<const char*> seen_;
};

} // namespace detail

inline json to_json(const device_graph& g) {
    json j = json::object();
    j.set("tessera_machine", machine_file_version);
    j.set("name", g.name);
    json& classes = j.set("classes", json::array());
    for (const device_class& c : g.classes) {
        json& x = classes.push(json::object());
        x.set("name", c.name);
        for (int k = 0; k < work_kinds; ++k) {
            x.set(std::string("gigaflops_") + to_text(static_cast<work_kind>(k)), c.gigaflops[k]);
        }
        x.set("memory_megabytes_per_second", c.memory_megabytes);
        x.set("memory_bytes", c.memory_bytes);
        x.set("launch_nanoseconds", c.launch);
        x.set("copies_in_turn", c.copies_in_turn);
    }
    json& components = j.set("components", json::array());
    for (const component& c : g.components) {
        json& x = components.push(json::object());
        x.set("name", c.name);
        x.set("class", c.device_class);
        x.set("inside", c.inside);
    }
    json& links = j.set("links", json::array());
    for (const link& l : g.links) {
        json& x = links.push(json::object());
        x.set("from", l.from);
        x.set("to", l.to);
        x.set("megabytes_per_second", l.megabytes);
        x.set("latency_nanoseconds", l.latency);
        x.set("cables", l.cables);
        x.set("half_duplex", l.half_duplex);
    }
    return j;
}

/// The machine that a value describes. Throws tessera::error, naming the place, for members that are missing, unknown or of the wrong type, for
/// another version, and for a graph that require() refuses.
inline device_graph machine_from_json(const json& j) {
    detail::members top(j, "the file");
    if (const std::int64_t version = top.integer("tessera_machine"); version != machine_file_version) {
        top.refuse("has version " + std::to_string(version) + ", but this reads version " +
                   std::to_string(machine_file_version));
    }
    device_graph g;
    g.name = top.text("name");
    for (const json& x : top.array("classes")) {
        detail::members m(x, "class " + std::to_string(g.classes.size()));
        device_class c;
        c.name = m.text("name");
        c.gigaflops[0] = m.integer("gigaflops_convolution");
        c.gigaflops[1] = m.integer("gigaflops_matrix_product");
        c.gigaflops[2] = m.integer("gigaflops_elementwise");
        c.memory_megabytes = m.integer("memory_megabytes_per_second");
        c.memory_bytes = m.integer("memory_bytes");
        c.launch = m.integer("launch_nanoseconds");
        c.copies_in_turn = m.boolean("copies_in_turn");
        m.finish();
        g.classes.push_back(c);
    }
    for (const json& x : top.array("components")) {
        detail::members m(x, "component " + std::to_string(g.components.size()));
        g.components.push_back({m.text("name"), m.small("class"), m.small("inside")});
        m.finish();
    }
    for (const json& x : top.array("links")) {
        detail::members m(x, "link " + std::to_string(g.links.size()));
        g.links.push_back({m.small("from"), m.small("to"), m.integer("megabytes_per_second"),
                           m.integer("latency_nanoseconds"), m.small("cables"), m.boolean("half_duplex")});
        m.finish();
    }
    top.finish();
    require(g);
    return g;
}

} // namespace tessera::io
