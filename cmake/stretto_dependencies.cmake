# The libraries that Stretto stands on, all from Debian packages (scripts/setup installs them).
# stretto_module() knows them by the short names on the left.

# Those that the installed libraries need are in cmake/stretto-config.cmake.in, too.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET GLOBAL hwloc)
pkg_check_modules(ucx REQUIRED IMPORTED_TARGET GLOBAL ucx)
pkg_check_modules(pmix REQUIRED IMPORTED_TARGET GLOBAL pmix)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET GLOBAL libsodium)
if(STRETTO_PROGRAMS)
  pkg_check_modules(fftw REQUIRED IMPORTED_TARGET fftw3)
endif()

set(STRETTO_LIBRARY_spdlog spdlog::spdlog)
set(STRETTO_LIBRARY_cli11 CLI11::CLI11)
set(STRETTO_LIBRARY_json nlohmann_json::nlohmann_json)
set(STRETTO_LIBRARY_boost_context Boost::context)
set(STRETTO_LIBRARY_hwloc PkgConfig::hwloc)
set(STRETTO_LIBRARY_ucx PkgConfig::ucx)
set(STRETTO_LIBRARY_pmix PkgConfig::pmix)
set(STRETTO_LIBRARY_sodium PkgConfig::sodium)
set(STRETTO_LIBRARY_fftw PkgConfig::fftw)

if(STRETTO_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
