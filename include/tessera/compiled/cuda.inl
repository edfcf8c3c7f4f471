// SPDX-License-Identifier: Apache-2.0
// For one source of a program that is compiled with TESSERA_COMPILED. Written by tests/user_builds/headers.py.
#include "tessera/backend/cuda/backend.inl"
#include "tessera/backend/cuda/issue/communicators.inl"
#include "tessera/backend/cuda/issue/descriptors.inl"
#include "tessera/backend/cuda/issue/error.inl"
#include "tessera/backend/cuda/issue/gpu_numbers.inl"
#include "tessera/backend/cuda/issue/guards.inl"
#include "tessera/backend/cuda/issue/handles.inl"
#include "tessera/backend/cuda/issue/module.inl"
#include "tessera/backend/cuda/issue/prepare.inl"
#include "tessera/backend/cuda/issue/prepared_call.inl"
#include "tessera/backend/cuda/issue/prepared_fused.inl"
#include "tessera/backend/cuda/issue/program.inl"
#include "tessera/backend/cuda/measure/call_timer.inl"
#include "tessera/backend/cuda/measure/measure.inl"
#include "tessera/backend/cuda/measure/product_search.inl"

template class tessera::session<tessera::cuda::backend>;
template class tessera::executor<tessera::cuda::backend>;
template class tessera::detail::parameter_state<tessera::cuda::backend>;
template class tessera::detail::run_results<tessera::cuda::backend>;
template class tessera::detail::plan_cache<tessera::cuda::backend>;
template class tessera::detail::plan_runs<tessera::cuda::backend>;
template class tessera::detail::session_answers<tessera::cuda::backend>;
