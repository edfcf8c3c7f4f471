// SPDX-License-Identifier: Apache-2.0
// What the parts of gpu_check share: their options, a limit of time, the precision of a network, medians.
#pragma once

#include "benchmarks/support/timing.hpp"

#include "tessera/cuda.hpp"
#include "tessera/net/precision.hpp"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace gpu_check {

namespace ts = tessera;
using benchmarks::median;
using benchmarks::milliseconds;

struct options {
    std::string part;
    std::string precision = "fp32";
    std::string only;          ///< rows whose name begins so; empty: all
    std::string peer;          ///< path of peer.py; empty: no peer
    std::string profile;       ///< file for measured algorithms and times; empty: none is kept
    std::string data;          ///< folder of Fashion-MNIST's files, unpacked; empty: left out
    std::string share = "0/1"; ///< rows of process 0 of 1, so that several may share a part
    int strategies = 8;        ///< for each network, on 1 to 8 devices in turn, and as many pipelines
    double limit = 540;        ///< seconds after which no further row is begun
    int calls = 0;             ///< of the costliest calls of a network's step, that many are printed
    bool eager = false;        ///< the peer is not compiled
    bool tiny = false;         ///< sizes for a machine that makes believe
};

/// Throws tessera::error for an option that there is not, or a value that is none.
inline options read_options(int count, char** words) {
    options o;
    const auto number = [](const std::string& name, const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(value > 0)) {
            throw ts::error(name + " takes a number above 0, not '" + text + "'");
        }
        return value;
    };
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word.rfind("--", 0) != 0 && o.part.empty()) {
            o.part = word;
            continue;
        }
        if (word == "--tiny" || word == "--eager") {
            (word == "--tiny" ? o.tiny : o.eager) = true;
            continue;
        }
        const bool known = word == "--precision" || word == "--only" || word == "--peer" || word == "--profile" ||
                           word == "--data" || word == "--share" || word == "--calls" || word == "--strategies" ||
                           word == "--limit";
        if (!known || i + 1 == count) {
            throw ts::error((known ? "there is no value after " : "there is no option ") + word);
        }
        const std::string value = words[++i];
        std::string* const texts[] = {&o.precision, &o.only, &o.peer, &o.profile, &o.data, &o.share};
        const char* const names[] = {"--precision", "--only", "--peer", "--profile", "--data", "--share"};
        for (int k = 0; k < 6; ++k) {
            if (word == names[k]) {
                *texts[k] = value;
            }
        }
        o.strategies = word == "--strategies" ? static_cast<int>(number(word, value)) : o.strategies;
        o.calls = word == "--calls" ? static_cast<int>(number(word, value)) : o.calls;
        o.limit = word == "--limit" ? number(word, value) : o.limit;
    }
    if (o.precision != "fp32" && o.precision != "tf32" && o.precision != "bf16") {
        throw ts::error("there is no precision " + o.precision + "; there are fp32, tf32 and bf16");
    }
    return o;
}

/// The one place that decides on the arithmetic of all parts.
inline ts::precision precision_of(const options& o) {
    return o.precision == "tf32"   ? ts::precision::tf32
           : o.precision == "bf16" ? ts::precision::bf16
                                   : ts::precision::fp32;
}
inline void set_precision(ts::graph& g, const options& o) { ts::set_precision(g, precision_of(o)); }

/// Largest relative difference between results in a precision and in double.
inline double allowed_difference(const options& o) {
    return o.precision == "fp32" ? 1e-4 : o.precision == "tf32" ? 5e-3 : 2e-2;
}

/// Rows that are begun while there is time, and those that are not.
class row_filter {
public:
    explicit row_filter(const options& o) : only_(o.only), limit_(o.limit), begin_(benchmarks::clock_type::now()) {
        if (std::sscanf(o.share.c_str(), "%d/%d", &mine_, &shares_) != 2 || mine_ < 0 || mine_ >= shares_) {
            throw ts::error("--share takes K/N with K from 0 to N - 1, not '" + o.share + "'");
        }
    }

    bool takes(const std::string& name) {
        if (name.rfind(only_, 0) != 0 || rows_++ % shares_ != mine_) {
            return false;
        }
        if (benchmarks::milliseconds_since(begin_) < limit_ * 1000) {
            return true;
        }
        late_.push_back(name);
        return false;
    }
    /// Names what was left out; true where that is nothing.
    bool finish() const {
        for (const std::string& name : late_) {
            std::printf("left out for want of time: %s\n", name.c_str());
        }
        return late_.empty();
    }

private:
    std::string only_;
    double limit_;
    int mine_ = 0;
    int shares_ = 1;
    int rows_ = 0;
    benchmarks::clock_type::time_point begin_;
    std::vector<std::string> late_;
};

/// What makes every row fail on its own: an error is told, and the next row is begun.
template <class Row>
bool attempt(const std::string& name, Row&& row) {
    try {
        row();
        return true;
    } catch (const std::exception& e) {
        std::printf("%s: failed: %s\n", name.c_str(), e.what());
        std::fflush(stdout);
        return false;
    }
}

/// A batch in pinned memory, from which a GPU reads by itself.
struct pinned_batch {
    std::vector<ts::cuda::pinned_pointer> memory;
    std::vector<ts::input_data> inputs;
    std::vector<const void*> pointers; ///< by tensor

    explicit pinned_batch(const ts::graph_view& g) {
        pointers.resize(ts::to_size(g.tensor_count), nullptr);
        for (int t = 0; t < g.tensor_count; ++t) {
            if (g.tensors[t].producer >= 0) {
                continue;
            }
            const auto n = ts::to_size(g.tensors[t].extents.volume());
            memory.push_back(ts::cuda::make_pinned_memory(static_cast<ts::index_t>(n * 4)));
            void* const at = memory.back().get();
            pointers[ts::to_size(t)] = at;
            if (g.tensors[t].type == ts::element::i32) {
                const std::span<std::int32_t> x(static_cast<std::int32_t*>(at), n);
                const auto range = static_cast<std::uint64_t>(g.integers_in(t));
                for (std::size_t i = 0; i < n; ++i) {
                    x[i] = static_cast<std::int32_t>(ts::op::mix(i) % range);
                }
                inputs.emplace_back(std::span<const std::int32_t>(x));
            } else {
                const std::span<float> x(static_cast<float*>(at), n);
                for (std::size_t i = 0; i < n; ++i) {
                    x[i] = static_cast<float>(ts::op::mix(i) >> 40U) / 8388608.0F - 1.0F;
                }
                inputs.emplace_back(std::span<const float>(x));
            }
        }
    }
};

/// Milliseconds of calls: arithmetic, and movement (uploads, copies, fills; -1 of exchanges between GPUs counts as
/// nothing).
struct call_sums {
    double kernels = 0;
    double movement = 0;
    double uploads = 0; ///< of movement, from the processor's memory
    int calls = 0;

    void add(const ts::cuda::call& c, double time) {
        const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
        const bool moves = std::holds_alternative<ts::cuda::upload>(c.body) ||
                           std::holds_alternative<ts::cuda::memory_copy>(c.body) ||
                           std::holds_alternative<ts::cuda::memory_clear>(c.body) ||
                           (k != nullptr && std::string_view(k->which->name).starts_with("strided_copy"));
        const double known = time > 0 ? time : 0;
        (moves ? movement : kernels) += known;
        uploads += std::holds_alternative<ts::cuda::upload>(c.body) ? known : 0;
        ++calls;
    }
    double all() const { return kernels + movement; }
};

inline call_sums sums_of(const ts::cuda::call_list& list, const std::vector<double>& times, int first_task,
                         int last_task) {
    call_sums s;
    for (std::size_t i = 0; i < list.calls.size(); ++i) {
        if (list.calls[i].task >= first_task && list.calls[i].task < last_task) {
            s.add(list.calls[i], times[i]);
        }
    }
    return s;
}

} // namespace gpu_check
