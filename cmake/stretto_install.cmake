# cmake --install BUILD --prefix PLACE puts there the command, the libraries, the headers and the package:
#
#   find_package(stretto REQUIRED)
#   target_link_libraries(app PRIVATE stretto::collective)        # which brings the modules below it

# The doors of the library. With them come all headers that they include.
set(STRETTO_DOORS
  stretto/collective/collective.h
  stretto/collective/concurrent.h
  stretto/collective/operators.h
  stretto/core/barrier_service.h
  stretto/core/runtime.h
  stretto/core/segment_array.h
  stretto/schedule/draw.h
  stretto/schedule/select.h
  stretto/schedule/simulate.h
  stretto/schedule/verify.h)
set(STRETTO_INSTALLED_MODULES base schedule fabric core collective)

# The HEADERS, by their paths from src, and all that they include.
function(stretto_headers_behind result)
  set(all)
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest header)
    if(header IN_LIST all)
      continue()
    endif()
    list(APPEND all "${header}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/src/${header}" lines REGEX "^#include \"stretto/")
    list(TRANSFORM lines REPLACE "^#include \"(.*)\".*$" "\\1")
    list(APPEND rest ${lines})
  endwhile()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

function(stretto_install)
  include(CMakePackageConfigHelpers)
  set(package lib/cmake/stretto)
  foreach(module IN LISTS STRETTO_INSTALLED_MODULES)
    set_target_properties(stretto_${module} PROPERTIES EXPORT_NAME ${module})
    install(TARGETS stretto_${module} EXPORT stretto ARCHIVE DESTINATION lib)
  endforeach()
  install(TARGETS stretto RUNTIME DESTINATION bin)
  stretto_headers_behind(headers ${STRETTO_DOORS})
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES "${PROJECT_SOURCE_DIR}/src/${header}" DESTINATION "include/${folder}")
  endforeach()
  install(EXPORT stretto NAMESPACE stretto:: FILE stretto-targets.cmake DESTINATION ${package})
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/stretto-config.cmake.in"
    "${PROJECT_BINARY_DIR}/stretto-config.cmake" INSTALL_DESTINATION ${package})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/stretto-config-version.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/stretto-config.cmake" "${PROJECT_BINARY_DIR}/stretto-config-version.cmake"
    DESTINATION ${package})
endfunction()
