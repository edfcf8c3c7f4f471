# SPDX-License-Identifier: Apache-2.0
# Installation: the headers of each component and a CMake package, find_package(tessera 0.2 COMPONENTS core execute host mpi cuda io ...). The package brings
# tessera::compiled as sources, which are built with the flags of the project that links it.

include(CMakePackageConfigHelpers)

set(TESSERA_INSTALL_CMAKEDIR "${CMAKE_INSTALL_DATADIR}/cmake/tessera" CACHE STRING "Where the CMake package is installed, below the prefix")
set(package_dir "${TESSERA_INSTALL_CMAKEDIR}")
foreach(component core execute host mpi cuda io ${TESSERA_TOOLS})
  if(TARGET tessera_${component})
    set(sets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${component})
    get_target_property(names tessera_${component} INTERFACE_HEADER_SETS)
    if("fragments" IN_LIST names)
      list(APPEND sets FILE_SET fragments DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${component})
    endif()
    install(TARGETS tessera_${component} EXPORT tessera_${component} ${sets})
    install(EXPORT tessera_${component} NAMESPACE tessera:: FILE tessera-${component}.cmake
            DESTINATION "${package_dir}" COMPONENT ${component})
  endif()
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tesseraConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
# Semantic versions: before 1.0 a minor version may break what uses it (docs/packages.md).
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake"
  COMPATIBILITY ${compatibility} ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/tesseraConfig.cmake" "${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/TesseraCompiled.cmake" "${PROJECT_SOURCE_DIR}/cmake/TesseraTools.cmake"
        DESTINATION "${package_dir}" COMPONENT core)
if(TARGET tessera_cuda)
  foreach(module FindCUDNN FindNCCL TesseraFindNvidia)
    install(FILES "${PROJECT_SOURCE_DIR}/cmake/${module}.cmake" DESTINATION "${package_dir}" COMPONENT cuda)
  endforeach()
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT core)
