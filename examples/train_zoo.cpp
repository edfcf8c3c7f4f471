// SPDX-License-Identifier: Apache-2.0
// Trains small networks of the zoo over two devices of this host, and holds what they have learned against an aim.
// Usage: train_zoo resnext|vit|unet|gpt [EPOCHS] [--samples N] [--batch N] [--learning-rate RATE] [--aim NUMBER]
// EPOCHS without --samples are those that reach the aim; the exit code is 1 where it is not reached.
#include "examples/options.hpp"
#include "examples/output.hpp"
#include "examples/shapes.hpp"
#include "examples/texts.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/unet.hpp"
#include "examples/zoo/vision_transformer.hpp"

#include <tessera/host.hpp>

#include <tessera/execute/metrics.hpp>
#include <tessera/io/data/augment.hpp>
#include <tessera/io/data/fashion_mnist.hpp>
#include <tessera/io/train.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ts = tessera;

namespace {

constexpr int devices = 2;
constexpr ts::index_t pixels = 32; // of generated shapes
constexpr ts::index_t window = 64; // bytes of a text

/// Of one block a stage, behind a convolution and a pool as ResNeXt-50 has them.
struct resnext
    : ts::sequential<ts::image<1, 28, 28>, networks::resnext_layers::stem<16>, networks::resnet_layers::norm1, ts::relu,
                     ts::max_pool<2>, networks::resnext_layers::stage<1, 1, 32, 64, 4, 1>,
                     networks::resnext_layers::stage<2, 1, 64, 128, 4, 2>,
                     networks::resnext_layers::stage<3, 1, 128, 256, 4, 2>, ts::global_average_pool,
                     networks::resnext_layers::classes<10>, ts::cross_entropy> {};
/// Behind convolutions of stride 2, which small sets of pictures train faster with than with patches (Xiao et al.,
/// "Early Convolutions Help Transformers See Better", NeurIPS 2021).
struct enter : ts::conv2d<32, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::no_bias> {};
struct enter_norm : ts::batch_norm<> {};
struct halve : ts::conv2d<64, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::no_bias> {};
struct halve_norm : ts::batch_norm<> {};
struct vit
    : networks::vit_parts<28, 4, 3, 64, 4, 10, 1>::behind<enter, enter_norm, ts::relu, halve, halve_norm, ts::relu> {};
struct unet : networks::padded_unet<pixels, 1, shapes::kinds, 8, 2> {};
struct gpt : networks::llama_parts<4, 128, 4, 352, window, 256>::network {};

struct settings {
    int epochs = 0;
    ts::index_t samples = 0; // of those to train with and of those to test with; 0: all
    ts::index_t batch = 0;
    double learning_rate = 0;
    double aim = 0;
};

/// What is not said on the command line.
settings with_defaults(settings s, const settings& usual) {
    s.epochs = s.epochs == 0 ? usual.epochs : s.epochs;
    s.samples = s.samples == 0 ? usual.samples : s.samples;
    s.batch = s.batch == 0 ? usual.batch : s.batch;
    s.learning_rate = s.learning_rate > 0 ? s.learning_rate : usual.learning_rate;
    s.aim = s.aim > 0 ? s.aim : usual.aim;
    return s;
}

/// Trains with AdamW, whose rate rises over a twentieth of the steps and falls along a cosine, and says so; `Net` under
/// data parallelism.
template <class Net>
class training {
public:
    explicit training(const settings& s, float weight_decay)
        : chosen_(s),
          trainer_(ts::host::devices(devices), ts::search::data_parallel(ts::describe<Net>(s.batch).view(), devices),
                   s.batch, ts::optimizer(ts::adamw{.weight_decay = weight_decay}, 1.0F)) {
        ts::index_t parameters = 0;
        for (int p = 0; p < trainer_.graph().parameter_count; ++p)
            parameters += trainer_.graph().parameters[p].trained ? trainer_.graph().parameters[p].extents.volume() : 0;
        std::printf("%lld parameters; %d epochs in batches of %lld, each over %d devices\n",
                    static_cast<long long>(parameters), s.epochs, static_cast<long long>(s.batch), devices);
    }
    template <class Set>
    void run(const Set& set) {
        const auto steps = static_cast<std::uint64_t>(chosen_.epochs) *
                           static_cast<std::uint64_t>((set.size() + chosen_.batch - 1) / chosen_.batch);
        trainer_.set_learning_rate(
            ts::cosine_decay{.rate = chosen_.learning_rate, .steps = steps, .warm_up = steps / 20});
        ts::io::train(trainer_, set, {.epochs = chosen_.epochs, .after_epoch = [&](const ts::io::epoch_record& e) {
                                          seconds_ += e.seconds;
                                          std::printf("epoch %d: loss %.4f, %.0f samples/s\n", e.epoch, e.loss,
                                                      e.samples_per_second());
                                          std::fflush(stdout);
                                      }});
        std::printf("%.0f s of training\n", seconds_);
    }
    ts::trainer<Net>& trainer() { return trainer_; }

private:
    settings chosen_;
    ts::trainer<Net> trainer_;
    double seconds_ = 0;
};

bool reached(const char* what, double found, double aim, bool less) {
    const bool good = less ? found <= aim : found >= aim;
    std::printf("%s %.4f; the aim is at %s %.4f: %s\n", what, found, less ? "most" : "least", aim,
                good ? "reached" : "not reached");
    return good;
}

/// The first images of a set.
ts::io::image_set some(const ts::io::image_set& all, ts::index_t count) {
    const auto n = ts::to_size(count == 0 ? all.size() : std::min<ts::index_t>(count, all.size()));
    const auto each = all.images().size() / ts::to_size(all.size());
    return {{all.images().begin(), all.images().begin() + static_cast<std::ptrdiff_t>(n * each)},
            {all.labels().begin(), all.labels().begin() + static_cast<std::ptrdiff_t>(n)},
            {all.channels(), all.height(), all.width()},
            all.classes()};
}

/// Fashion-MNIST, its training images flipped at random.
template <class Net>
bool clothes(const settings& s, float weight_decay) {
    training<Net> t(s, weight_decay);
    const ts::io::image_set known = some(ts::io::fashion_mnist("train"), s.samples);
    const ts::io::image_set unseen = some(ts::io::fashion_mnist("test"), s.samples);
    t.run(ts::io::augmented_images(known, {.seed = 1, .flip = true}));
    const ts::scores test = t.trainer().evaluate(unseen.batches(s.batch));
    return reached("test accuracy", test.accuracy, s.aim, false);
}

bool generated_shapes(const settings& s) {
    training<unet> t(s, 1e-4F);
    auto [greys, labels] = shapes::draw(s.samples, pixels, 1);
    const ts::io::sample_set known(std::move(greys), std::move(labels), s.samples);
    const ts::index_t tests = std::max<ts::index_t>(s.samples / 5, 1);
    auto [more, truth] = shapes::draw(tests, pixels, 2);
    const ts::io::sample_set unseen(std::move(more), std::move(truth), tests);
    t.run(known);
    ts::confusion_matrix all(shapes::kinds);
    for (const ts::io::batch& b : unseen.batches(s.batch)) all.add(t.trainer().predict(b), b.labels);
    for (int k = 0; k < shapes::kinds; ++k) {
        constexpr const char* names[] = {"background", "circles", "squares", "triangles"};
        std::printf("%s: intersection over union %.4f\n", names[k], all.intersection_over_union(k));
    }
    return reached("mean intersection over union", all.mean_intersection_over_union(), s.aim, false);
}

/// Bytes of a text.
bool language(const settings& s) {
    const texts::text text = texts::find();
    auto [known, unseen] = texts::cut(text.contents);
    const auto most = ts::to_size(s.samples * window + 1);
    if (s.samples > 0) known.resize(std::min(known.size(), most));
    if (s.samples > 0) unseen.resize(std::min(unseen.size(), most));
    std::printf("%s: %zu bytes to train with, %zu to test with\n", text.name.c_str(), known.size(), unseen.size());
    training<gpt> t(s, 0.1F);
    t.run(ts::io::text_set(ts::io::byte_tokens(known), window));
    const ts::io::text_set tests(ts::io::byte_tokens(unseen), window);
    const ts::scores test = t.trainer().evaluate(tests.batches(s.batch));
    return reached("loss on the test bytes, in nats each,", test.loss, s.aim, true);
}

bool train(const std::string& network, const settings& s) {
    if (network == "resnext") return clothes<resnext>(with_defaults(s, {6, 0, 64, 4e-3, 0.91}), 0.02F);
    if (network == "vit") return clothes<vit>(with_defaults(s, {8, 0, 64, 2e-3, 0.91}), 0.05F);
    if (network == "unet") return generated_shapes(with_defaults(s, {10, 4000, 16, 4e-3, 0.9}));
    if (network == "gpt") return language(with_defaults(s, {8, 0, 16, 2e-3, 2.0}));
    throw options::usage_error("there is no network '" + network + "'; there are resnext, vit, unet and gpt");
}

settings read(int count, char** words) {
    settings s;
    for (int i = 2; i < count; ++i) {
        const std::string name = words[i];
        if (name.rfind("--", 0) != 0) {
            s.epochs = options::whole_number<int>("the number of epochs", name);
            if (s.epochs < 1) throw options::usage_error("the number of epochs must be at least 1");
            continue;
        }
        if (name != "--samples" && name != "--batch" && name != "--learning-rate" && name != "--aim")
            throw options::usage_error("there is no option " + name +
                                       "; there are --samples, --batch, --learning-rate and --aim");
        if (++i == count) throw options::usage_error(name + " takes a value");
        if (!(options::number(name, words[i]) > 0)) throw options::usage_error(name + " takes a number above 0");
        if (name == "--samples") s.samples = options::whole_number<ts::index_t>(name, words[i]);
        if (name == "--batch") s.batch = options::whole_number<ts::index_t>(name, words[i]);
        if (name == "--learning-rate") s.learning_rate = options::number(name, words[i]);
        if (name == "--aim") s.aim = options::number(name, words[i]);
    }
    return s;
}

} // namespace

int main(int count, char** words) {
    try {
        if (count < 2) throw options::usage_error("say which network: resnext, vit, unet or gpt");
        return output::finish("train_zoo", train(words[1], read(count, words)) ? EXIT_SUCCESS : EXIT_FAILURE);
    } catch (const options::usage_error& e) {
        std::fprintf(stderr, "train_zoo: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "train_zoo: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
