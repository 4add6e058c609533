# What cpack makes: with shared libraries a package for Debian; with BALEFS_STATIC an archive that runs where it is
# unpacked, without root.
set(CPACK_PACKAGE_NAME balefs)
set(CPACK_PACKAGE_VENDOR balefs)
set(CPACK_PACKAGE_CONTACT "the balefs developers <balefs@localhost>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/BalePackageTree.cmake")
# Not whatever the caller's umask makes of them.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

if(BALEFS_STATIC)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_PACKAGE_FILE_NAME "balefs-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
else()
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS fuse3)
  set(CPACK_DEBIAN_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transparent compressed file system")
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Mounted over a directory, balefs keeps the contents of the files below the
mount point compressed in another directory, the store. Programs read and
write ordinary files; names, owners, times, links and permissions remain those
of the file system that the store lies on.
.
Written for scratch directories and simulation output: data that is written
once, in bulk, by programs nobody wants to change.")
endif()
include(CPack)
