// SPDX-License-Identifier: Apache-2.0
// Logs of metrics: CRC-32C, records of event files against bytes by hand and a decoder of the test.s own, CSV to the
// bit, resuming, full disks.
#include "tessera/io/reports/metrics_log.hpp"
#include "io/event_decoder.hpp"
#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"
#include "tessera/io/reports/learning_curve.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

namespace io = tessera::io;
using test::crc_by_bits;
using test::decoded;
using test::event_decoder;
using test_support::contains;
using test_support::message_of;

std::string bytes_of(const std::vector<int>& numbers) {
    std::string bytes;
    for (const int n : numbers) bytes += static_cast<char>(n);
    return bytes;
}

std::vector<io::scalar> random_scalars(unsigned seed, int count) {
    std::mt19937_64 random(seed);
    const std::vector<std::string> tags{"loss",     "valid/accuracy",     "a, b", "say \"x\"", "two\nlines",
                                        "\xc3\xa9", std::string(300, 't')};
    std::vector<io::scalar> all;
    for (int i = 0; i < count; ++i) {
        const auto step = static_cast<std::int64_t>(random() >> (random() % 64U));
        all.push_back({tags[random() % tags.size()], i % 7 == 0 ? -step : step, std::bit_cast<double>(random()),
                       1.7e9 + static_cast<double>(random() >> 12U) * 0x1p-30});
    }
    all[0].value = std::numeric_limits<double>::quiet_NaN();
    all[1].value = -std::numeric_limits<double>::infinity();
    all[2].value = -0.0;
    all[3].value = std::numeric_limits<double>::denorm_min();
    all[4].value = 0.1;
    return all;
}

bool same_bits(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void check_same(const std::vector<io::scalar>& found, const std::vector<io::scalar>& wanted, bool as_floats) {
    REQUIRE(found.size() == wanted.size());
    int different = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double value = as_floats ? static_cast<double>(static_cast<float>(wanted[i].value)) : wanted[i].value;
        different += found[i].tag != wanted[i].tag || found[i].step != wanted[i].step ||
                     !same_bits(found[i].value, value) || !same_bits(found[i].wall_time, wanted[i].wall_time);
    }
    CHECK(different == 0);
}

TEST_CASE("CRC-32C is that of the standard, whatever the length and where it is split") {
    using crc = io::detail::crc_of_castagnoli;
    CHECK(io::detail::crc_of<crc>("123456789") == 0xe3069283U); // the published check value
    CHECK(crc_by_bits("123456789") == 0xe3069283U);
    CHECK(io::detail::crc_of<crc>(std::string(32, '\0')) == 0x8a9136aaU); // RFC 3720, B.4
    CHECK(io::detail::crc_of<crc>(std::string(32, '\xff')) == 0x62a8ab43U);
    std::mt19937 random(1);
    int different = 0;
    for (std::size_t length = 0; length < 400; ++length) {
        std::string bytes(length, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        const std::size_t split = length == 0 ? 0 : random() % length;
        const std::uint32_t wanted = crc_by_bits(bytes);
        different += io::detail::crc_of<crc>(bytes) != wanted;
        different +=
            io::detail::crc_of<crc>(bytes.substr(split), io::detail::crc_of<crc>(bytes.substr(0, split))) != wanted;
    }
    CHECK(different == 0);
}

TEST_CASE("records are, byte by byte, those of the format") {
    const std::string data = bytes_of({0x09, 0,    0,    0,    0,   0,   0, 0xf8, 0x3f, // 1: 1.5
                                       0x10, 0xac, 0x02,                                // 2: 300
                                       0x2a, 0x0d,                                      // 5: 13 bytes
                                       0x0a, 0x0b,                                      // 1: 11 bytes
                                       0x0a, 0x04, 'l',  'o',  's', 's',                // 1: "loss"
                                       0x15, 0x00, 0x00, 0x20, 0x40});                  // 2: 2.5
    const std::string record = io::event_of({"loss", 300, 2.5, 1.5});
    REQUIRE(data.size() == 27);
    REQUIRE(record.size() == 12 + 27 + 4);
    CHECK(record.substr(0, 8) == bytes_of({27, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(record.substr(12, 27) == data);
    const auto crc_bytes = [](std::string_view of) {
        const std::uint32_t c = crc_by_bits(of);
        const std::uint32_t m = ((c >> 15U) | (c << 17U)) + 0xa282ead8U;
        return bytes_of({static_cast<int>(m & 255U), static_cast<int>(m >> 8U & 255U),
                         static_cast<int>(m >> 16U & 255U), static_cast<int>(m >> 24U)});
    };
    CHECK(record.substr(8, 4) == crc_bytes(record.substr(0, 8)));
    CHECK(record.substr(39) == crc_bytes(data));
    // 9 zero bytes of wall time, then the version: known to begin every event file, after its 8 bytes of length 24.
    const std::string first = io::first_event(0);
    CHECK(first.substr(0, 8) == bytes_of({24, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(first.substr(8, 4) == bytes_of({0xa3, 0x7f, 0x4b, 0x22}));
    CHECK(first.substr(12, 24) == bytes_of({9, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a, 13}) + "brain.Event:2");
}

TEST_CASE("what is logged is what readers find") {
    const test::temporary_folder folder;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        const std::vector<io::scalar> wanted = random_scalars(seed, 500);
        io::metrics_log log(folder / std::to_string(seed));
        for (const io::scalar& s : wanted) log.add(s);
        log.flush();
        const event_decoder events = decoded(test::read_text(log.events_path()));
        CHECK(events.version == "brain.Event:2");
        check_same(events.scalars, wanted, true);
        check_same(io::read_metrics(log.csv_path()), wanted, false);
    }
    io::metrics_log one(folder / "one", {.csv = false});
    one.add("loss", 1, 2.5);
    CHECK(one.csv_path().empty());
    const std::string bytes = test::read_text(one.events_path());
    const double time = decoded(bytes).scalars.at(0).wall_time;
    CHECK(std::abs(time - io::metrics_log::now()) < 100);
    const std::size_t first = io::first_event(0).size();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const bool whole = length == 0 || length == first;
        CHECK(message_of([&] { decoded(bytes.substr(0, length)); }) == (whole ? "accepted" : "cut off"));
    }
    for (std::size_t i = first; i < bytes.size(); ++i) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 4);
        CHECK(message_of([&] { decoded(damaged); }) != "accepted");
    }
}

TEST_CASE("a log goes on where it is: the CSV in its file, events in a new one") {
    const test::temporary_folder folder;
    const std::string path = folder / "run";
    std::string events;
    {
        io::metrics_log log(path);
        log.add({"loss", 1, 3, 10});
        log.add({"two\nlines", 2, 2, 11});
        events = log.events_path();
    }
    const std::string whole = test::read_text(path + "/metrics.csv");
    const std::string first_events = test::read_text(events);
    {
        std::ofstream torn(path + "/metrics.csv", std::ios::app | std::ios::binary);
        torn << "\"two\nli"; // as a power failure may leave it
    }
    CHECK(io::read_metrics(path + "/metrics.csv").size() == 2);
    io::metrics_log log(path);
    CHECK(test::read_text(path + "/metrics.csv") == whole);
    log.add({"loss", 2, 1, 12});
    CHECK(test::read_text(path + "/metrics.csv") == whole + "loss,2,1,12\n");
    CHECK(log.events_path() != events);
    CHECK(test::read_text(events) == first_events);
    check_same(decoded(test::read_text(log.events_path())).scalars, {{"loss", 2, 1, 12}}, true);

    test::temporary_folder other;
    std::ofstream(other / "metrics.csv") << "step,loss\n1,2\n";
    CHECK(contains(message_of([&] { io::metrics_log(other.path()); }), "is no log of metrics"));
    CHECK(test::read_text(other / "metrics.csv") == "step,loss\n1,2\n");
    std::ofstream(other / "metrics.csv") << "tag,ste";
    const io::metrics_log mended(other.path(), {.events = false});
    CHECK(test::read_text(other / "metrics.csv") == io::detail::metrics_header);
}

TEST_CASE("a log says what it cannot do") {
    const test::temporary_folder folder;
    CHECK(contains(message_of([&] { io::metrics_log(folder / "no/such"); }), "cannot make the folder"));
    std::ofstream(folder / "file") << "x";
    CHECK(contains(message_of([&] { io::metrics_log(folder / "file"); }), "cannot log to"));
    CHECK(contains(message_of([&] { io::metrics_log(folder.path(), {.csv = false, .events = false}); }),
                   "without files"));
    io::metrics_log log(folder / "run");
    CHECK(contains(message_of([&] { log.add("", 1, 2); }), "without a tag"));
    CHECK(contains(message_of([&] { log.add(std::string("a\0b", 3), 1, 2); }), "zero byte"));
    CHECK(io::detail::end_of_lines(test::read_text(log.csv_path())) == io::detail::metrics_header.size());

    // A full disk: the device that is always full, and, for regular files, the system's limit on their size.
    REQUIRE(::mkdir((folder / "full").c_str(), 0777) == 0);
    REQUIRE(::symlink("/dev/full", (folder / "full/metrics.csv").c_str()) == 0);
    CHECK(contains(message_of([&] { io::metrics_log(folder / "full"); }), "No space left on device"));
    for (const bool csv : {false, true}) {
        io::metrics_log one(folder.path() + (csv ? "/csv" : "/events"), {.csv = csv, .events = !csv});
        const std::string file = csv ? one.csv_path() : one.events_path();
        one.add({"loss", 1, 2, 3});
        const std::string before = test::read_text(file);
        rlimit old{};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
        auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{before.size() + 5, old.rlim_max}; // a part of the next record has room
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
        const std::string words = message_of([&] { one.add({"loss", 2, 2, 4}); });
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
        std::signal(SIGXFSZ, handler);
        CHECK(contains(words, "cannot log to '" + file + "': writing: File too large"));
        CHECK(test::read_text(file) == before); // no part of a record
        one.add({"loss", 3, 2, 5});
        CHECK(test::read_text(file).size() > before.size());
    }
}

} // namespace
