# CMake functions of MPT, also for projects that use find_package(MPT).

# A library of MPT passes, analyses or dialect code. MPT libraries go after
# LINK_LIBS; upstream MLIR libraries go to mlir_target_link_libraries, so that
# libMLIR.so and static MLIR are never mixed in one binary.
function(add_mpt_library name)
  add_mlir_library(${name} ${ARGN} EXCLUDE_FROM_LIBMLIR DISABLE_INSTALL)
  set_property(GLOBAL APPEND PROPERTY MPT_LIBS ${name})
endfunction()

# A tool of MPT: built into bin/, without exceptions, like LLVM's own.
function(add_mpt_tool name)
  add_llvm_executable(${name} ${ARGN})
  llvm_update_compile_flags(${name})
  set_property(GLOBAL APPEND PROPERTY MPT_TOOLS ${name})
endfunction()
