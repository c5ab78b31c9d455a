# The environment of tests that run gRPC or libcurl. Debian's are not instrumented: ThreadSanitizer
# would report what they do to their own memory. Tests of layers without them are held to every report.
set(GRPC_TEST_ENVIRONMENT)
if(GPUSCALER_SANITIZE STREQUAL "thread")
  set(GRPC_TEST_ENVIRONMENT
      TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan_suppressions)
endif()

# scaler_layer(name DEPENDS layer... LIBRARIES target... SOURCES file... TESTS file... TEST_LIBRARIES target...)
#
# One layer: a static library of SOURCES and one gtest binary of TESTS. DEPENDS is the layer graph:
# tools/check_layers reads it here and fails on an #include of a layer that is not named.
function(scaler_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;LIBRARIES;SOURCES;TESTS;TEST_LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${LAYER_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${LAYER_DEPENDS} ${LAYER_LIBRARIES} PRIVATE warnings)
  if(GPUSCALER_TESTS AND LAYER_TESTS)
    set(environment)
    if("${LAYER_DEPENDS};${LAYER_LIBRARIES}" MATCHES "serve|kubelet|grpcpp|page|curl" OR
       "grpcpp" IN_LIST LAYER_TEST_LIBRARIES)
      set(environment ${GRPC_TEST_ENVIRONMENT})
    endif()
    add_executable(${name}_test ${LAYER_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} warnings ${LAYER_TEST_LIBRARIES}
                                               GTest::gmock GTest::gtest GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Dev>:${TEST_OPTIMIZATION}>)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600
                         PROPERTIES ENVIRONMENT "${environment}")
  endif()
endfunction()
