# What programs have beside their module: rivals, benchmarks, tests of the program as its users meet it.

# The rival of the program of module NAME: the program bin/NAME_mpi from the SOURCES, which use MPI alone beside what the
# module offers. Built on request (cmake -DSTRETTO_RIVALS=ON) and where an MPI for C++ is found.
function(stretto_rival name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT STRETTO_RIVALS OR NOT arg_SOURCES)
    return()
  endif()
  find_package(MPI COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(STATUS "${name}_mpi is left out: no MPI for C++ here")
    return()
  endif()
  add_executable(${name}_mpi ${arg_SOURCES})
  target_link_libraries(${name}_mpi PRIVATE stretto_flags stretto_${name} MPI::MPI_CXX)
endfunction()

# The program bin/NAME_bench. It is left out where one of the MODULES is not there; LIBRARIES are as in stretto_module.
# Benchmarks include "FOLDER/thing.h", from benchmarks/. Their rivals, mpi*.c, are compiled by scripts/bench, with each
# MPI's own compiler.
function(stretto_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;LIBRARIES;SOURCES")
  set(links stretto_flags)
  foreach(module IN LISTS arg_MODULES)
    if(NOT TARGET stretto_${module})
      return()
    endif()
    list(APPEND links stretto_${module})
  endforeach()
  foreach(library IN LISTS arg_LIBRARIES)
    list(APPEND links ${STRETTO_LIBRARY_${library}})
  endforeach()
  add_executable(${name}_bench ${arg_SOURCES})
  target_include_directories(${name}_bench PRIVATE "${PROJECT_SOURCE_DIR}/benchmarks")
  target_link_libraries(${name}_bench PRIVATE ${links})
  target_compile_definitions(${name}_bench PRIVATE STRETTO_VERSION="${PROJECT_VERSION}")
endfunction()

# ctest's tests PREFIX/CLASS, one for each of the CLASSES of FILE, a Python program of unittest in this folder, which is
# called as FILE ARGUMENTS... CLASS. A class of tests is among the CLASSES or those that are run ELSEWHERE.
function(stretto_python_tests prefix file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL;TIMEOUT" "ARGUMENTS;CLASSES;ELSEWHERE")
  file(STRINGS "${file}" lines REGEX "^class |^    def test_")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z0-9_]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(NOT class IN_LIST arg_CLASSES AND NOT class IN_LIST arg_ELSEWHERE)
      message(FATAL_ERROR "${file}: nothing runs the tests of class ${class}: add it to the CLASSES of ${prefix}")
    endif()
  endforeach()
  if(STRETTO_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  foreach(class IN LISTS arg_CLASSES)
    # -B: nothing is written beside the sources.
    add_test(NAME ${prefix}/${class}
      COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/${file}" ${arg_ARGUMENTS} ${class})
    set_tests_properties(${prefix}/${class} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}"
      SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
  endforeach()
endfunction()

# Tests of a program as its users meet it, by PROGRAM_test.py. NUMBERS are the classes about numbers, which sanitizers
# don't change; PROCESSES those that start jobs of processes.
function(stretto_program_tests program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "CLASSES;NUMBERS;PROCESSES")
  if(NOT STRETTO_TESTS OR NOT TARGET ${program})
    return()
  endif()
  # Without the launcher, an empty word, the tests that start processes skip themselves.
  set(launcher "$<$<TARGET_EXISTS:stretto>:$<TARGET_FILE:stretto>>")
  set(all ${arg_CLASSES} ${arg_NUMBERS} ${arg_PROCESSES})
  if(NOT STRETTO_SANITIZE)
    list(APPEND arg_CLASSES ${arg_NUMBERS})
  endif()
  set(common ${program}/program ${program}_test.py TIMEOUT 300 ARGUMENTS "$<TARGET_FILE:${program}>" "${launcher}"
    ELSEWHERE ${all})
  stretto_python_tests(${common} LABEL ${program} CLASSES ${arg_CLASSES})
  stretto_python_tests(${common} LABEL multiprocess CLASSES ${arg_PROCESSES})
endfunction()
