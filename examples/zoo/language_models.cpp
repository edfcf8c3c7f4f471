// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/decoders.hpp"
#include "examples/zoo/deepseek.hpp"
#include "examples/zoo/experts.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/t5.hpp"
#include "examples/zoo/transformers.hpp"
#include "examples/zoo/whisper.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"

namespace networks {

std::span<const zoo_entry> zoo_language_models() {
    static constexpr zoo_entry all[] = {
        {"transformer", "Transformer base, 6 + 6 layers (Vaswani et al. 2017), 64 tokens",
         ts::describe_at_run_time<transformer_base<64>>},
        {"bert_large", "BERT-large (Devlin et al. 2019), 512 tokens", ts::describe_at_run_time<bert_large>},
        {"gpt2_124m", "GPT-2 (Radford et al. 2019), 1024 tokens", ts::describe_at_run_time<gpt2_124m>},
        {"gpt2_124m_without_logits", "the same with a loss that keeps no logits",
         ts::describe_at_run_time<gpt2_124m_without_logits>},
        {"gpt2_355m", "GPT-2 medium", ts::describe_at_run_time<gpt2_355m>},
        {"gpt2_774m", "GPT-2 large", ts::describe_at_run_time<gpt2_774m>},
        {"gpt2_1558m", "GPT-2 XL", ts::describe_at_run_time<gpt2_1558m>},
        {"gpt3_125m", "GPT-3 small (Brown et al. 2020), 2048 tokens", ts::describe_at_run_time<gpt3_125m>},
        {"gpt3_350m", "GPT-3 medium", ts::describe_at_run_time<gpt3_350m>},
        {"gpt3_760m", "GPT-3 large", ts::describe_at_run_time<gpt3_760m>},
        {"gpt3_1_3b", "GPT-3 XL", ts::describe_at_run_time<gpt3_1_3b>},
        {"gpt3_2_7b", "GPT-3 2.7B", ts::describe_at_run_time<gpt3_2_7b>},
        {"gpt3_6_7b", "GPT-3 6.7B", ts::describe_at_run_time<gpt3_6_7b>},
        {"gpt3_13b", "GPT-3 13B", ts::describe_at_run_time<gpt3_13b>},
        {"gpt3_175b", "GPT-3", ts::describe_at_run_time<gpt3_175b>},
        {"llama2_7b", "LLaMA 2 of 7B (Touvron et al. 2023), 4096 tokens", ts::describe_at_run_time<llama2_7b>},
        {"llama2_13b", "LLaMA 2 of 13B", ts::describe_at_run_time<llama2_13b>},
        {"llama3_8b", "LLaMA 3 of 8B (Dubey et al. 2024), 8192 tokens", ts::describe_at_run_time<llama3_8b>},
        {"llama3_1_8b", "LLaMA 3.1 of 8B, 131072 tokens", ts::describe_at_run_time<llama3_1_8b>},
        {"llama3_1_70b", "LLaMA 3.1 of 70B", ts::describe_at_run_time<llama3_1_70b>},
        {"mistral_7b", "Mistral 7B (Jiang et al. 2023), 8192 tokens", ts::describe_at_run_time<mistral_7b>},
        {"qwen3_0_6b", "Qwen 3 of 0.6B (Yang et al. 2025), 4096 tokens", ts::describe_at_run_time<qwen3_0_6b>},
        {"qwen3_8b", "Qwen 3 of 8B", ts::describe_at_run_time<qwen3_8b>},
        {"gemma_2b", "Gemma 2B (Mesnard et al. 2024), 8192 tokens", ts::describe_at_run_time<gemma_2b>},
        {"gemma2_2b", "Gemma 2 of 2B (Riviere et al. 2024), 8192 tokens", ts::describe_at_run_time<gemma2_2b>},
        {"whisper_tiny", "Whisper tiny (Radford et al. 2023), 3000 frames, 448 tokens",
         ts::describe_at_run_time<whisper_tiny>},
        {"whisper_base", "Whisper base", ts::describe_at_run_time<whisper_base>},
        {"t5_small", "T5 small, 6 + 6 layers (Raffel et al. 2020), 512 tokens", ts::describe_at_run_time<t5_small>},
        {"t5_base", "T5 base, 12 + 12 layers", ts::describe_at_run_time<t5_base>},
        {"t5_v1_1_small", "T5 1.1 small, 8 + 8 layers, as Flan-T5 (Chung et al. 2022), 512 tokens",
         ts::describe_at_run_time<t5_v1_1_small>},
        {"t5_v1_1_base", "T5 1.1 base", ts::describe_at_run_time<t5_v1_1_base>},
        {"moe_8", "language model of 12 layers, 8 experts in every other", ts::describe_at_run_time<moe_8>},
        {"moe_2048", "language model of 36 layers with GShard's 2048 experts in every other",
         ts::describe_at_run_time<moe_2048>},
        {"routed_moe_8", "moe_8 with tokens that are sent, and losses that balance the experts",
         ts::describe_at_run_time<routed_moe_8>},
        {"mixtral_8x7b", "Mixtral 8x7B (Jiang et al. 2024), 4096 tokens", ts::describe_at_run_time<mixtral_8x7b>},
        {"deepseek_v3", "DeepSeek-V3 (Liu et al. 2024), 671B, 256 experts and one that is shared, 4096 tokens",
         ts::describe_at_run_time<deepseek_v3>},
    };
    return all;
}

} // namespace networks
