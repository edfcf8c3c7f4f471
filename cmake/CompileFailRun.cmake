# SPDX-License-Identifier: Apache-2.0
# One compile-fail test: cmake -DCOMPILER= -DINCLUDE= -DPREFIX= -DMODE=rejected|accepted -DSOURCE= -P CompileFailRun.cmake
# With -DMODE=precompile: the header PREFIX, which all cases begin with.
# Refused means refused for the stated reason, and briefly: that is what the user reads.

set(max_errors 3)
set(max_bytes 6144)

set(command "${COMPILER}" -std=c++20 -fdiagnostics-color=never "-I${INCLUDE}")
set(ENV{LC_ALL} C) # the compiler's own words, with plain quotes

if(MODE STREQUAL "precompile")
  execute_process(COMMAND ${command} -x c++-header "${PREFIX}" -o "${PREFIX}.gch" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

set(define)
if(MODE STREQUAL "rejected")
  file(READ "${SOURCE}" text)
  string(REGEX MATCHALL "// expect-error: [^\n]+" expectations "${text}")
  if(NOT expectations)
    message(FATAL_ERROR "${SOURCE} has no line '// expect-error: text', so any mistake in it would pass")
  endif()
  if(NOT text MATCHES "#ifdef TESSERA_EXPECT_ERROR")
    message(FATAL_ERROR "${SOURCE} has no '#ifdef TESSERA_EXPECT_ERROR'")
  endif()
  set(define -DTESSERA_EXPECT_ERROR)
elseif(NOT MODE STREQUAL "accepted")
  message(FATAL_ERROR "MODE is '${MODE}'; it must be rejected or accepted")
endif()

execute_process(
  COMMAND ${command} -fsyntax-only ${define} -include "${PREFIX}" "${SOURCE}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)

set(problems)
if(output MATCHES "internal compiler error|fatal error")
  list(APPEND problems "the compiler gave up instead of judging the code")
endif()
if(MODE STREQUAL "accepted")
  if(NOT result EQUAL 0)
    list(APPEND problems "the twins must compile, but the compiler returned ${result}")
  endif()
else()
  if(result EQUAL 0)
    list(APPEND problems "the mistake compiled")
  endif()
  foreach(expectation IN LISTS expectations)
    string(REPLACE "// expect-error: " "" wanted "${expectation}")
    string(STRIP "${wanted}" wanted)
    string(FIND "${output}" "${wanted}" position)
    if(position EQUAL -1)
      list(APPEND problems "the output does not say: ${wanted}")
    endif()
  endforeach()
  string(REGEX MATCHALL ": error:" errors "${output}")
  list(LENGTH errors errors)
  if(errors GREATER max_errors)
    list(APPEND problems "${errors} errors for one mistake; at most ${max_errors} are readable")
  endif()
  string(LENGTH "${output}" bytes)
  if(bytes GREATER max_bytes)
    list(APPEND problems "${bytes} bytes of output for one mistake; at most ${max_bytes} are readable")
  endif()
endif()

if(problems)
  list(JOIN problems "\n  " problems)
  message(FATAL_ERROR "${SOURCE} (${MODE}, ${COMPILER}):\n  ${problems}\n---- the compiler's output\n${output}")
endif()
