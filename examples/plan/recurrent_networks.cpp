// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"
#include "examples/zoo/recurrent.hpp"

#include <tessera/net/describe.hpp>

void planner::add_recurrent_networks(std::vector<network>& all) {
    all.push_back({"rnntc", "RNNTC, four LSTM layers of 1024 over 40 steps", 64, ts::describe<networks::rnntc>});
    all.push_back({"rnnlm", "RNNLM, two LSTM layers of 2048 over 40 steps", 64, ts::describe<networks::rnnlm>});
    all.push_back({"rnnlm_2_steps", "the same over two steps", 64, ts::describe<networks::rnnlm_2_steps>});
    all.push_back(
        {"nmt", "NMT with attention, 2 + 2 LSTM layers of 1024 over 40 steps", 64, ts::describe<networks::nmt>});
}
