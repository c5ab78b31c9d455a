# Writes OUT, a C++ source with the bytes of IN as gpuscaler::FUNCTION(), which HEADER declares. The
# result is empty if IN does not exist.
#
#   cmake -D IN=FILE -D OUT=FILE -D HEADER=web/web_page.h -D FUNCTION=Name -P cmake/embed_file.cmake
cmake_minimum_required(VERSION 3.25)

set(hex "")
if(EXISTS "${IN}")
  file(READ "${IN}" hex HEX)
endif()
string(REGEX REPLACE "(..)" "0x\\1," BYTES "${hex}")
string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n    " BYTES "${BYTES}")
string(LENGTH "${hex}" digits)
math(EXPR SIZE "${digits} / 2")
file(CONFIGURE OUTPUT "${OUT}" CONTENT [[
// Written by cmake/embed_file.cmake.
#include "@HEADER@"

namespace gpuscaler {
namespace {

constexpr unsigned char kBytes[] = {
    @BYTES@0};

}  // namespace

absl::string_view @FUNCTION@() { return {reinterpret_cast<const char*>(kBytes), @SIZE@}; }

}  // namespace gpuscaler
]] @ONLY)
