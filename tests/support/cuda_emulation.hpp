// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the CUDA backend on the processor: their own text as C++, a fiber for each thread of a block.
#pragma once

#include "tessera/backend/cuda/kernels/names.hpp"

#include <cmath>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace cuda_emulation {

struct dimensions {
    unsigned x = 0;
};
inline dimensions threadIdx, blockIdx, blockDim, gridDim;

/// The threads of one block: each runs until it meets __syncthreads or ends. One block runs at a time, on fibers that are kept for the next.
class block {
public:
    /// For kernels with barriers, whose threads need stacks of their own.
    static void run(void (*body)(), unsigned threads) {
        block& b = all();
        b.body_ = body;
        while (b.fibers_.size() < threads) {
            b.fibers_.push_back(std::make_unique<fiber>());
        }
        for (unsigned i = 0; i < threads; ++i) {
            b.fibers_[i]->done = false;
        }
        for (bool going = true; going;) {
            going = false;
            for (unsigned i = 0; i < threads; ++i) {
                if (!b.fibers_[i]->done) {
                    b.running_ = b.fibers_[i].get();
                    threadIdx.x = i;
                    b.enter();
                    going = true;
                }
            }
        }
    }
    static void wait() { all().leave(); }

private:
    struct fiber {
        ucontext_t start;
        std::jmp_buf here;
        bool started = false;
        bool done = false;
        char stack[32768];
    };
    static block& all() {
        static block b;
        return b;
    }
    // Changes of context without a system call, but for the first into a fiber.
    void enter() {
        if (_setjmp(scheduler_) != 0) {
            return;
        }
        if (running_->started) {
            std::longjmp(running_->here, 1);
        }
        running_->started = true;
        getcontext(&running_->start);
        running_->start.uc_stack.ss_sp = running_->stack;
        running_->start.uc_stack.ss_size = sizeof running_->stack;
        running_->start.uc_link = nullptr;
        makecontext(&running_->start, &block::live, 0);
        setcontext(&running_->start);
    }
    void leave() {
        if (_setjmp(running_->here) == 0) {
            std::longjmp(scheduler_, 1);
        }
    }
    static void live() {
        for (;;) {
            all().body_();
            all().running_->done = true;
            all().leave();
        }
    }
    void (*body_)() = nullptr;
    std::vector<std::unique_ptr<fiber>> fibers_;
    std::jmp_buf scheduler_;
    fiber* running_ = nullptr;
};

inline void synchronize_threads() { block::wait(); }

namespace device {

// The vocabulary of device code.
inline float __uint_as_float(unsigned x) { // NOLINT(bugprone-reserved-identifier): the name that device code has
    float f = 0;
    std::memcpy(&f, &x, sizeof f);
    return f;
}
inline unsigned __float_as_uint(float f) { // NOLINT(bugprone-reserved-identifier)
    unsigned x = 0;
    std::memcpy(&x, &f, sizeof x);
    return x;
}
// CUDA's own, where its headers came first.
#pragma push_macro("__device__")
#pragma push_macro("__global__")
#pragma push_macro("__shared__")
#undef __device__
#undef __global__
#undef __shared__
#define __device__
#define __global__ inline
#define __shared__ static
#define __syncthreads ::cuda_emulation::synchronize_threads
#define TESSERA_DEVICE_CODE(...) __VA_ARGS__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#include "tessera/backend/cuda/kernels/common.inl"
#include "tessera/backend/cuda/kernels/cross_entropy.inl"
#include "tessera/backend/cuda/kernels/elementwise.inl"
#include "tessera/backend/cuda/kernels/expert.inl"
#include "tessera/backend/cuda/kernels/normalize.inl"
#include "tessera/backend/cuda/kernels/pool.inl"
#include "tessera/backend/cuda/kernels/sequence.inl"
#include "tessera/backend/cuda/kernels/update.inl"
#pragma GCC diagnostic pop
#undef TESSERA_DEVICE_CODE
#undef __syncthreads
#pragma pop_macro("__shared__")
#pragma pop_macro("__global__")
#pragma pop_macro("__device__")

static_assert(sizeof(arguments) == sizeof(tessera::cuda::kernel_arguments));
static_assert(sizeof(step_values) == sizeof(tessera::cuda::step_values));

} // namespace device

using kernel_function = void (*)(device::arguments);

inline kernel_function function_of(tessera::cuda::kernel_id k, tessera::element type) {
    static constexpr kernel_function functions[][2] = {
#define TESSERA_PLAIN(name) {device::name, nullptr},
#define TESSERA_TYPED(name) {device::name, device::name##_bf16},
        TESSERA_KERNELS(TESSERA_PLAIN, TESSERA_TYPED)
#undef TESSERA_TYPED
#undef TESSERA_PLAIN
    };
    return functions[static_cast<int>(k)][type == tessera::element::bf16 ? 1 : 0];
}

/// Whether threads of a block wait for each other.
inline bool has_barriers(tessera::cuda::kernel_id k) {
    using tessera::cuda::kernel_id;
    return k == kernel_id::channel_statistics || k == kernel_id::statistics_gradient || k == kernel_id::row_maximum ||
           k == kernel_id::row_exponentials || k == kernel_id::softmax_total_gradient ||
           k == kernel_id::layer_statistics_gradient || k == kernel_id::layer_scale_gradient ||
           k == kernel_id::look_up_gradient || k == kernel_id::squares_partial || k == kernel_id::squares_total ||
           k == kernel_id::count_not_finite || k == kernel_id::row_leader;
}

inline void launch(tessera::cuda::kernel_id which, tessera::element type, unsigned blocks, unsigned threads,
                   const tessera::cuda::kernel_arguments& given) {
    static device::arguments a;
    static kernel_function f;
    std::memcpy(&a, &given, sizeof a);
    f = function_of(which, type);
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        if (has_barriers(which)) {
            block::run([] { f(a); }, threads);
        } else {
            for (unsigned t = 0; t < threads; ++t) {
                threadIdx.x = t;
                f(a);
            }
        }
    }
}

} // namespace cuda_emulation
