// SPDX-License-Identifier: Apache-2.0
// Measured algorithms in a file: what is written is read, and nothing else is.
#include "tessera/backend/cuda/measure/algorithm_file.hpp"
#include "tessera/backend/cuda/measure/call_times.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include <unistd.h>

namespace {

namespace cuda = tessera::cuda;

/// A name for a file that is removed at the end.
struct temporary {
    std::string path = "/tmp/tessera_algorithms_" + std::to_string(getpid());
    ~temporary() {
        std::remove(path.c_str());
        std::remove((path + ".new").c_str());
    }
};

cuda::convolution example(int channels, cuda::convolution::direction way) {
    cuda::convolution c;
    c.way = way;
    if (channels == 3) {
        c.set_dimensions(3);
        c.x[4] = 7;
        c.w[4] = c.padding[2] = c.stride[2] = 2;
        c.y[4] = 9;
    }
    for (int i = 0; i < 4; ++i) {
        c.x[i] = channels + i;
        c.w[i] = 20 + i;
        c.y[i] = 30 + i;
    }
    c.padding[1] = 2;
    c.stride[0] = 3;
    c.dilation[1] = 4;
    c.groups = 5;
    return c;
}

void append(const std::string& path, const char* text) {
    std::FILE* f = std::fopen(path.c_str(), "a");
    REQUIRE(f != nullptr);
    std::fputs(text, f);
    std::fclose(f);
}

} // namespace

TEST_CASE("choices are read as they were written") {
    const temporary file;
    cuda::algorithm_table written;
    written.add(example(1, cuda::convolution::direction::forward), {1, 0, -0.001});
    cuda::convolution low = example(2, cuda::convolution::direction::backward_data);
    low.math = tessera::precision::bf16;
    low.multipliers = cuda::math_type_of(low.math);
    written.add(low, {5, tessera::index_t{1} << 33, 1.5, cuda::math_type::tensor_cores});
    written.add(example(3, cuda::convolution::direction::backward_filter), {3, 512, 0.125});
    cuda::write_algorithms(written, file.path, "a GPU");
    cuda::algorithm_table read;
    cuda::read_algorithms(read, file.path, "a GPU");
    REQUIRE(read.known().size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(read.known()[i].first == written.known()[i].first);
        CHECK(read.known()[i].second.algorithm == written.known()[i].second.algorithm);
        CHECK(read.known()[i].second.multipliers == written.known()[i].second.multipliers);
        CHECK(read.known()[i].second.workspace == written.known()[i].second.workspace);
        CHECK(read.known()[i].second.milliseconds == doctest::Approx(written.known()[i].second.milliseconds));
    }
    // What is known is chosen, without a measurement.
    low.multipliers = cuda::math_type::plain; // which is not asked for
    const cuda::convolution chosen = read.choose(low);
    CHECK(chosen.algorithm == 5);
    CHECK(chosen.multipliers == cuda::math_type::tensor_cores);
    CHECK(chosen.workspace == tessera::index_t{1} << 33);
    CHECK(read.known().size() == 3);
}

TEST_CASE("products are read as they were written, beside convolutions") {
    const temporary file;
    cuda::algorithm_table written;
    written.add(example(1, cuda::convolution::direction::forward), {1, 0, 1});
    cuda::matrix_product m;
    m.m = 768;
    m.n = 8192;
    m.k = 50257;
    m.transpose_b = m.sums = true;
    m.batch = 3;
    for (int i = 0; i < 3; ++i) {
        m.lead[i] = 1000 + i;
        m.apart[i] = 2000 + i;
    }
    m.alignment = 64;
    m.math = tessera::precision::bf16;
    m.result = tessera::element::bf16;
    m.workspace = cuda::algorithm_table::product_workspace;
    written.add(m, {5, m.workspace, 1.25});
    cuda::write_algorithms(written, file.path, "a GPU");
    cuda::write_algorithms({}, file.path, "a GPU"); // which loses nothing
    cuda::algorithm_table read;
    cuda::read_algorithms(read, file.path, "a GPU");
    REQUIRE(read.known().size() == 1);
    REQUIRE(read.known_products().size() == 1);
    CHECK(read.known_products()[0].first == m);
    CHECK(read.known_products()[0].second.algorithm == 5);
    CHECK(read.known_products()[0].second.milliseconds == doctest::Approx(1.25));
    m.workspace = 0;
    m.scale = 0.5F; // which changes nothing
    CHECK(read.choose(m).algorithm == 5);
    CHECK(read.choose(m).scale == 0.5F);
    m.sums = false;
    CHECK(read.choose(m).algorithm == 0);
    // A product that there is not, a proposal that is not asked for.
    for (const char* line : {"3 8 4 16 2 0 0 0 0 1 0 0 0 0 0 0 256 0 0 0 1 5 0 0 0 0 0 0 0 0 0 0\n",
                             "3 8 4 16 0 0 0 0 0 1 0 0 0 0 0 0 256 0 0 0 8 5 0 0 0 0 0 0 0 0 0 0\n",
                             "3 8 4 16 0 0 0 0 0 1 0 0 0 0 0 0 256 7 0 0 1 5 0 0 0 0 0 0 0 0 0 0\n"}) {
        append(file.path, line);
    }
    cuda::algorithm_table again;
    cuda::read_algorithms(again, file.path, "a GPU");
    CHECK(again.known_products().size() == 1);
    append(file.path, "3 8 4 16 0 0 0 0 0 1 0 0 0 0 0 0 256 0 0 0 1 5 0 0 0 0 0 0 0 0 0 0\n");
    cuda::read_algorithms(again, file.path, "a GPU");
    CHECK(again.known_products().size() == 3); // twice what was there
}

TEST_CASE("another machine's file, a missing one and damaged lines teach nothing") {
    const temporary file;
    cuda::algorithm_table table;
    cuda::read_algorithms(table, file.path, "a GPU");
    CHECK(table.known().empty());
    cuda::algorithm_table written;
    written.add(example(1, cuda::convolution::direction::forward), {1, 0, 1});
    cuda::write_algorithms(written, file.path, "a GPU");
    cuda::read_algorithms(table, file.path, "another GPU");
    CHECK(table.known().empty());
    append(file.path, "1 2 3\n");
    append(file.path, "words\n\n");
    append(file.path, "9 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 3 1 1\n");
    append(file.path, "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 3 1 1 1\n");
    append(file.path,
           "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 3 1 3 1 1\n"); // a precision that there is not
    append(file.path,
           "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 4 1 1\n"); // multipliers that there are not
    append(file.path,
           "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 0 1 1\n"); // multipliers that round fp32
    append(file.path,
           "0 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 3 1 1\n"); // more dimensions than there are
    append(file.path, "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 3 1\n"); // a line of another version
    append(file.path, "0 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1 3 1 1");
    cuda::read_algorithms(table, file.path, "a GPU");
    CHECK(table.known().size() == 1);
}

TEST_CASE("a file that cannot be written is an error") {
    for (const char* path : {"/no such folder/file", "/dev/null"}) {
        CHECK_THROWS_AS(cuda::write_algorithms({}, path, "a GPU"), tessera::error);
    }
}

TEST_CASE("what two processes have measured is together in the file, as each has measured it last") {
    const temporary file;
    cuda::algorithm_table first, second;
    first.add(example(1, cuda::convolution::direction::forward), {1, 0, 1});
    first.add(example(2, cuda::convolution::direction::forward), {1, 0, 1});
    second.add(example(2, cuda::convolution::direction::forward), {0, 7, 1});
    second.add(example(3, cuda::convolution::direction::forward), {1, 0, 1});
    cuda::write_algorithms(first, file.path, "a GPU");
    cuda::write_algorithms(second, file.path, "a GPU");
    cuda::algorithm_table read;
    cuda::read_algorithms(read, file.path, "a GPU");
    CHECK(read.known().size() == 3);
    CHECK(read.choose(example(2, cuda::convolution::direction::forward)).workspace == 7);
    cuda::call_times one, other, both;
    one.set("a call", 10);
    one.set("another", 20);
    other.set("a call", 11);
    other.set("a third", 30);
    one.write(file.path, "a GPU");
    other.write(file.path, "a GPU");
    both.read(file.path, "a GPU");
    CHECK(both.size() == 3);
    CHECK(both.find("a call") == 11);
    CHECK(both.find("another") == 20);
}
