# SPDX-License-Identifier: Apache-2.0
# Holds every #include below ROOT/tessera against the layer order: cmake -DROOT=include [-DEXPECTED=file] -P check.cmake
#
# A layer includes itself and the layers before it. io includes everything, and nothing else includes io. Umbrella
# headers stand above the layers: tessera.hpp holds base to search. Core layers use no vendor header, no threads, no
# iostream; each vendor belongs to one folder. Only op, part, backend and learned, which has networks, name an operator
# or ask which one is. With EXPECTED, the violations must be exactly the lines of that file.
#
# Names of operators are those of TESSERA_OPERATORS in op/attributes.hpp, and the types that their headers define. Other
# layers have no such identifier and include no such header. Prose, in comments and in messages, may speak of a field's
# words (a softmax, a linear layer), but not by identifiers (those with an underscore or a digit).

cmake_minimum_required(VERSION 3.25)

set(layers base op net part layout strategy machine task cost schedule plan simulate search execute backend ranks learned)
list(FIND layers search last_of_core)
set(heavy "^(iostream|istream|ostream|sstream|fstream|iomanip|thread|mutex|shared_mutex|condition_variable|future|\
ranges|regex|functional|memory|filesystem|nlohmann/.*|range/v3/.*)$")
# vendor header pattern = the folders that may include it
set(vendors "^(dnnl|oneapi/dnnl/|omp\\.h)=^backend/host/" "^mpi\\.h=^ranks/"
            "^(cuda|cudnn|cublas|nccl|nvrtc)=^backend/cuda/" "^zlib\\.h=^io/" "^range/v3/=^io/"
            "^nlohmann/=^io/files/json")

# Operators whose names are words that other layers use for something else: functions of mathematics, a linear operator, the route between
# devices, a slice of a parameter. Of these only what can mean nothing but the operator is refused.
set(words add linear route slice exp log sqrt power abs clamp negate scale subtract divide minimum maximum pad crop roll flip)

set(violations)
macro(violation text)
  list(APPEND violations "${here}: ${text}")
endmacro()

file(GLOB_RECURSE headers RELATIVE "${ROOT}/tessera" "${ROOT}/tessera/*.hpp" "${ROOT}/tessera/*.inl")
if(NOT headers)
  message(FATAL_ERROR "no header below ${ROOT}/tessera")
endif()
list(SORT headers)

# Which header is which operator's, and what it defines.
set(names)
set(operator_headers)
if(EXISTS "${ROOT}/tessera/op/attributes.hpp")
  file(STRINGS "${ROOT}/tessera/op/attributes.hpp" lines REGEX "^[ \t]*X\\([a-z0-9_]+\\)")
  string(REGEX MATCHALL "X\\([a-z0-9_]+\\)" names "${lines}")
  list(TRANSFORM names REPLACE "X\\(|\\)" "")
endif()
if(NOT names)
  message(FATAL_ERROR "no operator is listed in ${ROOT}/tessera/op/attributes.hpp")
endif()
foreach(name IN LISTS words)
  if(NOT name IN_LIST names AND NOT EXPECTED)
    message(FATAL_ERROR "${name} is no operator any more: take it out of the words of this check")
  endif()
endforeach()
list(JOIN names "|" any)
set(defined ${names})
list(FILTER headers EXCLUDE REGEX "^compiled/") # lists of bodies of all layers

foreach(here IN LISTS headers)
  if(NOT here MATCHES "^op/")
    continue()
  endif()
  file(STRINGS "${ROOT}/tessera/${here}" record REGEX "op_record (${any})_record")
  if(record)
    list(APPEND operator_headers "${here}")
    file(STRINGS "${ROOT}/tessera/${here}" lines REGEX "^struct [a-z0-9_]+ *[:{]")
    list(TRANSFORM lines REPLACE "^struct ([a-z0-9_]+).*" "\\1")
    list(APPEND defined ${lines})
  endif()
endforeach()
list(REMOVE_DUPLICATES defined)
set(identifiers ${defined})
list(FILTER identifiers INCLUDE REGEX "[_0-9]")
set(single ${defined})
list(FILTER single EXCLUDE REGEX "[_0-9]")
list(REMOVE_ITEM single ${words})
list(JOIN identifiers "|" identifiers)
list(JOIN single "|" single)
list(JOIN words "|" words)
set(edge "[^A-Za-z0-9_]")
# In comments, messages and code; in code alone; of words that mean other things as well.
set(anywhere "(^|${edge})(${identifiers})($|${edge})" "(^|${edge})(${any})_record")
set(in_code "(^|[^A-Za-z0-9_-])(${single})($|${edge})")
set(as_operator
    "(op_kind|op)::(${words})($|${edge})" "(^|[^A-Za-z0-9_.>])(${words}) *(<.*>)?::attributes"
    "(key_of|apply_layer|append|append_all|Layer)<(.*[ ,<])?(${words})[<>,]"
    "struct [A-Za-z0-9_]+ *: *(${words})(<.*>)? *{}" "\"(${words})\", *key_of")

foreach(here IN LISTS headers)
  string(REGEX MATCH "^[^/]+" layer "${here}")
  list(FIND layers "${layer}" rank)
  if(NOT here MATCHES "/")
    set(layer umbrella)
  elseif(rank EQUAL -1 AND NOT layer STREQUAL "io")
    violation("the folder ${layer} is not in the order of layers")
    continue()
  endif()
  cmake_path(GET here PARENT_PATH folder)

  # What other layers want to know of an operator is in its description and its record.
  if(NOT here MATCHES "^(op|part|backend|learned)/")
    file(STRINGS "${ROOT}/tessera/${here}" named REGEX "op_kind")
    if(named)
      violation("asks for an operator by its op_kind")
    endif()
    file(READ "${ROOT}/tessera/${here}" lines) # without what makes lists of lines something else
    string(REPLACE "\\\"" "'" lines "${lines}")
    string(REGEX REPLACE "\\\\|;" "" lines "${lines}")
    string(REPLACE "[" "(" lines "${lines}")
    string(REPLACE "]" ")" lines "${lines}")
    string(REPLACE "\n" ";" lines "${lines}")
    list(FILTER lines INCLUDE REGEX "${any}|${identifiers}")
    foreach(line IN LISTS lines)
      if(line MATCHES "^[ \t]*#[ \t]*include")
        continue()
      endif()
      string(REGEX REPLACE "\"[^\"]* [^\"]*\"" "\"\"" code "${line}") # texts of several words
      string(REGEX REPLACE "//.*" "" code "${code}")
      foreach(pattern IN LISTS anywhere in_code as_operator)
        if((pattern IN_LIST anywhere AND line MATCHES "${pattern}") OR code MATCHES "${pattern}")
          string(STRIP "${line}" line)
          violation("names an operator: ${line}")
          break()
        endif()
      endforeach()
    endforeach()
  endif()

  file(STRINGS "${ROOT}/tessera/${here}" lines REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "include[ \t]*([<\"])([^>\"]+)[>\"]")
      continue()
    endif()
    set(quote "${CMAKE_MATCH_1}")
    set(header "${CMAKE_MATCH_2}")

    if(header MATCHES "^tessera/(.+)$")
      set(target "${CMAKE_MATCH_1}")
    elseif(quote STREQUAL "\"" AND EXISTS "${ROOT}/tessera/${folder}/${header}")
      set(target "${folder}/${header}")
      cmake_path(NORMAL_PATH target)
    else() # the standard library or a vendor
      if(layer IN_LIST layers AND rank LESS_EQUAL last_of_core AND header MATCHES "${heavy}")
        violation("includes ${header}, which the core does without")
      endif()
      foreach(entry IN LISTS vendors)
        string(REGEX MATCH "^[^=]+" pattern "${entry}")
        string(REGEX REPLACE "^[^=]+=" "" allowed "${entry}")
        if(header MATCHES "${pattern}" AND NOT here MATCHES "${allowed}")
          violation("includes ${header}, which belongs to another folder")
        endif()
      endforeach()
      continue()
    endif()

    if(NOT EXISTS "${ROOT}/tessera/${target}")
      violation("includes ${target}, which does not exist")
      continue()
    endif()
    if(target IN_LIST operator_headers AND NOT here MATCHES "^(op|part|backend|learned)/")
      violation("includes ${target}, which belongs to an operator")
    endif()
    if(layer STREQUAL "io")
      continue()
    endif()
    string(REGEX MATCH "^[^/]+" other "${target}")
    list(FIND layers "${other}" other_rank)
    if(other STREQUAL "io")
      violation("includes ${target}, but only users include io")
    elseif(NOT target MATCHES "/")
      if(NOT layer STREQUAL "umbrella" AND NOT target STREQUAL "version.hpp") # which includes nothing
        violation("includes the umbrella header ${target}")
      endif()
    elseif(here STREQUAL "tessera.hpp")
      if(other_rank GREATER last_of_core)
        violation("includes ${target}, but the core ends with search")
      endif()
    elseif(layer STREQUAL "umbrella")
      # host.hpp is the executor and the host backend; cuda.hpp likewise
      string(REGEX REPLACE "\\.hpp$" "" name "${here}")
      if(other STREQUAL "backend" AND NOT target MATCHES "^backend/(reference|${name})/|^backend/[^/]+$")
        violation("includes ${target} of another backend")
      endif()
    elseif(other_rank GREATER rank)
      violation("includes ${target}, a later layer")
    elseif(layer STREQUAL "backend" AND other STREQUAL "backend")
      string(REGEX MATCH "^backend/[^/]+/" own "${here}")
      string(REGEX MATCH "^backend/[^/]+/" its "${target}")
      if(its AND NOT its STREQUAL own AND NOT its STREQUAL "backend/reference/")
        violation("includes ${target} of another backend")
      endif()
    endif()
  endforeach()
endforeach()

list(LENGTH headers count)
if(EXPECTED)
  file(STRINGS "${EXPECTED}" expected)
  list(SORT expected)
  list(SORT violations)
  if(NOT "${expected}" STREQUAL "${violations}")
    list(JOIN expected "\n  " expected)
    list(JOIN violations "\n  " violations)
    message(FATAL_ERROR "expected violations:\n  ${expected}\nfound:\n  ${violations}")
  endif()
  message(STATUS "${count} headers, exactly the violations that are expected")
elseif(violations)
  list(JOIN violations "\n  " violations)
  message(FATAL_ERROR "against the order of layers:\n  ${violations}")
else()
  message(STATUS "${count} headers include in the order of the layers")
endif()
