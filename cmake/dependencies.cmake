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
pkg_check_modules(YAML_CPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++ protobuf)

find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# grpcpp: gRPC with reflection and protobuf, from shared libraries or, for releases, archives: half
# the memory, and no 100 libraries to look up at start.
add_library(grpcpp INTERFACE)
if(GPUSCALER_STATIC)
  set(archives ${GRPC_STATIC_LIBRARIES})
  list(REMOVE_ITEM archives z ssl crypto dl atomic pthread m rt)
  list(REMOVE_DUPLICATES archives)
  target_link_libraries(grpcpp INTERFACE
    -Wl,--start-group -Wl,-Bstatic -lgrpc++_reflection ${archives} -Wl,-Bdynamic -Wl,--end-group
    OpenSSL::SSL OpenSSL::Crypto z Threads::Threads dl)
  add_link_options(-Wl,--gc-sections)

  # Our own abseil must be gRPC's: of two copies in one process, each would have its own state.
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(target ${imported})
    get_target_property(location ${target} LOCATION)
    string(REGEX REPLACE "\\.so(\\.[0-9]+)*$" ".a" archive "${location}")
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY" AND EXISTS ${archive})
      get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
      foreach(configuration ${configurations})
        set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION_${configuration} ${archive})
      endforeach()
    endif()
  endforeach()
else()
  target_link_libraries(grpcpp INTERFACE grpc++_reflection PkgConfig::GRPC Threads::Threads)
endif()

if(GPUSCALER_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(GPUSCALER_BENCH)
  find_package(benchmark REQUIRED)
endif()
