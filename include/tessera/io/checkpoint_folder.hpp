// SPDX-License-Identifier: Apache-2.0
// A folder of the checkpoints of one training, one for every step that was saved: step-000000001000, the newest few of which are kept; saving beside the
// training, and going on from the newest that is whole.
#pragma once

#include "tessera/io/checkpoint.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <dirent.h>

namespace tessera::io {

struct checkpoint_options {
    std::string folder{}; ///< made where it is not there
    int keep = 3;         ///< checkpoints that are kept, at least one; older ones go when a newer one is whole
};

/// What training goes on from.
struct resumed {
    checkpoint_state state;
    std::string from;                  ///< the checkpoint
    std::vector<std::string> left_out; ///< newer ones that are not whole, each with why
};

namespace detail {

inline std::string step_folder(std::uint64_t step) {
    char text[32];
    std::snprintf(text, sizeof text, "step-%012llu", static_cast<unsigned long long>(step));
    return text;
}

/// The steps of a folder's checkpoints, whole or not, the newest first.
inline std::vector<std::uint64_t> saved_steps(const std::string& folder) {
    std::vector<std::uint64_t> steps;
    DIR* const all = ::opendir(folder.c_str());
    while (const dirent* const e = all != nullptr ? ::readdir(all) : nullptr) {
        const std::string name = e->d_name;
        std::uint64_t step = 0;
        if (name.starts_with("step-") &&
            std::from_chars(name.data() + 5, name.data() + name.size(), step).ptr == name.data() + name.size() &&
            name == step_folder(step)) {
            steps.push_back(step);
        }
    }
    all != nullptr ? void(::closedir(all)) : void();
    std::sort(steps.rbegin(), steps.rend());
    return steps;
}

/// Whether a folder is a checkpoint that was written to its end (which says nothing of damage since).
inline bool is_committed(const std::string& folder) { return ::access((folder + "/COMMIT").c_str(), F_OK) == 0; }

/// Removes the whole checkpoints beyond the newest `keep`, and what a crash has left of others that were being removed. COMMIT goes first, so that what is left
/// is no checkpoint.
inline void remove_older(const checkpoint_options& o) {
    int whole = 0;
    for (const std::uint64_t step : saved_steps(o.folder)) {
        const std::string path = o.folder + "/" + step_folder(step);
        whole += is_committed(path) ? 1 : 0;
        if (is_committed(path) ? whole <= o.keep : whole == 0) {
            continue;
        }
        ::unlink((path + "/COMMIT").c_str());
        files::remove_folder(path);
    }
}

inline void require_options(const checkpoint_options& o) {
    if (o.folder.empty() || o.keep < 1) {
        throw error("tessera: checkpoints need a folder, and at least one of them is kept; " + std::to_string(o.keep) +
                    " were asked for");
    }
}

/// One checkpoint in its folder, and the older ones gone.
inline void write_step(checkpoint_writers& all, const checkpoint_part& part, std::uint64_t step,
                       const checkpoint_options& o) {
    if (all.rank() == 0 && ::mkdir(o.folder.c_str(), 0777) != 0 && errno != EEXIST) {
        const std::string why = std::strerror(errno);
        all.begin();
        all.together([&] { throw error("tessera: cannot make the folder '" + o.folder + "': " + why); });
    }
    write_checkpoint(all, part, o.folder + "/" + step_folder(step));
    if (all.rank() == 0) {
        remove_older(o);
    }
}

} // namespace detail

/// Saves checkpoints of one session beside its training: save() copies what is to be written and returns; a thread writes it. Of several processes all make one
/// and call it alike. The session must live as long.
template <KeepsTraining Session>
class checkpoint_saver {
public:
    checkpoint_saver(const Session& s, checkpoint_options o)
        : session_(s), options_(static_cast<checkpoint_options&&>(o)), writers_(detail::processes_of(s)) {
        detail::require_options(options_);
        thread_ = std::thread([this] { write_all(); });
    }
    checkpoint_saver(const checkpoint_saver&) = delete;
    checkpoint_saver& operator=(const checkpoint_saver&) = delete;
    /// Waits for the checkpoint that is being written; what it throws is lost, unless finish() was called before.
    ~checkpoint_saver() {
        {
            const std::unique_lock lock(mutex_);
            stops_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    /// Copies the session's state and lets it be written as the checkpoint of its step; waits for the one before. Throws tessera::error where that one
    /// could not be written.
    void save(const std::optional<data_position>& data = {}) {
        finish();
        auto part = std::make_unique<detail::checkpoint_part>(session_, data, writers_.rank(), writers_.size());
        const std::unique_lock lock(mutex_);
        part_ = std::move(part);
        step_ = session_.steps();
        changed_.notify_all();
    }
    /// Waits until what was saved is on the disk. Throws tessera::error where it could not be written.
    void finish() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return part_ == nullptr; });
        if (failure_) {
            const std::exception_ptr what = std::exchange(failure_, nullptr);
            std::rethrow_exception(what);
        }
    }

private:
    void write_all() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stops_ || part_ != nullptr; });
            if (part_ == nullptr) {
                return;
            }
            lock.unlock();
            std::exception_ptr failure;
            try {
                detail::write_step(writers_, *part_, step_, options_);
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            failure_ = failure;
            part_ = nullptr;
            changed_.notify_all();
        }
    }

    const Session& session_;
    checkpoint_options options_;
    detail::checkpoint_writers writers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::unique_ptr<detail::checkpoint_part> part_; ///< what is being written, or null
    std::uint64_t step_ = 0;
    bool stops_ = false;
    std::exception_ptr failure_;
    std::thread thread_; ///< last: it uses all of the above
};

/// Goes on from the newest checkpoint of a folder that is whole, of any strategy, number of devices and processes; nothing where there is none. A
/// checkpoint that is damaged is left out, and said; one of another network or optimizer is an error.
template <KeepsTraining Session>
std::optional<resumed> resume_newest(Session& s, const std::string& folder) {
    resumed r;
    for (const std::uint64_t step : detail::saved_steps(folder)) {
        const std::string path = folder + "/" + detail::step_folder(step);
        std::vector<std::string> files;
        try {
            r.state = detail::read_state(path, files);
        } catch (const error& e) {
            r.left_out.emplace_back(e.what());
            continue;
        }
        detail::take_checkpoint(s, path, files, r.state);
        r.from = path;
        return r;
    }
    if (!r.left_out.empty()) {
        throw error("tessera: no checkpoint in '" + folder + "' is whole: " + r.left_out[0]);
    }
    return std::nullopt;
}
template <class Net, class B>
std::optional<resumed> resume_newest(trainer<Net, B>& t, const std::string& folder) {
    return resume_newest(t.values(), folder);
}

} // namespace tessera::io
