# What is installed, in two components: "program", which is what has no other, and "library" (kernels/api). DESTDIR,
# another prefix and moving the result are fine, for nothing that is installed knows where it is.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)

# bale_install(): the rules for the program; the manual pages have theirs in tools/man.
function(bale_install)
  install(TARGETS balefs RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

  # mount(8) and umount(8) look for their helpers in /sbin alone.
  file(RELATIVE_PATH program "/${CMAKE_INSTALL_SBINDIR}" "/${CMAKE_INSTALL_BINDIR}/balefs")
  foreach(helper IN ITEMS mount.balefs mount.fuse.balefs umount.fuse.balefs)
    file(CREATE_LINK "${program}" "${PROJECT_BINARY_DIR}/${helper}" SYMBOLIC)
    install(FILES "${PROJECT_BINARY_DIR}/${helper}" DESTINATION "${CMAKE_INSTALL_SBINDIR}")
  endforeach()

  install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/balefs"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES LICENSE README.md format/FORMAT.md tools/LIBRARIES DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  install(FILES tools/examples/fstab tools/examples/mnt-scratch.mount
    DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
endfunction()
