# What is installed, in two components: "program", which is what has no other, and "library" (kernels/api). DESTDIR,
# another prefix and moving the result are fine, for nothing that is installed knows where it is.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)

# The documents keep their places below the documentation's directory, so that the links between them hold there too.
# tests/install checks that each link leads to something installed.
set(BALE_DOCUMENTS
  CHANGELOG.md
  CONTRIBUTING.md
  README.md
  doc/architecture.md
  doc/at-a-glance.svg
  doc/codecs-h200.svg
  doc/debugging.md
  doc/durability.md
  doc/cusz-distortion.svg
  doc/energy.svg
  doc/engines-h200.svg
  doc/fields-2-cores.svg
  doc/fsst-h200.svg
  doc/install.md
  doc/mount-16-cores.svg
  doc/mount-2-cores.svg
  doc/performance.md
  doc/security.md
  doc/usage.md
  format/FORMAT.md
  kernels/auto/spec.md
  kernels/lzss/spec.md
  kernels/rans/spec.md
  kernels/round/spec.md
  kernels/store/spec.md
  kernels/zero/spec.md)
foreach(codec IN LISTS BALE_CODECS)
  list(APPEND BALE_DOCUMENTS kernels/${codec}/spec.md)
endforeach()

# bale_install(): the rules for the program; the manual pages have theirs in tools/man.
function(bale_install)
  install(TARGETS balefs RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

  # mount(8), umount(8), fsck(8) and mkfs(8) look for their helpers in /sbin.
  file(RELATIVE_PATH program "/${CMAKE_INSTALL_SBINDIR}" "/${CMAKE_INSTALL_BINDIR}/balefs")
  foreach(helper IN ITEMS mount.balefs mount.fuse.balefs umount.fuse.balefs fsck.balefs mkfs.balefs)
    file(CREATE_LINK "${program}" "${PROJECT_BINARY_DIR}/${helper}" SYMBOLIC)
    install(FILES "${PROJECT_BINARY_DIR}/${helper}" DESTINATION "${CMAKE_INSTALL_SBINDIR}")
  endforeach()

  install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/balefs"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES LICENSE tools/LIBRARIES DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  foreach(document IN LISTS BALE_DOCUMENTS)
    get_filename_component(directory "${document}" DIRECTORY)
    install(FILES "${document}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${directory}")
  endforeach()
  install(FILES tools/examples/fstab tools/examples/mnt-scratch.mount
    DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
endfunction()
