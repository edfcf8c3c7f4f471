# SPDX-License-Identifier: Apache-2.0
# Builds the site and checks its links and that it asks no other host: cmake -DPYTHON= -DTOOLS=<docs/site> -DSITE=<to where> -DMKDOCS= -DPLAN= -P build.cmake
if(NOT EXISTS "/usr/share/mkdocs/themes/material")
  execute_process(COMMAND "${PYTHON}" -c "import material" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
  if(missing)
    message(STATUS "skipped: there is no mkdocs-material; apt-get install mkdocs-material")
    return()
  endif()
endif()
execute_process(COMMAND "${PYTHON}" "${TOOLS}/build.py" --to "${SITE}" --mkdocs "${MKDOCS}" --plan "${PLAN}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PYTHON}" "${TOOLS}/check_site.py" "${SITE}" COMMAND_ERROR_IS_FATAL ANY)
