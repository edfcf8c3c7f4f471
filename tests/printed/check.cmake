# SPDX-License-Identifier: Apache-2.0
# What `plan --print-cpp` prints of a network file compiles and is the network that the file was written from:
#   cmake -DPLAN= -DCOMPILER= -DFLAGS= -DROOT= -DWORK= -P check.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")

execute_process(COMMAND "${PLAN}" --network lenet5 --machine host --batch 6 --search data --write-network "${WORK}/lenet5.json"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PLAN}" --network "${WORK}/lenet5.json" --print-cpp OUTPUT_FILE "${WORK}/lenet5.hpp" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${COMPILER}" ${flags} -std=c++20 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "-I${WORK}" "-I${ROOT}/include"
                  "-I${ROOT}/tests" "-I${ROOT}" "${CMAKE_CURRENT_LIST_DIR}/trains.cpp" -o "${WORK}/trains" -pthread COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/trains" COMMAND_ERROR_IS_FATAL ANY)

# A strategy that was found for the file fits the network of the zoo, and the other way round.
execute_process(COMMAND "${PLAN}" --network "${WORK}/lenet5.json" --machine p100 --search optcnn --strategy "${WORK}/found.json"
                OUTPUT_VARIABLE of_file COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PLAN}" --network lenet5 --machine p100 --batch 6 --from "${WORK}/found.json" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# What is wrong in a file is said in one sentence, with 1.
file(READ "${WORK}/lenet5.json" text)
string(REPLACE "\"conv2d\"" "\"conv9d\"" text "${text}")
file(WRITE "${WORK}/bad.json" "${text}")
execute_process(COMMAND "${PLAN}" --network "${WORK}/bad.json" RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_QUIET)
if(NOT result EQUAL 1 OR NOT said MATCHES "bad.json, line [0-9]+: /nodes/1/kind is 'conv9d', which is no operator; did you mean")
  message(FATAL_ERROR "a network file with an unknown operator: ${result}, ${said}")
endif()
