# SPDX-License-Identifier: Apache-2.0
# Of which operators objects have kernels: cmake -DNM=nm -DIMAGES=object -DWORDS=object -DVALUES=object -P check.cmake
# On the host a kernel is a class of jobs, which has a table of virtual functions; behind each are the plain loops of the reference.

cmake_minimum_required(VERSION 3.25)

# What images.cpp has and words.cpp has not, and the other way round; values.cpp has all of it.
set(of_images conv_kernels pooling_job<true> largest::forward<float>)
set(of_words embedding_job feature_norm_job<tessera::op::layer_norm_attributes dropout_job embedding_loops::forward<float>
    "dropout_loops<(tessera::op::dropped_unit)0>::forward<float>"
    row_norm_loops<tessera::op::layer_norm_attributes>::forward<float>)
set(of_both linear_kernels loss_job weighted_sum::forward<float>)
# Both are without these.
set(of_others batch_norm_job softmax_job matmul_job concat_job move_job bilinear_job group_norm_rows_of expert_job transposed_job global_average_job pooling_job<false>
    batch_norm_loops::forward<float> softmax_loops::forward<float> matrix_product::forward<float> route_loops::forward<float>
    position_loops::forward<float> mean<false>::forward<float> row_norm_loops<tessera::op::group_norm_attributes>::forward<float>)

set(has_IMAGES ${of_both} ${of_images})
set(lacks_IMAGES ${of_words} ${of_others})
set(has_WORDS ${of_both} ${of_words})
set(lacks_WORDS ${of_images} ${of_others})
set(has_VALUES ${of_both} ${of_images} ${of_words} ${of_others})
set(lacks_VALUES)

set(wrong "")
foreach(object IMAGES WORDS VALUES)
  execute_process(COMMAND "${NM}" -C "${${object}}" OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} does not read ${${object}}")
  endif()
  string(REGEX MATCHALL "vtable for tessera::host::[^\n]*|tessera::reference::detail::[a-z_:<>()0-9]*::forward<float>" kernels "${symbols}")
  foreach(kernel IN LISTS has_${object})
    string(FIND "${kernels}" "${kernel}" found)
    if(found LESS 0)
      string(APPEND wrong "  ${object} lacks ${kernel}\n")
    endif()
  endforeach()
  foreach(kernel IN LISTS lacks_${object})
    string(FIND "${kernels}" "${kernel}" found)
    if(NOT found LESS 0)
      string(APPEND wrong "  ${object} has ${kernel}, of an operator that its network has not\n")
    endif()
  endforeach()
endforeach()
if(wrong)
  message(FATAL_ERROR "kernels of operators:\n${wrong}")
endif()
