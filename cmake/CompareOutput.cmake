# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM and compares what it prints with the file GOLDEN: cmake -DPROGRAM= -DGOLDEN= -P CompareOutput.cmake
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} returned ${result}")
endif()
file(READ "${GOLDEN}" golden)
if(NOT output STREQUAL golden)
  message(FATAL_ERROR "${PROGRAM} printed\n${output}\nwhere ${GOLDEN} has\n${golden}")
endif()
