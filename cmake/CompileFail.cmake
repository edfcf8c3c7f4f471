# SPDX-License-Identifier: Apache-2.0
# Tests of what the compiler must refuse. A case is one file:
#
#   // expect-error: text that must be in the compiler's output (one line for each text)
#   #ifdef TESSERA_EXPECT_ERROR
#   ... the mistake
#   #else
#   ... its twin, which compiles
#   #endif
#
# The twins, which need no compiler each to be judged, are read as one source, every one in a namespace of its own: accepted.
# So are the mistakes with g++ (compile_fail/together.py): rejected, and first_lines for those whose first lines count.
# Among the long tests every mistake has a compiler of its own, <name>.rejected, for that of the build and for clang 14 and 19, where they
# are found. There the headers that the cases share (compile_fail/prefix.hpp) are precompiled by a fixture, which makes a case 3 times faster.

set(TESSERA_COMPILE_FAIL_RUN "${CMAKE_CURRENT_LIST_DIR}/CompileFailRun.cmake")

function(tessera_add_compile_fail_tests)
  file(GLOB cases CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp")
  set(twins "${CMAKE_CURRENT_BINARY_DIR}/compile_fail/twins.cpp")
  set(included)
  set(wrapped)
  foreach(case IN LISTS cases)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${case}")
    file(STRINGS "${case}" lines REGEX "^#include")
    list(APPEND included ${lines})
    cmake_path(GET case STEM stem)
    string(APPEND wrapped "namespace ${stem}_ {\n#include \"${case}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES included)
  list(JOIN included "\n" included)
  file(CONFIGURE OUTPUT "${twins}" CONTENT "${included}\n${wrapped}" @ONLY)
  set(compilers "${CMAKE_CXX_COMPILER}")
  set(suffixes none)
  set(first_lines)
  if(TARGET tessera_host) # one case for each way to a refusal: a shape, splits, placement, an entry, a step
    set(first_lines layer_norm_of_images degree_does_not_divide_channels more_shards_than_devices chimera_of_odd_stages schedule_waits_for_itself)
  endif()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail")
    set(together "${Python3_EXECUTABLE}" "${folder}/together.py" --cmake "${CMAKE_COMMAND}" --run "${TESSERA_COMPILE_FAIL_RUN}"
                 --compiler "${CMAKE_CXX_COMPILER}")
    # Of good programs and of such that are wrong for another reason: those must be found.
    file(GLOB wrong CONFIGURE_DEPENDS "${folder}/wrong/*.cpp")
    add_test(NAME compile_fail.wrong COMMAND ${together} --include "${folder}/wrong" --prefix "${folder}/wrong/same.hpp"
             --work "${CMAKE_CURRENT_BINARY_DIR}/compile_fail/wrong" --must-fail compiles,four_errors,no_reason,other_reason ${wrong})
    set_tests_properties(compile_fail.wrong PROPERTIES LABELS compile_fail)
    if(NOT TESSERA_TESTS_LONG)
      set(prefix "${folder}/prefix.hpp")
      list(APPEND together --include "${TESSERA_INCLUDE_DIR}")
      add_test(NAME compile_fail.rejected COMMAND ${together} --prefix "${prefix}"
               --work "${CMAKE_CURRENT_BINARY_DIR}/compile_fail/rejected" ${cases})
      add_test(NAME compile_fail.accepted COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DINCLUDE=${TESSERA_INCLUDE_DIR}"
               "-DPREFIX=${prefix}" "-DSOURCE=${twins}" -DMODE=accepted -P "${TESSERA_COMPILE_FAIL_RUN}")
      set_tests_properties(compile_fail.rejected compile_fail.accepted PROPERTIES LABELS compile_fail TIMEOUT 900)
      if(first_lines)
        list(TRANSFORM first_lines REPLACE "(.+)" "${folder}/\\1.cpp")
        set(work "${CMAKE_CURRENT_BINARY_DIR}/compile_fail/first_lines")
        add_test(NAME compile_fail.first_lines COMMAND ${together} --prefix "${work}/prefix.hpp" --work "${work}" --first-lines ${first_lines})
        set_tests_properties(compile_fail.first_lines PROPERTIES LABELS compile_fail TIMEOUT 300)
      endif()
      return()
    endif()
  endif()
  set(versions 19)
  if(TESSERA_TESTS_LONG)
    set(versions 14 19)
  endif()
  foreach(version IN LISTS versions)
    find_program(TESSERA_CLANG_${version} clang++-${version})
    mark_as_advanced(TESSERA_CLANG_${version})
    if(TESSERA_CLANG_${version} AND NOT CMAKE_CXX_COMPILER STREQUAL TESSERA_CLANG_${version})
      list(APPEND compilers "${TESSERA_CLANG_${version}}")
      list(APPEND suffixes clang${version})
    endif()
  endforeach()
  foreach(compiler suffix IN ZIP_LISTS compilers suffixes)
    set(prefix "${CMAKE_CURRENT_BINARY_DIR}/compile_fail/${suffix}/prefix.hpp")
    configure_file("${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/prefix.hpp" "${prefix}" COPYONLY)
    set(run "${CMAKE_COMMAND}" "-DCOMPILER=${compiler}" "-DINCLUDE=${TESSERA_INCLUDE_DIR}" "-DPREFIX=${prefix}")
    string(REGEX REPLACE "^\\.none$" "" ending ".${suffix}")

    add_test(NAME "compile_fail.precompile${ending}" COMMAND ${run} -DMODE=precompile -P "${TESSERA_COMPILE_FAIL_RUN}")
    set_tests_properties("compile_fail.precompile${ending}" PROPERTIES
      LABELS compile_fail TIMEOUT 120 FIXTURES_SETUP "compile_fail${ending}")
    macro(tessera_add_case name source mode)
      add_test(NAME "compile_fail.${name}${ending}" COMMAND ${run} "-DSOURCE=${source}" -DMODE=${mode} -P "${TESSERA_COMPILE_FAIL_RUN}")
      set_tests_properties("compile_fail.${name}${ending}" PROPERTIES
        LABELS compile_fail TIMEOUT 120 FIXTURES_REQUIRED "compile_fail${ending}")
    endmacro()
    tessera_add_case(accepted "${twins}" accepted)
    foreach(case IN LISTS cases)
      cmake_path(GET case STEM stem)
      if(TESSERA_TESTS_LONG OR suffix STREQUAL "none")
        tessera_add_case("${stem}.rejected" "${case}" rejected)
      endif()
    endforeach()
    foreach(stem IN LISTS first_lines)
      tessera_add_case("${stem}.first_lines" "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${stem}.cpp" first_lines)
    endforeach()
  endforeach()
endfunction()
