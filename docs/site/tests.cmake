# SPDX-License-Identifier: Apache-2.0
# Tests of the pages and of the site, included where the planner is a target. What is not installed skips its test, with the reason.

if(NOT Python3_EXECUTABLE OR NOT TARGET plan OR NOT TARGET tessera_host OR NOT TARGET tessera_io)
  return()
endif()
set(site_tools "${PROJECT_SOURCE_DIR}/docs/site")
set(site "${PROJECT_BINARY_DIR}/site")

add_test(NAME docs.tools COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/site/tools.py" "$<TARGET_FILE:plan>")
set_tests_properties(docs.tools PROPERTIES LABELS structure TIMEOUT 120)

# One translation unit a page, compiled by the page's own commands, against the compiled library, which with --whole a page compiles, too.
set(without_ranks --without-ranks)
if("ompi-c" IN_LIST TESSERA_MPIS)
  set(without_ranks)
endif()
if(TESSERA_TESTS_LONG)
  list(APPEND without_ranks --whole)
else() # of every kind one: what a reader begins with, what is run behind it, ranks
  list(APPEND without_ranks --only "(getting_started|03_|06_)")
endif()
set(archives)
foreach(component host io certified execute core)
  string(APPEND archives " $<TARGET_FILE:tessera_compiled_${component}>")
endforeach()
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/libtessera.a" CONTENT "GROUP (${archives} )\n") # one name for them all
add_custom_target(tessera_library_of_pages ALL DEPENDS tessera_compiled_host tessera_compiled_io tessera_compiled_certified)
add_test(NAME docs.blocks
  COMMAND "${Python3_EXECUTABLE}" "${site_tools}/blocks.py" --library "${PROJECT_BINARY_DIR}/libtessera.a" --plan "$<TARGET_FILE:plan>"
    --work "${PROJECT_BINARY_DIR}/page_blocks" --compiler "${CMAKE_CXX_COMPILER}" ${without_ranks})
set_tests_properties(docs.blocks PROPERTIES LABELS docs TIMEOUT 1800 PROCESSORS 2)

# The README's picture.
add_test(NAME docs.picture COMMAND "${Python3_EXECUTABLE}" "${site_tools}/picture.py" --check --plan "$<TARGET_FILE:plan>")
set_tests_properties(docs.picture PROPERTIES LABELS docs TIMEOUT 120)

find_program(TESSERA_MKDOCS mkdocs)
if(TESSERA_MKDOCS)
  add_test(NAME structure.site COMMAND "${CMAKE_COMMAND}" "-DPYTHON=${Python3_EXECUTABLE}" "-DTOOLS=${site_tools}" "-DSITE=${site}"
    "-DMKDOCS=${TESSERA_MKDOCS}" "-DPLAN=$<TARGET_FILE:plan>" -P "${PROJECT_SOURCE_DIR}/tests/site/build.cmake")
  set_tests_properties(structure.site PROPERTIES LABELS structure TIMEOUT 600 FIXTURES_SETUP site SKIP_REGULAR_EXPRESSION "skipped: ")
  if(TESSERA_TESTS_LONG)
    add_test(NAME structure.site_seen COMMAND "${Python3_EXECUTABLE}" "${site_tools}/see_site.py" "${site}")
    set_tests_properties(structure.site_seen PROPERTIES LABELS structure TIMEOUT 600 FIXTURES_REQUIRED site SKIP_RETURN_CODE 77)
  endif()
else()
  add_test(NAME structure.site COMMAND "${CMAKE_COMMAND}" -E echo "skipped: there is no mkdocs; apt-get install mkdocs mkdocs-material")
  set_tests_properties(structure.site PROPERTIES LABELS structure SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
