// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"
#include "examples/zoo/transformers.hpp"

#include <tessera/net/describe.hpp>

void planner::add_gpts(std::vector<network>& all) {
    all.push_back({"gpt2_124m", "GPT-2 of 12 layers (Radford et al. 2019)", 8, ts::describe<networks::gpt2_124m>});
    all.push_back({"gpt2_355m", "GPT-2 of 24 layers", 4, ts::describe<networks::gpt2_355m>});
    all.push_back({"gpt2_1558m", "GPT-2 of 48 layers", 1, ts::describe<networks::gpt2_1558m>});
    all.push_back({"gpt3_175b", "GPT-3 of 96 layers (Brown et al. 2020)", 1, ts::describe<networks::gpt3_175b>});
}
