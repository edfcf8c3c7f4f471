# SPDX-License-Identifier: Apache-2.0
# tessera_wheel_folders(<result> <library>): where NVIDIA's Python wheels put a library, <site-packages>/nvidia/<library>, in the active
# environment, the user's folder and the system's.

function(tessera_wheel_folders result library)
  set(folders)
  foreach(root "$ENV{VIRTUAL_ENV}" "$ENV{CONDA_PREFIX}" "$ENV{HOME}/.local" /usr/local /usr)
    if(root)
      file(GLOB found "${root}/lib/python3*/site-packages/nvidia/${library}"
                      "${root}/lib/python3*/dist-packages/nvidia/${library}")
      list(APPEND folders ${found})
    endif()
  endforeach()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()
