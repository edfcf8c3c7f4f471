// SPDX-License-Identifier: Apache-2.0
// The text of the kernels as C++, a fiber for each thread of a block.
#define TESSERA_ALSO_AS_CODE(...)                                                                                      \
    namespace device {                                                                                                 \
    __VA_ARGS__                                                                                                        \
    }
#include "cuda_emulation.hpp"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <ucontext.h>

namespace cuda_emulation {

struct dimensions {
    unsigned x = 0;
};
dimensions threadIdx, blockIdx, blockDim, gridDim;

/// The threads of one block: each runs until it meets __syncthreads or ends. One block runs at a time, on fibers that
/// are kept for the next.
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

namespace tessera::cuda::kernels::device {
using index_t = long long;
} // namespace tessera::cuda::kernels::device

#ifdef __device__
#error "CUDA's headers came first"
#endif
#define __device__
#define __shared__ static
#define __syncthreads ::cuda_emulation::block::wait
#define KERNEL(name, ...)                                                                                              \
    void name(given<__VA_ARGS__> a);                                                                                   \
    static const ::cuda_emulation::enrolled name##_known(#name, name);                                                 \
    inline void name([[maybe_unused]] given<__VA_ARGS__> a)
#define TYPED_KERNEL(name, ...)                                                                                        \
    KERNEL(name, __VA_ARGS__) { name##_of<float>(a); }                                                                 \
    KERNEL(name##_bf16, __VA_ARGS__) { name##_of<bf16>(a); }
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

namespace {

// Device code's vocabulary, and a list of the kernels that there are. Those whose name says that a block has a row may
// have barriers.
constexpr const char* shim = R"(
#include <cmath>
#include <cstring>
using index_t = long long;
struct dimensions { unsigned x; };
extern "C" { dimensions* shim_dimensions[4]; void (*shim_wait)(); }
#define threadIdx (*shim_dimensions[0])
#define blockIdx (*shim_dimensions[1])
#define blockDim (*shim_dimensions[2])
#define gridDim (*shim_dimensions[3])
static float __uint_as_float(unsigned x) { float f; std::memcpy(&f, &x, sizeof f); return f; }
static unsigned __float_as_uint(float f) { unsigned x; std::memcpy(&x, &f, sizeof x); return x; }
struct entry { const char* name; void (*run)(unsigned, unsigned, const void*); void (*one)(); entry* next; };
extern "C" entry* first_kernel;
entry* first_kernel = nullptr;
struct enrolled { entry e; template <class A> enrolled(const char* n, void (*r)(unsigned, unsigned, const void*), void (*o)(A)) : e{n, r, reinterpret_cast<void (*)()>(o), first_kernel} { first_kernel = &e; } };
#define __device__
#define __shared__ static
#define __syncthreads() shim_wait()
#define KERNEL(name, ...) \
    static void name(given<__VA_ARGS__> a); \
    static void name##_run(unsigned blocks, unsigned threads, const void* with) { \
        gridDim.x = blocks; \
        blockDim.x = threads; \
        for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) { \
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) { \
                name(*static_cast<const given<__VA_ARGS__>*>(with)); \
            } \
        } \
    } \
    static enrolled name##_known(#name, name##_run, name); \
    static void name(given<__VA_ARGS__> a)
#define TYPED_KERNEL(name, ...) \
    KERNEL(name, __VA_ARGS__) { name##_of<float>(a); } \
    KERNEL(name##_bf16, __VA_ARGS__) { name##_of<bf16>(a); }
)";

struct entry {
    const char* name;
    void (*run)(unsigned, unsigned, const void*);
    void (*one)(); ///< one thread
    entry* next;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "cuda_kernels.cpp: %s\n", what.c_str());
    std::abort();
}

/// Devices look kernels up on threads of their own.
std::recursive_mutex& lookups() {
    static std::recursive_mutex m;
    return m;
}

/// The texts of the library's rows that are made of expressions.
void compile_library() {
    static bool done = false;
    if (!done) {
        done = true;
        std::string text;
        std::vector<std::string (*)()> seen;
        for (const tessera::cuda::operator_row* const r : tessera::cuda::operator_rows) {
            if (r->text != nullptr && std::find(seen.begin(), seen.end(), r->text) == seen.end()) {
                seen.push_back(r->text);
                text += r->text();
            }
        }
        compile(text);
    }
}

} // namespace

void compile(const std::string& text) {
    char folder[] = "/tmp/tessera_kernels_XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        fail("no folder in /tmp for the text of kernels");
    }
    const std::string stem = std::string(folder) + "/kernels";
    std::FILE* const f = std::fopen((stem + ".cpp").c_str(), "w");
    const std::string all = shim + std::string(tessera::cuda::kernels::common_code) + text;
    if (f == nullptr || std::fwrite(all.data(), 1, all.size(), f) != all.size() || std::fclose(f) != 0) {
        fail("cannot write " + stem + ".cpp");
    }
    const char* const named = std::getenv("CXX");
    const std::string compiler = named == nullptr ? "c++" : named;
    if (std::system((compiler + " -std=c++20 -O1 -w -shared -fPIC -o " + stem + ".so " + stem + ".cpp").c_str()) != 0) {
        fail("the text of kernels does not compile: " + stem + ".cpp");
    }
    void* const library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        fail(dlerror());
    }
    dimensions** const places = static_cast<dimensions**>(dlsym(library, "shim_dimensions"));
    places[0] = &threadIdx;
    places[1] = &blockIdx;
    places[2] = &blockDim;
    places[3] = &gridDim;
    *static_cast<void (**)()>(dlsym(library, "shim_wait")) = block::wait;
    for (const entry* e = *static_cast<entry**>(dlsym(library, "first_kernel")); e != nullptr; e = e->next) {
        const bool by_blocks = std::string(e->name).find("_rows") != std::string::npos;
        functions()[e->name] = {
            .name = e->name, .code = by_blocks ? e->one : nullptr, .whole = by_blocks ? nullptr : e->run};
    }
    std::remove((stem + ".cpp").c_str());
    std::remove((stem + ".so").c_str());
    std::remove(folder);
}

namespace device = tessera::cuda::kernels::device;
static_assert(sizeof(device::arguments) == sizeof(tessera::cuda::kernel_arguments));
static_assert(sizeof(device::step_values) == sizeof(tessera::cuda::step_values));

device_function* find(const std::string& name) {
    const std::scoped_lock one_at_a_time(lookups());
    auto found = functions().find(name);
    if (found == functions().end()) {
        compile_library();
        found = functions().find(name);
    }
    return found == functions().end() ? nullptr : &found->second;
}

device_function* find(const std::string& name, const std::string& text) {
    const std::scoped_lock one_at_a_time(lookups());
    if (functions().find(name) == functions().end()) {
        compile(text);
    }
    return find(name);
}

std::vector<std::string> names() {
    const std::scoped_lock one_at_a_time(lookups());
    compile_library();
    std::vector<std::string> all;
    for (const auto& [name, f] : functions()) {
        all.push_back(name);
    }
    return all;
}

void launch(device_function& f, unsigned blocks, unsigned threads, const tessera::cuda::kernel_arguments& given) {
    if (f.whole != nullptr) {
        f.whole(blocks, threads, &given);
        return;
    }
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
    const std::string name = std::string(which->name) + (other ? "_bf16" : "");
    device_function* const f = which->text != nullptr ? find(name, which->text) : find(name);
    if (f == nullptr) {
        std::fprintf(stderr, "there is no kernel %s\n", which->name);
        std::abort();
    }
    launch(*f, blocks, threads, given);
}

} // namespace cuda_emulation
