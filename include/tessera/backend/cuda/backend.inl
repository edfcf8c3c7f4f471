// SPDX-License-Identifier: Apache-2.0
// Bodies of backend.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/backend.hpp"

#include <utility>

namespace tessera::cuda {

TESSERA_INLINE void backend::agree_over(process_group* group) {
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

TESSERA_INLINE void backend::bind(plan& p, const graph_view& g, const parameter_store*) {
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

TESSERA_INLINE runnable backend::prepare(const plan& p, int index, const graph_view&, const addresses& where) {
    return program_at(where).prepare(index, p.tasks[to_size(index)].device);
}

TESSERA_INLINE void backend::to_plain(const tile& t, const std::byte* from, float* to) const {
    const auto bytes = to_size(t.elements * bytes_of(t.type));
    if (!owns(t.device)) {
        numbers_of(t.type, from, t.elements, to);
        return;
    }
    if (t.type == element::f32) {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
        return;
    }
    std::vector<std::byte> stored(bytes);
    check(cudaMemcpy(stored.data(), from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    numbers_of(t.type, stored.data(), t.elements, to);
}

TESSERA_INLINE void backend::read(int, const std::byte* from, index_t bytes, std::byte* to) const {
    check(cudaMemcpy(to, from, to_size(bytes), cudaMemcpyDefault), "cudaMemcpy");
}

TESSERA_INLINE std::vector<row_leader> backend::leaders(const tile& t, const std::byte* from) {
    const kernel_launch k = leaders_launch(t);
    std::vector<row_leader> found(to_size(k.blocks));
    if (!found.empty()) {
        const device_tools& tools = tools_of(t.device);
        const current_gpu current(tools.gpu);
        const std::size_t bytes = found.size() * sizeof(row_leader);
        const device_pointer to = make_device_memory(static_cast<index_t>(bytes));
        kernel_arguments a{{const_cast<std::byte*>(from), to.get()}, k.numbers};
        kernel_module::launch(tools.kernels->find(*k.which, k.type), k.blocks, k.threads, a, tools.stream);
        check(cudaMemcpyAsync(found.data(), to.get(), bytes, cudaMemcpyDeviceToHost, tools.stream), "cudaMemcpyAsync");
        check(cudaStreamSynchronize(tools.stream), "cudaStreamSynchronize");
    }
    return found;
}

TESSERA_INLINE void backend::from_plain(const tile& t, const float* from, std::byte* to) {
    if (!owns(t.device)) {
        store_numbers(t.type, from, t.elements, to);
        return;
    }
    std::vector<std::byte> stored(to_size(t.elements * bytes_of(t.type)));
    store_numbers(t.type, from, t.elements, stored.data());
    const device_tools& tools = tools_of(t.device);
    const current_gpu current(tools.gpu);
    copy_to_gpu(to, stored.data(), stored.size(), tools.stream);
}

TESSERA_INLINE memory_source backend::memory() {
    return {[](void* self, int device, index_t bytes) -> void* {
                const current_gpu current(static_cast<backend*>(self)->gpu_of(device));
                return make_device_memory(bytes).release();
            },
            [](void*, int, void* memory) { (void)cudaFree(memory); }, this,
            [](void* self, int device, index_t bytes) -> void* {
                const current_gpu current(static_cast<backend*>(self)->gpu_of(device));
                pinned_pointer p = make_pinned_memory(bytes);
                std::memset(p.get(), 0, to_size(bytes));
                return p.release();
            },
            [](void*, int, void* memory) { (void)cudaFreeHost(memory); }};
}

TESSERA_INLINE void backend::require_room(const std::vector<index_t>& bytes) {
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
                wanted += bytes[to_size(other)];
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

TESSERA_INLINE void backend::load(const plan& p, const graph_view& g, const addresses& where) {
    make_devices(p.devices);
    call_list list = make_call_list(p, g, list_options{placement(p.devices), optimizer_, options_.fuse}, algorithms_);
    program_setting setting;
    setting.numbers = placed_.numbers;
    setting.checks = options_.check_calls;
    for (const task& t : p.tasks) {
        setting.task_names.push_back(tessera::detail::key_of_task(g, t));
    }
    for (const call_stream& stream : list.streams) {
        setting.streams.push_back(!placed_.numbers.owns(stream.gpu) ? nullptr
                                  : stream.device < 0               ? nccl_stream(placed_.numbers.local(stream.gpu))
                                  : stream.side_stream              ? side_stream_of(stream.device)
                                                                    : tools_[to_size(stream.device)].stream);
    }
    std::erase_if(programs_, [&](const auto& x) { return x->where() == &where; }); // of a plan that is gone
    programs_.push_back(std::make_unique<program>(std::move(list), where, std::move(setting), tools_, communicators_));
}

TESSERA_INLINE void backend::unload(const addresses& where) {
    std::erase_if(programs_, [&](const auto& x) { return x->where() == &where; });
}

TESSERA_INLINE void backend::begin_run(const addresses& where, const run_state& state, int first, int last) {
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
        if (devices_[d]->side_stream.get() != nullptr &&
            !replays) { // updates read them there (a graph's streams follow the first)
            const current_gpu current(tools_[d].gpu);
            check(cudaEventRecord(devices_[d]->step_is_there.get(), tools_[d].stream), "cudaEventRecord");
            check(cudaStreamWaitEvent(devices_[d]->side_stream.get(), devices_[d]->step_is_there.get(), 0),
                  "cudaStreamWaitEvent");
        }
    }
    if (replays) {
        now.replay(state);
    }
}

TESSERA_INLINE void backend::end_run(const addresses& where, bool failed) {
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
            if (s != nullptr) {
                communicators_.wait(s);
            }
        }
    } catch (...) {
        communicators_.abort();
        throw;
    }
}

TESSERA_INLINE std::vector<double> backend::time_calls(const addresses& where, const run_state& run, int repeats) {
    return program_at(where).time_calls(run, repeats);
}

TESSERA_INLINE void backend::bind_for(plan& p, const graph_view& g, const std::vector<int>& gpus) {
    cuda::bind(p, g, list_options{gpus, optimizer_, options_.fuse}, algorithms_);
}

TESSERA_INLINE cost::profile backend::task_times(const plan& p, const graph_view& g, const std::vector<int>& gpus) {
    const device_tools& tools = tools_of(0);
    const current_gpu current(tools.gpu);
    const call_list l = make_call_list(p, g, list_options{gpus, optimizer_, options_.fuse}, algorithms_);
    const std::size_t before = times_.size();
    call_timer timer(tools);
    cost::profile result;
    add_task_times(result, p, g, l, [&](int number) {
        const call& c = l.calls[to_size(number)];
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

TESSERA_INLINE backend_options backend::together(const session_options& from, backend_options own) {
    if (!from.profile.empty() && !own.profile_path.empty() && from.profile != own.profile_path) {
        throw error("tessera: what is measured is to be kept in " + from.profile + " and in " + own.profile_path +
                    "; name the file in the trainer's options or in the backend's");
    }
    own.measure = own.measure || from.measure;
    own.profile_path = own.profile_path.empty() ? from.profile : own.profile_path;
    return own;
}

TESSERA_INLINE std::string backend::machine_name() const {
    cudaDeviceProp gpu{};
    check(cudaGetDeviceProperties(&gpu, options_.gpus.empty() ? 0 : options_.gpus[0]), "cudaGetDeviceProperties");
    return std::string("tessera algorithms 4: ") + gpu.name + ", cuDNN " + std::to_string(cudnnGetVersion()) +
           ", cublasLt " + std::to_string(cublasLtGetVersion()) + ", workspace " +
           (options_.most_workspace > 0 ? std::to_string(options_.most_workspace) : "of the GPU's memory") +
           (options_.measure ? "" : ", estimated");
}

TESSERA_INLINE int backend::gpu_of(int device) const {
    const auto d = to_size(device);
    if (group_ != nullptr) {
        return placed_.numbers.local(placed_.gpus[d]);
    }
    if (!options_.gpus.empty() && d >= options_.gpus.size()) {
        throw error("tessera: device " + std::to_string(device) + " has no GPU: backend_options::gpus places " +
                    std::to_string(options_.gpus.size()) + " devices");
    }
    return options_.gpus.empty() ? device % there_ : options_.gpus[d];
}

TESSERA_INLINE std::vector<int> backend::placement(int devices) const {
    std::vector<int> gpus = {};
    for (int d = 0; d < devices; ++d) {
        gpus.push_back(group_ != nullptr ? placed_.gpus[to_size(d)] : gpu_of(d));
    }
    return gpus;
}

TESSERA_INLINE void backend::take_algorithms_of_first(const plan& p, const graph_view& g, const list_options& how) {
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

TESSERA_INLINE backend::gpu_state& backend::state_of(int gpu) {
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
    gpu_states_.push_back(std::move(made));
    return *gpu_states_.back();
}

TESSERA_INLINE cudaStream_t backend::nccl_stream(int gpu) {
    gpu_state& s = state_of(gpu);
    if (s.nccl.get() == nullptr) {
        const current_gpu current(gpu);
        s.nccl = make_stream(true); // what others wait for goes first
    }
    return s.nccl.get();
}

TESSERA_INLINE cudaStream_t backend::side_stream_of(int device) {
    device_state& d = *devices_[to_size(device)];
    if (d.side_stream.get() == nullptr) {
        const current_gpu current(gpu_of(device));
        d.side_stream = make_stream(true); // others wait for what it does
        d.step_is_there = make_event();
    }
    return d.side_stream.get();
}

TESSERA_INLINE const device_tools& backend::tools_of(int device) {
    make_devices(device + 1);
    return tools_[to_size(device)];
}

TESSERA_INLINE void backend::make_devices(int count) {
    while (static_cast<int>(devices_.size()) < count) {
        add_device();
    }
}

TESSERA_INLINE void backend::add_device() {
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
    devices_.push_back(std::move(d));
}

TESSERA_INLINE void backend::set_step(step_values& v, const run_state& state) const {
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

TESSERA_INLINE program* backend::find_program(const addresses& where) {
    for (const auto& x : programs_) {
        if (x->where() == &where) {
            return x.get();
        }
    }
    return nullptr;
}

TESSERA_INLINE program& backend::program_at(const addresses& where) {
    if (program* const found = find_program(where); found != nullptr) {
        return *found;
    }
    throw error("tessera: a plan is run that was not loaded on the CUDA backend");
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
