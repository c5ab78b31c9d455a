# What the project links, by find_package or pkg-config, so that newer releases serve as well.
# docs/ARCHITECTURE.md says why each is there.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL 7.87 REQUIRED)  # the first that keeps its authorities for all connections
find_package(gRPC CONFIG REQUIRED)  # finds re2::re2 besides, which it needs and we use
pkg_check_modules(YAML_CPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)

# Loaded at run time, by page/curl_library.h: only its declarations are compiled against.
add_library(curl_headers INTERFACE)
target_include_directories(curl_headers SYSTEM INTERFACE ${CURL_INCLUDE_DIRS})
target_link_libraries(curl_headers INTERFACE ${CMAKE_DL_LIBS})

find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# grpcpp: gRPC with reflection and protobuf, from shared libraries or, for releases, archives: half
# the memory, and no 100 libraries to look up at start.
add_library(grpcpp INTERFACE)
if(GPUSCALER_SANITIZE STREQUAL "thread")
  add_library(grpc_handover STATIC ${PROJECT_SOURCE_DIR}/src/rpc/grpc_handover.cc)
  target_compile_options(grpc_handover PRIVATE -fno-sanitize=thread)
  target_link_libraries(grpcpp INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,grpc_handover>)
endif()
target_link_libraries(grpcpp INTERFACE gRPC::grpc++_reflection gRPC::grpc++ Threads::Threads)
if(GPUSCALER_STATIC)
  # Debian's packages describe the shared libraries; the archives lie beside them. Abseil's too, for
  # our own use as for gRPC's: two copies in one process would each have a state of their own.
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^(absl|gRPC|protobuf|c-ares)::")
  foreach(target ${imported})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY" OR type STREQUAL "EXECUTABLE")
      continue()
    endif()
    get_target_property(location ${target} LOCATION)
    string(REGEX REPLACE "\\.so(\\.[0-9]+)*$" ".a" archive "${location}")
    if(EXISTS "${archive}")
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_RELEASE ${archive})
    endif()
  endforeach()
  find_library(RE2_ARCHIVE libre2.a)
  if(RE2_ARCHIVE)  # gRPC finds the shared one through pkg-config: a target with flags only
    set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${RE2_ARCHIVE})
  endif()
  find_library(HIREDIS_ARCHIVE libhiredis.a)
  if(HIREDIS_ARCHIVE)
    set_target_properties(PkgConfig::HIREDIS PROPERTIES INTERFACE_LINK_LIBRARIES ${HIREDIS_ARCHIVE})
  endif()
  find_library(JEMALLOC_ARCHIVE libjemalloc_pic.a)
  if(JEMALLOC_ARCHIVE)
    set_target_properties(PkgConfig::JEMALLOC PROPERTIES INTERFACE_LINK_LIBRARIES ${JEMALLOC_ARCHIVE})
  endif()
  add_link_options(-Wl,--gc-sections)
endif()

if(GPUSCALER_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(GPUSCALER_BENCH)
  find_package(benchmark REQUIRED)
endif()
