# Whether the GPU engine is built: BALE_CUDA. It needs nvcc and nothing of a GPU.
# Off until the whole suite has passed on a GPU: with it, mounts use a GPU that they find.
set(BALEFS_CUDA off CACHE STRING "Build the CUDA engine: auto (where nvcc is found), on or off")
set_property(CACHE BALEFS_CUDA PROPERTY STRINGS auto on off)
if(NOT BALEFS_CUDA MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "balefs: build: BALEFS_CUDA=${BALEFS_CUDA}: it is auto, on or off")
endif()

set(BALE_CUDA OFF)
# What a sanitizer is linked into cannot be opened by programs without it, and CUDA's own code has none.
if(NOT BALEFS_CUDA STREQUAL "off" AND NOT BALEFS_SANITIZE)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(BALE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
      PATH_SUFFIXES bin)
    mark_as_advanced(BALE_NVCC)
    if(BALE_NVCC)
      set(CMAKE_CUDA_COMPILER "${BALE_NVCC}")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    # A100, H100, and what is newer by way of PTX.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
    endif()
    enable_language(CUDA)
    set(BALE_CUDA ON)
  elseif(BALEFS_CUDA STREQUAL "on")
    message(FATAL_ERROR "balefs: build: BALEFS_CUDA=on, and nvcc is not found: "
      "install the CUDA toolkit, or name it with -DCMAKE_CUDA_COMPILER=FILE")
  endif()
endif()
message(STATUS "CUDA engine: ${BALE_CUDA}")
