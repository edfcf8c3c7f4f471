// SPDX-License-Identifier: Apache-2.0
// Beyond the papers: for each network and cluster of their tables, every system's step and the fastest combination that
// is found, as Markdown. Usage: beyond [seconds of MCMC for each network] [part of a network's name]
#include "benchmarks/papers/beyond.hpp"
#include "benchmarks/papers/transformer.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/amoebanet.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/vgg19.hpp"

namespace networks {
/// ResNet of 110 layers for images of 512 x 512, in the place of GEMS's, whose 1001 layers take long to search.
struct gems_resnet
    : ts::sequential<ts::image<3, 512, 512>, preactivation_layers::conv1, preactivation_layers::stage<1, 12, 16, 1>,
                     preactivation_layers::stage<2, 12, 32, 2>, preactivation_layers::stage<3, 12, 64, 2>,
                     preactivation_layers::last_norm, ts::relu, ts::global_average_pool, preactivation_layers::fc,
                     ts::cross_entropy> {};
} // namespace networks

int main(int count, char** arguments) {
    using namespace papers;
    const double seconds = count > 1 ? std::atof(arguments[1]) : 5;
    const std::string only = count > 2 ? arguments[2] : "";
    const auto p100 = [](int nodes) { return ts::machines::p100_nodes(nodes); };
    const std::vector<cell> cells = {
        {"ResNet-50", ts::describe<networks::resnet50>, 128, "4 P4000 at 4 Gb/s", throttled_nodes(4, 4), true},
        {"Inception-v3", ts::describe<networks::inception_v3>, 128, "4 P4000 at 4 Gb/s", throttled_nodes(4, 4), true},
        {"VGG-19", ts::describe<networks::vgg19>, 128, "4 P4000 at 15 Gb/s", throttled_nodes(4, 15), true},
        {"Sockeye-like", ts::describe<networks::nmt_parts<30, 512, 17000>::network>, 128, "4 P4000 at 4 Gb/s",
         throttled_nodes(4, 4), true},
        {"AlexNet", ts::describe<networks::alexnet>, 512, "16 P100 in 4 nodes", p100(4)},
        {"VGG-16", ts::describe<networks::vgg16>, 512, "8 P100, 25 Gb/s", roce_servers(2)},
        {"ResNet-101", ts::describe<networks::resnet101>, 512, "8 P100, 25 Gb/s", roce_servers(2)},
        {"RNNLM", ts::describe<networks::rnnlm>, 512, "8 P100 in 2 nodes", p100(2)},
        {"NMT", ts::describe<networks::nmt>, 512, "8 P100 in 2 nodes", p100(2)},
        {"AmoebaNet-D(18,256)", ts::describe<networks::amoebanet_d<18, 256>>, 128, "8 TPU v2 cores",
         tpu_cores(tpu_v2(), 8)},
        {"Transformer-24", ts::describe<networks::gpipe_transformer<24>>, 32, "8 TPU v3 cores", tpu_cores(tpu_v3(), 8)},
        {"ResNet-110", ts::describe<networks::resnet110_v2>, 256, "8 processes of a Skylake node",
         skylake_nodes(1, 8, 0)},
        {"ResNet-110, 512 x 512", ts::describe<networks::gems_resnet>, 32, "8 V100 of 16 GB", v100_quads(2)},
    };
    std::printf("## Beyond them\n\nMilliseconds of a step, simulated; (!): does not fit the devices' memory, and does "
                "not count. Data parallel: blocking all-reduces. "
                "GPipe: a stage on every device, 4 micro-batches\nfor each, re-materialization. HyPar-Flow: the "
                "fastest of all partitions x replicas. "
                "FlexFlow: MCMC for %.0f s. Found: the fastest that fits of these and of combinations (splits x "
                "pipelines x schedules x micro-batches\nx replicas x "
                "synchronization, steps without a barrier between them). Free links: what is found where moving bytes "
                "costs next to nothing,\nwhich no synchronization makes shorter. The last column: the best "
                "single system over what is found.\n\n"
                "| network | cluster | batch | data parallel | servers | Horovod | P3 | GPipe | HyPar-Flow | GEMS | "
                "OptCNN | FlexFlow | best of them | found | free links | times |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                seconds);
    for (cell c : cells) {
        c.seconds = seconds;
        if (c.network.find(only) != std::string::npos) {
            contest(c).run();
        }
    }
    std::printf("\n"
                "Every system is its paper's own rule on the simulator, not its code. Searching is short; combinations "
                "are a list, not an exhaustive search. Where the last\n"
                "column is 1.00, the best single system takes about what the same strategy would take with free links: "
                "no synchronization has anything left to give there,\n"
                "and no split or pipeline that was tried computes less. It is more where splits and priorities add up "
                "and where the plain systems do not fit. FlexFlow's (!):\n"
                "its chain starts from data parallelism, which does not fit, and looks for less memory first. OptCNN "
                "for AmoebaNet and recurrent networks: one choice for all\n"
                "steps of a layer, as the exact search takes too long.\n");
}
