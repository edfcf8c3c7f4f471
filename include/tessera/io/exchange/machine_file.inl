// SPDX-License-Identifier: Apache-2.0
// Bodies of machine_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/machine_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::string rate_name(int kind, precision math) {
    const std::string name = std::string("gigaflops_") + to_text(static_cast<work_kind>(kind));
    return math == precision::fp32 ? name : name + "_" + to_text(math);
}

TESSERA_INLINE json rates_json(const device_rates& r) {
    json x = json::object();
    device_rates::each_field(
        [&](const char* name, index_t device_rates::*field, const device_rates::field&) { x[name] = r.*field; });
    return x;
}

TESSERA_INLINE device_rates rates_from(const json_value& x) {
    device_rates r;
    json_object m(x);
    device_rates::each_field([&](const char* name, index_t device_rates::*field, const device_rates::field& f) {
        r.*field = m.get(name).integer(f.least, f.most);
    });
    m.finish();
    return r;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE json to_json(const device_graph& g) {
    json classes = json::array();
    for (const device_class& c : g.classes) {
        json x{{"name", c.name}};
        for (int k = 0; k < work_kinds; ++k) {
            x[detail::rate_name(k, precision::fp32)] = c.gigaflops[k];
            if (c.tf32_gigaflops[k] != 0) {
                x[detail::rate_name(k, precision::tf32)] = c.tf32_gigaflops[k];
            }
            if (c.bf16_gigaflops[k] != 0) {
                x[detail::rate_name(k, precision::bf16)] = c.bf16_gigaflops[k];
            }
            if (c.fp16_gigaflops[k] != 0) {
                x[detail::rate_name(k, precision::fp16)] = c.fp16_gigaflops[k];
            }
            if (c.fp8_gigaflops[k] != 0) {
                x[detail::rate_name(k, precision::fp8)] = c.fp8_gigaflops[k];
            }
        }
        x["memory_megabytes_per_second"] = c.memory_megabytes;
        x["memory_bytes"] = c.memory_bytes;
        x["launch_nanoseconds"] = c.launch;
        x["copies_in_turn"] = c.serial_copies;
        if (c.host_megabytes != 0) {
            x["host_megabytes_per_second"] = c.host_megabytes;
        }
        if (c.share_host_link != 1) {
            x["devices_on_a_host_link"] = c.share_host_link;
        }
        if (c.host_update_megabytes != 0) {
            x["host_update_megabytes_per_second"] = c.host_update_megabytes;
        }
        if (c.rates.known()) {
            x["rates"] = detail::rates_json(c.rates);
        }
        classes.push_back(std::move(x));
    }
    json components = json::array();
    for (const component& c : g.components) {
        components.push_back({{"name", c.name}, {"class", c.device_class}, {"inside", c.inside}});
    }
    json links = json::array();
    for (const link& l : g.links) {
        links.push_back({{"from", l.from},
                         {"to", l.to},
                         {"megabytes_per_second", l.megabytes},
                         {"latency_nanoseconds", l.latency},
                         {"cables", l.cables},
                         {"half_duplex", l.half_duplex}});
    }
    return {{"tessera_machine", machine_file_version},
            {"name", g.name},
            {"classes", std::move(classes)},
            {"components", std::move(components)},
            {"links", std::move(links)}};
}

TESSERA_INLINE device_graph machine_from(const json_document& document) {
    json_object top(document.root());
    top.version("tessera_machine", machine_file_version);
    device_graph g;
    g.name = top.get("name").text();
    for (const json_value& x : top.get("classes").items()) {
        json_object m(x);
        device_class c;
        c.name = m.get("name").text();
        for (int k = 0; k < work_kinds; ++k) {
            c.gigaflops[k] = m.get(detail::rate_name(k, precision::fp32)).integer(1, largest_rate);
            if (const json_value* rate = m.find(detail::rate_name(k, precision::tf32))) {
                c.tf32_gigaflops[k] = rate->integer(1, largest_rate);
            }
            if (const json_value* rate = m.find(detail::rate_name(k, precision::bf16))) {
                c.bf16_gigaflops[k] = rate->integer(1, largest_rate);
            }
            if (const json_value* rate = m.find(detail::rate_name(k, precision::fp16))) {
                c.fp16_gigaflops[k] = rate->integer(1, largest_rate);
            }
            if (const json_value* rate = m.find(detail::rate_name(k, precision::fp8))) {
                c.fp8_gigaflops[k] = rate->integer(1, largest_rate);
            }
        }
        c.memory_megabytes = m.get("memory_megabytes_per_second").integer(1, largest_rate);
        c.memory_bytes = m.get("memory_bytes").integer(0, largest_memory);
        c.launch = m.get("launch_nanoseconds").integer(0, largest_latency);
        c.serial_copies = m.get("copies_in_turn").boolean();
        if (const json_value* host = m.find("host_megabytes_per_second")) {
            c.host_megabytes = host->integer(1, largest_rate);
        }
        if (const json_value* share = m.find("devices_on_a_host_link")) {
            c.share_host_link = share->small(1, 1024);
        }
        if (const json_value* host = m.find("host_update_megabytes_per_second")) {
            c.host_update_megabytes = host->integer(1, largest_rate);
        }
        if (const json_value* rates = m.find("rates")) {
            c.rates = detail::rates_from(*rates);
        }
        m.finish();
        g.classes.push_back(c);
    }
    for (const json_value& x : top.get("components").items()) {
        json_object m(x);
        g.components.push_back({m.get("name").text(), m.get("class").small(-1), m.get("inside").small(-1)});
        m.finish();
    }
    if (g.device_count() > most_machine_devices) {
        top.get("components")
            .refuse("has " + std::to_string(g.device_count()) + " devices; at most " +
                    std::to_string(most_machine_devices) + " are read");
    }
    for (const json_value& x : top.get("links").items()) {
        json_object m(x);
        g.links.push_back({m.get("from").small(0), m.get("to").small(0),
                           m.get("megabytes_per_second").integer(1, largest_rate),
                           m.get("latency_nanoseconds").integer(0, largest_latency),
                           m.get("cables").small(1, most_cables), m.get("half_duplex").boolean()});
        m.finish();
    }
    top.finish();
    require(g);
    return g;
}

TESSERA_INLINE device_graph machine_from_text(std::string_view text, const std::string& called) {
    return machine_from(json_document(text, called));
}

TESSERA_INLINE void write_machine(const std::string& path, const device_graph& g) {
    write_file_atomically(path, to_text(to_json(g)));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
