# The target "programs" builds all programs and no tests; "fuzzers" builds these alone.
add_custom_target(programs)
add_custom_target(fuzzers)

set(STRETTO_MODULES_FOLDER "${PROJECT_SOURCE_DIR}/src")

# One folder, one module: library, program and tests from the files that stand side by side in it.
#
#   stretto_module(NAME [DEPENDS module...] [LIBRARIES library...] [PROGRAM program] [TEST_TIMEOUT seconds]
#                  [TESTS_HAVE_ONE_THREAD])
#
# collects the folder's *.cc, recursively, by their names:
#   *_multiprocess_test.cc  tests that start processes: program NAME_multiprocess_test, ctest label "multiprocess"
#   *_test.cc               tests: program NAME_test, ctest label NAME
#   *_fuzz.cc               fuzzers for libFuzzer, a program bin/NAME_thing_fuzz each; built if STRETTO_FUZZERS is on
#   main.cc                 the program bin/PROGRAM (needs PROGRAM)
#   mpi/*.cc                its rival, see stretto_rival
#   the others              the static library stretto_NAME
#
# DEPENDS names modules, seen by whoever depends on this one. LIBRARIES names what cmake/stretto_dependencies.cmake
# lists (or any CMake target), seen by this module's own files only.
# TESTS_HAVE_ONE_THREAD: not built under the thread sanitizer, which would see nothing in them.
# apps/NAME uses the same function, with PROGRAM.

function(stretto_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS_HAVE_ONE_THREAD" "PROGRAM;TEST_TIMEOUT" "DEPENDS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "stretto_module(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(links)
  set(libraries)
  foreach(module IN LISTS arg_DEPENDS)
    if(NOT TARGET stretto_${module})
      message(WARNING "module ${name} is left out: it depends on module ${module}, which is not there")
      return()
    endif()
    list(APPEND links stretto_${module})
  endforeach()
  foreach(library IN LISTS arg_LIBRARIES)
    if(DEFINED STRETTO_LIBRARY_${library})
      list(APPEND libraries ${STRETTO_LIBRARY_${library}})
    else()
      list(APPEND libraries ${library})
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB rival CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/mpi/*.cc")
  if(rival)
    list(REMOVE_ITEM sources ${rival})
  endif()
  set(multiprocess_tests ${sources})
  list(FILTER multiprocess_tests INCLUDE REGEX "_multiprocess_test\\.cc$")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_multiprocess_test\\.cc$")
  if(arg_TESTS_HAVE_ONE_THREAD AND STRETTO_SANITIZE STREQUAL "thread")
    set(tests)
  endif()
  set(mains ${sources})
  list(FILTER mains INCLUDE REGEX "/main\\.cc$")
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cc$")

  if(sources)
    set(visibility PUBLIC)
    add_library(stretto_${name} STATIC ${sources})
    target_link_libraries(stretto_${name} PUBLIC ${links} PRIVATE $<BUILD_INTERFACE:stretto_flags> ${libraries})
    stretto_use_precompiled(stretto_${name} library)
  else()
    set(visibility INTERFACE)
    add_library(stretto_${name} INTERFACE)
    target_link_libraries(stretto_${name} INTERFACE ${links})
  endif()
  add_library(stretto::${name} ALIAS stretto_${name})
  cmake_path(IS_PREFIX STRETTO_MODULES_FOLDER "${CMAKE_CURRENT_SOURCE_DIR}" is_module)
  if(NOT is_module)
    # apps/NAME: its own files are included as "NAME/thing.h".
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH group_folder)
    target_include_directories(stretto_${name} ${visibility} "${group_folder}")
  endif()

  if(arg_PROGRAM AND mains)
    add_executable(${arg_PROGRAM} ${mains})
    target_link_libraries(${arg_PROGRAM} PRIVATE stretto_flags stretto_${name} ${libraries})
    add_dependencies(programs ${arg_PROGRAM})
  endif()

  if(NOT arg_TEST_TIMEOUT)
    set(arg_TEST_TIMEOUT 120)
  endif()
  set(common MODULE ${name} TIMEOUT ${arg_TEST_TIMEOUT} LIBRARIES ${libraries})
  stretto_test_program(${name}_test ${common} LABEL ${name} SOURCES ${tests})
  stretto_test_program(${name}_multiprocess_test ${common} LABEL multiprocess SOURCES ${multiprocess_tests})
  foreach(test IN ITEMS ${name}_test ${name}_multiprocess_test)
    if(TARGET ${test} AND arg_PROGRAM AND TARGET ${arg_PROGRAM})
      add_dependencies(${test} ${arg_PROGRAM})
    endif()
  endforeach()
  stretto_fuzzers(${name} ${fuzzers})
  stretto_rival(${name} SOURCES ${rival})
endfunction()

# One libFuzzer program for each of the files, on top of the module.
function(stretto_fuzzers module)
  if(NOT STRETTO_FUZZERS)
    return()
  endif()
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM thing)
    add_executable(${module}_${thing} ${file})
    # Clang names libstdc++ together with libFuzzer, before the sanitizer's shared runtime, which has to be the first.
    target_link_libraries(${module}_${thing} PRIVATE stretto_flags stretto_${module} stdc++)
    target_link_options(${module}_${thing} PRIVATE -fsanitize=fuzzer -nostdlib++)
    add_dependencies(fuzzers ${module}_${thing})
  endforeach()
endfunction()

# A GoogleTest program whose cases are ctest's, named MODULE/suite.case; nothing when SOURCES is empty.
# Test code finds the programs of this build under the compile definition STRETTO_BINARY_FOLDER.
function(stretto_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODULE;LABEL;TIMEOUT" "LIBRARIES;SOURCES")
  if(NOT STRETTO_TESTS OR NOT arg_SOURCES)
    return()
  endif()
  if(STRETTO_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
  target_link_libraries(${name} PRIVATE stretto_flags stretto_${arg_MODULE} ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE STRETTO_BINARY_FOLDER="${PROJECT_BINARY_DIR}/bin")
  # Only what is tested has to be fast: this saves a third of the time that tests take to compile.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  stretto_use_precompiled(${name} test)
  # A parameter is in a test's name as the test names it, not as it prints.
  gtest_discover_tests(${name} TEST_PREFIX "${arg_MODULE}/" NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}")
endfunction()

# A program of examples/, and its tests on so many nodes: it succeeds, and one of them prints LINE (an extended regular
# expression for all of a line).
function(stretto_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NODES;LINE" "")
  stretto_module(${name} DEPENDS collective PROGRAM ${name})
  if(NOT STRETTO_TESTS)
    return()
  endif()
  foreach(fabric IN ITEMS local sim)
    # No PASS_REGULAR_EXPRESSION: with one, ctest ignores how the program ended.
    add_test(NAME examples/${name}_${fabric}
      COMMAND bash -c "set -o pipefail; \"$1\" | tee /dev/stderr | grep -xE \"$2\"" bash "$<TARGET_FILE:${name}>"
              "${arg_LINE}")
    set_tests_properties(examples/${name}_${fabric} PROPERTIES
      ENVIRONMENT "STRETTO_FABRIC=${fabric}:${arg_NODES}" LABELS examples TIMEOUT 60)
  endforeach()
endfunction()

# Adds FOLDER if it is a module, that is, has a CMakeLists.txt.
function(stretto_add_folder folder)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
  endif()
endfunction()

# Adds GROUP by its own CMakeLists.txt, or, where it has none, each folder in it that has one.
function(stretto_add_group group)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${group}/CMakeLists.txt")
    stretto_add_folder("${group}")
    return()
  endif()
  file(GLOB members RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${group}/*/CMakeLists.txt")
  foreach(member IN LISTS members)
    cmake_path(GET member PARENT_PATH folder)
    stretto_add_folder("${folder}")
  endforeach()
endfunction()
