// SPDX-License-Identifier: Apache-2.0
// Files of data for fuzz_files: tables, rows, logs of metrics, vocabularies, images, names that are mistyped.
#include "fuzz/target.hpp"
#include "tessera/base/nearest.hpp"
#include "tessera/io/data/build_vocabulary.hpp"
#include "tessera/io/data/cifar.hpp"
#include "tessera/io/data/idx.hpp"
#include "tessera/io/files/csv.hpp"
#include "tessera/io/files/rows_json.hpp"
#include "tessera/io/files/text.hpp"
#include "tessera/io/reports/learning_curve.hpp"

#include <cstring>

namespace {

namespace ts = tessera;
namespace io = tessera::io;
using fuzz::counted;

std::string many(int count, const std::string& before, std::string (*each)(int), const std::string& after = {}) {
    std::string text = before;
    for (int i = 0; i < count; ++i) {
        text += each(i);
    }
    return text + after;
}

bool read_table(const std::string& text) {
    const io::csv_table t = counted([&] { return io::csv_table(text, "table"); });
    std::string again;
    const std::size_t columns = t.columns().size();
    const auto add = [&](const std::string& field, std::size_t c) {
        again += ts::quoted::csv(field) + (c + 1 == columns ? "\r\n" : ",");
    };
    for (std::size_t c = 0; c < columns; ++c) {
        add(t.columns()[c], c);
    }
    for (std::int64_t r = 0; r < t.rows(); ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
            add(t.text(r, c), c);
        }
    }
    const io::csv_table back(again, "table");
    bool same = back.columns() == t.columns() && back.rows() == t.rows();
    for (std::int64_t r = 0; same && r < t.rows(); ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
            same = same && t.text(r, c) == back.text(r, c);
        }
    }
    for (std::size_t c = 0; same && c < columns && c < 100; ++c) { // a column that holds no numbers is refused
        try {
            same = t.numbers(t.columns()[c]).size() == ts::to_size(t.rows());
            same = same && t.integers(t.columns()[c]) == back.integers(t.columns()[c]);
        } catch (const ts::error&) {
            continue;
        }
    }
    return same;
}

struct row {
    std::string name;
    std::int64_t count = 0;
    double value = 0;
    bool flag = false;
    template <class See>
    static constexpr void each_field(See&& see) {
        see("name", &row::name, ts::field_facts{});
        see("count", &row::count, ts::field_facts{});
        see("value", &row::value, ts::field_facts{});
        see("flag", &row::flag, ts::field_facts{});
    }
};

bool read_rows(const std::string& text) {
    const bool is_json = !text.empty() && text[0] == '[';
    const std::vector<row> all = counted([&] {
        return is_json ? io::rows_of<row>(io::json_document(text, "rows"))
                       : io::rows_of<row>(io::csv_table(text, "rows"));
    });
    const std::string table = io::to_csv(all);
    const std::string json = io::to_json(all);
    return io::to_json(io::rows_of<row>(io::json_document(json, "rows"))) == json &&
           (all.empty() || io::to_csv(io::rows_of<row>(io::csv_table(table, "rows"))) == table);
}

bool read_log(const std::string& text) {
    static const std::string path = fuzz::path_for("metrics");
    fuzz::put(path, text);
    const std::vector<io::scalar> all = counted([&] { return io::read_metrics(path); });
    std::string again(io::detail::metrics_header);
    for (const io::scalar& s : all) {
        again += io::detail::metrics_line(s);
    }
    fuzz::put(path, again);
    const std::vector<io::scalar> back = io::read_metrics(path);
    bool same = back.size() == all.size();
    for (std::size_t i = 0; same && i < all.size(); ++i) {
        const auto bits = [](double x, double y) { return x == y || (x != x && y != y); };
        same = back[i].tag == all[i].tag && back[i].step == all[i].step && bits(back[i].value, all[i].value) &&
               bits(back[i].wall_time, all[i].wall_time);
    }
    return same;
}

bool read_vocabulary(const std::string& text) {
    const io::vocabulary v = counted([&] { return io::vocabulary_from_text(text, "vocabulary"); });
    if (!(io::vocabulary_from_text(v.to_text(), "vocabulary") == v)) {
        return false;
    }
    const std::string some = v.text_of(0) + v.text_of(v.size() - 1) + v.text_of(v.size() / 2);
    if (some.size() > 4000) {
        return true;
    }
    try { // the longest token may leave a rest that none begins
        return v.decode(v.encode(some)) == some;
    } catch (const ts::error&) {
        return true;
    }
}

const std::string& path() {
    static const std::string path = fuzz::path_for("data");
    return path;
}

bool read_labels(const std::string& text) {
    fuzz::put(path(), text);
    const io::idx_array a = counted([&] { return io::read_idx(path(), 1); });
    return static_cast<std::int64_t>(a.elements.size()) == a.extents[0] && text.size() == a.elements.size() + 8;
}

std::vector<std::string> pictures() {
    std::string rows;
    for (int r = 0; r < 2; ++r) {
        rows += static_cast<char>(r + 1);
        for (int i = 0; i < 3072; ++i) {
            rows += static_cast<char>(i * (r + 3));
        }
    }
    return {rows, rows.substr(0, 3073)};
}

bool read_pictures(const std::string& text) {
    fuzz::put(path(), text);
    const io::cifar_rows rows = counted([&] { return io::read_cifar(path(), io::cifar10_format()); });
    std::string again;
    for (std::size_t r = 0; r < rows.labels.size(); ++r) {
        if (rows.labels[r] < 0 || rows.labels[r] > 9) {
            return false;
        }
        again += static_cast<char>(rows.labels[r]);
        again.append(rows.pixels.begin() + static_cast<std::ptrdiff_t>(r * 3072),
                     rows.pixels.begin() + static_cast<std::ptrdiff_t>((r + 1) * 3072));
    }
    return again == text;
}

/// Lines of names, the first of which is looked for among the others; refused where it is one of them.
bool read_names(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        names.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (names.empty() || std::find(names.begin() + 1, names.end(), names[0]) != names.end()) {
        throw ts::error("it is there");
    }
    const std::string word = names[0];
    names.erase(names.begin());
    const std::string said = counted([&] { return ts::did_you_mean(word, names); });
    return said.empty() || (said.substr(0, 15) == "; did you mean " && said.size() <= 3 * 300);
}

} // namespace

std::vector<fuzz::target> fuzz::data_targets() {
    const auto times = [](int count, char c) { return std::string(ts::to_size(count), c); };
    const std::string metrics =
        "tag,step,value,wall_time\nloss,1,0.5,1.5e9\n\"a,\"\"b\",2,nan,1600000000.25\nloss,3,-inf,1e9\n";
    const auto wide = [=](int n) {
        return many(
                   n, "a", [](int i) { return ",c" + std::to_string(i); }, "\n") +
               times(n, ',') + "\n";
    };
    const auto objects = [](int n) {
        return many(
            n, "[",
            [](int i) {
                return std::string(i == 0 ? "" : ",") +
                       "{\"name\": \"\\n\", \"count\": 1, \"value\": 2, \"flag\": true}";
            },
            "]");
    };
    const auto log = [=](int n) {
        return metrics + many(n, "", [](int i) { return "t" + std::to_string(i) + ",1,0.5,1\n"; });
    };
    const auto tokens = [](int n) {
        return many(n, "tessera_vocabulary 1 " + std::to_string(n) + "\n",
                    [](int i) { return "t" + std::to_string(i) + "\n"; });
    };
    const auto labels = [=](int n) {
        std::string text("\0\0\x08\x01", 4);
        for (int shift = 24; shift >= 0; shift -= 8) {
            text += static_cast<char>(n >> shift & 0xff);
        }
        return text + times(n, '\1');
    };
    const auto near = [](int n) {
        return many(n, std::string(99, 'x') + "\n",
                    [](int i) { return std::string(90, 'x') + std::to_string(i) + "\n"; });
    };
    return {
        {"csv",
         {"length,kind,name\n1.5,2,\"a, b\"\n-3e2,0,\"say \"\"x\"\"\"\n0.25,1,c\n", "a,b\r\n1,2\r\n\"3\r\n\",4\r\n",
          "\xef\xbb\xbfx\n1\n2\n64\n"},
         {{60'000, wide},
          {100'000, [](int n) { return many(n, "a\n", [](int i) { return std::to_string(i) + "\n"; }); }},
          {500'000, [=](int n) { return "a\n\"" + times(n, '\n'); }}},
         read_table},
        {"rows",
         {"name,count,value,flag\nx,1,0.5,1\n\"a\nb\",-3,inf,0\n",
          "[{\"name\": \"x\", \"count\": 7, \"value\": \"nan\", \"flag\": true}]"},
         {{5000, objects},
          {10'000,
           [](int n) {
               return many(n, "name,count,value,flag\n", [](int i) { return std::to_string(i) + ",1,0.5,1\n"; });
           }}},
         read_rows},
        {"metrics", {metrics}, {{20'000, log}}, read_log},
        {"vocabulary",
         {io::build_vocabulary("the cat sat on the mat,\n the cat \\ sat\t\xc3\xa4.", 40).to_text(),
          io::vocabulary({"a", "b", "ab"}).to_text()},
         {{60'000, tokens}, {1'000'000, [=](int n) { return "tessera_vocabulary 1 1\n" + times(n, 'x') + "\n"; }}},
         read_vocabulary},
        {"idx", {std::string("\0\0\x08\x01\0\0\0\x05\1\2\3\4\5", 13)}, {{1'000'000, labels}}, read_labels},
        {"cifar", pictures(), {{300, [=](int rows) { return times(3073 * rows, '\1'); }}}, read_pictures},
        {"names",
         {"vgg61\nvgg16\nvgg19\nresnet50\n", "aplha\nalpha\nbeta\n"},
         {{20'000, [=](int n) { return times(n, 'a') + "\n" + times(n, 'b') + "\n" + times(n - 1000, 'a') + "\n"; }},
          {500'000, [=](int n) { return "a\n" + times(n, 'a') + "\n"; }},
          {6000, near},
          {500'000, [=](int n) { return times(n, 'a') + "\nb\n"; }}},
         read_names},
    };
}
