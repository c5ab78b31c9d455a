# Writes OUT, a C++ source with the commit of SOURCE and its date in UTC. Leaves OUT as it is if its
# text would be the same. Without GIT or .git the two are COMMIT and DATE, which may be empty.
#
#   cmake -D SOURCE=DIR -D GIT=git -D COMMIT= -D DATE= -D OUT=FILE -P cmake/write_commit.cmake
cmake_minimum_required(VERSION 3.25)

if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" rev-list --max-count=1 --timestamp HEAD
                  WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE head ERROR_VARIABLE error
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(head MATCHES "^([0-9]+) ([0-9a-f]+)$")
    set(COMMIT "${CMAKE_MATCH_2}")
    set(ENV{SOURCE_DATE_EPOCH} "${CMAKE_MATCH_1}")  # the time that TIMESTAMP uses
    string(TIMESTAMP DATE "%Y-%m-%d" UTC)
  else()
    message(WARNING "git does not print the commit of ${SOURCE}: ${error}")
  endif()
endif()

if(NOT COMMIT MATCHES "^[0-9a-f]*$")
  message(FATAL_ERROR "GPUSCALER_COMMIT=${COMMIT}: use a commit's hash, such as 1a2b3c4d5e6f")
endif()
if(NOT DATE MATCHES "^([0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9])?$")
  message(FATAL_ERROR "GPUSCALER_COMMIT_DATE=${DATE}: use a date such as 2026-11-28")
endif()
string(SUBSTRING "${COMMIT}" 0 12 COMMIT)

file(CONFIGURE OUTPUT "${OUT}" CONTENT [[
// Written by cmake/write_commit.cmake.
#include "app/version.h"

namespace gpuscaler {

BuildCommit CommitOfBuild() { return {.hash = "@COMMIT@", .date = "@DATE@"}; }

}  // namespace gpuscaler
]] @ONLY)
