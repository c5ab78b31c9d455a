# Target web_page
#
# Makes ${PROJECT_BINARY_DIR}/web/index.html.gz, the page of the web UI, with web/build. It is made
# again after web/ has changed. Without npm the file is empty, and the build prints the reason.
set(WEB_FOLDER "${PROJECT_SOURCE_DIR}/web")
file(GLOB WEB_SOURCES CONFIGURE_DEPENDS "${WEB_FOLDER}/src/*")
add_custom_command(
  OUTPUT "${PROJECT_BINARY_DIR}/web/index.html.gz"
  COMMAND "${WEB_FOLDER}/build" "${PROJECT_BINARY_DIR}/web"
  DEPENDS ${WEB_SOURCES} "${WEB_FOLDER}/build" "${WEB_FOLDER}/node.sh" "${WEB_FOLDER}/index.html"
          "${WEB_FOLDER}/package-lock.json" "${WEB_FOLDER}/vite.config.ts"
  VERBATIM)
add_custom_target(web_page DEPENDS "${PROJECT_BINARY_DIR}/web/index.html.gz")
