# SPDX-License-Identifier: Apache-2.0
# A port for an overlay: vcpkg install tessera[host,io] --overlay-ports=cmake/packages/vcpkg. Takes the sources that it lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release) # headers alone

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    host TESSERA_WITH_HOST
    io TESSERA_WITH_IO
    json TESSERA_WITH_JSON
    mpi TESSERA_WITH_MPI
    ranges TESSERA_WITH_RANGES)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DTESSERA_BUILD_TESTS=OFF
    -DTESSERA_BUILD_EXAMPLES=OFF
    -DTESSERA_BUILD_PYTHON=OFF
    -DTESSERA_BUILD_BENCHMARKS=OFF
    -DTESSERA_INSTALL=ON
    -DTESSERA_INSTALL_CMAKEDIR=share/${PORT}
    -DTESSERA_WITH_CUDA=OFF
    ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
