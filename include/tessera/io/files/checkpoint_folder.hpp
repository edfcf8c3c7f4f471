// SPDX-License-Identifier: Apache-2.0
// A folder of the checkpoints of one training, one for every step that was saved: step-000000001000, the newest few of
// which are kept; saving beside the training, and going on from the newest that is whole.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

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

/// Whether a folder is a checkpoint that was written to its end (which says nothing of damage since).
inline bool is_committed(const std::string& folder) { return ::access((folder + "/COMMIT").c_str(), F_OK) == 0; }

/// Removes the checkpoints beyond the newest `keep` up to that of `step`, which is whole, and what a crash has left of
/// others that were being removed: of those that savers of this folder have made. Returns what of the others it has
/// met, each with why it stays. Newer ones are not touched, and are no reason that an older one goes: they may be
/// damaged.
std::vector<std::string> remove_older(const checkpoint_options& o, const std::string& saver, std::uint64_t step);

void require_options(const checkpoint_options& o);

/// The folder, made where it is not there, with its lock taken. Of several processes the first does it.
void take_folder(const checkpoint_options& o, saver_lock& lock);

/// One checkpoint in its folder, and the older ones gone. Returns what was left alone, each with why.
std::vector<std::string> write_step(checkpoint_writers& all, const checkpoint_part& part, const checkpoint_options& o,
                                    saver_lock& lock);

} // namespace detail

/// Saves checkpoints of one session beside its training: save() copies what is to be written and returns; a thread
/// writes it. The memory for the copy is taken once, when the saver is made: as much as this process writes. It removes
/// what savers of this folder have made and nothing else: no links, and no folder into which somebody has put a file of
/// another name. A folder has one saver at a time. Of several processes all make one and call it alike. The session
/// must live as long.
template <KeepsTraining Session>
class checkpoint_saver {
public:
    /// Throws tessera::error where the folder has a saver, which it names: of this process or of another one, on any
    /// host that sees the same locks.
    checkpoint_saver(const Session& s, checkpoint_options o)
        : session_(s), options_(std::move(o)), part_(s, true),
          writers_(detail::processes_of(s), part_.layout().files()) {
        detail::require_options(options_);
        writers_.together([this] {
            if (writers_.rank() == 0 && (::access(options_.folder.c_str(), W_OK) == 0 || errno == ENOENT)) {
                begin();
            }
        });
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

    /// Copies the session's state and lets it be written as the checkpoint of its step; waits for the one before.
    /// Throws tessera::error where that one could not be written.
    void save(const std::optional<data_position>& data = {}) {
        finish();
        part_.take_state(session_, data);
        part_.take_all(session_);
        const std::unique_lock lock(mutex_);
        writes_ = true;
        changed_.notify_all();
    }
    /// Waits until what was saved is on the disk. Throws tessera::error where it could not be written.
    void finish() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !writes_; });
        if (failure_) {
            const std::exception_ptr what = std::exchange(failure_, nullptr);
            std::rethrow_exception(what);
        }
    }

    /// Folders among the older checkpoints that it has met at the last one that was written, and has not counted nor
    /// removed, each with why.
    std::vector<std::string> left_alone() {
        const std::unique_lock lock(mutex_);
        return left_alone_;
    }

private:
    /// As soon as it can be known: not after hours of training. What else hinders is said when something is to be
    /// written, for until then it may be mended.
    void begin() {
        if (::mkdir(options_.folder.c_str(), 0777) == 0 || errno == EEXIST) {
            struct stat found {};
            if (::stat(options_.folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
                lock_.take(options_.folder);
                files::remove_left_overs(options_.folder, "step-", detail::checkpoint_kind(lock_.identifier()));
            }
        }
    }
    void write_all() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stops_ || writes_; });
            if (!writes_) {
                return;
            }
            lock.unlock();
            std::exception_ptr failure;
            std::vector<std::string> left;
            try {
                left = detail::write_step(writers_, part_, options_, lock_);
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            failure_ = failure;
            left_alone_ = std::move(left);
            writes_ = false;
            changed_.notify_all();
        }
    }

    const Session& session_;
    checkpoint_options options_;
    detail::checkpoint_part part_; ///< what is being written
    detail::checkpoint_writers writers_;
    detail::saver_lock lock_; ///< of the first process
    std::vector<std::string> left_alone_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool writes_ = false;
    bool stops_ = false;
    std::exception_ptr failure_;
    std::thread thread_; ///< last: it uses all of the above
};

/// Goes on from the newest checkpoint of a folder that is whole, of any strategy, number of devices and processes;
/// nothing where there is none. A checkpoint that is damaged, or of a newer version, is left out, and said; one of
/// another network or optimizer is an error. Of several processes all call it, and all take the same.
template <KeepsTraining Session>
std::optional<resumed> resume_newest(Session& s, const std::string& folder, const load_options& options = {}) {
    resumed r;
    detail::checkpoint_writers all(detail::processes_of(s));
    const std::vector<std::uint64_t> steps = detail::saved_steps(folder);
    for (std::size_t i = 0;; ++i) {
        all.together([&] { // all look at what the first one has found
            if (all.rank() == 0) {
                all.set_path(i < steps.size() ? folder + "/" + detail::step_folder(steps[i]) : "");
            }
        });
        r.from = all.path();
        if (r.from.empty()) {
            break;
        }
        std::optional<detail::checkpoint_folder> found;
        try {
            found = detail::whole_checkpoint(all, r.from);
        } catch (const group_error&) { // the other processes are what is not whole
            throw;
        } catch (const error& e) {
            r.left_out.emplace_back(e.what());
            continue;
        }
        detail::take_checkpoint(s, *found, options);
        r.state = found->state();
        return r;
    }
    if (!r.left_out.empty()) {
        throw error("tessera: no checkpoint in '" + folder + "' is whole: " + r.left_out[0]);
    }
    return std::nullopt;
}
template <class Net, class B>
std::optional<resumed> resume_newest(trainer<Net, B>& t, const std::string& folder, const load_options& options = {}) {
    return resume_newest(t.values(), folder, options);
}

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_folder.inl"
#endif

#include "tessera/base/end_header.inl"
