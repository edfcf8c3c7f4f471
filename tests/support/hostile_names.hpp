// SPDX-License-Identifier: Apache-2.0
// Names that end literals, elements, fields and lines, and a network whose inputs and layers have them.
#pragma once

#include "tessera/io/exchange/network_file.hpp"

#include <string>
#include <vector>

namespace test_support {

/// All of them are UTF-8.
inline std::vector<std::string> hostile_names() {
    return {"a\"b",
            "a'b",
            "a\\",
            "a\\\"",
            "\\",
            "\"\"\"",
            "'''",
            "a\nb",
            "a\rb",
            "a\r\nb",
            std::string("a\0b", 3),
            "a\tb",
            "\v\f\b\a",
            "a\x1b[31mb",
            "a\x7f",
            "a\xc2\x85z",     // next line
            "a\xe2\x80\xa8z", // line separator
            "a\xe2\x80\xa9z", // paragraph separator
            "a\xe2\x80\xaez", // from right to left
            "\xef\xbb\xbf"
            "bom",          // byte order mark
            "\xef\xbf\xbe", // no character
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "-->",
            "]]>",
            "<![CDATA[",
            "</title></text></svg>",
            "&amp;&lt;",
            "&#x41;",
            "%s%n%d",
            "{0}{",
            "${HOME}$(id)`id`",
            "a,b;c",
            " a ",
            "=1+1",
            "?\?/",
            "*/ int x; /*",
            "// a\\\nint y;",
            "\n#error no\n",
            "R\"(x)\"",
            ")python\"",
            "\"\"\"\nimport os\nos._exit(3)\n\"\"\"",
            "\"): 0}\nraise SystemExit(3)\n{(\"",
            "\\N{BULLET}\\u0041\\x41\\101",
            "a\\nb",
            "__metadata__",
            "class",
            "a/weight",
            "..",
            "\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80"};
}

/// A chain of linear layers, each of one of the names, between inputs of others; the text of its file.
inline std::string hostile_network() {
    namespace io = tessera::io;
    const std::vector<std::string> names = hostile_names();
    const std::string x = "x\"\r\n<!--<script>";
    const std::string labels = std::string("y\0'", 3) + "\"\"\"";
    io::json nodes = io::json::array();
    nodes.push_back({{"input", x}, {"sample", {8}}, {"type", "f32"}});
    nodes.push_back({{"input", labels}, {"sample", io::json::array()}, {"type", "i32"}});
    std::string before = x;
    for (const std::string& name : names) {
        nodes.push_back({{"name", name}, {"kind", "linear"}, {"reads", {before}}, {"attributes", {{"out", 8}}}});
        before = name;
    }
    nodes.push_back({{"name", "loss"}, {"kind", "cross_entropy"}, {"reads", {before, labels}}});
    return io::to_text({{"tessera_network", io::network_file_version},
                        {"name", "\"\"\"\nimport os\r<!--<script>\\"},
                        {"batch", 8},
                        {"nodes", nodes}});
}

} // namespace test_support
