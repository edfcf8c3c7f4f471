// SPDX-License-Identifier: Apache-2.0
// A run as one HTML file that needs nothing else: timelines of devices and links, memory over time, bytes per link, the
// network with its splits.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json.hpp"
#include "tessera/io/reports/report_network.hpp"
#include "tessera/io/reports/report_page.hpp"

namespace tessera::io {

/// What a report says besides its run.
struct report_options {
    std::string title = "Report";
    std::string about;           ///< a line below the title: network, batch, machine, strategy
    std::string notes;           ///< text to show as it is, such as explanations
    int most_devices = 64;       ///< whose rows are drawn
    std::size_t most_links = 48; ///< likewise, the busiest
};

namespace detail {

class report_writer {
public:
    report_writer(const shown_run& r, const report_options& o);

    std::string write();

private:
    static std::string text_of_lines(const std::string& text);
    static std::string ms(index_t ns) { return plot_number(static_cast<double>(ns) / 1e6, 4) + " ms"; }
    static std::string card(const std::string& value, const std::string& what);

    std::string cards() const;

    static const char* colour_of(activity_kind k);
    static constexpr activity_kind all_kinds[] = {
        activity_kind::forward, activity_kind::backward,   activity_kind::recompute, activity_kind::update,
        activity_kind::copy,    activity_kind::collective, activity_kind::sum};

    std::string timeline() const;

    static std::string memory();

    std::string links() const;

    std::string network() const;

    std::string strategy_table() const;

    // ---- data of the script -----------------------------------------------------------------------------------------

    struct row {
        std::string name;
        std::string kind;
        int height = 14;
        int gap = 0;
        struct span {
            index_t start, end;
            int kind, label;
        };
        std::vector<span> spans{};
    };

    int label(const task& t, int count);

    json data_of_run();

    const shown_run& r_;
    const report_options& options_;
    std::vector<lane_place> lanes_;
    std::vector<index_t> bytes_;
    std::vector<index_t> busy_;
    std::vector<std::size_t> used_; ///< lanes, most bytes first
    int shown_devices_ = 0;
    index_t end_ = 1;
    std::map<std::string, int> numbers_;
    std::vector<std::string> labels_;
};

} // namespace detail

/// The page. It fetches nothing: styles, script and data are in it.
std::string to_html(const shown_run& r, const report_options& o = {});

void write_report(const std::string& path, const shown_run& r, const report_options& o = {});

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/report.inl"
#endif

#include "tessera/base/end_header.inl"
