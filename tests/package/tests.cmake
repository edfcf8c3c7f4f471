# SPDX-License-Identifier: Apache-2.0
# Ways to get Tessera into a project (docs/packages.md); each builds a consumer. structure.package is in the list above.

function(tessera_add_package_test name)
  add_test(NAME structure.${name} COMMAND ${ARGN})
  set_tests_properties(structure.${name} PROPERTIES LABELS structure TIMEOUT 300)
endfunction()

set(folder "${CMAKE_CURRENT_SOURCE_DIR}/package")
set(common "-DROOT=${PROJECT_SOURCE_DIR}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DVERSION=${PROJECT_VERSION}" "-DGENERATOR=${CMAKE_GENERATOR}"
           "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${CMAKE_CXX_FLAGS}" "-DHAS_HOST=${TESSERA_HAS_HOST}" "-DHAS_IO=${TESSERA_HAS_IO}"
           "-DHAS_JSON=${TESSERA_HAS_JSON}" "-DHAS_MPI=${TESSERA_HAS_MPI}" "-DPYTHON=${Python3_EXECUTABLE}")

if(TARGET tessera_single_header AND TESSERA_TESTS_LONG)
  tessera_add_package_test(single_header "${CMAKE_COMMAND}" ${common} "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/single_header"
                           -P "${folder}/single_header/compile.cmake")
endif()
if(TARGET tessera_single_header)
  tessera_add_package_test(single_header.trees "${Python3_EXECUTABLE}" "${folder}/single_header/trees.py" "${CMAKE_CXX_COMPILER}")
endif()

set(ways versions fetch conan)
if(TESSERA_TESTS_LONG)
  list(APPEND ways vcpkg)
endif()
foreach(way IN LISTS ways)
  tessera_add_package_test(package.${way} "${CMAKE_COMMAND}" ${common} "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/package_${way}"
                           -P "${folder}/${way}/check.cmake")
endforeach()
set_tests_properties(structure.package.conan PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
if(Python3_FOUND)
  tessera_add_package_test(package.deprecated "${Python3_EXECUTABLE}" "${folder}/deprecated/check.py" "${PROJECT_SOURCE_DIR}")
endif()
