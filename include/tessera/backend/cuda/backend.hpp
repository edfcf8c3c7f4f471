// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: cuDNN, cublasLt, NCCL and kernels of our own, compiled by a plain C++ compiler. A device of a plan
// is an arena on a GPU with a stream, or two where devices communicate; several may share one GPU.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/bind.hpp"
#include "tessera/backend/cuda/calls/leaders.hpp"
#include "tessera/backend/cuda/issue/program.hpp"
#include "tessera/backend/cuda/measure/algorithm_file.hpp"
#include "tessera/backend/cuda/measure/call_timer.hpp"
#include "tessera/backend/cuda/measure/call_times.hpp"
#include "tessera/backend/cuda/measure/measure.hpp"
#include "tessera/backend/cuda/measure/product_search.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/plan/print.hpp"

#include <cmath>
#include <concepts>

namespace tessera::cuda {

struct backend_options {
    /// The GPU of every device of a plan. Empty: device d on GPU d modulo the number of GPUs. Over ranks that of every
    /// device of this rank, and empty: the ranks of a node take its GPUs one after the other.
    std::vector<int> gpus = {};
    bool measure = true; ///< choose algorithms of convolutions and products by measurement when a plan is bound
    /// Bytes for one convolution; 0: a 32nd of the GPU's memory, and never less than its arrays together.
    index_t most_workspace = 0;
    bool graph = false; ///< replay a plan as a CUDA graph from its second run on, where it stays on one GPU
    bool fuse = true;   ///< one call for a convolution or linear layer and the relu after it, see list_options
    /// Where measured algorithms are kept, and beside it, in PATH.times, measured times; empty: for the life of the
    /// backend.
    std::string profile_path = {};
    double patience = 300; ///< seconds that communication between GPUs may take before it is aborted
    /// Waits after each call, so that an error names the call and the task that made it; slow, and without graphs.
    bool check_calls = false;
    /// Two runs give the same bits: NCCL must not let NVSwitches add up, which it is told in its environment
    /// (NCCL_NVLS_ENABLE=0) before the first communication. False leaves that to NCCL.
    bool same_bits = true;

    /// All fields by name; `permits`: it changes no number that is computed, or each rank has its own.
    template <class See>
    static constexpr void each_field(See&& see) {
        using o = backend_options;
        see("gpus", &o::gpus, {.permits = true});
        see("measure", &o::measure, {});
        see("most_workspace", &o::most_workspace, {});
        see("graph", &o::graph, {});
        see("fuse", &o::fuse, {});
        see("profile_path", &o::profile_path, {.permits = true});
        see("patience", &o::patience, {.permits = true});
        see("check_calls", &o::check_calls, {.permits = true});
        see("same_bits", &o::same_bits, {});
    }
};

/// Backend for executor<> and session<> on the GPUs of this process, or of a group of processes, where each runs what
/// its own devices do, all agree on rank 0's algorithms, and NCCL connects them. Arithmetic is fp32 without TF32 unless
/// the network says otherwise (net/precision.hpp), and every algorithm gives the same bits each time; sums between GPUs
/// too, unless the options say otherwise.
class backend {
public:
    using options = backend_options; ///< that a trainer and sharded hand on

    /// Throws tessera::error where there is no GPU, or `gpus` names one that is not there.
    /// With the kernels of a set of operators alone, as all of the following.
    template <OperatorSet Set = all_operators>
    explicit backend(const optimizer& update = {}, const backend_options& given = {}, Set = {})
        : optimizer_(update), options_(given), rows_(rows_of<Set>()), there_(require_devices()),
          search_(given.gpus.empty() ? 0 : given.gpus[0], given.most_workspace, given.measure),
          product_search_(given.gpus.empty() ? 0 : given.gpus[0], given.measure),
          algorithms_(convolution_search::search, &search_), communicators_(given.same_bits, given.patience) {
        algorithms_.measure_products(product_search::search, &product_search_);
        for (int gpu : options_.gpus) {
            if (gpu < 0 || gpu >= there_) {
                throw error("tessera: a device is placed on GPU " + std::to_string(gpu) + " and there are " +
                            std::to_string(there_) + " GPUs, numbered from 0");
            }
        }
        if (!options_.profile_path.empty()) {
            read_algorithms(algorithms_, options_.profile_path, machine_name());
            times_.read(options_.profile_path + ".times", machine_name());
        }
    }
    /// As a trainer's options say: whether to measure, and where that is kept. (A template, so that braces mean
    /// backend_options.)
    template <std::same_as<session_options> From, OperatorSet Set = all_operators>
    backend(const optimizer& update, const From& from, Set operators = {})
        : backend(update, backend_options{.measure = from.measure, .profile_path = from.profile}, operators) {}
    /// The same with options of its own besides: it measures where either says so. Throws tessera::error for two
    /// profiles.
    template <OperatorSet Set = all_operators>
    backend(const optimizer& update, const session_options& from, const backend_options& own, Set operators = {})
        : backend(update, together(from, own), operators) {}
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;

    // ---- what an executor asks for ----------------------------------------------------------------------------------

    static constexpr bool supports(const op_record& r, pass what, precision math) {
        return cuda::supports(r, what, math);
    }

    /// What it was made with, for those who compare (execute/ranks/training_identity.hpp).
    const backend_options& made_with() const { return options_; }

    /// From now on devices are those of all processes of a group, of which this one has some (or null: all are its
    /// own). All call it, before the first plan is bound. Throws what place_group() throws, and tessera::error for a
    /// backend that has been used otherwise.
    void agree_over(process_group* group);

    /// Chooses algorithms, adds scratch memory, and transfers where GPUs communicate. All processes of a group call it,
    /// with the same plan.
    void bind(plan& p, const graph_view& g, const parameter_store*);

    /// A device's thread issues to its GPU.
    void start(int device) { check(cudaSetDevice(gpu_of(device)), "cudaSetDevice"); }

    runnable prepare(const plan& p, int index, const graph_view&, const addresses& where);

    /// A copy from a GPU has ended when cudaMemcpy returns, and so have all runs. What is of another process's device
    /// lies in the processor's memory.
    void to_plain(const tile& t, const std::byte* from, float* to) const;
    /// Bytes of a device of this process (see RunsOverGroups).
    void read(int, const std::byte* from, index_t bytes, std::byte* to) const;
    /// The largest logit of every row of a tile, found by a kernel.
    std::vector<row_leader> leaders(const tile& t, const std::byte* from);
    void from_plain(const tile& t, const float* from, std::byte* to);

    // ---- what is around a run (execute/backend.hpp) -----------------------------------------------------------------

    /// Arenas by cudaMalloc, zeroed.
    memory_source memory();

    /// Asks every GPU for room for so many bytes more in the arenas of the devices, before the first is made. Throws
    /// tessera::error where there is not enough.
    void require_room(const std::vector<index_t>& bytes);

    /// Makes the calls of a plan, and the streams and handles that they need.
    void load(const plan& p, const graph_view& g, const addresses& where);

    /// Lets go of what was made for a plan; all its runs have ended.
    void unload(const addresses& where);

    void begin_run(const addresses& where, const run_state& state, int first, int last);

    /// Waits until the GPUs have finished; throws what went wrong on them.
    void end_run(const addresses& where, bool failed);

    // ---- what there is ----------------------------------------------------------------------------------------------

    /// The calls of a plan by its addresses: for those who look at them or time them.
    const call_list& calls(const addresses& where) { return program_at(where).list(); }
    /// What each of them takes; see program::time_calls. After at least one run.
    std::vector<double> time_calls(const addresses& where, const run_state& run, int repeats);

    /// Binds a plan whose devices are on `gpus`, which need not be there: for task_times() and a simulation.
    void bind_for(plan& p, const graph_view& g, const std::vector<int>& gpus);
    /// What the tasks of a plan take on the first GPU, for simulation::task_times::measured. Every call that is not
    /// known yet is timed alone; copies, uploads and NCCL calls are left to the simulator. The plan was bound for
    /// `gpus` and finished.
    cost::profile task_times(const plan& p, const graph_view& g, const std::vector<int>& gpus);
    /// The same for a plan that bind() has bound.
    cost::profile task_times(const plan& p, const graph_view& g) { return task_times(p, g, placement(p.devices)); }
    const call_times& times() const { return times_; }
    const algorithm_table& algorithms() const { return algorithms_; }
    int gpus() const { return there_; }

private:
    struct device_state {
        stream_handle stream;
        stream_handle side_stream; ///< made at first use, as is its event
        event_handle step_is_there;
        cudnn_handle cudnn;
        device_pointer step;
        pinned_pointer pinned_step;
    };
    struct gpu_state {
        int gpu = 0;
        cublas_handle cublas;
        std::unique_ptr<kernel_module> kernels;
        stream_handle nccl;
    };

    static backend_options together(const session_options& from, backend_options own);

    /// What measurements depend on: the GPU, the libraries' versions, and how much workspace was allowed.
    std::string machine_name() const;

    bool owns(int device) const { return group_ == nullptr || device < 0 || group_->owns(device); }
    bool is_first() const { return group_ == nullptr || group_->rank() == 0; }

    /// Of one of this process's devices, as it counts its GPUs.
    int gpu_of(int device) const;
    /// With the numbers of gpu_numbers.
    std::vector<int> placement(int devices) const;

    /// A plan's algorithms and workspaces are rank 0's: it measures what it does not know, and all others take what it
    /// knows.
    void take_algorithms_of_first(const plan& p, const graph_view& g, const list_options& options);

    gpu_state& state_of(int gpu);

    cudaStream_t nccl_stream(int gpu);

    cudaStream_t side_stream_of(int device);

    /// Of a device of this process, made at first use with those before it.
    const device_tools& tools_of(int device);

    void make_devices(int count);

    void add_device();

    void set_step(step_values& v, const run_state& state) const;

    program* find_program(const addresses& where);
    program& program_at(const addresses& where);

    optimizer optimizer_;
    backend_options options_;
    row_table rows_;
    int there_;
    process_group* group_ = nullptr; ///< whose devices plans are for, or null
    group_placement placed_;         ///< in a group
    convolution_search search_;
    product_search product_search_;
    algorithm_table algorithms_;
    call_times times_;
    communicator_table communicators_;
    std::vector<std::unique_ptr<gpu_state>> gpu_states_;
    std::vector<std::unique_ptr<device_state>> devices_;
    std::vector<device_tools> tools_; ///< of devices_
    std::vector<std::unique_ptr<program>> programs_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/backend.inl"
#else
extern template class tessera::session<tessera::cuda::backend>;
// the parts of a session
extern template class tessera::executor<tessera::cuda::backend>;
extern template class tessera::detail::parameter_state<tessera::cuda::backend>;
extern template class tessera::detail::run_results<tessera::cuda::backend>;
extern template class tessera::detail::plan_cache<tessera::cuda::backend>;
extern template class tessera::detail::plan_runs<tessera::cuda::backend>;
extern template class tessera::detail::session_answers<tessera::cuda::backend>;
#endif

#include "tessera/base/end_header.inl"
