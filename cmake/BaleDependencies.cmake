# What balefs links with: Threads::Threads, PkgConfig::{ZSTD,LZ4,XXHASH,JANSSON,ARCHIVE} and bale_fuse3.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# bale_choice(VARIABLE library): the cache variable that says which library is taken: the system's, or the bundled one,
# private and static, that tools/setup builds, which is the default where it is.
set(bale_deps "${PROJECT_SOURCE_DIR}/build/deps")
function(bale_choice variable library)
  if(EXISTS "${bale_deps}/${library}/version")
    set(default bundled)
  else()
    set(default system)
  endif()
  # What nobody has set goes with the default, which tools/setup changes.
  if(NOT DEFINED ${variable} OR "${${variable}}" STREQUAL "${${variable}_DEFAULT}")
    set(${variable} "${default}" CACHE STRING "${library}: system or bundled (by tools/setup)" FORCE)
    set(${variable}_DEFAULT "${default}" CACHE INTERNAL "")
  endif()
  set_property(CACHE ${variable} PROPERTY STRINGS system bundled)
  if(NOT ${variable} MATCHES "^(system|bundled)$")
    message(FATAL_ERROR "balefs: build: ${variable}=${${variable}}: it is system or bundled")
  endif()
endfunction()
bale_choice(BALEFS_ZSTD libzstd)
bale_choice(BALEFS_FUSE libfuse)

# For a program that is taken to other machines.
option(BALEFS_STATIC "Link the libraries but for the C library statically" OFF)

# What was found belongs to these.
set(bale_find_for "${BALEFS_ZSTD} ${BALEFS_FUSE} ${BALEFS_STATIC}")
if(NOT bale_find_for STREQUAL "${BALE_FOUND_FOR}")
  get_directory_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^(pkgcfg_lib|__pkg_config_checked)_")
  foreach(variable IN LISTS cached)
    unset(${variable} CACHE)
  endforeach()
  set(BALE_FOUND_FOR "${bale_find_for}" CACHE INTERNAL "")
endif()

# bale_need(NAME module least [CHOICE variable LIBRARY library SETUP command]): PkgConfig::NAME, version least or later.
# Where the variable chooses between two, command makes the bundled library.
function(bale_need name module least)
  cmake_parse_arguments(arg "" "CHOICE;LIBRARY;SETUP" "" ${ARGN})
  set(choice none)
  if(arg_CHOICE)
    set(choice "${${arg_CHOICE}}")
  endif()

  set(path "$ENV{PKG_CONFIG_PATH}")
  if(choice STREQUAL "bundled")
    set(ENV{PKG_CONFIG_PATH} "${bale_deps}/${arg_LIBRARY}/lib/pkgconfig:${path}")
  endif()
  pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}>=${least}")
  set(ENV{PKG_CONFIG_PATH} "${path}")

  if(choice STREQUAL "bundled" AND NOT ${name}_LIBDIR MATCHES "^${bale_deps}/")
    message(FATAL_ERROR "balefs: build: there is no bundled ${arg_LIBRARY} in build/deps: "
      "run ${arg_SETUP}, then configure again, or take the system's with -D${arg_CHOICE}=system")
  elseif(NOT ${name}_FOUND AND choice STREQUAL "system")
    execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --modversion "${module}"
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT found)
      set(found "missing")
    endif()
    message(FATAL_ERROR "balefs: build: the system's ${arg_LIBRARY} is ${found}, and ${least} or later is needed: "
      "run tools/setup, then configure again with -D${arg_CHOICE}=bundled")
  elseif(NOT ${name}_FOUND)
    message(FATAL_ERROR "balefs: build: ${module}>=${least} not found: run tools/setup, then configure again")
  endif()
  message(STATUS "Found ${module}>=${least}: ${${name}_VERSION} in ${${name}_LIBDIR}")
endfunction()

set(bale_old_suffixes "${CMAKE_FIND_LIBRARY_SUFFIXES}")
if(BALEFS_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  # libarchive.a has more in it than we use, which would need more libraries.
  add_link_options("LINKER:--gc-sections")
endif()
bale_need(ZSTD libzstd 1.5 CHOICE BALEFS_ZSTD LIBRARY libzstd SETUP "tools/setup")
bale_need(LZ4 liblz4 1.9)
bale_need(XXHASH libxxhash 0.8)
bale_need(JANSSON jansson 2.13)
bale_need(ARCHIVE libarchive 3.6)
bale_need(FUSE3 fuse3 3.17 CHOICE BALEFS_FUSE LIBRARY libfuse SETUP "tools/setup --bundled-fuse")
set(CMAKE_FIND_LIBRARY_SUFFIXES "${bale_old_suffixes}")

add_library(bale_fuse3 INTERFACE)
target_link_libraries(bale_fuse3 INTERFACE PkgConfig::FUSE3)
target_compile_definitions(bale_fuse3 INTERFACE FUSE_USE_VERSION=317)
