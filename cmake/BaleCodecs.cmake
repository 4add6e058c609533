# BALE_CODECS: the codecs that have a directory in kernels, from the list in format/codecs.h; BALE_DEVICE_CODECS: those of
# them that a device does.
set(bale_codec_list "${PROJECT_SOURCE_DIR}/format/codecs.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${bale_codec_list}")
file(READ "${bale_codec_list}" bale_codec_text)
string(REGEX MATCHALL " CODEC\\([a-z0-9]+, [A-Z0-9]+, [0-9]+" BALE_CODECS "${bale_codec_text}")
list(TRANSFORM BALE_CODECS REPLACE "^ CODEC.([a-z0-9]+).*" "\\1")
set(BALE_DEVICE_CODECS ${BALE_CODECS})
foreach(codec IN LISTS BALE_CODECS)
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/kernels/${codec}/cuda.cu")
    list(REMOVE_ITEM BALE_DEVICE_CODECS ${codec})
  endif()
endforeach()
