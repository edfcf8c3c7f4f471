# SPDX-License-Identifier: Apache-2.0
# Whatever reads or writes numbers does so in every locale alike: cmake -DROOT=project -DWORK=folder [-DCOMPILER=c++] [-DFLAGS=...] -P check.cmake
#
# Refuses, in headers and examples, the calls that go by the locale: of C, of streams, and printf of floating-point numbers but for
# print_to() (base/number_text.hpp). With a COMPILER also std::to_string of such numbers, which only types tell: all headers are parsed once behind
# poisoned.hpp. First of all it refuses a text with one of each.

cmake_minimum_required(VERSION 3.25)

set(calls "(^|[^a-zA-Z0-9_])(strto(d|f|ld)|(std::)?sto(d|f|ld)|atof|v?f?s?scanf|isalpha|isdigit|isspace|isalnum|isupper|islower|ispunct|isprint|\
isgraph|toupper|tolower|strcoll|strxfrm|strftime|wcstod|localeconv|setlocale|setprecision|imbue|get_time|put_time|get_money|put_money)[ ]*[(]")
set(types "(i|o)?(string|f|span)stream[^a-z_.]|std::(cout|cin|cerr|clog|wcout|locale|regex|format)[^a-z_]|# *include <(iostream|istream|\
ostream|sstream|fstream|iomanip|locale|regex|cctype)>")
set(floats "%[-+ #0-9.*]*l?[aefgAEFG]")

# Sets `found` to what a text has that goes by the locale, one line each. `prints`: whether printf of floating-point numbers is refused.
function(look text prints found)
  string(REPLACE ";" "\\;" text "${text}")
  string(REGEX REPLACE "\\[|\\]" "?" text "${text}") # which CMake's lists take for their own
  string(REGEX REPLACE "\n" ";" lines "${text}")
  set(all)
  set(number 0)
  set(call "")
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    string(REGEX REPLACE "^[ ]*//.*$|[ ]//[ /].*$" "" code "${line}")
    if(code MATCHES "${calls}" OR code MATCHES "${types}")
      list(APPEND all "${number}: ${code}")
    endif()
    # The format may stand on the lines after the call.
    if(code MATCHES "(^|[^a-zA-Z0-9_])(std::)?(v?s?n?f?d?printf)[ ]*[(]")
      set(call "open")
    elseif(code MATCHES "print_to[ ]*[(]")
      set(call "")
    endif()
    if(prints AND call AND code MATCHES "${floats}")
      list(APPEND all "${number}: ${code}")
    endif()
    if(code MATCHES "[)][;,]? *$|[)];")
      set(call "")
    endif()
  endforeach()
  set(${found} "${all}" PARENT_SCOPE)
endfunction()

set(bad
    "x = std::strtod(a, &b)\;" "std::stod(text)" "std::sscanf(a, \"%d\", &x)" "std::ostringstream text\;" "if (std::isdigit(c) != 0) {"
    "std::ifstream file(path)\;" "std::cout << x\;" "#include <sstream>" "std::printf(\"%.3f ms\", x)\;"
    "std::snprintf(text, sizeof text, \"%s %5.1e\", a, b)\;" "std::snprintf(text, sizeof text,\n \"%a\", x)\;" "std::locale::global(x)\;")
foreach(line IN LISTS bad)
  look("${line}" TRUE found)
  if(NOT found)
    message(FATAL_ERROR "this is not refused: ${line}")
  endif()
endforeach()
set(good "std::snprintf(text, sizeof text, \"%d of %s\", a, b)\;" "print_to(text, sizeof text, \"%.3f\", x)\;" "// std::strtod goes by the locale"
         "is_digit(c)" "x.stream(a)" "std::fprintf(stderr, \"%s\\n\", text)\;")
foreach(line IN LISTS good)
  look("${line}" TRUE found)
  if(found)
    message(FATAL_ERROR "this is refused: ${line}")
  endif()
endforeach()

set(violations)
foreach(folder include examples python/src)
  file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/${folder}/*.hpp" "${ROOT}/${folder}/*.inl" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.cuh")
  foreach(file IN LISTS files)
    # Programs print for people in the "C" locale, in which every program starts: that they change it is refused.
    set(prints TRUE)
    if(folder STREQUAL "examples")
      set(prints FALSE)
    endif()
    file(READ "${ROOT}/${file}" text)
    look("${text}" ${prints} found)
    foreach(line IN LISTS found)
      if(NOT "${file}: ${line}" MATCHES "^include/tessera/base/number_text.hpp")
        list(APPEND violations "${file}:${line}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  list(JOIN violations "\n" text)
  message(FATAL_ERROR "these go by the program's locale; take base/number_text.hpp or std::from_chars:\n${text}")
endif()

if(COMPILER)
  file(GLOB_RECURSE headers RELATIVE "${ROOT}/include" "${ROOT}/include/tessera/*.hpp")
  list(FILTER headers EXCLUDE REGEX "backend/(cuda|torch)|cuda\\.hpp") # need what few machines have
  if(NOT EXISTS /usr/include/oneapi/dnnl/dnnl.h AND NOT EXISTS /usr/include/dnnl.h)
    list(FILTER headers EXCLUDE REGEX "backend/host|host\\.hpp|host_runtime")
  endif()
  list(FILTER headers EXCLUDE REGEX "^tessera/ranks/(mpi|transport|mpi_calls)\\.hpp")
  set(all "#include \"${CMAKE_CURRENT_LIST_DIR}/poisoned.hpp\"\n")
  foreach(header IN LISTS headers)
    string(APPEND all "#include \"${header}\"\n")
  endforeach()
  separate_arguments(flags NATIVE_COMMAND "${FLAGS}")
  foreach(more "" "std::string text = std::to_string(1.5)\;")
    file(WRITE "${WORK}/all.cpp" "${all}${more}\n")
    if(more) # nothing but the prelude and this
      file(WRITE "${WORK}/all.cpp" "#include \"${CMAKE_CURRENT_LIST_DIR}/poisoned.hpp\"\n${more}\n")
    endif()
    execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${flags} -w "-I${ROOT}/include" "-I${ROOT}" "${WORK}/all.cpp"
                    RESULT_VARIABLE failed ERROR_VARIABLE said)
    if(NOT more AND failed)
      message(FATAL_ERROR "std::to_string of a floating-point number goes by the locale, or a header does not compile:\n${said}")
    elseif(more AND NOT failed)
      message(FATAL_ERROR "std::to_string(1.5) is not refused")
    endif()
  endforeach()
endif()
