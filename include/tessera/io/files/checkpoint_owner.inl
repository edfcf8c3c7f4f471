// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_owner.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_owner.hpp"

namespace tessera::io::detail {

TESSERA_INLINE bool is_checkpoint_file(std::string_view name) {
    if (name == "state.json" || name == "model.safetensors") {
        return true;
    }
    constexpr std::string_view first = "model-";
    constexpr std::string_view middle = "-of-";
    constexpr std::string_view last = ".safetensors";
    if (!name.starts_with(first) || !name.ends_with(last)) {
        return false;
    }
    name.remove_prefix(first.size());
    name.remove_suffix(last.size());
    const std::size_t at = name.find(middle);
    const auto is_number = [](std::string_view x) {
        return !x.empty() && x.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return at != std::string_view::npos && is_number(name.substr(0, at)) && is_number(name.substr(at + middle.size()));
}

TESSERA_INLINE files::folder_kind checkpoint_kind(const std::string& saver) {
    return {"COMMIT", &is_checkpoint_file, saver.empty() ? "checkpoint" : saver, "state.json",
            saver.empty() ? "\"tessera_checkpoint\": " : "\"saver\": \"" + saver + "\""};
}

TESSERA_INLINE std::string why_not_own(const std::string& path, const std::string& saver) {
    const files::detail::descriptor folder(files::detail::opened_folder(path));
    if (folder.get() < 0) {
        return "is a link or no folder";
    }
    if (const std::string foreign = files::foreign_in(path, checkpoint_kind(saver)); !foreign.empty()) {
        return "has '" + foreign + "', which is of no checkpoint";
    }
    const bool is_mine = files::is_of_owner(folder.get(), checkpoint_kind(saver));
    return is_mine ? "" : "was not made by a saver of this folder";
}

TESSERA_INLINE void saver_lock::take(const std::string& folder) {
    const std::string path = folder + "/" + saver_file;
    struct stat mine {};
    struct stat there {};
    if (file_.get() >= 0 && ::fstat(file_.get(), &mine) == 0 && ::lstat(path.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
        return;
    }
    give();
    // Read-only, so that a disk can be made so meanwhile; over NFS a lock wants a file that may be written.
    for (const int way : {O_RDONLY, O_RDWR}) {
        file_.reset(::open(path.c_str(), way | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
        if (file_.get() < 0 || ::fstat(file_.get(), &mine) != 0 || !S_ISREG(mine.st_mode)) {
            const int why = file_.get() < 0 ? errno : EINVAL;
            file_.reset(-1);
            files::detail::refuse_to_write(folder, std::string("opening '") + saver_file + "'", why);
        }
        if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
            break;
        }
        if (errno == EBADF && way == O_RDONLY) {
            continue;
        }
        const int why = errno;
        const std::string holder = text().substr(0, most_text);
        file_.reset(-1);
        if (why != EWOULDBLOCK) {
            files::detail::refuse_to_write(folder, "locking it (flock), so that no other training saves there", why);
        }
        const std::size_t line = holder.find('\n');
        const std::string who =
            line == std::string::npos ? "" : holder.substr(line + 1, holder.find('\n', line + 1) - line - 1);
        throw error("tessera: '" + folder + "' has a saver: " + (who.empty() ? "a process that has just begun" : who) +
                    "; two trainings in one folder would take each other's checkpoints for their own. Give this "
                    "one another folder, or end the "
                    "other");
    }
    path_ = path;
    const std::string all = text();
    id_ = all.substr(0, all.find('\n'));
    if (!all.empty() && !is_identifier(id_)) {
        file_.reset(-1);
        throw error("tessera: '" + path + "' is there and is no file of Tessera's; move it, or name another folder");
    }
    if (all.empty()) {
        id_ = new_identifier();
        write(0, id_ + "\n");
    }
    const std::string who = this_process() + "\n";
    write(static_cast<off_t>(id_.size() + 1), who);
}

TESSERA_INLINE void saver_lock::give() {
    if (file_.get() >= 0) {
        try {
            write(static_cast<off_t>(id_.size() + 1), "");
        } catch (const error&) { // the folder is gone, or cannot be written: the lock goes all the same
        }
        file_.reset(-1);
    }
}

TESSERA_INLINE bool saver_lock::is_identifier(const std::string& x) {
    return x.size() == 32 && x.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TESSERA_INLINE std::string saver_lock::new_identifier() {
    unsigned char bytes[16];
    if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
        throw error("tessera: the system has no random numbers (getrandom)");
    }
    std::string text;
    for (const unsigned char b : bytes) {
        text += "0123456789abcdef"[b / 16];
        text += "0123456789abcdef"[b % 16];
    }
    return text;
}

TESSERA_INLINE std::string saver_lock::this_process() {
    char host[256] = "an unknown host";
    (void)::gethostname(host, sizeof host - 1);
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    char when[64] = "";
    if (::gmtime_r(&now, &parts) != nullptr) {
        std::snprintf(when, sizeof when, "%04d-%02d-%02d %02d:%02d:%02d UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                      parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    }
    return "process " + std::to_string(::getpid()) + " on " + host + ", since " + when;
}

TESSERA_INLINE std::string saver_lock::text() const {
    char all[most_text];
    const auto got = ::pread(file_.get(), all, sizeof all, 0);
    return got > 0 ? std::string(all, to_size(got)) : std::string();
}

TESSERA_INLINE void saver_lock::write(off_t at, const std::string& text) {
    const files::detail::descriptor to(::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat mine {};
    struct stat there {};
    const bool is_same = to.get() >= 0 && ::fstat(to.get(), &there) == 0 && ::fstat(file_.get(), &mine) == 0 &&
                         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
    if (!is_same || ::pwrite(to.get(), text.data(), text.size(), at) != static_cast<ssize_t>(text.size()) ||
        ::ftruncate(to.get(), at + static_cast<off_t>(text.size())) != 0) {
        const int why = is_same || to.get() < 0 ? errno : ESTALE;
        if (is_same && at == 0) {
            [[maybe_unused]] const int cut = ::ftruncate(to.get(), 0); // no half of an identifier
        }
        file_.reset(-1);
        files::detail::refuse_to_write(path_, "writing", why);
    }
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
