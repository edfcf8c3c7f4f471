// SPDX-License-Identifier: Apache-2.0
// The blocks of docs/training.md about data, word for word, in programs that run.
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/io/data/augment.hpp>
#include <tessera/io/data/build_vocabulary.hpp>
#include <tessera/io/data/prefetch.hpp>
#include <tessera/io/files/checkpoint_folder.hpp>
#include <tessera/io/files/text.hpp>
#include <tessera/io/train.hpp>

#include "examples/texts.hpp"
#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace ts = tessera;

namespace {

struct words_of_text : ts::embedding<512, 4> {};
struct next_word : ts::linear<512> {};
struct language : ts::sequential<ts::tokens<64>, words_of_text, next_word, ts::cross_entropy> {};
struct head : ts::linear<2> {};
struct classifier : ts::sequential<ts::image<1, 4, 4>, ts::flatten, head, ts::cross_entropy> {};

template <class Net>
ts::trainer<Net, ts::reference::backend> make(int batch) {
    return {ts::local_devices(1), ts::strategy(ts::describe<Net>(batch).view()), batch, ts::sgd{}, {}};
}

ts::io::image_set pictures() {
    std::vector<float> pixels(16 * 100);
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < 100; ++i) {
        labels.push_back(static_cast<std::int32_t>(i % 2));
        for (std::size_t k = 0; k < 16; ++k) pixels[16 * i + k] = static_cast<float>((i * 5 + k) % 7) / 7;
    }
    return {pixels, labels, {1, 4, 4}, 2};
}

} // namespace

TEST_CASE("docs/training.md has the blocks of this file") {
    const std::string root = std::string(__FILE__).substr(0, std::string(__FILE__).rfind("tests/docs/"));
    const std::string page = test::read_text(root + "docs/training.md");
    const std::string own = test::read_text(std::string(__FILE__));
    REQUIRE(!page.empty());
    for (const char* const begin : {"const std::string text = ", "options.after_step = ", "const ts::io::augmented_"}) {
        std::size_t at = page.find(begin);
        REQUIRE(at != std::string::npos);
        for (const std::size_t end = page.find("\n```", at); at < end;) {
            const std::size_t stop = page.find('\n', at);
            const std::string line = page.substr(at, stop - at);
            CHECK_MESSAGE(own.find("    " + line + "\n") != std::string::npos, line);
            at = stop + 1;
        }
    }
}

TEST_CASE("a text, a vocabulary of it, and windows of tokens to train on") {
    const test::temporary_folder here;
    const std::string folder = here.path();
    const std::string path = folder + "/text";
    {
        std::ofstream file(path);
        for (int i = 0; i < 400; ++i) file << "the " << i % 40 << " cats sat on the mat.\n";
    }
    auto trainer = make<language>(8);
    // clang-format off
    const std::string text = ts::io::read_text(path);
    const ts::io::vocabulary words = ts::io::build_vocabulary(text, 512);
    ts::io::write_vocabulary(words, folder + "/words");
    const ts::io::text_set windows(words.encode(text), 64); // 64 tokens each
    for (const ts::io::token_batch& batch : windows.batches(8, {.shuffle_seed = 1})) trainer.step(batch);
    // clang-format on
    CHECK(trainer.steps() == static_cast<std::uint64_t>((windows.size() + 7) / 8));
    CHECK(ts::io::read_vocabulary(folder + "/words") == words);
}

TEST_CASE("a text of this machine is the first whose files are all there, or the one that is named") {
    const test::temporary_folder folder;
    const std::vector<texts::source> sources{{"one", {folder / "a", folder / "none"}},
                                             {"two", {folder / "a", folder / "b"}}};
    CHECK(test_support::contains(test_support::message_of([&] { (void)texts::find(sources); }), "set TESSERA_TEXT"));
    test::write_bytes(folder / "a", {'x', '\n'});
    test::write_bytes(folder / "b", {'y'});
    CHECK(texts::find(sources).name == "two");
    CHECK(texts::find(sources).contents == "x\ny");
    ::setenv("TESSERA_TEXT", (folder / "b").c_str(), 1);
    CHECK(texts::find(sources).contents == "y");
    ::unsetenv("TESSERA_TEXT");
}

TEST_CASE("images changed on their way, made ahead; and a training that keeps its place") {
    const ts::io::image_set images = pictures();
    auto trainer = make<classifier>(64);
    const std::uint64_t epoch = 3;
    // clang-format off
    const ts::io::augmented_images changed(images, {.seed = 1, .crop_padding = 4, .flip = true});
    for (const auto& batch : ts::io::prefetched(changed.batches(64, {.shuffle_seed = 1, .epoch = epoch}), 2))
        // clang-format on
        trainer.step(batch);
    CHECK(trainer.steps() == 2);

    const test::temporary_folder folder;
    std::filesystem::create_directory(folder / "run");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    ts::io::train_options options{.epochs = 50, .prefetch = 2};
    // clang-format off
    options.after_step = [&](const ts::io::data_position& at) {
        if (trainer.steps() % 100 == 0) ts::io::save_checkpoint(trainer, "run/last", at);
    };
    // clang-format on
    ts::io::train(trainer, changed, options);
    CHECK(ts::io::load_checkpoint(trainer, "run/last").data ==
          ts::io::data_position{
              .shuffle_seed = 1, .epoch = 48, .next_sample = 100, .set_size = 100, .set_hash = changed.hash()});
    const auto from = ts::io::resume_newest(trainer, "run"); // nothing where there is none yet
    ts::io::checkpoint_saver saver(trainer.values(), {.folder = "run", .keep = 3});
    saver.save();   // copies, and returns; a thread writes
    saver.finish(); // on the disk, or it throws
    CHECK(!from.has_value());
    CHECK(ts::io::resume_newest(trainer, "run")->state.step == trainer.steps());
    std::filesystem::current_path(before);
}
