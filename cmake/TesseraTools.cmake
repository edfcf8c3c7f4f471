# SPDX-License-Identifier: Apache-2.0
# The tools: libraries beside core, execute and io, whose headers none of these includes. Of each: its headers, below include/tessera, and the libraries that
# it needs. tests/include_layers/check.cmake holds all includes to this list.

set(TESSERA_TOOLS placement certified learned contest onnx torch_export)

set(TESSERA_PLACEMENT_HEADERS "^search/placement/")
set(TESSERA_PLACEMENT_NEEDS core)

# Searches by name are here: one of them is the certified optimum, and the lists of all have it.
set(TESSERA_CERTIFIED_HEADERS "^search/(certified/|best\\.|searches\\.)")
set(TESSERA_CERTIFIED_NEEDS core)

set(TESSERA_LEARNED_HEADERS "^learned/")
set(TESSERA_LEARNED_NEEDS execute placement)

set(TESSERA_CONTEST_HEADERS "^io/exchange/(contest_file|split_problem_file|layer_profile_file)\\.")
set(TESSERA_CONTEST_NEEDS io certified placement)

set(TESSERA_ONNX_HEADERS "^(part/onnx/|io/exchange/onnx_)") # with JSON
set(TESSERA_ONNX_NEEDS io)

set(TESSERA_TORCH_EXPORT_HEADERS "^(backend/torch/|io/exchange/torch_)") # with JSON
set(TESSERA_TORCH_EXPORT_NEEDS io execute)

# tessera_tool_of(<result> <path>): the tool that a header or fragment below include/tessera is of; empty if of none
function(tessera_tool_of result path)
  set(${result} "" PARENT_SCOPE)
  foreach(tool IN LISTS TESSERA_TOOLS)
    string(TOUPPER ${tool} name)
    if(path MATCHES "${TESSERA_${name}_HEADERS}")
      set(${result} ${tool} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
