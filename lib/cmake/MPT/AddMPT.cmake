# CMake functions of MPT, also for projects that use find_package(MPT).

# A library of MPT passes, analyses or dialect code, installed and exported as
# MPT::<name without the prefix MPT>. MPT libraries go after LINK_LIBS; upstream
# MLIR libraries go to mlir_target_link_libraries, so that libMLIR.so and static
# MLIR are never mixed in one binary.
function(add_mpt_library name)
  add_mlir_library(${name} ${ARGN} EXCLUDE_FROM_LIBMLIR DISABLE_INSTALL)
  install_mpt_library(${name})
endfunction()

# Installs and exports a library target of MPT.
function(install_mpt_library name)
  string(REGEX REPLACE "^MPT" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  install(TARGETS ${name} EXPORT MPTTargets
    ARCHIVE DESTINATION lib LIBRARY DESTINATION lib RUNTIME DESTINATION bin)
  set_property(GLOBAL APPEND PROPERTY MPT_EXPORTS ${name})
endfunction()

# A tool of MPT: built into bin/, without exceptions, like LLVM's own.
function(add_mpt_tool name)
  add_llvm_executable(${name} ${ARGN})
  llvm_update_compile_flags(${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  set_target_properties(${name} PROPERTIES
    INSTALL_RPATH "$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH ON)
  set_property(GLOBAL APPEND PROPERTY MPT_TOOLS ${name})
endfunction()
