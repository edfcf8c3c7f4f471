// SPDX-License-Identifier: Apache-2.0
// CUDA's libraries without a GPU, for one test program: definitions that take the place of the shared libraries' own. Memory is the
// processor's, vendor functions are plain loops, kernels are their own text, and streams are queues that run as late as they can, in a
// random order: what was not waited for is not there. Descriptors stay the libraries' own.
#pragma once

#include "cuda_interpreter.hpp"

#include "tessera/backend/cuda/backend.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace cuda_fake {

namespace ts = tessera;

struct event {
    int device = 0;
    long recorded = 0; ///< in the order of the host's calls
    long done = 0;
};

/// Calls of one ncclGroup: they start together.
struct exchange_group {
    std::vector<struct stream*> streams;
    std::function<void()> work;
};

struct entry {
    std::function<void()> work;
    event* recorded = nullptr;
    event* awaited = nullptr;
    long version = 0;
    std::shared_ptr<exchange_group> group;
};

struct stream {
    int device = 0;
    std::deque<entry> queue;
};

/// Streams' entries between the begin and the end of a capture, in the order of the calls. Versions of events count from the begin.
struct graph {
    std::vector<std::pair<stream*, entry>> entries;
    std::vector<stream*> members;
    std::map<event*, long> recorded;

    bool has(const stream* s) const { return std::find(members.begin(), members.end(), s) != members.end(); }
    void run(test_support::random& pick) const;
};

/// A call of NCCL within a group.
struct exchange_call {
    enum class kind { send, receive, reduce_scatter, all_gather, all_reduce } what = kind::send;
    struct communicator* owner = nullptr;
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
    stream* on = nullptr;
    bool wide = false;    ///< double, not float
    bool largest = false; ///< maximum, not sum
};

struct clique {
    std::vector<int> devices;
};
struct communicator {
    std::shared_ptr<clique> all;
    int rank = 0;
};

struct machine {
    std::mutex mutex;
    int devices = 8;
    std::vector<stream*> streams;
    test_support::random pick{17};
    ncclResult_t exchange_error = ncclSuccess; ///< what communicators report when they are asked
    int aborted = 0;
    int exchanges = 0;
    int launches = 0; ///< of graphs
    std::set<void*> memory; ///< what is allocated
};

inline machine& here() {
    static machine m;
    return m;
}
inline thread_local int current_device = 0;
inline thread_local graph* capturing = nullptr;
inline thread_local int group_depth = 0;
inline thread_local std::vector<exchange_call> group_calls;

/// In any order that the streams and events allow.
inline void graph::run(test_support::random& pick) const {
    std::map<stream*, std::deque<entry>> queues;
    for (const auto& [s, e] : entries) {
        queues[s].push_back(e);
    }
    std::map<event*, long> done;
    for (std::size_t left = entries.size(); left > 0; --left) {
        std::vector<stream*> ready;
        for (const auto& [s, q] : queues) {
            if (!q.empty() && (q.front().awaited == nullptr || done[q.front().awaited] >= q.front().version)) {
                ready.push_back(s);
            }
        }
        std::deque<entry>& q = queues[ready.at(static_cast<std::size_t>(pick(static_cast<int>(ready.size()))))];
        if (q.front().work) {
            q.front().work();
        }
        if (q.front().recorded != nullptr) {
            done[q.front().recorded] = q.front().version;
        }
        q.pop_front();
    }
}

inline bool can_run(const stream& s) {
    const entry& e = s.queue.front();
    if (e.awaited != nullptr) {
        return e.awaited->done >= e.version;
    }
    if (e.group != nullptr) {
        for (const stream* other : e.group->streams) {
            if (other->queue.empty() || other->queue.front().group != e.group) {
                return false;
            }
        }
    }
    return true;
}

inline void run_one(stream& s) {
    const entry e = s.queue.front();
    if (e.group != nullptr) {
        e.group->work();
        for (stream* other : e.group->streams) {
            other->queue.pop_front();
        }
        return;
    }
    if (e.work) {
        e.work();
    }
    if (e.recorded != nullptr) {
        e.recorded->done = e.version;
    }
    s.queue.pop_front();
}

/// Runs streams, any that can, until `until` is empty. False where they wait for each other.
inline bool drain(stream* until) {
    const std::lock_guard<std::mutex> lock(here().mutex);
    while (!until->queue.empty()) {
        std::vector<stream*> ready;
        for (stream* s : here().streams) {
            if (!s->queue.empty() && can_run(*s)) {
                ready.push_back(s);
            }
        }
        if (ready.empty()) {
            return false;
        }
        run_one(*ready[static_cast<std::size_t>(here().pick(static_cast<int>(ready.size())))]);
    }
    return true;
}

inline cudaError_t put(cudaStream_t s, std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(here().mutex);
    auto* to = reinterpret_cast<stream*>(s);
    if (to == nullptr || to->device != current_device) {
        return cudaErrorInvalidResourceHandle;
    }
    entry e;
    e.work = static_cast<std::function<void()>&&>(work);
    if (capturing != nullptr) {
        if (!capturing->has(to)) {
            return cudaErrorStreamCaptureIsolation; // such a call would run at once
        }
        capturing->entries.push_back({to, e});
        return cudaSuccess;
    }
    to->queue.push_back(static_cast<entry&&>(e));
    return cudaSuccess;
}

struct cudnn_context {
    int device = 0;
    cudaStream_t stream = nullptr;
};

/// A vendor call with its addresses, by its definition.
template <class Body>
cudnnStatus_t put_vendor(cudnnHandle_t h, const Body& body, const std::vector<const void*>& at, std::size_t workspace) {
    const auto* context = reinterpret_cast<cudnn_context*>(h);
    ts::cuda::call c;
    c.body = body;
    c.memory.resize(at.size());
    c.memory.back().bytes = static_cast<ts::index_t>(workspace);
    std::vector<std::byte*> pointers;
    for (const void* p : at) {
        pointers.push_back(static_cast<std::byte*>(const_cast<void*>(p)));
    }
    const cudaError_t result = put(context->stream, [c, pointers] {
        std::visit(test_support::vendor_loops{c, pointers.data()}, c.body);
    });
    return result == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

inline void read_tensor(cudnnTensorDescriptor_t d, int (&e)[4]) {
    cudnnDataType_t type{};
    int strides[4];
    ts::cuda::check(cudnnGetTensor4dDescriptor(d, &type, &e[0], &e[1], &e[2], &e[3], &strides[0], &strides[1],
                                               &strides[2], &strides[3]),
                    "cudnnGetTensor4dDescriptor");
}

inline ts::cuda::convolution read_convolution(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                              cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t how) {
    ts::cuda::convolution c;
    cudnnDataType_t type{};
    cudnnTensorFormat_t format{};
    cudnnConvolutionMode_t mode{};
    read_tensor(x, c.x);
    read_tensor(y, c.y);
    ts::cuda::check(cudnnGetFilter4dDescriptor(w, &type, &format, &c.w[0], &c.w[1], &c.w[2], &c.w[3]),
                    "cudnnGetFilter4dDescriptor");
    ts::cuda::check(cudnnGetConvolution2dDescriptor(how, &c.padding[0], &c.padding[1], &c.stride[0], &c.stride[1],
                                                    &c.dilation[0], &c.dilation[1], &mode, &type),
                    "cudnnGetConvolution2dDescriptor");
    ts::cuda::check(cudnnGetConvolutionGroupCount(how, &c.groups), "cudnnGetConvolutionGroupCount");
    return c;
}

/// The fastest does not repeat, the next one uses TF32, the third wants more memory than there is: the fourth is to be taken.
template <class Result>
cudnnStatus_t find_algorithms(int most, int* count, Result* results, size_t bytes) {
    *count = most < 4 ? most : 4;
    for (int i = 0; i < *count; ++i) {
        results[i] = {};
        results[i].algo = static_cast<decltype(results[i].algo)>(i);
        results[i].status = CUDNN_STATUS_SUCCESS;
        results[i].time = static_cast<float>(i + 1);
        results[i].memory = i == 2 ? bytes + 1 : 512;
        results[i].determinism = i == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
        results[i].mathType = i == 1 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    }
    return CUDNN_STATUS_SUCCESS;
}

/// In place, in the order of the ranks.
template <class T>
void all_reduce(const std::vector<exchange_call>& calls) {
    const std::size_t count = calls[0].bytes / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) {
        T total = static_cast<const T*>(calls[0].from)[i];
        for (std::size_t m = 1; m < calls.size(); ++m) {
            const T x = static_cast<const T*>(calls[m].from)[i];
            total = calls[m].largest ? std::max(total, x) : total + x;
        }
        for (const exchange_call& c : calls) {
            static_cast<T*>(c.to)[i] = total;
        }
    }
}

/// Does the calls of a group, matched as NCCL matches them.
inline void perform(const std::vector<exchange_call>& calls) {
    using kind = exchange_call::kind;
    std::vector<char> taken(calls.size(), 0);
    for (const exchange_call& r : calls) {
        for (std::size_t s = 0; s < calls.size() && r.what == kind::receive; ++s) {
            const exchange_call& from = calls[s];
            if (from.what == kind::send && taken[s] == 0 && from.owner->all == r.owner->all &&
                from.owner->rank == r.peer && from.peer == r.owner->rank && from.bytes == r.bytes) {
                taken[s] = 1;
                std::memcpy(r.to, from.from, r.bytes);
                break;
            }
        }
    }
    const std::size_t n = calls.size();
    if (calls[0].what == kind::reduce_scatter) {
        const std::size_t count = calls[0].bytes / sizeof(float);
        for (const exchange_call& r : calls) {
            std::vector<float> sum(count, 0.0F);
            for (const exchange_call& m : calls) {
                const auto* from = static_cast<const float*>(m.from) + static_cast<std::size_t>(r.owner->rank) * count;
                for (std::size_t i = 0; i < count; ++i) {
                    sum[i] += from[i];
                }
            }
            std::memcpy(r.to, sum.data(), r.bytes);
        }
    } else if (calls[0].what == kind::all_reduce) {
        calls[0].wide ? all_reduce<double>(calls) : all_reduce<float>(calls);
    } else if (calls[0].what == kind::all_gather) {
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = 0; b < n; ++b) {
                auto* to = static_cast<std::byte*>(calls[b].to) +
                           static_cast<std::size_t>(calls[a].owner->rank) * calls[a].bytes;
                std::memmove(to, calls[a].from, calls[a].bytes);
            }
        }
    }
}

inline ncclResult_t add_exchange(exchange_call c) {
    if (group_depth == 0) {
        return ncclInvalidUsage; // ours are always grouped
    }
    if (c.on->device != c.owner->all->devices[static_cast<std::size_t>(c.owner->rank)]) {
        return ncclInvalidArgument;
    }
    group_calls.push_back(c);
    return ncclSuccess;
}

} // namespace cuda_fake

// ---- the runtime -----------------------------------------------------------------------------------------------------

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = cuda_fake::here().devices;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= cuda_fake::here().devices) {
        return cudaErrorInvalidDevice;
    }
    cuda_fake::current_device = device;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = cuda_fake::current_device;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    *value = which == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; } // for the memory of a cudaMemset, which is done
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto* made = new cuda_fake::stream;
    made->device = cuda_fake::current_device;
    cuda_fake::here().streams.push_back(made);
    *s = reinterpret_cast<cudaStream_t>(made);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto* gone = reinterpret_cast<cuda_fake::stream*>(s);
    std::erase(cuda_fake::here().streams, gone);
    delete gone;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    return cuda_fake::drain(reinterpret_cast<cuda_fake::stream*>(s)) ? cudaSuccess : cudaErrorLaunchTimeout;
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
    if (cuda_fake::here().exchange_error != ncclSuccess) {
        return cudaErrorNotReady; // what a stream does when a peer is gone
    }
    return cudaStreamSynchronize(s);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
    auto* made = new cuda_fake::event;
    made->device = cuda_fake::current_device;
    *e = reinterpret_cast<cudaEvent_t>(made);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete reinterpret_cast<cuda_fake::event*>(e);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto* which = reinterpret_cast<cuda_fake::event*>(e);
    auto* on = reinterpret_cast<cuda_fake::stream*>(s);
    if (which->device != on->device) {
        return cudaErrorInvalidResourceHandle;
    }
    cuda_fake::entry x;
    x.recorded = which;
    if (cuda_fake::capturing != nullptr) {
        x.version = ++cuda_fake::capturing->recorded[which];
        cuda_fake::capturing->entries.push_back({on, x});
        return cudaSuccess;
    }
    x.version = ++which->recorded;
    on->queue.push_back(x);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto* which = reinterpret_cast<cuda_fake::event*>(e);
    cuda_fake::entry x;
    x.awaited = which;
    if (cuda_fake::capturing != nullptr) {
        auto* waiting = reinterpret_cast<cuda_fake::stream*>(s);
        x.version = cuda_fake::capturing->recorded[which];
        if (x.version == 0) {
            return cudaErrorStreamCaptureIsolation; // recorded outside
        }
        if (!cuda_fake::capturing->has(waiting)) {
            cuda_fake::capturing->members.push_back(waiting);
        }
        cuda_fake::capturing->entries.push_back({waiting, x});
        return cudaSuccess;
    }
    x.version = which->recorded; // an event that was never recorded is not waited for
    reinterpret_cast<cuda_fake::stream*>(s)->queue.push_back(x);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    for (;;) {
        cuda_fake::stream* busy = nullptr;
        {
            const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
            auto* which = reinterpret_cast<cuda_fake::event*>(e);
            if (which->done >= which->recorded) {
                return cudaSuccess;
            }
            for (cuda_fake::stream* s : cuda_fake::here().streams) {
                busy = s->queue.empty() ? busy : s;
            }
        }
        if (busy == nullptr || !cuda_fake::drain(busy)) {
            return cudaErrorLaunchTimeout;
        }
    }
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
    cuda_fake::capturing = new cuda_fake::graph;
    cuda_fake::capturing->members.push_back(reinterpret_cast<cuda_fake::stream*>(s));
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* made) {
    cuda_fake::graph* g = cuda_fake::capturing;
    cuda_fake::capturing = nullptr;
    for (const cuda_fake::stream* member : g->members) { // the last that each of the others did must have been waited for
        cuda_fake::event* last = nullptr;
        bool joined = reinterpret_cast<cudaStream_t>(const_cast<cuda_fake::stream*>(member)) == s;
        for (const auto& [on, e] : g->entries) {
            last = on == member ? e.recorded : last;
            joined = joined || (e.awaited != nullptr && e.awaited == last && on != member);
        }
        if (!joined) {
            return cudaErrorStreamCaptureUnjoined;
        }
    }
    *made = reinterpret_cast<cudaGraph_t>(g);
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t g, unsigned long long) {
    *made = reinterpret_cast<cudaGraphExec_t>(new cuda_fake::graph(*reinterpret_cast<cuda_fake::graph*>(g)));
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
    const auto* what = reinterpret_cast<cuda_fake::graph*>(g);
    ++cuda_fake::here().launches;
    return cuda_fake::put(s, [what] { what->run(cuda_fake::here().pick); });
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete reinterpret_cast<cuda_fake::graph*>(g);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
    delete reinterpret_cast<cuda_fake::graph*>(g);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* time, cudaEvent_t, cudaEvent_t) {
    *time = 1;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, size_t size) {
    *p = std::aligned_alloc(256, (size + 255) / 256 * 256);
    std::memset(*p, 0x7f, size); // device memory comes with something in it
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    cuda_fake::here().memory.insert(*p);
    return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    cuda_fake::here().memory.erase(p);
    std::free(p);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t size) { return cudaMalloc(p, size); }
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
cudaError_t cudaMemset(void* p, int value, size_t size) {
    std::memset(p, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t size, cudaStream_t s) {
    return cuda_fake::put(s, [=] { std::memset(p, value, size); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
    std::memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t s) {
    const int before = cuda_fake::current_device; // a copy may go to a stream of another device
    cuda_fake::current_device = reinterpret_cast<cuda_fake::stream*>(s)->device;
    const cudaError_t result = cuda_fake::put(s, [=] { std::memcpy(to, from, size); });
    cuda_fake::current_device = before;
    return result;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t* l, const void*, cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                void**, unsigned) {
    static int library = 0;
    *l = reinterpret_cast<cudaLibrary_t>(&library);
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* k, cudaLibrary_t, const char* name) {
    for (int i = 0; i < tessera::cuda::kernel_count; ++i) {
        if (std::string(name) == to_text(static_cast<tessera::cuda::kernel_id>(i))) {
            *k = reinterpret_cast<cudaKernel_t>(static_cast<std::uintptr_t>(i + 1));
            return cudaSuccess;
        }
    }
    return cudaErrorSymbolNotFound;
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t s) {
    const auto which = static_cast<tessera::cuda::kernel_id>(reinterpret_cast<std::uintptr_t>(f) - 1);
    const auto a = *static_cast<tessera::cuda::kernel_arguments*>(arguments[0]);
    return cuda_fake::put(s, [=] { cuda_emulation::launch(which, grid.x, block.x, a); });
}

// ---- cuDNN -----------------------------------------------------------------------------------------------------------

cudnnStatus_t cudnnCreate(cudnnHandle_t* h) {
    *h = reinterpret_cast<cudnnHandle_t>(new cuda_fake::cudnn_context{cuda_fake::current_device, nullptr});
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t h) {
    delete reinterpret_cast<cuda_fake::cudnn_context*>(h);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) {
    reinterpret_cast<cuda_fake::cudnn_context*>(h)->stream = s;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                      cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t, size_t* bytes) {
    *bytes = 1000;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t,
                                                           size_t* bytes) {
    *bytes = 0;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                             cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t,
                                                             size_t* bytes) {
    *bytes = 777;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                     const cudnnFilterDescriptor_t, const void*,
                                                     const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
                                                     void*, const int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t bytes) {
    return cuda_fake::find_algorithms(most, count, results, bytes);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t, const cudnnFilterDescriptor_t, const void*,
                                                          const cudnnTensorDescriptor_t, const void*,
                                                          const cudnnConvolutionDescriptor_t,
                                                          const cudnnTensorDescriptor_t, void*, const int most,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* results, void*,
                                                          size_t bytes) {
    return cuda_fake::find_algorithms(most, count, results, bytes);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnConvolutionDescriptor_t,
                                                            const cudnnFilterDescriptor_t, void*, const int most,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* results,
                                                            void*, size_t bytes) {
    return cuda_fake::find_algorithms(most, count, results, bytes);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t dx, const void* x,
                                      cudnnFilterDescriptor_t dw, const void* w, cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t, void* space, size_t bytes, const void*,
                                      cudnnTensorDescriptor_t dy, void* y) {
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void*, cudnnFilterDescriptor_t dw, const void* w,
                                           cudnnTensorDescriptor_t dy, const void* y, cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t, void* space, size_t bytes, const void*,
                                           cudnnTensorDescriptor_t dx, void* x) {
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.way = tessera::cuda::convolution::direction::backward_data;
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t dx, const void* x,
                                             cudnnTensorDescriptor_t dy, const void* y,
                                             cudnnConvolutionDescriptor_t how, cudnnConvolutionBwdFilterAlgo_t,
                                             void* space, size_t bytes, const void*, cudnnFilterDescriptor_t dw,
                                             void* w) {
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.way = tessera::cuda::convolution::direction::backward_filter;
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t dy, const void* y,
                                           const void*, cudnnTensorDescriptor_t, void* b) {
    tessera::cuda::bias_gradient c;
    cuda_fake::read_tensor(dy, c.y);
    return cuda_fake::put_vendor(h, c, {y, b}, 0);
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t, const void* b, const void*,
                             cudnnTensorDescriptor_t dy, void* y) {
    tessera::cuda::bias_add c;
    cuda_fake::read_tensor(dy, c.y);
    return cuda_fake::put_vendor(h, c, {b, y}, 0);
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t h, const cudnnPoolingDescriptor_t how, const void* scale,
                                  const cudnnTensorDescriptor_t dx, const void* x, const void*,
                                  const cudnnTensorDescriptor_t dy, void* y) {
    tessera::cuda::pooling p;
    cudnnPoolingMode_t mode{};
    cudnnNanPropagation_t nan{};
    tessera::cuda::check(cudnnGetPooling2dDescriptor(how, &mode, &nan, &p.window[0], &p.window[1], &p.padding[0],
                                                     &p.padding[1], &p.stride[0], &p.stride[1]),
                         "cudnnGetPooling2dDescriptor");
    p.how = mode == CUDNN_POOLING_MAX_DETERMINISTIC               ? tessera::cuda::pooling::mode::maximum
            : mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING ? tessera::cuda::pooling::mode::average
                                                                  : tessera::cuda::pooling::mode::average_with_padding;
    p.scale = *static_cast<const float*>(scale);
    cuda_fake::read_tensor(dx, p.x);
    cuda_fake::read_tensor(dy, p.y);
    return cuda_fake::put_vendor(h, p, {x, y}, 0);
}
static tessera::cuda::activation read_activation(cudnnActivationDescriptor_t how, cudnnTensorDescriptor_t d) {
    tessera::cuda::activation a;
    cudnnActivationMode_t mode{};
    cudnnNanPropagation_t nan{};
    double coefficient = 0;
    tessera::cuda::check(cudnnGetActivationDescriptor(how, &mode, &nan, &coefficient), "cudnnGetActivationDescriptor");
    a.which = mode == CUDNN_ACTIVATION_RELU      ? tessera::op_kind::relu
              : mode == CUDNN_ACTIVATION_SIGMOID ? tessera::op_kind::sigmoid
                                                 : tessera::op_kind::tanh;
    int e[4];
    cuda_fake::read_tensor(d, e);
    a.count = tessera::index_t{e[0]} * e[1] * e[2] * e[3];
    return a;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t h, cudnnActivationDescriptor_t how, const void*,
                                     const cudnnTensorDescriptor_t dx, const void* x, const void*,
                                     const cudnnTensorDescriptor_t, void* y) {
    return cuda_fake::put_vendor(h, read_activation(how, dx), {x, y}, 0);
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t h, cudnnActivationDescriptor_t how, const void*,
                                      const cudnnTensorDescriptor_t d, const void* y, const cudnnTensorDescriptor_t,
                                      const void* dy, const cudnnTensorDescriptor_t, const void*, const void*,
                                      const cudnnTensorDescriptor_t, void* dx) {
    tessera::cuda::activation a = read_activation(how, d);
    a.backward = true;
    return cuda_fake::put_vendor(h, a, {y, dy, dx}, 0);
}

// ---- cublasLt --------------------------------------------------------------------------------------------------------

cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
    *h = reinterpret_cast<cublasLtHandle_t>(new int(cuda_fake::current_device));
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
    delete reinterpret_cast<int*>(h);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*,
                                              int* count) {
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void*, const void* a,
                              cublasLtMatrixLayout_t da, const void* b, cublasLtMatrixLayout_t, const void*,
                              const void*, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t dd,
                              const cublasLtMatmulAlgo_t*, void* space, size_t bytes, cudaStream_t s) {
    tessera::cuda::matrix_product m;
    std::size_t written = 0;
    cublasOperation_t ta{};
    cublasOperation_t tb{};
    cublasLtEpilogue_t after{};
    const void* bias = nullptr;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t inner = 0;
    const auto get = [&](cublasLtMatmulDescAttributes_t which, void* to, std::size_t size) {
        tessera::cuda::check(cublasLtMatmulDescGetAttribute(how, which, to, size, &written), "GetAttribute");
    };
    get(CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
    get(CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
    get(CUBLASLT_MATMUL_DESC_EPILOGUE, &after, sizeof after);
    get(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    m.transpose_a = ta == CUBLAS_OP_T;
    m.transpose_b = tb == CUBLAS_OP_T;
    m.bias = after == CUBLASLT_EPILOGUE_BIAS;
    const auto layout = [&](cublasLtMatrixLayout_t x, cublasLtMatrixLayoutAttribute_t which, std::uint64_t& to) {
        tessera::cuda::check(cublasLtMatrixLayoutGetAttribute(x, which, &to, sizeof to, &written), "GetAttribute");
    };
    layout(dd, CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
    layout(dd, CUBLASLT_MATRIX_LAYOUT_COLS, columns);
    layout(da, m.transpose_a ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS, inner);
    m.m = static_cast<tessera::index_t>(rows);
    m.n = static_cast<tessera::index_t>(columns);
    m.k = static_cast<tessera::index_t>(inner);
    m.workspace = static_cast<tessera::index_t>(bytes);
    cuda_fake::cudnn_context context{cuda_fake::current_device, s};
    std::vector<const void*> at{a, b, d};
    if (m.bias) {
        at.push_back(bias);
    }
    at.push_back(space);
    return cuda_fake::put_vendor(reinterpret_cast<cudnnHandle_t>(&context), m, at, bytes) == CUDNN_STATUS_SUCCESS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

// ---- NCCL ------------------------------------------------------------------------------------------------------------

ncclResult_t ncclCommInitAll(ncclComm_t* made, int n, const int* devices) {
    auto all = std::make_shared<cuda_fake::clique>();
    all->devices.assign(devices, devices + n);
    if (std::set<int>(devices, devices + n).size() != static_cast<std::size_t>(n)) {
        return ncclInvalidUsage; // a GPU twice
    }
    for (int r = 0; r < n; ++r) {
        made[r] = reinterpret_cast<ncclComm_t>(new cuda_fake::communicator{all, r});
    }
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t c) {
    delete reinterpret_cast<cuda_fake::communicator*>(c);
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t c) {
    ++cuda_fake::here().aborted;
    cuda_fake::here().exchange_error = ncclSuccess;
    return ncclCommDestroy(c);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
    *state = cuda_fake::here().exchange_error;
    return ncclSuccess;
}
const char* ncclGetLastError(ncclComm_t) { return "a peer is gone"; }
ncclResult_t ncclGroupStart() {
    ++cuda_fake::group_depth;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    if (--cuda_fake::group_depth > 0 || cuda_fake::group_calls.empty()) {
        return ncclSuccess;
    }
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto group = std::make_shared<cuda_fake::exchange_group>();
    for (const cuda_fake::exchange_call& c : cuda_fake::group_calls) {
        if (std::find(group->streams.begin(), group->streams.end(), c.on) == group->streams.end()) {
            group->streams.push_back(c.on);
        }
    }
    group->work = [calls = cuda_fake::group_calls] { cuda_fake::perform(calls); };
    for (cuda_fake::stream* s : group->streams) {
        cuda_fake::entry e;
        e.group = group;
        s->queue.push_back(e);
    }
    ++cuda_fake::here().exchanges;
    cuda_fake::group_calls.clear();
    return ncclSuccess;
}
static std::size_t size_of(ncclDataType_t t) { return t == ncclFloat64 ? 8 : 4; }
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::send, reinterpret_cast<cuda_fake::communicator*>(c),
                                    from, nullptr, count * size_of(t), peer, reinterpret_cast<cuda_fake::stream*>(s)});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::receive,
                                    reinterpret_cast<cuda_fake::communicator*>(c), nullptr, to, count * size_of(t),
                                    peer, reinterpret_cast<cuda_fake::stream*>(s)});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t t, ncclRedOp_t, ncclComm_t c,
                               cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::reduce_scatter,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), 0,
                                    reinterpret_cast<cuda_fake::stream*>(s)});
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t t, ncclComm_t c, cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::all_gather,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), 0,
                                    reinterpret_cast<cuda_fake::stream*>(s)});
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t t, ncclRedOp_t how, ncclComm_t c,
                           cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::all_reduce,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), 0,
                                    reinterpret_cast<cuda_fake::stream*>(s), t == ncclFloat64, how == ncclMax});
}

} // extern "C"
