# SPDX-License-Identifier: Apache-2.0
# conan create, without a remote and with the libraries of the system, and the recipe's own consumer, which uses every component that is there.
# What an option needs and the system has not is refused by name. Skipped where there is no Conan 2.
cmake_minimum_required(VERSION 3.25)

find_program(CONAN conan NO_CACHE)
if(CONAN)
  execute_process(COMMAND "${CONAN}" --version OUTPUT_VARIABLE said ERROR_VARIABLE said)
endif()
if(NOT said MATCHES "Conan version 2\\.")
  message(STATUS "skipped: no Conan 2 in PATH (python3 -m pip install conan, in an environment of its own)")
  return()
endif()

file(REMOVE_RECURSE "${WORK}")
set(ENV{CONAN_HOME} "${WORK}/home")
foreach(proxy http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY) # where nothing listens
  set(ENV{${proxy}} "http://127.0.0.1:9")
endforeach()
execute_process(COMMAND "${CONAN}" profile detect OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)

set(create "${CONAN}" create "${ROOT}/cmake/packages/conan" --no-remote -s compiler.cppstd=20 -s build_type=Debug
           -c "tools.cmake.cmaketoolchain:generator=${GENERATOR}" -c "tools.build:compiler_executables={'cpp': '${COMPILER}'}"
           -c "tools.cmake.cmake_layout:test_folder=${WORK}/consumer")
set(options "")
set(parts core)
foreach(part HOST IO JSON) # what CI has no time for: -o "&:mpi=True"
  string(TOLOWER ${part} option)
  if(HAS_${part})
    list(APPEND options -o "&:${option}=True")
    if(NOT part STREQUAL "JSON")
      list(APPEND parts ${option})
    endif()
  elseif(NOT part STREQUAL "JSON" OR HAS_IO)
    list(APPEND options -o "&:${option}=False")
  endif()
endforeach()
execute_process(COMMAND ${create} ${options} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "conan create ${options} fails:\n${said}")
endif()
foreach(part IN LISTS parts)
  if(NOT said MATCHES "RUN: [^\n]*uses_${part}\n")
    message(FATAL_ERROR "the consumer does not run uses_${part}:\n${said}")
  endif()
endforeach()
execute_process(COMMAND "${CONAN}" list "tessera/${VERSION}:*" OUTPUT_VARIABLE listed ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT listed MATCHES "tessera/${VERSION}" OR NOT listed MATCHES "package_type|info|options")
  message(FATAL_ERROR "conan list says\n${listed}")
endif()

# Without oneDNN.
execute_process(COMMAND ${create} --test-folder= -o "&:host=True" -o "&:io=False"
                        -c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_DISABLE_FIND_PACKAGE_dnnl': 'ON'}"
                RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "TESSERA_WITH_HOST is ON, but dnnl was not found; install libdnnl-dev")
  message(FATAL_ERROR "the option host without oneDNN is not refused by name:\n${said}")
endif()
list(JOIN parts ", " parts)
message(STATUS "conan create, and a consumer of ${parts}")
