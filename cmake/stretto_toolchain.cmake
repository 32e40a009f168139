# How every file is compiled: language level, warnings, sanitizers, compiler cache, where programs land.

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# What a module calls of itself is its own, and may be inlined: by default GCC lets other libraries replace it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-semantic-interposition)
endif()
# Functions begin at cache lines: how they lie in them changes what a small call takes by up to a tenth (decision 40),
# and is not to change with what is written elsewhere.
add_compile_options(-falign-functions=64)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# Release is for measuring and for use: optimised, assert() compiled out, line tables kept for profilers.
# Debug is for finding faults: assert() on, optimised just enough that stacks stay short and tests quick.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

find_program(STRETTO_CCACHE ccache)
if(STRETTO_CCACHE)
  # What it has to be allowed for precompiled headers; no file of ours asks for the time of its compilation.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${STRETTO_CCACHE}")
endif()

# Linked by every target of ours, for itself alone: whoever uses the libraries compiles as they like.
add_library(stretto_flags INTERFACE)
target_compile_options(stretto_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
# GCC 12 sees overlaps and overflows inside std::string and std::vector where there are none (its bugs 105329, 105580).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(stretto_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Clang blames whoever calls std::stable_sort for what libstdc++ 12 uses inside. GCC reports our own uses.
  target_compile_options(stretto_flags INTERFACE -Wno-deprecated-declarations)
endif()

if(STRETTO_SANITIZE)
  # Reports name functions and lines, no variables: -g1 has all of it.
  set(sanitizer_flags -fsanitize=${STRETTO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_compile_options(stretto_flags INTERFACE ${sanitizer_flags})
  target_link_options(stretto_flags INTERFACE ${sanitizer_flags})
  # UCX hooks mmap when it is loaded, before a sanitizer that is linked statically is up: such programs crash at start.
  # A shared runtime is loaded before UCX.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libclang_rt.tsan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE sanitizer_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(GET sanitizer_runtime PARENT_PATH sanitizer_folder)
    target_link_options(stretto_flags INTERFACE -shared-libsan "-Wl,-rpath,${sanitizer_folder}")
  endif()
endif()

if(STRETTO_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "STRETTO_FUZZERS needs Clang: cmake --preset fuzz")
  endif()
  target_compile_options(stretto_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
