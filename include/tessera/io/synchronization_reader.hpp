// SPDX-License-Identifier: Apache-2.0
// Reads the synchronization of a strategy file strictly: see strategy_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/described_json.hpp"
#include "tessera/strategy/strategy.hpp"

#include <charconv>

namespace tessera::io::detail {

/// Reads what io::detail::to_json(synchronization) writes.
class synchronization_reader {
public:
    explicit synchronization_reader(const graph_view& g) : g_(g) {}

    synchronization read(const json_value& v) const {
        json_object o(v);
        synchronization s;
        if (const json_value* list = o.find("messages")) {
            for (const json_value& m : list->items()) {
                s.messages.push_back(read_message(m));
            }
        }
        read_fields(o, s);
        o.finish();
        return s;
    }

private:
    message read_message(const json_value& v) const {
        const std::string& text = v.text();
        const char* at = text.data();
        const char* const end = at + text.size();
        message m;
        bool good = read_how(at, end, m);
        while (good && at != end) {
            gradient_slice x;
            good = *at == ' ' && number(++at, end, x.parameter) && x.parameter < g_.parameter_count &&
                   g_.parameters[x.parameter].trained;
            if (good && at != end && *at == ':') {
                good = number(++at, end, x.slice) && at != end && *at == '/' && number(++at, end, x.slices) &&
                       x.slice < x.slices && x.slices > 1;
            }
            m.slices.push_back(x);
        }
        if (!good || m.slices.empty()) {
            v.refuse("is the message \"" + text +
                     "\", but messages are sliced, all_reduce, ring or server@number, then trained parameters by their "
                     "numbers, with a slice where they are cut: server@1 3:0/4 5");
        }
        return m;
    }

    static bool read_how(const char*& at, const char* end, message& m) {
        const char* const word = at;
        while (at != end && *at != ' ' && *at != '@') {
            ++at;
        }
        bool known = false;
        for (int i = 0; i < value_count<exchange>; ++i) {
            const auto e = static_cast<exchange>(i);
            if (std::string_view(word, static_cast<std::size_t>(at - word)) == to_text(e)) {
                m.how = e;
                known = true;
            }
        }
        if (known && at != end && *at == '@') {
            return number(++at, end, m.server) && m.server > 0;
        }
        return known;
    }

    static bool number(const char*& at, const char* end, int& out) {
        const auto found = std::from_chars(at, end, out);
        const bool good = found.ec == std::errc() && out >= 0 && (*at != '0' || found.ptr == at + 1);
        at = found.ptr;
        return good;
    }

    graph_view g_;
};

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
