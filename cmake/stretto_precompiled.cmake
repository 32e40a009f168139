# The headers that most files include, compiled once where STRETTO_PRECOMPILED_HEADERS is on. Builds with it off prove that
# each file includes what it uses.
#
#   stretto_use_precompiled(TARGET library|test)
#
# Two kinds, since Clang refuses to libraries what was compiled for programs; tests want GoogleTest beside.

if(STRETTO_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT empty.cc CONTENT "")
  add_library(stretto_library_headers STATIC "${PROJECT_BINARY_DIR}/empty.cc")
  if(STRETTO_TESTS)
    add_executable(stretto_test_headers "${PROJECT_BINARY_DIR}/empty.cc")
    target_link_libraries(stretto_test_headers PRIVATE GTest::gtest GTest::gtest_main)
    target_precompile_headers(stretto_test_headers PRIVATE <gtest/gtest.h>)
  endif()
  foreach(kind IN ITEMS library test)
    if(TARGET stretto_${kind}_headers)
      target_link_libraries(stretto_${kind}_headers PRIVATE stretto_flags)
      target_precompile_headers(stretto_${kind}_headers PRIVATE
        <algorithm> <array> <atomic> <chrono> <cmath> <cstddef> <cstdint> <cstring> <functional> <limits> <map> <memory>
        <mutex> <optional> <set> <span> <string> <string_view> <thread> <utility> <variant> <vector>)
      # Without the headers' times in it, it is the same whenever it is compiled: the compiler cache knows it again.
      target_compile_options(stretto_${kind}_headers PRIVATE
        "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endforeach()
endif()

function(stretto_use_precompiled target kind)
  if(STRETTO_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM stretto_${kind}_headers)
  endif()
endfunction()
