// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: cuDNN, cublasLt, NCCL and kernels of our own, compiled by a plain C++ compiler. A device of a plan is an
// arena on a GPU with a stream, or two where devices communicate; several may share one GPU.
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
    /// Where measured algorithms are kept, and beside it, in PATH.times, measured times; empty: for the life of the backend.
    std::string profile_path = {};
    double patience = 300; ///< seconds that communication between GPUs may take before it is aborted
    /// Waits after each call, so that an error names the call and the task that made it; slow, and without graphs.
    bool check_calls = false;
    /// Two runs give the same bits: NCCL must not let NVSwitches add up, which it is told in its environment (NCCL_NVLS_ENABLE=0) before the
    /// first communication. False leaves that to NCCL.
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
    /// As a trainer's options say: whether to measure, and where that is kept. (A template, so that braces mean backend_options.)
    template <std::same_as<session_options> From, OperatorSet Set = all_operators>
    backend(const optimizer& update, const From& from, Set operators = {})
        : backend(update, backend_options{.measure = from.measure, .profile_path = from.profile}, operators) {}
    /// The same with options of its own besides: it measures where either says so. Throws tessera::error for two profiles.
    template <OperatorSet Set = all_operators>
    backend(const optimizer& update, const session_options& from, const backend_options& own, Set operators = {})
        : backend(update, together(from, own), operators) {}
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;

    // ---- what an executor asks for -------------------------------------------------------------------------------------

    static constexpr bool supports(const op_record& r, pass what, precision math) {
        return cuda::supports(r, what, math);
    }

    /// What it was made with, for those who compare (execute/training_identity.hpp).
    const backend_options& made_with() const { return options_; }

    /// From now on devices are those of all processes of a group, of which this one has some (or null: all are its
    /// own). All call it, before the first plan is bound. Throws what place_group() throws, and tessera::error for a
    /// backend that has been used otherwise.
    void agree_over(process_group* group) {
        if (group == group_) {
            return;
        }
        if (!devices_.empty()) {
            throw error("tessera: a CUDA backend is used over ranks and in one process; make one for each");
        }
        if (group == nullptr) {
            placed_ = {};
            group_ = nullptr;
        } else {
            placed_ = place_group(*group, options_.gpus, there_);
            group_ = group;
        }
        communicators_.number(placed_.numbers);
    }

    /// Chooses algorithms, adds scratch memory, and transfers where GPUs communicate. All processes of a group call it,
    /// with the same plan.
    void bind(plan& p, const graph_view& g, const parameter_store*) {
        require_kernels_of(rows_, g);
        const std::size_t before = algorithms_.size();
        const list_options how{placement(p.devices), optimizer_, options_.fuse};
        if (group_ != nullptr) {
            take_algorithms_of_first(p, g, how);
        }
        cuda::bind(p, g, how, algorithms_);
        if (!options_.profile_path.empty() && algorithms_.size() > before && is_first()) {
            write_algorithms(algorithms_, options_.profile_path, machine_name());
        }
    }

    /// A device's thread issues to its GPU.
    void start(int device) { check(cudaSetDevice(gpu_of(device)), "cudaSetDevice"); }

    runnable prepare(const plan& p, int index, const graph_view&, const addresses& where) {
        return program_at(where).prepare(index, p.tasks[static_cast<std::size_t>(index)].device);
    }

    /// A copy from a GPU has ended when cudaMemcpy returns, and so have all runs. What is of another process's device
    /// lies in the processor's memory.
    void to_plain(const tile& t, const std::byte* from, float* to) const {
        const auto bytes = static_cast<std::size_t>(t.elements * bytes_of(t.type));
        if (!owns(t.device)) {
            numbers_of(t.type, from, t.elements, to);
            return;
        }
        if (t.type == element::f32) {
            check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
            return;
        }
        std::vector<std::byte> stored(bytes);
        check(cudaMemcpy(stored.data(), from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
        numbers_of(t.type, stored.data(), t.elements, to);
    }
    /// Bytes of a device of this process (see RunsOverGroups).
    void read(int, const std::byte* from, index_t bytes, std::byte* to) const {
        check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    /// The largest logit of every row of a tile, found by a kernel.
    std::vector<row_leader> leaders(const tile& t, const std::byte* from) {
        const kernel_launch k = leaders_launch(t);
        std::vector<row_leader> found(static_cast<std::size_t>(k.blocks));
        if (!found.empty()) {
            const device_tools& tools = tools_of(t.device);
            const current_gpu current(tools.gpu);
            const std::size_t bytes = found.size() * sizeof(row_leader);
            const device_pointer to = make_device_memory(static_cast<index_t>(bytes));
            kernel_arguments a{{const_cast<std::byte*>(from), to.get()}, k.numbers};
            kernel_module::launch(tools.kernels->find(*k.which, k.type), k.blocks, k.threads, a, tools.stream);
            check(cudaMemcpyAsync(found.data(), to.get(), bytes, cudaMemcpyDeviceToHost, tools.stream),
                  "cudaMemcpyAsync");
            check(cudaStreamSynchronize(tools.stream), "cudaStreamSynchronize");
        }
        return found;
    }
    void from_plain(const tile& t, const float* from, std::byte* to) {
        if (!owns(t.device)) {
            store_numbers(t.type, from, t.elements, to);
            return;
        }
        std::vector<std::byte> stored(static_cast<std::size_t>(t.elements * bytes_of(t.type)));
        store_numbers(t.type, from, t.elements, stored.data());
        const device_tools& tools = tools_of(t.device);
        const current_gpu current(tools.gpu);
        copy_to_gpu(to, stored.data(), stored.size(), tools.stream);
    }

    // ---- what is around a run (execute/backend.hpp) --------------------------------------------------------------------

    /// Arenas by cudaMalloc, zeroed.
    memory_source memory() {
        return {[](void* self, int device, index_t bytes) -> void* {
                    const current_gpu current(static_cast<backend*>(self)->gpu_of(device));
                    return make_device_memory(bytes).release();
                },
                [](void*, int, void* memory) { (void)cudaFree(memory); }, this};
    }

    /// Asks every GPU for room for so many bytes more in the arenas of the devices, before the first is made. Throws tessera::error where there is
    /// not enough.
    void require_room(const std::vector<index_t>& bytes) {
        const auto count = static_cast<int>(bytes.size());
        for (int d = 0; d < count; ++d) {
            if (!owns(d)) {
                continue;
            }
            const int gpu = gpu_of(d);
            index_t wanted = 0;
            std::string devices;
            bool is_first = true;
            for (int other = 0; other < count; ++other) {
                if (owns(other) && gpu_of(other) == gpu) {
                    is_first = is_first && other >= d;
                    wanted += bytes[static_cast<std::size_t>(other)];
                    devices += " " + std::to_string(other);
                }
            }
            const current_gpu current(gpu);
            std::size_t free = 0;
            std::size_t total = 0;
            check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
            if (is_first && wanted > static_cast<index_t>(free)) {
                throw error("tessera: a plan wants " + std::to_string(wanted) + " bytes more for arenas on GPU " +
                            std::to_string(gpu) + " (devices" + devices + "), and of its " + std::to_string(total) +
                            " bytes " + std::to_string(free) +
                            " are free; use smaller batches, micro-batches or more GPUs");
            }
        }
    }

    /// Makes the calls of a plan, and the streams and handles that they need.
    void load(const plan& p, const graph_view& g, const addresses& where) {
        make_devices(p.devices);
        call_list list =
            make_call_list(p, g, list_options{placement(p.devices), optimizer_, options_.fuse}, algorithms_);
        program_setting setting;
        setting.numbers = placed_.numbers;
        setting.checks = options_.check_calls;
        for (const task& t : p.tasks) {
            setting.task_names.push_back(tessera::detail::key_of_task(g, t));
        }
        for (const call_stream& stream : list.streams) {
            setting.streams.push_back(!placed_.numbers.owns(stream.gpu) ? nullptr
                                      : stream.device < 0               ? nccl_stream(placed_.numbers.local(stream.gpu))
                                      : stream.beside                   ? stream_beside(stream.device)
                                                      : tools_[static_cast<std::size_t>(stream.device)].stream);
        }
        std::erase_if(programs_, [&](const auto& x) { return x->where() == &where; }); // of a plan that is gone
        programs_.push_back(std::make_unique<program>(static_cast<call_list&&>(list), where,
                                                      static_cast<program_setting&&>(setting), tools_, communicators_));
    }

    /// Lets go of what was made for a plan; all its runs have ended.
    void unload(const addresses& where) {
        std::erase_if(programs_, [&](const auto& x) { return x->where() == &where; });
    }

    void begin_run(const addresses& where, const run_state& state, int first, int last) {
        communicators_.require_usable();
        program& now = program_at(where);
        now.begin(first, last);
        const bool whole = first == 0 && last + 1 == static_cast<int>(now.list().first.size());
        const bool replays = options_.graph && whole && now.can_capture();
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            if (devices_[d].get() == nullptr) {
                continue; // another process's
            }
            set_step(*static_cast<step_values*>(devices_[d]->pinned_step.get()), state);
            check(cudaMemcpyAsync(tools_[d].step, devices_[d]->pinned_step.get(), sizeof(step_values),
                                  cudaMemcpyHostToDevice, tools_[replays ? 0 : d].stream),
                  "cudaMemcpyAsync");
            if (devices_[d]->beside.get() != nullptr &&
                !replays) { // updates read them there (a graph's streams follow the first)
                const current_gpu current(tools_[d].gpu);
                check(cudaEventRecord(devices_[d]->step_is_there.get(), tools_[d].stream), "cudaEventRecord");
                check(cudaStreamWaitEvent(devices_[d]->beside.get(), devices_[d]->step_is_there.get(), 0),
                      "cudaStreamWaitEvent");
            }
        }
        if (replays) {
            now.replay(state);
        }
    }

    /// Waits until the GPUs have finished; throws what went wrong on them.
    void end_run(const addresses& where, bool failed) {
        if (failed) {
            communicators_.abort();
            const program* const now = find_program(where);
            for (std::size_t s = 0; now != nullptr && s < now->streams().size(); ++s) {
                if (now->streams()[s] != nullptr) {
                    (void)cudaStreamSynchronize(now->streams()[s]); // the first error is the one that is told
                }
            }
            return;
        }
        try {
            for (cudaStream_t s : program_at(where).streams()) {
                s != nullptr ? communicators_.wait(s) : void();
            }
        } catch (...) {
            communicators_.abort();
            throw;
        }
    }

    // ---- what there is -------------------------------------------------------------------------------------------------

    /// The calls of a plan by its addresses: for those who look at them or time them.
    const call_list& calls(const addresses& where) { return program_at(where).list(); }
    /// What each of them takes; see program::time_calls. After at least one run.
    std::vector<double> time_calls(const addresses& where, const run_state& run, int repeats) {
        return program_at(where).time_calls(run, repeats);
    }

    /// Binds a plan whose devices are on `gpus`, which need not be there: for task_times() and a simulation.
    void bind_for(plan& p, const graph_view& g, const std::vector<int>& gpus) {
        cuda::bind(p, g, list_options{gpus, optimizer_, options_.fuse}, algorithms_);
    }
    /// What the tasks of a plan take on the first GPU, for simulation::task_times::measured. Every call that is not known yet is timed alone;
    /// copies, uploads and NCCL calls are left to the simulator. The plan was bound for `gpus` and finished.
    cost::profile task_times(const plan& p, const graph_view& g, const std::vector<int>& gpus) {
        const device_tools& tools = tools_of(0);
        const current_gpu current(tools.gpu);
        const call_list l = make_call_list(p, g, list_options{gpus, optimizer_, options_.fuse}, algorithms_);
        const std::size_t before = times_.size();
        call_timer timer(tools);
        cost::profile result;
        add_task_times(result, p, g, l, [&](int number) {
            const call& c = l.calls[static_cast<std::size_t>(number)];
            const std::string key = key_of(c);
            if (times_.find(key) == 0) {
                times_.set(key, timer.time(p, g, c));
            }
            return times_.find(key);
        });
        if (!options_.profile_path.empty() && times_.size() > before) {
            times_.write(options_.profile_path + ".times", machine_name());
        }
        return result;
    }
    /// The same for a plan that bind() has bound.
    cost::profile task_times(const plan& p, const graph_view& g) { return task_times(p, g, placement(p.devices)); }
    const call_times& times() const { return times_; }
    const algorithm_table& algorithms() const { return algorithms_; }
    int gpus() const { return there_; }

private:
    struct device_state {
        stream_handle stream;
        stream_handle beside; ///< made at first use, as is its event
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

    static backend_options together(const session_options& from, backend_options own) {
        if (!from.profile.empty() && !own.profile_path.empty() && from.profile != own.profile_path) {
            throw error("tessera: what is measured is to be kept in " + from.profile + " and in " + own.profile_path +
                        "; name the file in the trainer's options or in the backend's");
        }
        own.measure = own.measure || from.measure;
        own.profile_path = own.profile_path.empty() ? from.profile : own.profile_path;
        return own;
    }

    /// What measurements depend on: the GPU, the libraries' versions, and how much workspace was allowed.
    std::string machine_name() const {
        cudaDeviceProp gpu{};
        check(cudaGetDeviceProperties(&gpu, options_.gpus.empty() ? 0 : options_.gpus[0]), "cudaGetDeviceProperties");
        return std::string("tessera algorithms 4: ") + gpu.name + ", cuDNN " + std::to_string(cudnnGetVersion()) +
               ", cublasLt " + std::to_string(cublasLtGetVersion()) + ", workspace " +
               (options_.most_workspace > 0 ? std::to_string(options_.most_workspace) : "of the GPU's memory") +
               (options_.measure ? "" : ", estimated");
    }

    bool owns(int device) const { return group_ == nullptr || device < 0 || group_->owns(device); }
    bool is_first() const { return group_ == nullptr || group_->rank() == 0; }

    /// Of one of this process's devices, as it counts its GPUs.
    int gpu_of(int device) const {
        const auto d = static_cast<std::size_t>(device);
        if (group_ != nullptr) {
            return placed_.numbers.local(placed_.gpus[d]);
        }
        if (!options_.gpus.empty() && d >= options_.gpus.size()) {
            throw error("tessera: device " + std::to_string(device) + " has no GPU: backend_options::gpus places " +
                        std::to_string(options_.gpus.size()) + " devices");
        }
        return options_.gpus.empty() ? device % there_ : options_.gpus[d];
    }
    /// With the numbers of gpu_numbers.
    std::vector<int> placement(int devices) const {
        std::vector<int> gpus = {};
        for (int d = 0; d < devices; ++d) {
            gpus.push_back(group_ != nullptr ? placed_.gpus[static_cast<std::size_t>(d)] : gpu_of(d));
        }
        return gpus;
    }

    /// A plan's algorithms and workspaces are rank 0's: it measures what it does not know, and all others take what it
    /// knows.
    void take_algorithms_of_first(const plan& p, const graph_view& g, const list_options& how) {
        if (is_first()) {
            plan measured = p;
            try {
                cuda::bind(measured, g, how, algorithms_);
            } catch (const error&) { // which all meet, once they know as much
            }
        }
        std::string known = is_first() ? text_of(algorithms_, "algorithms") : std::string();
        group_->take_from_first(known);
        algorithms_.forget();
        detail::add_algorithms(algorithms_, known, "algorithms");
    }

    gpu_state& state_of(int gpu) {
        for (const auto& s : gpu_states_) {
            if (s->gpu == gpu) {
                return *s;
            }
        }
        const current_gpu current(gpu);
        auto made = std::make_unique<gpu_state>();
        made->gpu = gpu;
        made->cublas = make_cublas();
        made->kernels = std::make_unique<kernel_module>(gpu, rows_);
        gpu_states_.push_back(static_cast<std::unique_ptr<gpu_state>&&>(made));
        return *gpu_states_.back();
    }

    cudaStream_t nccl_stream(int gpu) {
        gpu_state& s = state_of(gpu);
        if (s.nccl.get() == nullptr) {
            const current_gpu current(gpu);
            s.nccl = make_stream(true); // what others wait for goes first
        }
        return s.nccl.get();
    }

    cudaStream_t stream_beside(int device) {
        device_state& d = *devices_[static_cast<std::size_t>(device)];
        if (d.beside.get() == nullptr) {
            const current_gpu current(gpu_of(device));
            d.beside = make_stream(true); // others wait for what it does
            d.step_is_there = make_event();
        }
        return d.beside.get();
    }

    /// Of a device of this process, made at first use with those before it.
    const device_tools& tools_of(int device) {
        make_devices(device + 1);
        return tools_[static_cast<std::size_t>(device)];
    }

    void make_devices(int count) {
        while (static_cast<int>(devices_.size()) < count) {
            add_device();
        }
    }

    void add_device() {
        if (!owns(static_cast<int>(devices_.size()))) {
            tools_.push_back({-1, nullptr, nullptr, nullptr, nullptr, nullptr});
            devices_.emplace_back();
            return;
        }
        const int gpu = gpu_of(static_cast<int>(devices_.size()));
        gpu_state& s = state_of(gpu);
        const current_gpu current(gpu);
        auto d = std::make_unique<device_state>();
        d->stream = make_stream();
        d->cudnn = make_cudnn();
        check(cudnnSetStream(d->cudnn.get(), d->stream.get()), "cudnnSetStream");
        d->step = make_device_memory(sizeof(step_values));
        d->pinned_step = make_pinned_memory(sizeof(step_values));
        tools_.push_back({gpu, d->stream.get(), d->cudnn.get(), s.cublas.get(), s.kernels.get(), d->step.get()});
        devices_.push_back(static_cast<std::unique_ptr<device_state>&&>(d));
    }

    void set_step(step_values& v, const run_state& state) const {
        v = {};
        v.seed = state.seed;
        v.step = state.step;
        v.learning_rate = state.learning_rate;
        if (optimizer_.has_corrections()) {
            const double steps = static_cast<double>(state.step) + 1;
            v.correction1 = 1 - std::pow(static_cast<double>(optimizer_.beta1), steps);
            v.correction2 = 1 - std::pow(static_cast<double>(optimizer_.beta2), steps);
        }
    }

    program* find_program(const addresses& where) {
        for (const auto& x : programs_) {
            if (x->where() == &where) {
                return x.get();
            }
        }
        return nullptr;
    }
    program& program_at(const addresses& where) {
        if (program* const found = find_program(where); found != nullptr) {
            return *found;
        }
        throw error("tessera: a plan is run that was not loaded on the CUDA backend");
    }

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

#include "tessera/base/end_header.inl"
