# proto/*.proto to C++, in a library of its own: generated code is not held to our warnings.
set(generated ${CMAKE_CURRENT_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${generated})
set(proto_sources)
foreach(name externalscaler explain)
  set(outputs ${generated}/${name}.pb.cc ${generated}/${name}.pb.h
              ${generated}/${name}.grpc.pb.cc ${generated}/${name}.grpc.pb.h)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${generated}
            --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${name}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto
    VERBATIM)
  list(APPEND proto_sources ${outputs})
endforeach()
add_library(scaler_proto STATIC ${proto_sources})
set_target_properties(scaler_proto PROPERTIES UNITY_BUILD OFF)  # each file has the same statics
target_include_directories(scaler_proto SYSTEM PUBLIC ${generated})
target_link_libraries(scaler_proto PUBLIC grpcpp)
