// SPDX-License-Identifier: Apache-2.0
// FlexFlow's six benchmarks by number (three of them also unrolled for 10 steps), and its two small networks.
#pragma once

#include "examples/networks.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/residual.hpp"
#include "tessera/net/describe.hpp"

namespace benchmarks {

inline constexpr const char* flexflow_names[] = {"AlexNet",         "ResNet-101",      "Inception-v3",
                                                 "RNNTC",           "RNNLM",           "NMT",
                                                 "RNNTC, 10 steps", "RNNLM, 10 steps", "NMT, 10 steps"};

inline tessera::graph flexflow_network(int which, tessera::index_t batch) {
    switch (which) {
    case 0:
        return tessera::describe<networks::alexnet>(batch);
    case 1:
        return tessera::describe<networks::resnet101>(batch);
    case 2:
        return tessera::describe<networks::inception_v3>(batch);
    case 3:
        return tessera::describe<networks::rnntc>(batch);
    case 4:
        return tessera::describe<networks::rnnlm>(batch);
    case 5:
        return tessera::describe<networks::nmt>(batch);
    case 6:
        return tessera::describe<networks::rnntc_parts<10>::network>(batch);
    case 7:
        return tessera::describe<networks::rnnlm_parts<10>::network>(batch);
    default:
        return tessera::describe<networks::nmt_parts<10>::network>(batch);
    }
}
inline tessera::graph flexflow_lenet(tessera::index_t batch) { return tessera::describe<networks::lenet5>(batch); }
inline tessera::graph flexflow_rnnlm_2_steps(tessera::index_t batch) {
    return tessera::describe<networks::rnnlm_2_steps>(batch);
}

} // namespace benchmarks
