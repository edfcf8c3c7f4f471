// SPDX-License-Identifier: Apache-2.0
// Whatever oneDNN computes is checked when its shape is met for the first time: right ways pass, ways with one wrong
// part of their results do not, and are not measured either.
#include "op/table.hpp"
#include "tessera/backend/host/choose/catalog.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

namespace {

using namespace tests;
namespace host = ts::host;

bool is_vendors(const host::candidate& k) {
    return k.engine == host::engine_kind::onednn || k.engine == host::engine_kind::winograd;
}

/// A pass of an operator, as binding asks for its ways; `emits` of backward passes.
ts::compute_call call_of(const ts::description& d, const ts::op_attributes& attributes, ts::pass what,
                         std::uint32_t emits) {
    ts::compute_call c;
    c.d = &d;
    c.attributes = attributes;
    c.what = what;
    c.last_nest = d.nests.size() - 1;
    c.emits = emits;
    const ts::loop_ranges whole(d);
    std::uint32_t reads = 0;
    for (int l = 0; l < ts::max_loops; ++l) {
        c.ranges[l] = whole.range[l];
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        reads |= ts::has(emits, o) ? d.operands[o].gradient_reads : 0;
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        if (emits == 0 || ts::has(reads, o)) {
            c.value[o].region = ts::region(d, o, c.ranges);
        }
        if (emits != 0 && (o == d.output() || ts::has(emits, o))) {
            c.gradient[o].region = ts::region(d, o, c.ranges);
        }
    }
    return c;
}

/// All passes of an operator with one nest: forward, gradients of its inputs, of its parameters.
std::vector<ts::compute_call> passes_of(const ts::description& d, const ts::op_attributes& attributes) {
    std::vector<ts::compute_call> all = {call_of(d, attributes, ts::pass::forward, 0)};
    const bool for_training = d.find_operand(ts::operand_kind::parameter) >= 0;
    const std::uint32_t inputs = ts::gradients_of(d, 0, true);
    const std::uint32_t others = ts::gradients_of(d, 0, false);
    if (inputs != 0) {
        all.push_back(call_of(d, attributes, for_training ? ts::pass::backward_input : ts::pass::backward, inputs));
    }
    if (others != 0) {
        all.push_back(call_of(d, attributes, ts::pass::backward_weight, others));
    }
    return all;
}

/// Calls body(row, call) for every pass that oneDNN could compute.
template <class Body>
void for_each_call(Body&& body) {
    host::format_table table;
    const host::operator_rows rows = host::all_rows();
    for (const op_case& x : op_table()) {
        const ts::description d =
            ts::record_of(x.attributes).describe(x.attributes, x.inputs.data(), static_cast<int>(x.inputs.size()));
        const host::operator_row* const row = rows.find(x.attributes);
        if (row == nullptr || d.nests.size() != 1) {
            continue;
        }
        for (const ts::compute_call& c : passes_of(d, x.attributes)) {
            for (const host::candidate& k : host::detail::candidates_of(c, table, rows)) {
                if (is_vendors(k)) {
                    CAPTURE(std::string(x.name));
                    CAPTURE(std::string(ts::to_text(c.what)));
                    body(*row, c);
                    break;
                }
            }
        }
    }
}

/// A job whose result is off in one element.
class damaged_job : public host::job {
public:
    damaged_job(ts::owned<host::job> right, float* element) : right_(std::move(right)), element_(element) {}
    void run(const ts::run_state& run) override {
        right_->run(run);
        *element_ += 1;
    }

private:
    ts::owned<host::job> right_;
    float* element_;
};

const host::operator_row* right_row = nullptr; // of the operator whose ways are damaged
int jobs_made = 0;

ts::owned<host::job> make_damaged(const host::bound_call& b, const host::format_table& t, dnnl_stream_t s) {
    ++jobs_made;
    float* first = nullptr;
    for (int o = 0; o < b.call.d->operands.size(); ++o) {
        const bool forward = host::is_forward(b.call.what);
        if (forward ? o == b.call.d->output() : ts::has(b.call.emits, o)) {
            first = static_cast<float*>((forward ? b.call.value : b.call.gradient)[o].data);
        }
    }
    return ts::owned<host::job>(new damaged_job(right_row->make_job(b, t, s), first));
}

} // namespace

TEST_CASE("every operator of which oneDNN computes a pass is checked at first use") {
    std::map<std::string, int> seen;
    for_each_call([&](const host::operator_row& row, const ts::compute_call& c) {
        CHECK(row.check != host::first_use::none);
        ++seen[ts::record_of(c.attributes).name];
    });
    for (const char* name : {"conv2d", "conv3d", "transposed_conv2d", "linear", "average_pool", "average_pool3d",
                             "matmul", "expert_linear"}) {
        CAPTURE(std::string(name));
        CHECK(seen[name] >= 2); // forward and backward
    }
}

TEST_CASE("what oneDNN makes of small shapes passes the check") {
    host::format_table table;
    host::profile known;
    const host::operator_rows rows = host::all_rows();
    host::catalog ways(table, known, rows);
    int checked = 0;
    for_each_call([&](const host::operator_row&, const ts::compute_call& c) {
        const std::vector<host::candidate> all = ways.candidates(c);
        for (const host::candidate& k : all) {
            CAPTURE(host::detail::candidate_name(k, table, c.d->operands.size()));
            CHECK(ways.is_right(c, k));
            checked += is_vendors(k) ? 1 : 0;
        }
    });
    CHECK(checked > 100);
}

TEST_CASE("a way with one wrong element is dropped, of every operator and pass, and only run by the check") {
    int dropped = 0;
    for_each_call([&](const host::operator_row& row, const ts::compute_call& c) {
        right_row = &row;
        static host::operator_row damaged;
        damaged = row;
        damaged.make_job = make_damaged;
        static const host::operator_row* const rows_of_it[] = {&damaged};
        const host::operator_rows rows(host::row_table{rows_of_it, host::rows_of<ts::all_operators>().plain});
        host::format_table table;
        host::profile known;
        host::catalog ways(table, known, rows);
        std::vector<host::candidate> vendors;
        for (const host::candidate& k : ways.candidates(c)) {
            if (is_vendors(k)) {
                vendors.push_back(k);
            }
        }
        jobs_made = 0;
        for (const double seconds : ways.seconds(c, vendors)) { // measuring comes after the check
            CHECK(seconds > 1e9);
        }
        CHECK(jobs_made == static_cast<int>(vendors.size()));
        for (const host::candidate& k : vendors) {
            CHECK(!ways.is_right(c, k));
            ++dropped;
        }
        for (const host::candidate& k : ways.candidates(c)) {
            CHECK(!is_vendors(k));
        }
        CHECK(!ways.candidates(c).empty());
        CHECK(jobs_made == static_cast<int>(vendors.size()));
    });
    CHECK(dropped > 100);
}
