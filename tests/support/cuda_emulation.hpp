// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the CUDA backend on the processor: their own text as C++, a fiber for each thread of a block.
#pragma once

#include "tessera/backend/cuda/kernels/names.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace cuda_emulation {

struct dimensions {
    unsigned x = 0;
};
inline dimensions threadIdx, blockIdx, blockDim, gridDim;

/// The threads of one block: each runs until it meets __syncthreads or ends.
class block {
public:
    /// For kernels with barriers, whose threads need stacks of their own.
    static void run(void (*body)(), unsigned threads) {
        block b;
        current() = &b;
        b.body_ = body;
        b.fibers_.resize(threads);
        constexpr std::size_t stack_size = 32768;
        static std::vector<std::unique_ptr<char[]>> stacks; // for all blocks: one runs at a time
        while (stacks.size() < threads) {
            stacks.emplace_back(new char[stack_size]);
        }
        for (unsigned i = 0; i < threads; ++i) {
            fiber& f = b.fibers_[i];
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = stacks[i].get();
            f.context.uc_stack.ss_size = stack_size;
            f.context.uc_link = &b.scheduler_;
            makecontext(&f.context, &block::enter, 0);
        }
        for (bool going = true; going;) {
            going = false;
            for (unsigned i = 0; i < threads; ++i) {
                if (!b.fibers_[i].done) {
                    b.running_ = i;
                    threadIdx.x = i;
                    swapcontext(&b.scheduler_, &b.fibers_[i].context);
                    going = true;
                }
            }
        }
    }
    static void wait() {
        block& b = *current();
        swapcontext(&b.fibers_[b.running_].context, &b.scheduler_);
    }

private:
    struct fiber {
        ucontext_t context;
        bool done = false;
    };
    static block*& current() {
        static block* b = nullptr;
        return b;
    }
    static void enter() {
        current()->body_();
        current()->fibers_[current()->running_].done = true;
    }
    void (*body_)() = nullptr;
    std::vector<fiber> fibers_;
    ucontext_t scheduler_;
    unsigned running_ = 0;
};

inline void synchronize_threads() { block::wait(); }

namespace device {

// The vocabulary of device code.
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
#undef __shared__
#undef __global__
#undef __device__

static_assert(sizeof(arguments) == sizeof(tessera::cuda::kernel_arguments));
static_assert(sizeof(step_values) == sizeof(tessera::cuda::step_values));

} // namespace device

using kernel_function = void (*)(device::arguments);

inline kernel_function function_of(tessera::cuda::kernel_id k) {
    static constexpr kernel_function functions[] = {device::strided_copy_f32,
                                                    device::strided_copy_f64,
                                                    device::strided_copy_i32,
                                                    device::add,
                                                    device::multiply,
                                                    device::gelu_forward,
                                                    device::gelu_backward,
                                                    device::dropout,
                                                    device::pool_forward,
                                                    device::pool_maximum_backward,
                                                    device::pool_average_backward,
                                                    device::spread,
                                                    device::column_sums,
                                                    device::channel_statistics,
                                                    device::normalize,
                                                    device::statistics_gradient,
                                                    device::normalize_gradient,
                                                    device::running_statistics,
                                                    device::row_maximum,
                                                    device::row_exponentials,
                                                    device::row_loss,
                                                    device::softmax_gradient,
                                                    device::softmax_forward,
                                                    device::softmax_total_gradient,
                                                    device::softmax_input_gradient,
                                                    device::layer_normalize,
                                                    device::layer_statistics_gradient,
                                                    device::layer_scale_gradient,
                                                    device::layer_input_gradient,
                                                    device::look_up,
                                                    device::look_up_gradient,
                                                    device::add_table,
                                                    device::route_forward,
                                                    device::route_gradient,
                                                    device::sum_slices,
                                                    device::squares_partial,
                                                    device::squares_total,
                                                    device::sgd_update,
                                                    device::adam_update};
    static_assert(sizeof functions / sizeof functions[0] == tessera::cuda::kernel_count);
    return functions[static_cast<int>(k)];
}

/// Whether threads of a block wait for each other.
inline bool has_barriers(tessera::cuda::kernel_id k) {
    using tessera::cuda::kernel_id;
    return k == kernel_id::channel_statistics || k == kernel_id::statistics_gradient || k == kernel_id::row_maximum ||
           k == kernel_id::row_exponentials || k == kernel_id::softmax_total_gradient ||
           k == kernel_id::layer_statistics_gradient || k == kernel_id::layer_scale_gradient ||
           k == kernel_id::look_up_gradient || k == kernel_id::squares_partial || k == kernel_id::squares_total;
}

inline void launch(tessera::cuda::kernel_id which, unsigned blocks, unsigned threads,
                   const tessera::cuda::kernel_arguments& given) {
    static device::arguments a;
    static kernel_function f;
    std::memcpy(&a, &given, sizeof a);
    f = function_of(which);
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
