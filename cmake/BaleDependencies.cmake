# What balefs links with: Threads::Threads, PkgConfig::{ZSTD,LZ4,XXHASH,JANSSON,ARCHIVE} and bale_fuse3.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# bundled: the private, static libfuse that tools/setup builds.
set(bale_deps "${PROJECT_SOURCE_DIR}/build/deps/libfuse")
if(EXISTS "${bale_deps}/version")
  set(bale_fuse_default bundled)
else()
  set(bale_fuse_default system)
endif()
set(BALEFS_FUSE "${bale_fuse_default}" CACHE STRING "libfuse: system or bundled (by tools/setup)")
set_property(CACHE BALEFS_FUSE PROPERTY STRINGS system bundled)
if(NOT BALEFS_FUSE MATCHES "^(system|bundled)$")
  message(FATAL_ERROR "balefs: build: BALEFS_FUSE=${BALEFS_FUSE}: it is system or bundled")
endif()

# For a program that is taken to other machines.
option(BALEFS_STATIC "Link the libraries but for the C library statically" OFF)

# What was found belongs to these two.
if(NOT "${BALEFS_FUSE} ${BALEFS_STATIC}" STREQUAL "${BALE_FOUND_FOR}")
  get_directory_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^(pkgcfg_lib|__pkg_config_checked)_")
  foreach(variable IN LISTS cached)
    unset(${variable} CACHE)
  endforeach()
  set(BALE_FOUND_FOR "${BALEFS_FUSE} ${BALEFS_STATIC}" CACHE INTERNAL "")
endif()

set(bale_old_path "$ENV{PKG_CONFIG_PATH}")
set(bale_old_suffixes "${CMAKE_FIND_LIBRARY_SUFFIXES}")
if(BALEFS_FUSE STREQUAL "bundled")
  set(ENV{PKG_CONFIG_PATH}
    "${bale_deps}/lib/pkgconfig:${bale_deps}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${bale_old_path}")
endif()
if(BALEFS_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  # libarchive.a has more in it than we use, which would need more libraries.
  add_link_options("LINKER:--gc-sections")
endif()

foreach(need IN ITEMS "ZSTD libzstd>=1.5" "LZ4 liblz4>=1.9" "XXHASH libxxhash>=0.8"
                      "JANSSON jansson>=2.13" "ARCHIVE libarchive>=3.6" "FUSE3 fuse3>=3.17")
  string(REPLACE " " ";" need "${need}")
  list(GET need 0 name)
  list(GET need 1 module)
  pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}")
  if(NOT ${name}_FOUND AND name STREQUAL "FUSE3" AND BALEFS_FUSE STREQUAL "system")
    execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --modversion fuse3
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT found)
      set(found "missing")
    endif()
    message(FATAL_ERROR "balefs: build: the system's libfuse is ${found}, and 3.17 or later is needed: "
      "run tools/setup, then configure again with -DBALEFS_FUSE=bundled")
  elseif(NOT ${name}_FOUND)
    message(FATAL_ERROR "balefs: build: ${module} not found: run tools/setup, then configure again")
  endif()
  message(STATUS "Found ${module}: ${${name}_VERSION} in ${${name}_LIBDIR}")
endforeach()
if(BALEFS_FUSE STREQUAL "bundled" AND NOT FUSE3_LIBDIR MATCHES "^${bale_deps}/")
  message(FATAL_ERROR "balefs: build: there is no bundled libfuse in build/deps: "
    "run tools/setup --bundled-fuse, then configure again")
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES "${bale_old_suffixes}")
set(ENV{PKG_CONFIG_PATH} "${bale_old_path}")

add_library(bale_fuse3 INTERFACE)
target_link_libraries(bale_fuse3 INTERFACE PkgConfig::FUSE3)
target_compile_definitions(bale_fuse3 INTERFACE FUSE_USE_VERSION=317)
