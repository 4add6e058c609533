# What balefs links with: Threads::Threads, PkgConfig::{ZSTD,LZ4,XXHASH,JANSSON,ARCHIVE} and bale_fuse3.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# The private libfuse that tools/setup builds where the system's is too old comes first.
set(bale_deps "${PROJECT_SOURCE_DIR}/build/deps/libfuse")
set(bale_old_path "$ENV{PKG_CONFIG_PATH}")
set(ENV{PKG_CONFIG_PATH}
  "${bale_deps}/lib/pkgconfig:${bale_deps}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${bale_old_path}")

foreach(need IN ITEMS "ZSTD libzstd>=1.5" "LZ4 liblz4>=1.9" "XXHASH libxxhash>=0.8"
                      "JANSSON jansson>=2.13" "ARCHIVE libarchive>=3.6" "FUSE3 fuse3>=3.17")
  string(REPLACE " " ";" need "${need}")
  list(GET need 0 name)
  list(GET need 1 module)
  pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}")
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "balefs: build: ${module} not found: run tools/setup, then configure again")
  endif()
  message(STATUS "Found ${module}: ${${name}_VERSION} in ${${name}_LIBDIR}")
endforeach()
set(ENV{PKG_CONFIG_PATH} "${bale_old_path}")

add_library(bale_fuse3 INTERFACE)
target_link_libraries(bale_fuse3 INTERFACE PkgConfig::FUSE3)
target_compile_definitions(bale_fuse3 INTERFACE FUSE_USE_VERSION=317)
