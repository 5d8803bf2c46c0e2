# Read by CMake while GDAL and its libraries are compiled for Windows on another system (`cross` names it): the compilers of
# MinGW-w64, and the codecs that `codecs/build` compiled.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# Programs that run during the build are of this system; headers and libraries are of MinGW-w64, of cargo's build folder or of its
# sources, and never of this system.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 $ENV{CARGO_TARGET_DIR} $ENV{CARGO_HOME} $ENV{TACO_STUDIO_CODECS})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# netCDF looks for a second zstd, for debugging, finds the same file, and stops at its own list of the two.
set(Zstd_DEBUG_LIBRARY "" CACHE FILEPATH "none" FORCE)

# gdal-src names PROJ by the file name of Microsoft's tools.
if(DEFINED PROJ_LIBRARY AND NOT EXISTS "${PROJ_LIBRARY}")
  string(REGEX REPLACE "proj(_d)?\\.lib$" "libproj.a" taco_proj "${PROJ_LIBRARY}")
  if(EXISTS "${taco_proj}")
    set(PROJ_LIBRARY "${taco_proj}" CACHE FILEPATH "static PROJ" FORCE)
  endif()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/../gdal-toolchain.cmake)
