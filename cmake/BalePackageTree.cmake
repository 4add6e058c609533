# Run by cpack on the tree that is to be packed: what Debian's policy asks of it.
set(usr "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
if(CPACK_GENERATOR STREQUAL "DEB")
  string(APPEND usr "${CPACK_PACKAGING_INSTALL_PREFIX}")
  set(doc "${usr}/share/doc/balefs")
  file(RENAME "${doc}/LICENSE" "${doc}/copyright")
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${doc}/changelog"
    "balefs (${CPACK_PACKAGE_VERSION}) stable; urgency=medium\n\n  * Version ${CPACK_PACKAGE_VERSION}.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB pages "${usr}/share/man/man[1-8]/*.[1-8]")
  execute_process(COMMAND gzip -9nf ${pages} "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD "${doc}/changelog.gz" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endif()

# CPACK_STRIP_FILES knows nothing of this one, which CMake did not link.
file(GLOB_RECURSE archive "${usr}/lib*/libbalefs.a")
execute_process(COMMAND strip -g ${archive} COMMAND_ERROR_IS_FATAL ANY)
