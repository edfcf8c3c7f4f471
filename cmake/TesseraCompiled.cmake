# SPDX-License-Identifier: Apache-2.0
# What is not a template, compiled once, for programs that would each compile it again; included by the project and by the installed package.
#   tessera::compiled        core, execute, io, host and the tools, as far as they are there
#   tessera::compiled_mpi    with it, the ranks of tessera::mpi
#   tessera::compiled_cuda   with it, the backend of tessera::cuda
# They are built where something links them, with its compiler and flags. They define TESSERA_COMPILED, by which headers leave bodies out; all sources of a
# program are compiled with it, or none.

# tessera_add_compiled(<component> HEADERS <target> SOURCES <name>... [BELOW <component>...]): a library of sources that include tessera/compiled/<name>.inl,
# if its headers are there
function(tessera_add_compiled component)
  cmake_parse_arguments(arg "" "HEADERS" "SOURCES;BELOW" ${ARGN})
  if(NOT TARGET ${arg_HEADERS} OR TARGET tessera_compiled_${component})
    return()
  endif()
  set(written)
  foreach(name IN LISTS arg_SOURCES)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/tessera_compiled/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include <tessera/compiled/${name}.inl>\n")
    list(APPEND written "${source}")
  endforeach()
  add_library(tessera_compiled_${component} STATIC EXCLUDE_FROM_ALL ${written})
  add_library(tessera::compiled_${component} ALIAS tessera_compiled_${component})
  target_compile_definitions(tessera_compiled_${component} PUBLIC TESSERA_COMPILED)
  target_link_libraries(tessera_compiled_${component} PUBLIC ${arg_HEADERS})
  foreach(below IN LISTS arg_BELOW)
    target_link_libraries(tessera_compiled_${component} PUBLIC tessera_compiled_${below})
  endforeach()
  set_target_properties(tessera_compiled_${component} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

tessera_add_compiled(core HEADERS tessera::core SOURCES core search)
tessera_add_compiled(placement HEADERS tessera::placement SOURCES placement BELOW core)
tessera_add_compiled(certified HEADERS tessera::certified SOURCES certified BELOW core)
tessera_add_compiled(execute HEADERS tessera::execute SOURCES execute BELOW core)
if(TARGET tessera_compiled_execute) # checkpoints are of sessions
  set(json "")
  set(contest_json "")
  if(TARGET nlohmann_json::nlohmann_json)
    set(json json)
    set(contest_json contest_json)
  endif()
  tessera_add_compiled(io HEADERS tessera::io SOURCES io ${json} BELOW execute)
  tessera_add_compiled(learned HEADERS tessera::learned SOURCES learned BELOW execute placement)
  tessera_add_compiled(contest HEADERS tessera::contest SOURCES contest ${contest_json} BELOW io certified placement)
  tessera_add_compiled(onnx HEADERS tessera::onnx SOURCES onnx BELOW io)
  tessera_add_compiled(torch_export HEADERS tessera::torch_export SOURCES torch_export BELOW io)
  tessera_add_compiled(host HEADERS tessera::host SOURCES host BELOW execute)
  tessera_add_compiled(mpi HEADERS tessera::mpi SOURCES mpi BELOW execute)
  tessera_add_compiled(cuda_calls HEADERS tessera::execute SOURCES cuda_calls BELOW execute) # of which the headers need no CUDA
  tessera_add_compiled(cuda HEADERS tessera::cuda SOURCES cuda BELOW cuda_calls)
endif()
if(NOT TARGET tessera_compiled)
  add_library(tessera_compiled INTERFACE)
  add_library(tessera::compiled ALIAS tessera_compiled)
  foreach(component core execute io host placement certified learned contest onnx torch_export)
    if(TARGET tessera_compiled_${component})
      target_link_libraries(tessera_compiled INTERFACE tessera_compiled_${component})
    endif()
  endforeach()
endif()
