// SPDX-License-Identifier: Apache-2.0
// The host's catalog: which ways there are to compute a call, and how long each takes here, measured once and remembered.
#pragma once

#include "tessera/backend/host/onednn_jobs.hpp"
#include "tessera/backend/host/plain_jobs.hpp"
#include "tessera/backend/host/profile.hpp"
#include "tessera/backend/host/vector_jobs.hpp"
#include "tessera/execute/store.hpp"

#include <chrono>

namespace tessera::host {

/// How implementations and formats are chosen.
enum class tuning : std::uint8_t {
    estimate, ///< by rules of thumb: no time is spent on measurements
    measure,  ///< by measuring every candidate; results are kept in the profile
    random,   ///< at random, for tests: every choice must give the same numbers
};

namespace detail {

/// All ways to compute a call; at least one.
inline std::vector<candidate> candidates_of(const compute_call& c, format_table& table) {
    std::vector<candidate> all;
    const op_kind kind = c.attributes.kind;
    if (kind == op_kind::conv2d || kind == op_kind::linear) {
        add_product_candidates(c, table, all);
    } else if (kind == op_kind::max_pool || kind == op_kind::average_pool) {
        add_pool_candidates(c, table, all);
    }
    add_vector_candidates(c, all);
    if (all.empty()) {
        add_plain_candidates(c, all);
    }
    return all;
}

inline std::unique_ptr<job> make_job(const bound_call& b, const format_table& table, dnnl_stream_t stream) {
    switch (b.how.engine) {
    case engine_kind::onednn:
    case engine_kind::winograd:
        if (b.call.attributes.kind == op_kind::conv2d || b.call.attributes.kind == op_kind::linear) {
            return std::make_unique<product_job>(b, table, stream);
        }
        return std::make_unique<pool_job>(b, table, stream);
    case engine_kind::vectors:
        return make_vector_job(b, table);
    case engine_kind::generic:
        break;
    }
    return make_plain_job(b);
}

/// A name for a call's local problem, equal for equal problems.
inline std::string problem_name(const compute_call& c) {
    std::string name = to_text(c.attributes.kind);
    name += std::string(" ") + to_text(is_forward(c.what) ? pass::forward : c.what) + " n" +
            std::to_string(c.first_nest) + "-" + std::to_string(c.last_nest) + " e" + std::to_string(c.emits) +
            (c.first_part ? " b" : " p");
    for (int o = 0; o < c.d->operands.size(); ++o) {
        name += " ";
        const shape s = region(*c.d, o, c.ranges).extents();
        for (int d = 0; d < s.rank; ++d) {
            name += (d > 0 ? "x" : "") + std::to_string(s[d]);
        }
    }
    const op_attributes& a = c.attributes;
    if (a.kind == op_kind::cross_entropy) {
        name += is_whole_loss(c) ? " whole" : " part";
    }
    for (const index_t x :
         {a.window[0], a.window[1], a.stride[0], a.stride[1], a.dilation[0], a.dilation[1], a.groups}) {
        name += " " + std::to_string(x);
    }
    if (a.kind == op_kind::conv2d || a.kind == op_kind::max_pool || a.kind == op_kind::average_pool) {
        const local_window g(c);
        name += " p" + std::to_string(g.pad_begin[0]) + "," + std::to_string(g.pad_begin[1]) + "," +
                std::to_string(g.pad_end[0]) + "," + std::to_string(g.pad_end[1]) + (a.count_padding ? "c" : "");
    }
    return name;
}

inline std::string format_name(int f) {
    constexpr const char* names[] = {"plain", "nhwc", "n16", "c16"};
    return f < 0 ? "-" : f < 4 ? names[f] : "w";
}

inline std::string candidate_name(const candidate& k, int operands) {
    std::string name = to_text(k.engine);
    for (int o = 0; o < operands; ++o) {
        name += " " + format_name(k.value[o]) + "/" + format_name(k.gradient[o]);
    }
    return name;
}

/// Seconds of one execution: the best of a few after a warm-up.
inline double time_job(job& j) {
    using clock = std::chrono::steady_clock;
    run_state run;
    double best = 1e30;
    double total = 0;
    for (int i = 0; i < 12 && (i < 3 || total < 0.01); ++i) {
        const auto begin = clock::now();
        j.run(run);
        const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
        best = i > 0 && seconds < best ? seconds : best;
        total += seconds;
    }
    return best;
}

} // namespace detail

/// Measures candidates and remembers what it measured.
class catalog {
public:
    catalog(format_table& table, profile& known) : table_(table), known_(known), stream_(make_stream()) {}

    const std::vector<candidate>& candidates(const compute_call& c) {
        const std::string name = detail::problem_name(c) + (c.what == pass::evaluate ? " evaluate" : "");
        for (const auto& [key, list] : lists_) {
            if (key == name) {
                return list;
            }
        }
        lists_.push_back({name, detail::candidates_of(c, table_)});
        return lists_.back().second;
    }

    /// Seconds that a call takes done one way.
    double seconds(const compute_call& c, const candidate& k) {
        const std::string name = detail::problem_name(c) + " | " + detail::candidate_name(k, c.d->operands.size());
        if (const double* t = known_.find(name)) {
            return *t;
        }
        const double t = measure(c, k);
        known_.add(name, t);
        return t;
    }

private:
    double measure(const compute_call& c, const candidate& k) {
        bound_call b{c, k, nullptr, nullptr};
        std::vector<buffer> memory;
        for (int o = 0; o < c.d->operands.size(); ++o) {
            const operand& x = c.d->operands[o];
            const box region_of = region(*c.d, o, c.ranges);
            for (const bool gradient : {false, true}) {
                const int f = gradient ? k.gradient[o] : k.value[o];
                if (f >= 0) {
                    memory.emplace_back(table_.bytes(f, region_of.extents(), x.type));
                    (gradient ? b.call.gradient[o] : b.call.value[o]) = {memory.back().data(), region_of};
                    fill(memory.back(), table_.bytes(f, region_of.extents(), x.type), x.type);
                }
            }
        }
        memory.emplace_back(k.scratch);
        b.scratch = memory.back().data();
        memory.emplace_back(k.workspace);
        b.workspace = memory.back().data();
        const std::unique_ptr<job> j = detail::make_job(b, table_, stream_.get());
        return detail::time_job(*j);
    }

    /// Small numbers: neither zeros nor anything that becomes denormal.
    static void fill(const buffer& where, index_t bytes, element type) {
        if (type == element::f32) {
            auto* x = reinterpret_cast<float*>(where.data());
            for (index_t i = 0; i < bytes / 4; ++i) {
                x[i] = static_cast<float>((i * 37) % 101 - 50) * 0.01F;
            }
        }
    }

    format_table& table_;
    profile& known_;
    unique_stream stream_;
    std::deque<std::pair<std::string, std::vector<candidate>>> lists_;
};

} // namespace tessera::host
