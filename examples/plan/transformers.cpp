// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/transformers.hpp"
#include "examples/plan/plan.hpp"

#include <tessera/net/describe.hpp>

void planner::add_transformers(std::vector<network>& all) {
    all.push_back({"bert_large", "BERT-large with its pre-training head (Devlin et al. 2019)", 4,
                   ts::describe<networks::bert_large>});
    all.push_back({"transformer", "Transformer base, 6 + 6 layers, sentences of 64 (Vaswani et al. 2017)", 32,
                   ts::describe<networks::transformer_base<64>>});
}
