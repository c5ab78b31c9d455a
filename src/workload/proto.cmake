# The kubelet's APIs to C++, in a library of their own: generated code is not held to our warnings.
set(generated ${CMAKE_CURRENT_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${generated})
set(proto_sources)
foreach(name podresources podsapi pod)
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
add_library(kubelet_proto STATIC ${proto_sources})
target_include_directories(kubelet_proto SYSTEM PUBLIC ${generated})
target_link_libraries(kubelet_proto PUBLIC grpcpp)
