# Cross compilation for 64-bit Arm, with Debian's cross compiler and the libraries unpacked by
# tools/sysroot. The build runs the host's protoc, of the same Debian release.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/arm64)
cmake_path(NORMAL_PATH sysroot)
if(NOT EXISTS ${sysroot}/packages)
  message(FATAL_ERROR "${sysroot}: run tools/sysroot arm64 first")
endif()
# Also excludes the host's /usr/include, where the compiler would look first.
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig)

set(LLD "")  # a cross compiler does not find ld.lld
