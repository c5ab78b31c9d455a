# proto_library(target name...): compiles proto/name.proto to C++ in a separate library, without our
# warnings for the generated code. A .proto that imports another must be in the same library.
function(proto_library target)
  generated_library(${target} "pb" "" ${ARGN})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()

# grpc_library(target name...): the same with services of Debian's gRPC, for tests and bench.
function(grpc_library target)
  generated_library(${target} "pb;grpc.pb" "--plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN};--grpc_out" ${ARGN})
  target_link_libraries(${target} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
endfunction()

function(generated_library target kinds options)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(MAKE_DIRECTORY ${generated})
  list(TRANSFORM options REPLACE "_out$" "_out=${generated}")
  set(sources)
  foreach(name ${ARGN})
    set(outputs)
    foreach(kind ${kinds})
      list(APPEND outputs ${generated}/${name}.${kind}.cc ${generated}/${name}.${kind}.h)
    endforeach()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${generated} ${options} ${name}.proto
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # each file has the same statics
  target_include_directories(${target} SYSTEM PUBLIC ${generated})
endfunction()
