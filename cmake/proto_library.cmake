# proto_library(target name...): proto/name.proto to C++, with gRPC services, in a library of its own:
# generated code is not held to our warnings. A .proto that imports another is in the same library.
# message_library(target name...): the same without gRPC services.
function(proto_library target)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(MAKE_DIRECTORY ${generated})
  set(sources)
  foreach(name ${ARGN})
    set(outputs ${generated}/${name}.pb.cc ${generated}/${name}.pb.h
                ${generated}/${name}.grpc.pb.cc ${generated}/${name}.grpc.pb.h)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${generated}
              --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${name}.proto
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # each file has the same statics
  target_include_directories(${target} SYSTEM PUBLIC ${generated})
  target_link_libraries(${target} PUBLIC grpcpp)
endfunction()

function(message_library target)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(MAKE_DIRECTORY ${generated})
  set(sources)
  foreach(name ${ARGN})
    set(outputs ${generated}/${name}.pb.cc ${generated}/${name}.pb.h)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${generated} ${name}.proto
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # each file has the same statics
  target_include_directories(${target} SYSTEM PUBLIC ${generated})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()
