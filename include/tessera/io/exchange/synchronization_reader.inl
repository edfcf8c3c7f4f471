// SPDX-License-Identifier: Apache-2.0
// Bodies of synchronization_reader.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/synchronization_reader.hpp"

namespace tessera::io::detail {

TESSERA_INLINE synchronization synchronization_reader::read(const json_value& v) const {
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

TESSERA_INLINE message synchronization_reader::read_message(const json_value& v) const {
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

TESSERA_INLINE bool synchronization_reader::read_how(const char*& at, const char* end, message& m) {
    const char* const word = at;
    while (at != end && *at != ' ' && *at != '@') {
        ++at;
    }
    bool known = false;
    for (int i = 0; i < value_count<exchange>; ++i) {
        const auto e = static_cast<exchange>(i);
        if (std::string_view(word, to_size(at - word)) == to_text(e)) {
            m.method = e;
            known = true;
        }
    }
    if (known && at != end && *at == '@') {
        return number(++at, end, m.server) && m.server > 0;
    }
    return known;
}

TESSERA_INLINE bool synchronization_reader::number(const char*& at, const char* end, int& out) {
    const auto found = std::from_chars(at, end, out);
    const bool good = found.ec == std::errc() && out >= 0 && (*at != '0' || found.ptr == at + 1);
    at = found.ptr;
    return good;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
