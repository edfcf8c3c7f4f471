// SPDX-License-Identifier: Apache-2.0
// The text of the kernels as C++, a fiber for each thread of a block.
#define TESSERA_ALSO_AS_CODE(...)                                                                                      \
    namespace device {                                                                                                 \
    __VA_ARGS__                                                                                                        \
    }
#include "cuda_emulation.hpp"

#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include <ucontext.h>

namespace cuda_emulation {

struct dimensions {
    unsigned x = 0;
};
dimensions threadIdx, blockIdx, blockDim, gridDim;

/// The threads of one block: each runs until it meets __syncthreads or ends. One block runs at a time, on fibers that are kept for the next.
class block {
public:
    /// For kernels with barriers, whose threads need stacks of their own. Returns whether there was one.
    static bool run(void (*body)(), unsigned threads) {
        block& b = all();
        b.body_ = body;
        b.inside_ = true;
        b.waited_ = false;
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
        b.inside_ = false;
        return b.waited_;
    }
    static void wait() {
        if (!all().inside_) {
            std::fprintf(stderr, "a kernel whose first block had no barrier has one\n");
            std::abort();
        }
        all().waited_ = true;
        all().leave();
    }

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
    bool inside_ = false;
    bool waited_ = false;
    std::vector<std::unique_ptr<fiber>> fibers_;
    std::jmp_buf scheduler_;
    fiber* running_ = nullptr;
};

std::map<std::string, device_function>& functions() {
    static std::map<std::string, device_function> all;
    return all;
}

/// Makes a kernel known.
struct enrolled {
    template <class Arguments>
    enrolled(const char* name, void (*code)(Arguments)) {
        functions()[name] = {name, reinterpret_cast<void (*)()>(code)};
    }
};

} // namespace cuda_emulation

// The vocabulary of device code.
using cuda_emulation::blockDim;
using cuda_emulation::blockIdx;
using cuda_emulation::gridDim;
using cuda_emulation::threadIdx;

static float __uint_as_float(unsigned x) { // NOLINT(bugprone-reserved-identifier): the name that device code has
    float f = 0;
    std::memcpy(&f, &x, sizeof f);
    return f;
}
static unsigned __float_as_uint(float f) { // NOLINT(bugprone-reserved-identifier)
    unsigned x = 0;
    std::memcpy(&x, &f, sizeof x);
    return x;
}

#ifdef __device__
#error "CUDA's headers came first"
#endif
#define __device__
#define __shared__ static
#define __syncthreads ::cuda_emulation::block::wait
#define KERNEL(name)                                                                                                   \
    void name(arguments a);                                                                                            \
    static const ::cuda_emulation::enrolled name##_known(#name, name);                                                 \
    inline void name([[maybe_unused]] arguments a)
#define TYPED_KERNEL(name)                                                                                             \
    KERNEL(name) { name##_of<float>(a); }                                                                              \
    KERNEL(name##_bf16) { name##_of<bf16>(a); }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#include "tessera/backend/cuda/kernels/source.hpp"
#pragma GCC diagnostic pop
#undef TYPED_KERNEL
#undef KERNEL
#undef __syncthreads
#undef __shared__
#undef __device__

namespace cuda_emulation {

namespace device = tessera::cuda::kernels::device;
static_assert(sizeof(device::arguments) == sizeof(tessera::cuda::kernel_arguments));
static_assert(sizeof(device::step_values) == sizeof(tessera::cuda::step_values));

device_function* find(const std::string& name) {
    const auto found = functions().find(name);
    return found == functions().end() ? nullptr : &found->second;
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, f] : functions()) {
        all.push_back(name);
    }
    return all;
}

void launch(device_function& f, unsigned blocks, unsigned threads, const tessera::cuda::kernel_arguments& given) {
    static device::arguments a;
    static void (*code)(device::arguments) = nullptr;
    std::memcpy(&a, &given, sizeof a);
    code = reinterpret_cast<void (*)(device::arguments)>(f.code);
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        if (!f.has_run || f.has_barriers) {
            f.has_barriers = block::run([] { code(a); }, threads);
            f.has_run = true;
        } else {
            for (unsigned t = 0; t < threads; ++t) {
                threadIdx.x = t;
                code(a);
            }
        }
    }
}

void launch(const tessera::cuda::kernel* which, tessera::element type, unsigned blocks, unsigned threads,
            const tessera::cuda::kernel_arguments& given) {
    const bool other = which->has_bf16 && type == tessera::element::bf16;
    device_function* const f = find(std::string(which->name) + (other ? "_bf16" : ""));
    if (f == nullptr) {
        std::fprintf(stderr, "there is no kernel %s\n", which->name);
        std::abort();
    }
    launch(*f, blocks, threads, given);
}

} // namespace cuda_emulation
