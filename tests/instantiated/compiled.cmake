# SPDX-License-Identifier: Apache-2.0
# A trainer that links tessera::compiled leaves out what is compiled there: cmake -DNM= -DOBJECT=<of a trainer> -DPROGRAM=<linked> -P compiled.cmake
# Looks for definitions of the value code that most of a trainer's compile time goes to; in the program they must be, or the names here are old.

cmake_minimum_required(VERSION 3.25)

set(names "tessera::lowering::" "tessera::detail::verifier::" "tessera::host::detail::chooser::" "tessera::host::kernels::"
    "tessera::session<tessera::host::backend>::step" "tessera::executor<tessera::host::backend>::"
    "tessera::detail::parameter_state<tessera::host::backend>::" "tessera::detail::plan_cache<tessera::host::backend>::"
    "tessera::detail::plan_runs<tessera::host::backend>::" "tessera::detail::run_results<tessera::host::backend>::"
    "tessera::detail::session_answers<tessera::host::backend>::" "tessera::nests::detail::program_at<tessera::op::rms_norm_body")
foreach(file OBJECT PROGRAM)
  execute_process(COMMAND "${NM}" -C --defined-only "${${file}}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  foreach(name IN LISTS names)
    string(FIND "${text}" " ${name}" at)
    if(file STREQUAL "OBJECT" AND NOT at EQUAL -1)
      string(SUBSTRING "${text}" ${at} 160 shown)
      message(FATAL_ERROR "a trainer compiles what tessera::compiled has:${shown}")
    elseif(file STREQUAL "PROGRAM" AND at EQUAL -1)
      message(FATAL_ERROR "the program has no ${name}; name here what it has")
    endif()
  endforeach()
endforeach()
