// SPDX-License-Identifier: Apache-2.0
// CUDA's libraries without a GPU, for one test program: definitions that take the place of the shared libraries' own,
// on the make-believe GPUs of cuda_fake_machine.hpp. Descriptors stay the libraries' own.
#pragma once

#include "cuda_fake_machine.hpp"

#include "tessera/base/clock.hpp"

#include <cstdio>

#include <sched.h>
#include <unistd.h>

// ---- the runtime ----------------------------------------------------------------------------------------------------

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
/// Every process has GPUs of its own, unless TESSERA_TEST_SHARED_GPUS says that all have the same.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    *p = {};
    std::strcpy(p->name, "make-believe");
    const int owner = std::getenv("TESSERA_TEST_SHARED_GPUS") != nullptr ? 0 : getpid();
    std::memcpy(p->uuid.bytes, &owner, sizeof owner);
    std::memcpy(p->uuid.bytes + sizeof owner, &device, sizeof device);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t no = cuda_fake::refusal("cudaDeviceSynchronize", true); no != cudaSuccess) {
        return no;
    }
    cuda_fake::drain_legacy(cuda_fake::current_device); // which is all that ours leave to it
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    *total = cuda_fake::here().gpu_bytes;
    const std::size_t used = cuda_fake::here().used_bytes(cuda_fake::current_device);
    *free = used < *total ? *total - used : 0;
    return cudaSuccess;
}
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
    if (const cudaError_t no = cuda_fake::refusal("cudaStreamSynchronize", true); no != cudaSuccess) {
        return no;
    }
    for (const double begin = tessera::seconds_now(); !cuda_fake::drain(reinterpret_cast<cuda_fake::stream*>(s));) {
        if (!cuda_fake::here().waits_for_others || tessera::seconds_now() - begin > 60) {
            return cudaErrorLaunchTimeout;
        }
        sched_yield();
    }
    return cuda_fake::here().fault.load();
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
    if (cuda_fake::here().exchange_error != ncclSuccess) {
        return cudaErrorNotReady; // what a stream does when a peer is gone
    }
    if (const cudaError_t no = cuda_fake::refusal("cudaStreamSynchronize", true); no != cudaSuccess) {
        return no;
    }
    if (!cuda_fake::drain(reinterpret_cast<cuda_fake::stream*>(s))) {
        return cuda_fake::here().waits_for_others ? cudaErrorNotReady : cudaErrorLaunchTimeout;
    }
    return cuda_fake::here().fault.load();
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
    if (const cudaError_t no = cuda_fake::refusal("cudaEventRecord", false); no != cudaSuccess) {
        return no;
    }
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
    if (const cudaError_t no = cuda_fake::refusal("cudaEventSynchronize", true); no != cudaSuccess) {
        return no;
    }
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
    if (cuda_fake::capturing != nullptr) {
        return cudaErrorIllegalState;
    }
    cuda_fake::capturing = new cuda_fake::graph;
    cuda_fake::capturing->members.push_back(reinterpret_cast<cuda_fake::stream*>(s));
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* made) {
    cuda_fake::graph* g = cuda_fake::capturing;
    cuda_fake::capturing = nullptr;
    *made = nullptr;
    if (g == nullptr) {
        return cudaErrorIllegalState;
    }
    for (const cuda_fake::stream* member :
         g->members) { // the last that each of the others did must have been waited for
        cuda_fake::event* last = nullptr;
        bool joined = reinterpret_cast<cudaStream_t>(const_cast<cuda_fake::stream*>(member)) == s;
        for (const auto& [on, e] : g->entries) {
            last = on == member ? e.recorded : last;
            joined = joined || (e.awaited != nullptr && e.awaited == last && on != member);
        }
        if (!joined) {
            delete g;
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
    double cost = 0;
    for (const auto& [on, e] : what->entries) {
        cost += e.cost;
    }
    return cuda_fake::put(
        s, [what] { what->run(cuda_fake::here().pick); }, cost);
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete reinterpret_cast<cuda_fake::graph*>(g);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
    delete reinterpret_cast<cuda_fake::graph*>(g);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* time, cudaEvent_t from, cudaEvent_t to) {
    const auto at = [](cudaEvent_t e) { return reinterpret_cast<cuda_fake::event*>(e)->time; };
    *time = static_cast<float>((at(to) - at(from)) * 1e-6);
    ++cuda_fake::here().timings;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, size_t size) {
    if (const cudaError_t no = cuda_fake::refusal("cudaMalloc", true); no != cudaSuccess) {
        return no;
    }
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    if (cuda_fake::here().used_bytes(cuda_fake::current_device) + size > cuda_fake::here().gpu_bytes) {
        return cudaErrorMemoryAllocation;
    }
    *p = std::aligned_alloc(256, (size + 255) / 256 * 256);
    std::memset(*p, 0x7f, size); // device memory comes with something in it
    cuda_fake::here().memory[*p] = {cuda_fake::current_device, size};
    return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
    for (int d = 0; d < cuda_fake::here().devices; ++d) { // it waits for all that is under way
        cuda_fake::drain_legacy(d);
    }
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    cuda_fake::here().memory.erase(p);
    std::free(p);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t size) {
    if (const cudaError_t no = cuda_fake::refusal("cudaMallocHost", true); no != cudaSuccess) {
        return no;
    }
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    *p = std::aligned_alloc(256, (size + 255) / 256 * 256);
    std::memset(*p, 0x7f, size);
    cuda_fake::here().memory[*p] = {-1, size};
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
/// On the default stream: the processor does not wait.
cudaError_t cudaMemset(void* p, int value, size_t size) {
    if (const cudaError_t no = cuda_fake::refusal("cudaMemset", true); no != cudaSuccess) {
        return no;
    }
    cuda_fake::stream* s = cuda_fake::legacy_stream(cuda_fake::current_device);
    return cuda_fake::put(
        reinterpret_cast<cudaStream_t>(s), [=] { std::memset(p, value, size); }, 0);
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t size, cudaStream_t s) {
    return cuda_fake::put(
        s, [=] { std::memset(p, value, size); }, cuda_fake::cost_of_memory(size));
}
/// From pageable memory to a GPU it may return when the numbers are staged; from a GPU it returns when they are there.
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
    if (const cudaError_t no = cuda_fake::refusal("cudaMemcpy", true); no != cudaSuccess) {
        return no;
    }
    cuda_fake::stream* s = cuda_fake::legacy_stream(cuda_fake::current_device);
    std::function<void()> work = [=] { std::memcpy(to, from, size); };
    if (kind == cudaMemcpyHostToDevice) {
        const auto* bytes = static_cast<const std::byte*>(from);
        work = [to, staged = std::vector<std::byte>(bytes, bytes + size)] {
            std::memcpy(to, staged.data(), staged.size());
        };
    }
    const cudaError_t result = cuda_fake::put(reinterpret_cast<cudaStream_t>(s), work, 0);
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault) { // (which the runtime tells by the addresses)
        cuda_fake::drain_legacy(cuda_fake::current_device);
    }
    return result;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t s) {
    if (const cudaError_t no = cuda_fake::refusal("cudaMemcpyAsync", false); no != cudaSuccess) {
        return no;
    }
    const int before = cuda_fake::current_device; // a copy may go to a stream of another device
    cuda_fake::current_device = reinterpret_cast<cuda_fake::stream*>(s)->device;
    const cudaError_t result = cuda_fake::put(
        s, [=] { std::memcpy(to, from, size); }, cuda_fake::cost_of_memory(size));
    cuda_fake::current_device = before;
    return result;
}
// A binary is the place of its text among all that was compiled.
nvrtcResult nvrtcCreateProgram(nvrtcProgram* p, const char* source, const char*, int, const char* const*,
                               const char* const*) {
    *p = reinterpret_cast<nvrtcProgram>(new std::string(source));
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* p) {
    delete reinterpret_cast<std::string*>(*p);
    *p = nullptr;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* size) {
    *size = sizeof(std::size_t);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char* binary) {
    const std::scoped_lock one_at_a_time(cuda_fake::here().texts_lock);
    std::deque<std::string>& all = cuda_fake::here().texts;
    const std::size_t place = all.size();
    all.push_back(*reinterpret_cast<std::string*>(p));
    std::memcpy(binary, &place, sizeof place);
    return NVRTC_SUCCESS;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t* l, const void* binary, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
    std::size_t place = 0;
    std::memcpy(&place, binary, sizeof place);
    const std::scoped_lock one_at_a_time(cuda_fake::here().texts_lock);
    *l = reinterpret_cast<cudaLibrary_t>(&cuda_fake::here().texts[place]);
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* k, cudaLibrary_t l, const char* name) {
    static const std::string before = tessera::cuda::source_of("");
    const std::string& text = *reinterpret_cast<const std::string*>(l);
    const bool own = !text.starts_with(before + tessera::cuda::kernels::copy_code); // which only the library's text has
    cuda_emulation::device_function* const found =
        own ? cuda_emulation::find(name, text.substr(before.size())) : cuda_emulation::find(name);
    *k = reinterpret_cast<cudaKernel_t>(found);
    return found != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t s) {
    auto* const which = static_cast<cuda_emulation::device_function*>(const_cast<void*>(f));
    const auto a = *static_cast<tessera::cuda::kernel_arguments*>(arguments[0]);
    return cuda_fake::put(
        s, [=] { cuda_emulation::launch(*which, grid.x, block.x, a); }, cuda_fake::cost_of_kernel(grid.x));
}

// ---- cuDNN ----------------------------------------------------------------------------------------------------------

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
                                                      cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
    return cuda_fake::ask_workspace(how, algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t how,
                                                           cudnnTensorDescriptor_t,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
    return cuda_fake::ask_workspace(how, algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t how,
                                                             cudnnFilterDescriptor_t,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
    return cuda_fake::ask_workspace(how, algorithm, bytes);
}
/// No estimate: the algorithm that needs none is to be taken.
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                                                     const cudnnTensorDescriptor_t, const int, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t*) {
    *count = 0;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                          const cudnnTensorDescriptor_t,
                                                          const cudnnConvolutionDescriptor_t,
                                                          const cudnnTensorDescriptor_t, const int, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t*) {
    *count = 0;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                            const cudnnTensorDescriptor_t,
                                                            const cudnnConvolutionDescriptor_t how,
                                                            const cudnnFilterDescriptor_t, const int most, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
    return cuda_fake::find_algorithms(how, most, count, results, std::size_t{1} << 45);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                     const cudnnFilterDescriptor_t, const void*,
                                                     const cudnnConvolutionDescriptor_t how,
                                                     const cudnnTensorDescriptor_t, void*, const int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t bytes) {
    return cuda_fake::find_algorithms(how, most, count, results, bytes);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t, const cudnnFilterDescriptor_t, const void*,
                                                          const cudnnTensorDescriptor_t, const void*,
                                                          const cudnnConvolutionDescriptor_t how,
                                                          const cudnnTensorDescriptor_t, void*, const int most,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* results, void*,
                                                          size_t bytes) {
    return cuda_fake::find_algorithms(how, most, count, results, bytes);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnConvolutionDescriptor_t how,
                                                            const cudnnFilterDescriptor_t, void*, const int most,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* results,
                                                            void*, size_t bytes) {
    return cuda_fake::find_algorithms(how, most, count, results, bytes);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t dx, const void* x,
                                      cudnnFilterDescriptor_t dw, const void* w, cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* space, size_t bytes, const void*,
                                      cudnnTensorDescriptor_t dy, void* y) {
    if (const cudnnStatus_t no = cuda_fake::accepts(how, algorithm, space, bytes); no != CUDNN_STATUS_SUCCESS) {
        return no;
    }
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void*, cudnnFilterDescriptor_t dw, const void* w,
                                           cudnnTensorDescriptor_t dy, const void* y, cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* space, size_t bytes,
                                           const void*, cudnnTensorDescriptor_t dx, void* x) {
    if (const cudnnStatus_t no = cuda_fake::accepts(how, algorithm, space, bytes); no != CUDNN_STATUS_SUCCESS) {
        return no;
    }
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.way = tessera::cuda::convolution::direction::backward_data;
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void*, cudnnTensorDescriptor_t dx, const void* x,
                                             cudnnTensorDescriptor_t dy, const void* y,
                                             cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* space, size_t bytes,
                                             const void*, cudnnFilterDescriptor_t dw, void* w) {
    if (const cudnnStatus_t no = cuda_fake::accepts(how, algorithm, space, bytes); no != CUDNN_STATUS_SUCCESS) {
        return no;
    }
    tessera::cuda::convolution c = cuda_fake::read_convolution(dx, dw, dy, how);
    c.way = tessera::cuda::convolution::direction::backward_filter;
    c.workspace = static_cast<tessera::index_t>(bytes);
    return cuda_fake::put_vendor(h, c, {x, w, y, space}, bytes);
}
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t h, const void*, const cudnnTensorDescriptor_t dx, const void* x, const cudnnFilterDescriptor_t dw,
    const void* w, const cudnnConvolutionDescriptor_t how, cudnnConvolutionFwdAlgo_t algorithm, void* space,
    size_t bytes, const void* factor, const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t db,
    const void* bias, const cudnnActivationDescriptor_t act, const cudnnTensorDescriptor_t dy, void* y) {
    if (!cuda_fake::here().activates_convolutions) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (const cudnnStatus_t no = cuda_fake::accepts(how, algorithm, space, bytes); no != CUDNN_STATUS_SUCCESS) {
        return no;
    }
    tessera::cuda::activated_convolution a{cuda_fake::read_convolution(dx, dw, dy, how)};
    a.of.workspace = static_cast<tessera::index_t>(bytes);
    tessera::cuda::tensor_extents e;
    cudnnActivationMode_t mode{};
    cudnnNanPropagation_t nan{};
    double coefficient = 0;
    tessera::cuda::check(cudnnGetActivationDescriptor(act, &mode, &nan, &coefficient), "cudnnGetActivationDescriptor");
    if (*static_cast<const float*>(factor) != 0 || mode != CUDNN_ACTIVATION_RELU ||
        cuda_fake::read_tensor(db, e) != a.of.type() || e[1] != a.of.y[1]) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    return cuda_fake::put_vendor(h, a, {x, w, y, bias, space}, bytes);
}
static tessera::cuda::normalization read_normalization(cudnnTensorDescriptor_t d, cudnnTensorDescriptor_t channels,
                                                       double epsilon, tessera::cuda::normalization::direction way) {
    tessera::cuda::normalization n;
    n.way = way;
    n.type = cuda_fake::read_tensor(d, n.x);
    n.epsilon = epsilon;
    int e[4];
    if (cuda_fake::read_tensor(channels, e) != tessera::element::f32 || e[1] != n.x[1]) {
        throw tessera::error("the numbers of channels are not those of the tensor, in fp32");
    }
    return n;
}
cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t h, cudnnBatchNormMode_t, const void*, const void*,
                                                     const cudnnTensorDescriptor_t d, const void* x,
                                                     const cudnnTensorDescriptor_t, void* y,
                                                     const cudnnTensorDescriptor_t channels, const void* gamma,
                                                     const void* beta, double, void*, void*, double epsilon, void* mean,
                                                     void* inverse) {
    const auto n = read_normalization(d, channels, epsilon, tessera::cuda::normalization::direction::training);
    if (inverse != static_cast<float*>(mean) + n.x[1]) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    return cuda_fake::put_vendor(h, n, {x, gamma, beta, y, mean}, 0);
}
cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t h, cudnnBatchNormMode_t, const void*, const void*,
                                                      const cudnnTensorDescriptor_t d, const void* x,
                                                      const cudnnTensorDescriptor_t, void* y,
                                                      const cudnnTensorDescriptor_t channels, const void* gamma,
                                                      const void* beta, const void* mean, const void* variance,
                                                      double epsilon) {
    const auto n = read_normalization(d, channels, epsilon, tessera::cuda::normalization::direction::inference);
    if (variance != static_cast<const float*>(mean) + n.x[1]) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    return cuda_fake::put_vendor(h, n, {x, gamma, beta, mean, y}, 0);
}
cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t h, cudnnBatchNormMode_t, const void*, const void*,
                                              const void*, const void*, const cudnnTensorDescriptor_t d, const void* x,
                                              const cudnnTensorDescriptor_t, const void* dy,
                                              const cudnnTensorDescriptor_t, void* dx,
                                              const cudnnTensorDescriptor_t channels, const void* gamma, void* dgamma,
                                              void* dbeta, double epsilon, const void* mean, const void* inverse) {
    const auto n = read_normalization(d, channels, epsilon, tessera::cuda::normalization::direction::backward);
    if (inverse != static_cast<const float*>(mean) + n.x[1]) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    return cuda_fake::put_vendor(h, n, {x, dy, gamma, mean, dx, dgamma, dbeta}, 0);
}
static tessera::cuda::row_softmax read_softmax(cudnnTensorDescriptor_t d, bool backward) {
    int e[4];
    tessera::cuda::row_softmax s;
    s.type = cuda_fake::read_tensor(d, e);
    s.backward = backward;
    s.rows = e[0];
    s.columns = e[1] * e[2] * e[3];
    return s;
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void*,
                                  const cudnnTensorDescriptor_t d, const void* x, const void*,
                                  const cudnnTensorDescriptor_t, void* y) {
    return cuda_fake::put_vendor(h, read_softmax(d, false), {x, y}, 0);
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void*,
                                   const cudnnTensorDescriptor_t d, const void* y, const cudnnTensorDescriptor_t,
                                   const void* dy, const void*, const cudnnTensorDescriptor_t, void* dx) {
    return cuda_fake::put_vendor(h, read_softmax(d, true), {y, dy, dx}, 0);
}
cudnnStatus_t cudnnOpTensor(cudnnHandle_t h, const cudnnOpTensorDescriptor_t how, const void*,
                            const cudnnTensorDescriptor_t d, const void* a, const void*,
                            const cudnnTensorDescriptor_t second, const void* b, const void*,
                            const cudnnTensorDescriptor_t, void* to) {
    cudnnOpTensorOp_t which{};
    cudnnDataType_t type{};
    cudnnNanPropagation_t nan{};
    tessera::cuda::check(cudnnGetOpTensorDescriptor(how, &which, &type, &nan), "cudnnGetOpTensorDescriptor");
    int e[4];
    if (cuda_fake::read_tensor(d, e) != tessera::element::f32) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    int f[4];
    cuda_fake::read_tensor(second, f);
    const tessera::cuda::tensor_operation o{which == CUDNN_OP_TENSOR_MUL, tessera::index_t{e[1]} * e[2] * e[3], e[0],
                                            f[0] != e[0]};
    return cuda_fake::put_vendor(h, o, {a, b, to}, 0);
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
    int dimensions = 0;
    tessera::cuda::check(cudnnGetPoolingNdDescriptor(how, p.window.capacity(), &mode, &nan, &dimensions,
                                                     p.window.begin(), p.padding.begin(), p.stride.begin()),
                         "cudnnGetPoolingNdDescriptor");
    p.set_dimensions(dimensions);
    p.how = mode == CUDNN_POOLING_MAX_DETERMINISTIC               ? tessera::cuda::pooling::mode::maximum
            : mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING ? tessera::cuda::pooling::mode::average
                                                                  : tessera::cuda::pooling::mode::average_with_padding;
    p.scale = *static_cast<const float*>(scale);
    p.type = cuda_fake::read_tensor(dx, p.x);
    cuda_fake::read_tensor(dy, p.y);
    return cuda_fake::put_vendor(h, p, {x, y}, 0);
}
static tessera::cuda::activation read_activation(cudnnActivationDescriptor_t how, cudnnTensorDescriptor_t d) {
    tessera::cuda::activation a;
    cudnnActivationMode_t mode{};
    cudnnNanPropagation_t nan{};
    double coefficient = 0;
    tessera::cuda::check(cudnnGetActivationDescriptor(how, &mode, &nan, &coefficient), "cudnnGetActivationDescriptor");
    a.which = mode == CUDNN_ACTIVATION_RELU      ? tessera::cuda::activation::function::relu
              : mode == CUDNN_ACTIVATION_SIGMOID ? tessera::cuda::activation::function::sigmoid
                                                 : tessera::cuda::activation::function::tanh;
    int e[4];
    a.type = cuda_fake::read_tensor(d, e);
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

// ---- cublasLt -------------------------------------------------------------------------------------------------------

cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
    *h = reinterpret_cast<cublasLtHandle_t>(new int(cuda_fake::current_device));
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
    delete reinterpret_cast<int*>(h);
    return CUBLAS_STATUS_SUCCESS;
}
/// Without the epilogue of a bias' gradient where the test says so.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
    cublasLtEpilogue_t after{};
    std::size_t written = 0;
    tessera::cuda::check(
        cublasLtMatmulDescGetAttribute(how, CUBLASLT_MATMUL_DESC_EPILOGUE, &after, sizeof after, &written),
        "GetAttribute");
    *count = std::min(most, static_cast<int>(cuda_fake::here().proposal_costs.size()));
    for (int i = 0; i < *count; ++i) {
        results[i].state = CUBLAS_STATUS_SUCCESS;
        results[i].algo.data[0] = static_cast<std::uint64_t>(i);
    }
    return after == CUBLASLT_EPILOGUE_BGRADB && !cuda_fake::here().sums_beside_products ? CUBLAS_STATUS_NOT_SUPPORTED
                                                                                        : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void* scale, const void* a,
                              cublasLtMatrixLayout_t da, const void* b, cublasLtMatrixLayout_t db, const void*,
                              const void*, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t dd,
                              const cublasLtMatmulAlgo_t* algorithm, void* space, size_t bytes, cudaStream_t s) {
    if (cuda_fake::fails("cublasLtMatmul")) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const auto proposal = static_cast<std::size_t>(algorithm->data[0]);
    if (const double more = cuda_fake::here().proposal_costs.at(proposal); more > 0) {
        (void)cuda_fake::put(
            s, [] {}, more);
    }
    ++cuda_fake::here().proposals_run[proposal];
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
    m.bias = after == CUBLASLT_EPILOGUE_BIAS || after == CUBLASLT_EPILOGUE_RELU_BIAS;
    m.positive = after == CUBLASLT_EPILOGUE_RELU || after == CUBLASLT_EPILOGUE_RELU_BIAS;
    m.sums = after == CUBLASLT_EPILOGUE_BGRADB;
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
    m.scale = *static_cast<const float*>(scale);
    cublasComputeType_t sums{};
    get(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &sums, sizeof sums);
    const auto is_bf16 = [&](cublasLtMatrixLayout_t x) {
        std::uint32_t type = 0;
        tessera::cuda::check(
            cublasLtMatrixLayoutGetAttribute(x, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof type, &written),
            "GetAttribute");
        return type == CUDA_R_16BF;
    };
    m.math = is_bf16(da)                            ? tessera::precision::bf16
             : sums == CUBLAS_COMPUTE_32F_FAST_TF32 ? tessera::precision::tf32
                                                    : tessera::precision::fp32;
    m.result = is_bf16(dd) ? tessera::element::bf16 : tessera::element::f32;
    if (is_bf16(da) != is_bf16(db)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const cublasLtMatrixLayout_t layouts[] = {da, db, dd};
    for (int i = 0; i < 3; ++i) {
        std::uint64_t lead = 0;
        std::int32_t batch = 0;
        std::int64_t apart = 0;
        layout(layouts[i], CUBLASLT_MATRIX_LAYOUT_LD, lead);
        tessera::cuda::check(cublasLtMatrixLayoutGetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                              sizeof batch, &written),
                             "GetAttribute");
        tessera::cuda::check(cublasLtMatrixLayoutGetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                              &apart, sizeof apart, &written),
                             "GetAttribute");
        m.lead[i] = static_cast<tessera::index_t>(lead);
        m.apart[i] = apart;
        m.batch = batch;
    }
    cuda_fake::cudnn_context context{cuda_fake::current_device, s};
    std::vector<const void*> at{a, b, d};
    if (m.bias || m.sums) {
        at.push_back(bias);
    }
    at.push_back(space);
    return cuda_fake::put_vendor(reinterpret_cast<cudnnHandle_t>(&context), m, at, bytes) == CUDNN_STATUS_SUCCESS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

// ---- NCCL -----------------------------------------------------------------------------------------------------------

ncclResult_t ncclCommInitAll(ncclComm_t* made, int n, const int* devices) {
    if (cuda_fake::group_depth > 0) {
        return ncclInvalidUsage;
    }
    auto all = std::make_shared<cuda_fake::clique>();
    ++cuda_fake::here().cliques;
    all->devices.assign(devices, devices + n);
    const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
    all->sums_in_switches = nvls == nullptr || std::string(nvls) != "0";
    if (std::set<int>(devices, devices + n).size() != tessera::to_size(n)) {
        return ncclInvalidUsage; // a GPU twice
    }
    for (int r = 0; r < n; ++r) {
        made[r] = reinterpret_cast<ncclComm_t>(new cuda_fake::communicator{all, r, {}});
    }
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static int made = 0;
    *id = {};
    std::snprintf(id->internal, sizeof id->internal, "/tessera_test_nccl_%d_%d", getpid(), made++);
    return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
    *made = nullptr;
    if (cuda_fake::group_depth == 0 || config == nullptr || config->blocking != 0 || rank < 0 || rank >= ranks) {
        return ncclInvalidUsage; // ours do not block, and are made together
    }
    if (cuda_fake::fails("ncclCommInitRankConfig")) {
        return ncclSystemError;
    }
    *made = reinterpret_cast<ncclComm_t>(cuda_fake::come_into(id.internal, ranks + cuda_fake::here().more_ranks, rank));
    return ncclInProgress;
}
ncclResult_t ncclCommCount(const ncclComm_t c, int* count) {
    *count = static_cast<int>(reinterpret_cast<const cuda_fake::communicator*>(c)->all->devices.size());
    return ncclSuccess;
}
ncclResult_t ncclCommSplit(ncclComm_t c, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
    auto* from = reinterpret_cast<cuda_fake::communicator*>(c);
    if (cuda_fake::group_depth == 0 || config == nullptr || config->splitShare != 1 ||
        from->all->devices[tessera::to_size(from->rank)] != cuda_fake::current_device) {
        return ncclInvalidUsage;
    }
    cuda_fake::group_splits.push_back({from, color, key, made, cuda_fake::current_device});
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t c) {
    cuda_fake::here().connecting.erase(reinterpret_cast<cuda_fake::communicator*>(c));
    delete reinterpret_cast<cuda_fake::communicator*>(c);
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t c) {
    if (cuda_fake::here().open_groups > 0) { // it would wait in that group
        return ncclInvalidUsage;
    }
    ++cuda_fake::here().aborted;
    cuda_fake::here().exchange_error = ncclSuccess;
    auto* gone = reinterpret_cast<cuda_fake::communicator*>(c);
    cuda_fake::here().connecting.erase(gone);
    gone->all->aborted = true;
    if (gone->all->post != nullptr) {
        gone->all->post->lose_name();
    }
    cuda_fake::here().ended.emplace_back(gone);
    return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* state) {
    *state = cuda_fake::here().exchange_error;
    if (*state == ncclSuccess) {
        *state = cuda_fake::state_of(reinterpret_cast<cuda_fake::communicator*>(c));
    }
    return ncclSuccess;
}
const char* ncclGetLastError(ncclComm_t) { return "a peer is gone"; }
ncclResult_t ncclGroupStart() {
    ++cuda_fake::group_depth;
    ++cuda_fake::here().open_groups;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    --cuda_fake::here().open_groups;
    if (--cuda_fake::group_depth > 0) {
        return ncclSuccess;
    }
    if (!cuda_fake::group_splits.empty()) {
        return cuda_fake::split(std::exchange(cuda_fake::group_splits, {}));
    }
    if (cuda_fake::group_calls.empty()) {
        return ncclSuccess;
    }
    const std::lock_guard<std::mutex> lock(cuda_fake::here().mutex);
    auto group = std::make_shared<cuda_fake::exchange_group>();
    for (const cuda_fake::exchange_call& c : cuda_fake::group_calls) {
        if (std::find(group->streams.begin(), group->streams.end(), c.on) == group->streams.end()) {
            group->streams.push_back(c.on);
        }
    }
    if (cuda_fake::group_calls[0].owner->under_way) {
        return ncclInvalidUsage; // it is not there yet
    }
    if (cuda_fake::group_calls[0].owner->all->post != nullptr) {
        auto between = std::make_shared<cuda_fake::exchange_between>(cuda_fake::group_calls);
        group->has_come = [between] { return between->has_come(); };
        group->work = [between] { between->finish(); };
    } else {
        group->work = [calls = cuda_fake::group_calls] { cuda_fake::perform(calls); };
    }
    for (cuda_fake::stream* s : group->streams) {
        cuda_fake::entry e;
        e.group = group;
        s->queue.push_back(e);
    }
    ++cuda_fake::here().exchanges;
    cuda_fake::group_calls.clear();
    return ncclSuccess;
}
static std::size_t size_of(ncclDataType_t t) { return t == ncclFloat64 ? 8 : t == ncclBfloat16 ? 2 : 4; }
static tessera::element type_of(ncclDataType_t t) {
    return t == ncclFloat64    ? tessera::element::f64
           : t == ncclBfloat16 ? tessera::element::bf16
                               : tessera::element::f32;
}
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
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t t, ncclRedOp_t, int root, ncclComm_t c,
                        cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::reduce,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), root,
                                    reinterpret_cast<cuda_fake::stream*>(s)});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t t, int root, ncclComm_t c,
                           cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::broadcast,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), root,
                                    reinterpret_cast<cuda_fake::stream*>(s)});
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t t, ncclRedOp_t how, ncclComm_t c,
                           cudaStream_t s) {
    return cuda_fake::add_exchange({cuda_fake::exchange_call::kind::all_reduce,
                                    reinterpret_cast<cuda_fake::communicator*>(c), from, to, count * size_of(t), 0,
                                    reinterpret_cast<cuda_fake::stream*>(s), type_of(t), how == ncclMax});
}

} // extern "C"
