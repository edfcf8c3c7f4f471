// SPDX-License-Identifier: Apache-2.0
// The host's catalog: which ways there are to compute a call, and how long each takes here, measured once and
// remembered.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/problem.hpp"
#include "tessera/backend/host/choose/sampled.hpp"
#include "tessera/backend/host/measure/profile.hpp"
#include "tessera/backend/host/op/table.hpp"
#include "tessera/backend/host/plain_jobs.hpp"
#include "tessera/backend/host/reorder.hpp"
#include "tessera/base/clock.hpp"
#include "tessera/execute/local/store.hpp"

namespace tessera::host {

/// How implementations and formats are chosen.
enum class tuning : std::uint8_t {
    estimate, ///< by rules of thumb: no time is spent on measurements
    measure,  ///< by measuring every candidate; results are kept in the profile
    random,   ///< at random, for tests: every choice must give the same numbers
};

namespace detail {

/// All ways to compute a call; at least one.
std::vector<candidate> candidates_of(const compute_call& c, format_table& table, const operator_rows& rows);

/// Throws tessera::error for a way that nobody has.
owned<job> make_job(const bound_call& b, const format_table& table, dnnl_stream_t stream, const operator_rows& rows);

/// A name for a call's local problem, equal for equal problems.
std::string problem_name(const compute_call& c, const operator_rows& rows);

std::string candidate_name(const candidate& k, const format_table& table, int operands);

std::string reorder_name(const reorder_call& r, const format_table& table);

/// Seconds of every job, measured in turns so that a slow moment of the machine meets all of them: the best of a few
/// turns each. What is far behind after two turns is not run again.
std::vector<double> times_interleaved(const std::vector<owned<job>>& jobs);

} // namespace detail

/// Measures candidates and remembers what it measured.
class catalog {
public:
    catalog(format_table& table, profile& known, const operator_rows& rows)
        : table_(table), known_(known), rows_(rows), stream_(make_stream()) {}

    /// What the ways come from.
    const operator_rows& rows() const { return rows_; }

    const std::vector<candidate>& candidates(const compute_call& c);

    /// Whether a vendor's way gives, for this shape, what the operator's description says: the first time it runs
    /// once on known numbers, and a sample of its results is computed again. Remembered in the profile. One that is
    /// wrong is said on stderr, and is no candidate from then on.
    bool is_right(const compute_call& c, const candidate& k);

    /// Seconds that a call takes done each way; of one that is wrong, which is not run again, `never`.
    std::vector<double> seconds(const compute_call& c, const std::vector<candidate>& ways);

    /// Whether a reorder of weights loses no element. Checked the first time and remembered, as is_right().
    bool is_right(const detail::reorder_call& r);

    /// Seconds that a reorder takes.
    double seconds(const detail::reorder_call& r);

private:
    static constexpr double is_right_mark = 1; // a profile holds seconds, of which these are none
    static constexpr double is_wrong_mark = 2;
    static constexpr double never = 1e15; // seconds

    /// The check of is_right(), without its consequences.
    bool passes_check(const compute_call& c, const candidate& k);

    std::string wrong_at_first_use(const compute_call& c, const candidate& k) const;

    bool is_checked(const compute_call& c, const candidate& k) const;
    std::string checked_name(const compute_call& c, const candidate& k) const;
    bool is_known_wrong(const std::string& name) const;

    std::vector<double> measure(const compute_call& c, const std::vector<candidate>& ways);

    /// Small numbers: neither zeros nor anything that becomes denormal.
    static buffer filled(index_t bytes, element type);

    format_table& table_;
    profile& known_;
    const operator_rows& rows_;
    unique_stream stream_;
    struct list {
        std::string problem;
        std::vector<candidate> ways;
    };
    std::vector<owned<list>> lists_; ///< whose addresses stay
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/catalog.inl"
#endif

#include "tessera/base/end_header.inl"
