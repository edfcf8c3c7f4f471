# SPDX-License-Identifier: Apache-2.0
# A kernel that is wrong is found: the runner ends with 1 and says how to repeat the case, and that does so. And what is
# no operator is refused, with the nearest name. PROGRAM: tessera_op_test; BACKEND: one of its backends.

function(expect code pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result EQUAL code OR NOT "${out}${err}" MATCHES "${pattern}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}, not ${code}, or has not said '${pattern}':\n${out}${err}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

expect(1 "FAIL\n.*repeat: " "${PROGRAM}" --backend ${BACKEND} --wrong-row --seed 2 --precision fp32)
string(REGEX MATCH "repeat: ([^\n]*)" line "${said}")
expect(1 "1 cases, 1 wrong" sh -c "${CMAKE_MATCH_1}")
expect(0 "1 cases, 0 wrong" "${PROGRAM}" --backend ${BACKEND} --op "relu of features" --seed 2 --precision fp32)
expect(2 "there is no operator or row 'conv2s'; did you mean conv2d" "${PROGRAM}" --backend ${BACKEND} --op conv2s)
