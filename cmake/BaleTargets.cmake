# bale_library(NAME name SOURCES file... LIBS target...)
#
# A static library whose sources include from the repository's root, with the warnings of the top
# CMakeLists.txt. LIBS become part of its interface. With no sources yet it carries only its LIBS.
function(bale_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME)
    message(FATAL_ERROR "bale_library: bad arguments: ${ARGN}")
  endif()
  if(arg_SOURCES)
    add_library(${arg_NAME} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(${arg_NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${arg_NAME} ${scope} "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} ${scope} ${arg_LIBS})
endfunction()
