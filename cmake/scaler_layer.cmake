# The environment of tests that run libcurl. Debian's libcurl is not instrumented, so
# ThreadSanitizer would report accesses to its own memory. Tests of other layers must have no
# reports at all.
set(CURL_TEST_ENVIRONMENT)
if(GPUSCALER_SANITIZE STREQUAL "thread")
  set(CURL_TEST_ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1)
endif()

# scaler_layer(name DEPENDS layer... LIBRARIES target... SOURCES file... TESTS file...
#              ONE_THREAD_TESTS file... GRPC_TESTS file... TEST_LIBRARIES target... ALONE test)
#
# One layer: a static library of SOURCES and one gtest binary of all tests. ThreadSanitizer's builds
# leave out ONE_THREAD_TESTS, which start no thread, and GRPC_TESTS, which use Debian's gRPC as their
# peer: ThreadSanitizer cannot see into it. ALONE is a test that must not run in parallel: it
# simulates hours in seconds and needs a CPU for that. DEPENDS is the layer graph:
# tools/check_layers reads it here and fails on an #include of a layer that is not listed.
function(scaler_layer name)
  cmake_parse_arguments(LAYER "" "ALONE" "DEPENDS;LIBRARIES;SOURCES;TESTS;ONE_THREAD_TESTS;GRPC_TESTS;TEST_LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${LAYER_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${LAYER_DEPENDS} ${LAYER_LIBRARIES} PRIVATE warnings)
  if(NOT GPUSCALER_SANITIZE STREQUAL "thread")
    list(APPEND LAYER_TESTS ${LAYER_ONE_THREAD_TESTS})
  endif()
  if(GPUSCALER_TESTS AND LAYER_TESTS)
    set(environment)
    if("${LAYER_DEPENDS};${LAYER_LIBRARIES}" MATCHES "serve|page|curl")
      set(environment ${CURL_TEST_ENVIRONMENT})
    endif()
    if(LAYER_GRPC_TESTS AND NOT GPUSCALER_SANITIZE STREQUAL "thread")
      list(APPEND LAYER_TESTS ${LAYER_GRPC_TESTS})
      list(APPEND LAYER_TEST_LIBRARIES gRPC::grpc++)
    endif()
    add_executable(${name}_test ${LAYER_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} warnings ${LAYER_TEST_LIBRARIES}
                                               GTest::gmock GTest::gtest GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Dev>:${TEST_OPTIMIZATION}>)
    set(filter)
    if(LAYER_ALONE)
      set(filter TEST_FILTER "-${LAYER_ALONE}")
      gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600
                           TEST_FILTER "${LAYER_ALONE}" TEST_LIST ${name}_test_alone
                           PROPERTIES ENVIRONMENT "${environment}" RUN_SERIAL TRUE)
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600 ${filter}
                         PROPERTIES ENVIRONMENT "${environment}")
  endif()
endfunction()
