# The language, the warnings and the sanitizers of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Dev: little optimization and only line tables: half the compile time of -O2 -g.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(TEST_OPTIMIZATION -O0)  # test bodies: half the compile time again, most with a sanitizer
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

find_program(LLD ld.lld)  # four times as fast as ld
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(warnings INTERFACE)
# Designated initializers omit defaults on purpose.
target_compile_options(warnings INTERFACE -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
                                          -Wno-missing-field-initializers)
if(GPUSCALER_WERROR)
  target_compile_options(warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(warnings INTERFACE -Wthread-safety)
endif()

if(GPUSCALER_SANITIZE)
  add_compile_options(-fsanitize=${GPUSCALER_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GPUSCALER_SANITIZE})
  if(GPUSCALER_SANITIZE MATCHES "undefined")
    # These four instrument every pointer use: up to a quarter more time to compile.
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size)
  endif()
endif()
