// SPDX-License-Identifier: Apache-2.0
// The CUDA backend without a GPU: plans are bound and put into calls as ever, and the calls are run by the interpreter.
#pragma once

#include "cuda_interpreter.hpp"

#include "tessera/backend/cuda/calls/leaders.hpp"
#include "tessera/execute/session.hpp"

#include <memory>
#include <utility>

namespace test_support {

class emulated_backend {
public:
    emulated_backend(const ts::optimizer& update, std::vector<int> gpus, bool fuse = true)
        : options_{std::move(gpus), update, fuse} {
        algorithms_.set_product_workspace(65536); // arenas of a size that the processor clears quickly
    }

    static constexpr bool supports(const ts::op_record& r, ts::pass what, ts::precision math) {
        return ts::cuda::supports(r, what, math);
    }
    void bind(ts::plan& p, const ts::graph_view& g, const ts::parameter_store*) {
        ts::cuda::bind(p, g, options_, algorithms_);
    }
    void start(int) {}
    ts::runnable prepare(const ts::plan&, int, const ts::graph_view&, const ts::addresses&) {
        return {[](void*, const ts::run_state&) {}, nullptr};
    }
    void to_plain(const ts::tile& t, const std::byte* from, float* to) const {
        copied += t.elements * ts::bytes_of(t.type);
        ts::numbers_of(t.type, from, t.elements, to);
    }
    std::vector<ts::row_leader> leaders(const ts::tile& t, const std::byte* from) const {
        const ts::cuda::kernel_launch k = ts::cuda::leaders_launch(t);
        std::vector<ts::row_leader> found(ts::to_size(k.blocks));
        cuda_emulation::launch(k.which, k.type, static_cast<unsigned>(k.blocks), static_cast<unsigned>(k.threads),
                               {{const_cast<std::byte*>(from), found.data()}, k.numbers});
        copied += static_cast<ts::index_t>(found.size() * sizeof(ts::row_leader));
        return found;
    }
    void from_plain(const ts::tile& t, const float* from, std::byte* to) const {
        ts::store_numbers(t.type, from, t.elements, to);
    }

    // ---- what the executor calls around a run -----------------------------------------------------------------------
    void load(const ts::plan& p, const ts::graph_view& g, const ts::addresses& where) {
        programs_.push_back(std::make_unique<program>());
        program& made = *programs_.back();
        made.list = ts::cuda::make_call_list(p, g, options_, algorithms_);
        made.where = &where;
        made.runner = std::make_unique<interpreter>(made.list, where, options_.update);
    }
    void begin_run(const ts::addresses& where, const ts::run_state& state, int, int) {
        for (const auto& x : programs_) {
            if (x->where == &where) {
                x->runner->run(state, ++runs_);
            }
        }
    }
    void end_run(const ts::addresses&, bool) {}

    mutable ts::index_t copied = 0; ///< bytes to the host, outside of runs

    template <class Body>
    void each_call(Body&& body) const {
        for (const auto& x : programs_) {
            for (const ts::cuda::call& c : x->list.calls) {
                body(c);
            }
        }
    }
    int count_collectives() const {
        int n = 0;
        for (const auto& x : programs_) {
            for (const ts::cuda::call& c : x->list.calls) {
                n += std::holds_alternative<ts::cuda::collective>(c.body) ? 1 : 0;
            }
        }
        return n;
    }

private:
    struct program {
        ts::cuda::call_list list;
        const ts::addresses* where = nullptr;
        std::unique_ptr<interpreter> runner;
    };
    ts::cuda::list_options options_;
    ts::cuda::algorithm_table algorithms_;
    std::vector<std::unique_ptr<program>> programs_;
    static inline std::uint64_t runs_ = 0; ///< of all backends: no two runs take the streams in one order
};

} // namespace test_support
