# Read by CMake while the bundled GDAL is configured (`.cargo/config.toml` names it). gdal-src disables every
# external library; these cache variables enable the codecs that EO files need: static archives, or shared libraries where the
# distribution has no archives (Fedora). `packaging/build.rs` passes the same files to the linker. A missing codec stays
# disabled.
# Of the architecture that is compiled for: Debian has libraries of several side by side.
if(CMAKE_SYSTEM_PROCESSOR)
  set(taco_architecture ${CMAKE_SYSTEM_PROCESSOR})
else()
  set(taco_architecture ${CMAKE_HOST_SYSTEM_PROCESSOR})
endif()
file(GLOB taco_multiarch /usr/lib/${taco_architecture}-linux-gnu)
set(taco_libraries $ENV{TACO_STUDIO_CODECS}/lib ${taco_multiarch} /usr/lib64 /usr/lib /opt/homebrew/lib /usr/local/lib)
set(taco_headers $ENV{TACO_STUDIO_CODECS}/include /usr/include /opt/homebrew/include /usr/local/include)
if(CMAKE_SYSTEM_NAME STREQUAL Windows)
  # This system's libraries are not for Windows.
  set(taco_libraries $ENV{TACO_STUDIO_CODECS}/lib)
  set(taco_headers $ENV{TACO_STUDIO_CODECS}/include)
endif()

macro(taco_codec option library_variable include_variable archive header)
  unset(taco_found_library)
  unset(taco_found_header)
  foreach(ending a so dylib)
    foreach(folder ${taco_libraries})
      if(NOT taco_found_library AND EXISTS ${folder}/lib${archive}.${ending})
        set(taco_found_library ${folder}/lib${archive}.${ending})
      endif()
    endforeach()
  endforeach()
  foreach(folder ${taco_headers})
    file(GLOB taco_candidates ${folder}/${header} ${folder}/openjpeg-2.*/${header})
    if(NOT taco_found_header AND taco_candidates)
      list(GET taco_candidates -1 taco_candidate)
      string(REPLACE "/${header}" "" taco_found_header ${taco_candidate})
    endif()
  endforeach()
  if(taco_found_library AND taco_found_header)
    set(${option} ON CACHE BOOL "static codec" FORCE)
    set(${library_variable} ${taco_found_library} CACHE FILEPATH "static codec" FORCE)
    set(${include_variable} ${taco_found_header} CACHE PATH "static codec" FORCE)
    foreach(driver ${ARGN})
      set(GDAL_ENABLE_DRIVER_${driver} ON CACHE BOOL "static codec" FORCE)
    endforeach()
  endif()
endmacro()

taco_codec(GDAL_USE_ZSTD ZSTD_LIBRARY ZSTD_INCLUDE_DIR zstd zstd.h)
taco_codec(GDAL_USE_DEFLATE Deflate_LIBRARY_RELEASE Deflate_INCLUDE_DIR deflate libdeflate.h)
taco_codec(GDAL_USE_WEBP WEBP_LIBRARY WEBP_INCLUDE_DIR webp webp/encode.h WEBP)
taco_codec(GDAL_USE_OPENJPEG OPENJPEG_LIBRARY OPENJPEG_INCLUDE_DIR openjp2 opj_config.h JP2OPENJPEG)
taco_codec(GDAL_USE_BLOSC BLOSC_LIBRARY BLOSC_INCLUDE_DIR blosc blosc.h)
# GDAL links a program to find this function, which an archive without those that it needs does not pass. It is in blosc 1.16 and later.
set(BLOSC_HAS_BLOSC_CBUFFER_VALIDATE ON CACHE INTERNAL "known")
taco_codec(GDAL_USE_LZ4 LZ4_LIBRARY_RELEASE LZ4_INCLUDE_DIR lz4 lz4.h)

# gdal-src has no feature for it: the driver needs no library but the codecs.
set(GDAL_ENABLE_DRIVER_ZARR ON CACHE BOOL "no library is needed" FORCE)

# What nothing here calls: the algorithms behind GDAL's new command line (a fifth of its compilation), and network models.
set(GDAL_ENABLE_ALGORITHMS OFF CACHE BOOL "not used" FORCE)
set(ENABLE_GNM OFF CACHE BOOL "not used" FORCE)
# HDF5 locks each file that it opens, for reading too: files on servers without locks could not be opened, a program that writes
# such a file would be refused while it is shown here, and a child process that starts meanwhile inherits the lock. The
# environment variable HDF5_USE_FILE_LOCKING=TRUE turns it on.
set(HDF5_USE_FILE_LOCKING OFF CACHE BOOL "files are only read" FORCE)
# As distributions compile GDAL; -O3, CMake's own choice, takes longer and makes no difference that was measured.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "as distributions have it" FORCE)
endforeach()
# Files are compiled several at a time, so that the headers are read once for them; GDAL's own files are prepared for it.
if(CMAKE_SOURCE_DIR MATCHES gdal-src)
  set(CMAKE_UNITY_BUILD ON CACHE BOOL "headers are read once for several files" FORCE)
endif()
