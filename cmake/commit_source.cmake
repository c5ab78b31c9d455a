# commit_source(FILE)
#
# Makes FILE, a small C++ source with the commit of HEAD and its date (write_commit.cmake). A build
# writes it again only after HEAD moved, so only the programs and tests that link it are relinked.
# Without .git the two are GPUSCALER_COMMIT and GPUSCALER_COMMIT_DATE.
set(GPUSCALER_COMMIT "" CACHE STRING "Commit of sources without .git, such as 1a2b3c4d5e6f")
set(GPUSCALER_COMMIT_DATE "" CACHE STRING "Date of GPUSCALER_COMMIT, such as 2026-11-28")
set(WRITE_COMMIT "${CMAKE_CURRENT_LIST_DIR}/write_commit.cmake")

function(commit_source file)
  find_package(Git QUIET)
  set(git "")
  set(head)
  if(GIT_FOUND)
    set(git "${GIT_EXECUTABLE}")
  endif()
  if(git AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
    execute_process(COMMAND "${git}" symbolic-ref --quiet HEAD
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE branch
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # If logs are enabled, git appends a line to logs/HEAD whenever HEAD moves.
    foreach(name HEAD logs/HEAD ${branch})
      execute_process(COMMAND "${git}" rev-parse --git-path "${name}"
                      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path
                      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(path)
        file(REAL_PATH "${path}" path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
      endif()
      if(path AND EXISTS "${path}")
        list(APPEND head "${path}")
      endif()
    endforeach()
  endif()
  add_custom_command(
    OUTPUT "${file}"
    COMMAND "${CMAKE_COMMAND}" -D "SOURCE=${PROJECT_SOURCE_DIR}" -D "GIT=${git}"
            -D "COMMIT=${GPUSCALER_COMMIT}" -D "DATE=${GPUSCALER_COMMIT_DATE}" -D "OUT=${file}"
            -P "${WRITE_COMMIT}"
    DEPENDS "${WRITE_COMMIT}" ${head}
    VERBATIM)
endfunction()
