// SPDX-License-Identifier: Apache-2.0
// GPUs that do not exist, for cuda_fake.hpp: streams are queues that run as late as they can, in a random order, so
// that what was not waited for is not there; vendor functions are plain loops, kernels are their own text, memory is
// the processor's. Any function can be told to fail, at once or when the GPU comes to it.
#pragma once

#include "cuda_fake_ranks.hpp"
#include "cuda_interpreter.hpp"

#include "tessera/backend/cuda/backend.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace cuda_fake {

namespace ts = tessera;

struct event {
    int device = 0;
    long recorded = 0; ///< in the order of the host's calls
    long done = 0;
    double time = 0; ///< ns, by the clock of the stream
};

/// Calls of one ncclGroup: they start together.
struct exchange_group {
    std::vector<struct stream*> streams;
    std::function<void()> work;
    std::function<bool()> has_come; ///< whether what other processes send is there; empty: there are none
};

struct entry {
    std::function<void()> work;
    event* recorded = nullptr;
    event* awaited = nullptr;
    long version = 0;
    double cost = 0; ///< ns
    std::shared_ptr<exchange_group> group;
};

struct stream {
    int device = 0;
    std::deque<entry> queue;
    double now = 0; ///< ns: streams wait for nothing but each other, so that what a call takes is what is said of it
};

/// Streams' entries between the begin and the end of a capture, in the order of the calls. Versions of events count
/// from the begin.
struct graph {
    std::vector<std::pair<stream*, entry>> entries;
    std::vector<stream*> members;
    std::map<event*, long> recorded;

    bool has(const stream* s) const { return std::find(members.begin(), members.end(), s) != members.end(); }
    void run(test_support::random& pick) const;
};

/// A call of NCCL within a group.
struct exchange_call {
    enum class kind { send, receive, reduce_scatter, all_gather, all_reduce, reduce, broadcast } what = kind::send;
    struct communicator* owner = nullptr;
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
    stream* on = nullptr;
    ts::element type = ts::element::f32;
    bool largest = false; ///< maximum, not sum
};

struct clique {
    std::vector<int> devices;      ///< by rank; -1: another process's
    std::unique_ptr<segment> post; ///< with other processes
    int splits = 0;
    bool aborted = false;         ///< what is still queued is not done
    bool sums_in_switches = true; ///< NVLS: in the order in which the summands arrive
};
struct communicator {
    std::shared_ptr<clique> all;
    int rank = 0;
    std::function<ncclResult_t()> under_way; ///< of one that does not block: what it is at, until it is done
};

struct allocation {
    int device = 0; ///< -1: pinned memory of the processor
    std::size_t bytes = 0;
};

struct machine {
    std::mutex mutex;
    int devices = 8;
    std::vector<stream*> streams;
    test_support::random pick{17};
    ncclResult_t exchange_error = ncclSuccess; ///< what communicators report when they are asked
    int aborted = 0;
    std::vector<std::shared_ptr<communicator>> ended; ///< that were aborted, while streams still know them
    bool activates_convolutions = true;               ///< whether cuDNN has the fused call for an algorithm
    bool sums_beside_products = true;                 ///< whether cublasLt has CUBLASLT_EPILOGUE_BGRADB
    std::vector<double> proposal_costs{0};    ///< ns that a product takes longer by each of cublasLt's proposals
    std::map<std::size_t, int> proposals_run; ///< how often, by proposal
    int exchanges = 0;
    int launches = 0; ///< of graphs
    std::mutex texts_lock;
    std::deque<std::string> texts; ///< of kernels that were compiled
    int timings = 0;               ///< elapsed times that were asked for
    std::map<void*, allocation> memory;
    std::map<int, stream*> legacy; ///< a GPU's default stream: what a cudaMemcpy has not yet brought to its place
    std::size_t gpu_bytes = std::size_t{4} << 30;
    std::size_t third_wants = std::size_t{1} << 50; ///< bytes of workspace for the third of cuDNN's algorithms
    int more_ranks = 0;                 ///< by which a communicator of several processes is larger than this one says
    int signal_of_exchange = 0;         ///< that this process raises, if not 0,
    int exchanges_before_signal = 0;    ///< at so many exchanges with others; negative: when it connects to them
    std::set<communicator*> connecting; ///< to other processes: they go on by themselves
    std::map<std::string, std::weak_ptr<clique>> joined; ///< with other processes, by the names of their segments
    bool waits_for_others = false;                       ///< the last time that streams were run
    int cliques = 0;                                     ///< communicators that were made by themselves
    int splits = 0;                                      ///< and from another
    std::atomic<int> open_groups{0};                     ///< of NCCL, on all threads
    std::atomic<cudaError_t> fault{cudaSuccess};         ///< what went wrong on a GPU: every call says it from then on
    std::mutex failing_mutex;
    std::map<std::string, int> failing; ///< how many more calls of a function are right before one fails
    std::map<std::string, int> faulty;  ///< the same of work on a GPU

    std::size_t used_bytes(int device) const {
        std::size_t sum = 0;
        for (const auto& [where, a] : memory) {
            sum += a.device == device ? a.bytes : 0;
        }
        return sum;
    }
    std::size_t pinned_bytes() const { return used_bytes(-1); }
};

inline machine& here() {
    static machine m;
    return m;
}
inline thread_local int current_device = 0;
inline thread_local graph* capturing = nullptr;
inline thread_local int group_depth = 0;
inline thread_local std::vector<exchange_call> group_calls;
/// A communicator's part in a split, until its group ends.
struct split_call {
    struct communicator* from = nullptr;
    int color = 0;
    int key = 0;
    ncclComm_t* made = nullptr;
    int device = 0;
};
inline thread_local std::vector<split_call> group_splits;

/// Counts a call of a function that a test has told to fail; true when it is to.
inline bool comes_true(std::map<std::string, int>& after, const std::string& function) {
    const std::lock_guard<std::mutex> lock(here().failing_mutex);
    const auto found = after.find(function);
    if (found == after.end() || found->second-- > 0) {
        return false;
    }
    after.erase(found);
    return true;
}
inline bool fails(const char* function) { return comes_true(here().failing, function); }

/// What a call of the runtime has to say before it does anything: an error of the GPU stays, and a stream that is
/// recorded runs nothing.
inline cudaError_t refusal(const char* function, bool runs_something) {
    if (fails(function)) {
        return cudaErrorInvalidValue;
    }
    if (here().fault.load() != cudaSuccess) {
        return here().fault.load();
    }
    return runs_something && capturing != nullptr ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

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
        std::deque<entry>& q = queues[ready.at(ts::to_size(pick(static_cast<int>(ready.size()))))];
        if (q.front().work) {
            q.front().work();
        }
        if (q.front().recorded != nullptr) {
            done[q.front().recorded] = q.front().version;
        }
        q.pop_front();
    }
}

/// What calls take, in nanoseconds: more than nothing, and different for different calls.
inline double cost_of_kernel(unsigned blocks) { return 1000 + 10.0 * blocks; }
inline double cost_of_vendor(std::size_t kind) { return 5000 + 1000.0 * static_cast<double>(kind); }
inline double cost_of_memory(std::size_t bytes) { return 500 + static_cast<double>(bytes) / 1000; }
inline double cost_of(const ts::cuda::call& c) {
    const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
    const bool memory =
        std::holds_alternative<ts::cuda::memory_clear>(c.body) || std::holds_alternative<ts::cuda::memory_copy>(c.body);
    return k != nullptr ? cost_of_kernel(static_cast<unsigned>(k->blocks))
           : memory     ? cost_of_memory(ts::to_size(c.memory.back().bytes))
                        : cost_of_vendor(c.body.index());
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
        if (e.group->has_come && !e.group->has_come()) {
            here().waits_for_others = true;
            return false;
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
    s.now = std::max(s.now, e.awaited != nullptr ? e.awaited->time : 0) + e.cost;
    if (e.recorded != nullptr) {
        e.recorded->done = e.version;
        e.recorded->time = s.now;
    }
    s.queue.pop_front();
}

/// Runs streams, any that can, until `until` is empty. False where they wait for each other, or, as the machine then
/// says, for other processes.
inline bool drain(stream* until) {
    const std::lock_guard<std::mutex> lock(here().mutex);
    while (!until->queue.empty()) {
        here().waits_for_others = false;
        std::vector<stream*> ready;
        for (stream* s : here().streams) {
            if (!s->queue.empty() && can_run(*s)) {
                ready.push_back(s);
            }
        }
        if (ready.empty()) {
            return false;
        }
        run_one(*ready[ts::to_size(here().pick(static_cast<int>(ready.size())))]);
    }
    return true;
}

/// The default stream of a GPU. Nobody else runs it: what a cudaMemcpy of pageable memory leaves to it is done when it
/// must be.
inline stream* legacy_stream(int device) {
    const std::lock_guard<std::mutex> lock(here().mutex);
    stream*& s = here().legacy[device];
    if (s == nullptr) {
        s = new stream;
        s->device = device;
    }
    return s;
}
inline void drain_legacy(int device) {
    stream* s = legacy_stream(device);
    const std::lock_guard<std::mutex> lock(here().mutex);
    for (; !s->queue.empty(); run_one(*s)) {
    }
}

inline cudaError_t put(cudaStream_t s, std::function<void()> work, double cost) {
    if (here().fault.load() != cudaSuccess) {
        return here().fault.load();
    }
    const std::lock_guard<std::mutex> lock(here().mutex);
    auto* to = reinterpret_cast<stream*>(s);
    if (to == nullptr || to->device != current_device) {
        return cudaErrorInvalidResourceHandle;
    }
    entry e;
    e.work = std::move(work);
    e.cost = cost;
    if (capturing != nullptr) {
        if (!capturing->has(to)) {
            return cudaErrorStreamCaptureIsolation; // such a call would run at once
        }
        capturing->entries.push_back({to, e});
        return cudaSuccess;
    }
    to->queue.push_back(std::move(e));
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
    const cudaError_t result = put(
        context->stream,
        [c, pointers] {
            if (comes_true(here().faulty, ts::cuda::function_of(c))) {
                here().fault.store(cudaErrorIllegalAddress);
            }
            std::visit(test_support::vendor_loops{c, pointers.data()}, c.body);
        },
        cost_of_vendor(c.body.index()));
    return result == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

/// Extents of a tensor, and the type of its elements.
inline ts::element read_tensor(cudnnTensorDescriptor_t d, ts::cuda::tensor_extents& e) {
    cudnnDataType_t type{};
    int strides[ts::max_rank];
    ts::cuda::check(cudnnGetTensorNdDescriptor(d, ts::max_rank, &type, &e.count, e.begin(), strides),
                    "cudnnGetTensorNdDescriptor");
    for (int k = e.size() - 1, dense = 1; k >= 0; dense *= e[k--]) {
        if (strides[k] != dense) {
            throw ts::error("a tensor is not dense");
        }
    }
    return type == CUDNN_DATA_BFLOAT16 ? ts::element::bf16 : ts::element::f32;
}
inline ts::element read_tensor(cudnnTensorDescriptor_t d, int (&e)[4]) {
    ts::cuda::tensor_extents all;
    const ts::element type = read_tensor(d, all);
    if (all.size() != 4) {
        throw ts::error("a tensor has another rank than 4");
    }
    std::copy(all.begin(), all.end(), e);
    return type;
}

inline ts::cuda::convolution read_convolution(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                              cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t how) {
    ts::cuda::convolution c;
    cudnnDataType_t type{};
    cudnnTensorFormat_t format{};
    cudnnConvolutionMode_t mode{};
    const ts::element own = read_tensor(x, c.x);
    const bool alike = read_tensor(y, c.y) == own;
    ts::cuda::check(cudnnGetFilterNdDescriptor(w, ts::max_rank, &type, &format, &c.w.count, c.w.begin()),
                    "cudnnGetFilterNdDescriptor");
    if (c.w.size() != c.x.size() || c.y.size() != c.x.size()) {
        throw ts::error("the tensors of a convolution differ in their ranks");
    }
    if (!alike || (type == CUDNN_DATA_BFLOAT16) != (own == ts::element::bf16)) {
        throw ts::error("the tensors of a convolution differ in their types");
    }
    cudnnMathType_t math{};
    ts::cuda::check(cudnnGetConvolutionMathType(how, &math), "cudnnGetConvolutionMathType");
    c.math = own == ts::element::bf16 ? ts::precision::bf16
             : math == CUDNN_FMA_MATH ? ts::precision::fp32
                                      : ts::precision::tf32;
    c.set_dimensions(c.x.size() - 2);
    ts::cuda::check(cudnnGetConvolutionNdDescriptor(how, c.padding.size(), &c.padding.count, c.padding.begin(),
                                                    c.stride.begin(), c.dilation.begin(), &mode, &type),
                    "cudnnGetConvolutionNdDescriptor");
    ts::cuda::check(cudnnGetConvolutionGroupCount(how, &c.groups), "cudnnGetConvolutionGroupCount");
    return c;
}

inline cudnnMathType_t math_of(cudnnConvolutionDescriptor_t how) {
    cudnnMathType_t math{};
    ts::cuda::check(cudnnGetConvolutionMathType(how, &math), "cudnnGetConvolutionMathType");
    return math;
}

/// Bytes that an algorithm wants: another number for every math type.
inline std::size_t workspace_of(int algorithm, cudnnMathType_t math) {
    return algorithm == 2               ? here().third_wants
           : math == CUDNN_FMA_MATH     ? 512
           : math == CUDNN_DEFAULT_MATH ? 4608
                                        : 2560;
}
inline cudnnStatus_t ask_workspace(cudnnConvolutionDescriptor_t how, int algorithm, std::size_t* bytes) {
    *bytes = workspace_of(algorithm, math_of(how));
    return CUDNN_STATUS_SUCCESS;
}
/// What cuDNN says of a convolution before it does it: the workspace must be that of algorithm and math type together,
/// and an algorithm that does not repeat is none of ours.
inline cudnnStatus_t accepts(cudnnConvolutionDescriptor_t how, int algorithm, const void* space, std::size_t bytes) {
    const std::size_t wanted = workspace_of(algorithm, math_of(how));
    return algorithm == 0 || bytes < wanted || (wanted > 0 && space == nullptr) ? CUDNN_STATUS_BAD_PARAM
                                                                                : CUDNN_STATUS_SUCCESS;
}

/// The fastest does not repeat, the next one has another math type than the descriptor (tensor cores where those are
/// forbidden, none where they are allowed), the third wants more memory than there is; the fourth is as asked. What
/// they say of memory is less than they want.
template <class Result>
cudnnStatus_t find_algorithms(cudnnConvolutionDescriptor_t how, int most, int* count, Result* results, size_t bytes) {
    const cudnnMathType_t asked = math_of(how);
    *count = most < 4 ? most : 4;
    for (int i = 0; i < *count; ++i) {
        results[i] = {};
        results[i].algo = static_cast<decltype(results[i].algo)>(i);
        results[i].status = CUDNN_STATUS_SUCCESS;
        results[i].time = static_cast<float>(i + 1);
        results[i].determinism = i == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
        results[i].mathType = i != 1 ? asked : asked == CUDNN_FMA_MATH ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
        results[i].memory = workspace_of(i, results[i].mathType) - 256;
        if (results[i].memory > bytes) {
            results[i].status = CUDNN_STATUS_ALLOC_FAILED;
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

/// In the order of the ranks, unless switches add up.
inline std::vector<exchange_call> in_order_of_sums(std::vector<exchange_call> calls) {
    for (std::size_t i = calls.size(); i > 1 && calls[0].owner->all->sums_in_switches; --i) {
        std::swap(calls[i - 1], calls[ts::to_size(here().pick(static_cast<int>(i)))]);
    }
    return calls;
}

/// In place.
template <class T>
void all_reduce(const std::vector<exchange_call>& calls) {
    const std::size_t count = calls[0].bytes / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) {
        T total = static_cast<const T*>(calls[0].from)[i];
        for (std::size_t m = 1; m < calls.size(); ++m) {
            const T x = static_cast<const T*>(calls[m].from)[i];
            if (calls[m].largest) {
                total = std::max(total, x);
            } else {
                total += x;
            }
        }
        for (const exchange_call& c : calls) {
            static_cast<T*>(c.to)[i] = total;
        }
    }
}

/// One collective, a call of every rank.
inline void collect(const std::vector<exchange_call>& calls) {
    using kind = exchange_call::kind;
    const std::size_t n = calls.size();
    if (calls[0].what == kind::reduce_scatter) {
        const std::size_t count = calls[0].bytes / sizeof(float);
        for (const exchange_call& r : calls) {
            std::vector<float> sum(count, 0.0F);
            for (const exchange_call& m : in_order_of_sums(calls)) {
                const auto* from = static_cast<const float*>(m.from) + ts::to_size(r.owner->rank) * count;
                for (std::size_t i = 0; i < count; ++i) {
                    sum[i] += from[i];
                }
            }
            std::memcpy(r.to, sum.data(), r.bytes);
        }
    } else if (calls[0].what == kind::all_reduce) {
        const std::vector<exchange_call> ordered = in_order_of_sums(calls);
        ordered[0].type == ts::element::f64    ? all_reduce<double>(ordered)
        : ordered[0].type == ts::element::bf16 ? all_reduce<ts::bfloat16>(ordered)
                                               : all_reduce<float>(ordered);
    } else if (calls[0].what == kind::all_gather) {
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = 0; b < n; ++b) {
                auto* to = static_cast<std::byte*>(calls[b].to) + ts::to_size(calls[a].owner->rank) * calls[a].bytes;
                std::memmove(to, calls[a].from, calls[a].bytes);
            }
        }
    } else if (calls[0].what == kind::broadcast) {
        const void* from = calls[ts::to_size(calls[0].peer)].from;
        for (const exchange_call& c : calls) {
            std::memmove(c.to, from, c.bytes);
        }
    } else if (calls[0].what == kind::reduce) {
        std::vector<exchange_call> root{calls};
        for (exchange_call& c : root) { // the sum is the root's alone
            c.to = calls[ts::to_size(calls[0].peer)].to;
        }
        all_reduce<float>(root);
    }
}

/// Does the calls of a group, matched as NCCL matches them.
inline void perform(const std::vector<exchange_call>& calls) {
    using kind = exchange_call::kind;
    if (calls[0].owner->all->aborted) {
        return;
    }
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
    std::map<int, std::vector<exchange_call>> by_rank; // a group's collectives: the n-th of every rank belong together
    for (const exchange_call& c : calls) {
        if (c.what != kind::send && c.what != kind::receive) {
            by_rank[c.owner->rank].push_back(c);
        }
    }
    for (std::size_t k = 0; !by_rank.empty() && k < by_rank.begin()->second.size(); ++k) {
        std::vector<exchange_call> members;
        for (const auto& [rank, mine] : by_rank) {
            members.push_back(mine.at(k));
        }
        collect(members);
    }
}

/// A group of calls of which some ranks are other processes': what these send, and then all of it.
class exchange_between {
public:
    explicit exchange_between(const std::vector<exchange_call>& own) : all_(own), whole_(own[0].owner->all) {}

    bool has_come() {
        if (whole_->aborted) {
            return true;
        }
        if (!begun_) { // what is sent is there when the streams have come so far
            begin();
            begun_ = true;
        }
        return mail_.is_done();
    }
    void finish() {
        if (whole_->aborted) {
            return;
        }
        for (std::size_t i = 0; i < others_.size(); ++i) {
            all_[others_[i].call].from = others_[i].text->text();
        }
        perform(all_);
    }

private:
    using kind = exchange_call::kind;
    struct arrival {
        std::size_t call;
        letter* text;
    };

    bool is_elsewhere(int rank) const { return whole_->devices[ts::to_size(rank)] < 0; }
    exchange_call from_other(const exchange_call& like, int rank, kind what) {
        strangers_.push_back(std::make_unique<communicator>(communicator{whole_, rank, {}}));
        exchange_call c = like;
        c.what = what;
        c.owner = strangers_.back().get();
        return c;
    }

    void begin() {
        const std::vector<exchange_call> own = all_;
        if (here().signal_of_exchange != 0 && here().exchanges_before_signal-- == 0) {
            std::raise(here().signal_of_exchange);
        }
        const int ranks = static_cast<int>(whole_->devices.size());
        int first = -1; // of the own ranks: for it others' parts of collectives come, for all
        for (const exchange_call& c : own) {
            const int mine = c.owner->rank;
            if (c.what == kind::send) {
                if (is_elsewhere(c.peer)) {
                    mail_.send(whole_->post->ring(mine, c.peer), 1, c.from, c.bytes);
                }
                continue;
            }
            if (c.what == kind::receive) {
                if (is_elsewhere(c.peer)) {
                    exchange_call other = from_other(c, c.peer, kind::send);
                    other.peer = mine;
                    others_.push_back({all_.size(), &mail_.receive(whole_->post->ring(c.peer, mine), 1, c.bytes)});
                    all_.push_back(other);
                }
                continue;
            }
            first = first < 0 ? mine : first;
            const std::size_t bytes = c.bytes * (c.what == kind::reduce_scatter ? ts::to_size(ranks) : 1);
            const auto code = 2 + static_cast<std::uint64_t>(c.what);
            for (int r = 0; r < ranks; ++r) {
                if (!is_elsewhere(r)) {
                    continue;
                }
                mail_.send(whole_->post->ring(mine, r), code, c.from, bytes);
                letter& text = mail_.receive(whole_->post->ring(r, mine), code, bytes); // each sends to each
                if (mine == first) {
                    others_.push_back({all_.size(), &text});
                    scraps_.emplace_back(c.bytes * ts::to_size(ranks));
                    exchange_call other = from_other(c, r, c.what);
                    other.to = scraps_.back().data();
                    all_.push_back(other);
                }
            }
        }
    }

    std::vector<exchange_call> all_; ///< the own, and then those of others
    std::shared_ptr<clique> whole_;
    mail_of_group mail_;
    std::vector<arrival> others_;
    std::vector<std::unique_ptr<communicator>> strangers_;
    std::deque<std::vector<std::byte>> scraps_; ///< where others have their results
    bool begun_ = false;
};

/// A member of a communicator of several processes, which is there when all have come.
inline communicator* come_into(const std::string& name, int ranks, int rank) {
    if (here().signal_of_exchange != 0 && here().exchanges_before_signal < 0) {
        std::raise(here().signal_of_exchange);
    }
    auto all = here().joined[name].lock();
    if (all == nullptr) {
        all = std::make_shared<clique>();
        all->devices.assign(ts::to_size(ranks), -1);
        const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
        all->sums_in_switches = nvls == nullptr || std::string(nvls) != "0";
        all->post = std::make_unique<segment>(name, ranks);
        here().joined[name] = all;
        ++here().cliques;
    }
    all->devices[ts::to_size(rank)] = current_device;
    all->post->arrive();
    auto* made = new communicator{all, rank, {}};
    made->under_way = [post = all->post.get()] {
        return !post->fits() ? ncclInvalidArgument : post->have_all_arrived() ? ncclSuccess : ncclInProgress;
    };
    here().connecting.insert(made);
    return made;
}

/// Lets all go on that are connecting to other processes, and says how one of them stands.
inline ncclResult_t state_of(communicator* of) {
    const std::vector<communicator*> all(here().connecting.begin(), here().connecting.end());
    ncclResult_t found = ncclSuccess;
    for (communicator* c : all) {
        const auto asks = c->under_way; // which may put another in its place
        const ncclResult_t state = asks();
        if (state == ncclSuccess) {
            c->under_way = nullptr;
            here().connecting.erase(c);
        }
        found = c == of ? state : found;
    }
    return found;
}

/// A split of a communicator of several processes: each says what it is, and comes into its part when all have.
inline ncclResult_t split_between(const std::vector<split_call>& calls) {
    const std::shared_ptr<clique> whole = calls[0].from->all;
    segment* const post = whole->post.get();
    const int number = whole->splits++;
    const auto ranks = static_cast<int>(whole->devices.size());
    for (const split_call& c : calls) {
        post->choose(number, c.from->rank, c.color, c.key);
        const auto have_all_chosen = [post, number, ranks] {
            for (int r = 0; r < ranks; ++r) {
                if (!post->has_chosen(number, r)) {
                    return false;
                }
            }
            return true;
        };
        c.from->under_way = [have_all_chosen] { return have_all_chosen() ? ncclSuccess : ncclInProgress; };
        here().connecting.insert(c.from);
        *c.made = nullptr;
        if (c.color == NCCL_SPLIT_NOCOLOR) {
            continue;
        }
        auto* made = new communicator{std::make_shared<clique>(), 0, {}};
        *c.made = reinterpret_cast<ncclComm_t>(made);
        made->under_way = [=, device = c.device, mine = c.from->rank, color = c.color, key = c.key] {
            if (!have_all_chosen()) {
                return ncclInProgress;
            }
            int members = 0;
            int before = 0;
            for (int r = 0; r < ranks; ++r) {
                const bool is_member = post->color(number, r) == color;
                members += is_member ? 1 : 0;
                const bool is_before = post->key(number, r) < key || (post->key(number, r) == key && r < mine);
                before += is_member && is_before ? 1 : 0;
            }
            const int was = std::exchange(current_device, device);
            const std::unique_ptr<communicator> part(
                come_into(post->name() + "_" + std::to_string(number) + "_" + std::to_string(color), members, before));
            current_device = was;
            here().connecting.erase(part.get());
            *made = *part; // and now it waits for the others
            return ncclInProgress;
        };
        here().connecting.insert(made);
    }
    ++here().splits;
    return ncclSuccess;
}

/// Makes the communicators of a split; all members of what is split must take part.
inline ncclResult_t split(std::vector<split_call> calls) {
    const clique& whole = *calls[0].from->all;
    if (whole.post != nullptr) {
        return split_between(calls);
    }
    if (calls.size() != whole.devices.size()) {
        return ncclInvalidUsage;
    }
    std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    auto part = std::make_shared<clique>();
    part->sums_in_switches = whole.sums_in_switches;
    for (const split_call& c : calls) {
        *c.made = nullptr;
        if (c.color == NCCL_SPLIT_NOCOLOR) {
            continue;
        }
        *c.made = reinterpret_cast<ncclComm_t>(new communicator{part, static_cast<int>(part->devices.size()), {}});
        part->devices.push_back(whole.devices[ts::to_size(c.from->rank)]);
    }
    ++here().splits;
    return ncclSuccess;
}

inline ncclResult_t add_exchange(exchange_call c) {
    if (group_depth == 0) {
        return ncclInvalidUsage; // ours are always grouped
    }
    constexpr const char* names[] = {"ncclSend",      "ncclRecv",   "ncclReduceScatter", "ncclAllGather",
                                     "ncclAllReduce", "ncclReduce", "ncclBroadcast"};
    if (fails(names[static_cast<int>(c.what)])) {
        return ncclSystemError;
    }
    if (c.on->device != c.owner->all->devices[ts::to_size(c.owner->rank)]) {
        return ncclInvalidArgument;
    }
    group_calls.push_back(c);
    return ncclSuccess;
}

} // namespace cuda_fake
