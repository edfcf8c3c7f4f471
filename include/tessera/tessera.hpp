// SPDX-License-Identifier: Apache-2.0
// Everything that depends on no backend, base to search, but what is costly to include and used by few: pipelines
// (schedule/, search/pipeline.hpp), device graphs, MCMC.
#pragma once

#include "tessera/base/rules.hpp" // first, so that compilers name this header alone before the words of a refusal

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/fixed_vector.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/cost/additive.hpp"
#include "tessera/cost/tiling.hpp"
#include "tessera/layout/configuration.hpp"
#include "tessera/layout/pipeline_schedule.hpp"
#include "tessera/layout/redistribute.hpp"
#include "tessera/layout/strategy.hpp"
#include "tessera/layout/typed_strategy.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/net/initialize.hpp"
#include "tessera/net/network.hpp"
#include "tessera/net/sequences.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/op/records.hpp"
#include "tessera/search/additive_problem.hpp"
#include "tessera/search/baselines.hpp"
#include "tessera/search/budget.hpp"
#include "tessera/search/configurations.hpp"
#include "tessera/search/eliminate.hpp"
#include "tessera/search/elimination_order.hpp"
#include "tessera/search/exhaustive.hpp"
#include "tessera/search/optcnn.hpp"
#include "tessera/search/static_eliminate.hpp"
#include "tessera/search/static_optcnn.hpp"
#include "tessera/search/static_tables.hpp"
#include "tessera/version.hpp"
