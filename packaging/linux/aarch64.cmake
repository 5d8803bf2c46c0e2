# Read by CMake while GDAL and its libraries are compiled for 64-bit ARM on another machine (`aarch64` names it): Debian's cross
# compilers, and its libraries of that architecture.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# HDF5 compiles a program that prints its settings, and runs it.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/../gdal-toolchain.cmake)
