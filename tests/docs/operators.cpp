// SPDX-License-Identifier: Apache-2.0
// docs/operators.md is made of the backends' tables of operators: what each offers, in which precision, and by whose
// code.
#include "docs/page.hpp"

#include "tessera/backend/cuda/op/table.hpp"
#include "tessera/backend/host/op/table.hpp"
#include "tessera/backend/reference/op/table.hpp"
#include "tessera/op/library.hpp"

namespace {

namespace ts = tessera;

constexpr ts::precision precisions[] = {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16};

/// "fp32, tf32": in which `offers` holds for forward.
template <class Offers>
std::string served(const ts::op_record& r, Offers offers) {
    std::string text;
    for (const ts::precision p : precisions) {
        if (offers(r, ts::pass::forward, p)) {
            text += (text.empty() ? "" : ", ") + std::string(to_text(p));
        }
    }
    return text.empty() ? "none" : text;
}

/// The last cell of a line.
std::string last(const std::string& text) { return text.empty() ? " |\n" : " " + text + " |\n"; }

std::string words(const char* text) {
    std::string out = text;
    return out == "-" ? "nothing to compute" : out;
}

std::string page() {
    std::string text = R"(# Operators

What there is, and what each backend offers for it. This page is made by
[tests/docs/operators.cpp](../tests/docs/operators.cpp) from the backends' own tables, which are their dispatch;
`TESSERA_UPDATE_GOLDENS=1` writes it anew. In a program, `supports(record, pass, precision)` of a backend
answers the same.

## Precisions

The reference backend has plain loops for all of them, and rounds what it stores in bf16. Where the host computes a tf32
network it does so in fp32. Of [opaque operators](network_file.md#opaque-operators) none computes anything: they are
planned alone.

| operator | inputs | host | CUDA |
|---|---|---|---|
)";
    for (const ts::op_record* r : ts::library_operators) {
        CHECK_MESSAGE((ts::reference::find_row<float>(*r) != nullptr), r->name);
        text +=
            "| `" + std::string(r->name) + "` | " + (r->inputs == 0 ? "2 or more" : std::to_string(r->inputs)) + " | " +
            served(*r, [](const auto& a, ts::pass b, ts::precision c) { return ts::host::supports(a, b, c); }) + " | " +
            served(*r, [](const auto& a, ts::pass b, ts::precision c) { return ts::cuda::supports(a, b, c); }) + " |\n";
    }
    text += R"(
## On the host

What computes each pass: a vendor's primitive, or a kernel of our own where the last column says why.

| operator | forward | backward | why |
|---|---|---|---|
)";
    for (const ts::op_record* r : ts::library_operators) {
        const ts::host::operator_row* row = ts::host::row_of(*r);
        const bool named = row == nullptr && r->facts.view;
        text += "| `" + std::string(r->name) + "` | " +
                (row != nullptr ? row->forward
                 : named        ? "nothing to compute"
                                : "plain loops") +
                " | " +
                (row != nullptr ? row->backward
                 : named        ? "nothing to compute"
                                : "plain loops") +
                " |" +
                last(row != nullptr ? row->why
                     : named        ? "a name for the same memory"
                                    : "the reference's loops: no row of its own");
    }
    text += R"(
## On CUDA

The calls of each pass, on a whole shard in fp32.

| operator | forward | backward | why |
|---|---|---|---|
)";
    for (const ts::op_record* r : ts::library_operators) {
        const ts::cuda::operator_row* row = ts::cuda::row_of(*r);
        REQUIRE(row != nullptr);
        text += "| `" + std::string(r->name) + "` | " + words(row->calls_forward) + " | " + words(row->calls_backward) +
                " |" + last(row->why);
    }
    return text;
}

} // namespace

TEST_CASE("docs/operators.md is what the backends' tables say") { test::hold_page("operators.md", page()); }
