// Launches on devices, alternatives and targets that are refused.
// RUN: mpt-opt %s --split-input-file --verify-diagnostics

// A grid that no GPU takes.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{'mpt_program.device_launch' op expected 1 to 2147483647 blocks, found 0}}
  mpt_program.device_launch @k::@f blocks [0, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// The second dimension has fewer blocks.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected 1 to 65535 blocks, found 65536}}
  mpt_program.device_launch @k::@f blocks [1, 65536] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// More threads than a block has.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected 1 to 1024 threads, found 1056}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 1056 ins() outs(%y : memref<8x8xf16>)
}

// -----

// A bound is a number of rows.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a bound of at least 0, found -1}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>) {bound = -1 : i64}
}

// -----

// A grid has two dimensions.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{attribute 'blocks' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements}}
  mpt_program.device_launch @k::@f blocks [1] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// Functions are in modules of their own.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a function of a module, as in @mpt_kernels::@f, found @f}}
  mpt_program.device_launch @f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// No such module.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a gpu.module or gpu.binary named @kernels, found nothing of that name}}
  mpt_program.device_launch @kernels::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// No such function.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a function @k::@g, found none}}
  mpt_program.device_launch @k::@g blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
}

// -----

// Each buffer is a parameter.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a function of 2 buffers, found one of 1}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins(%x : memref<8x8xf16>) outs(%y : memref<8x8xf16>)
}

// -----

// And so is the record of bad indices.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a function of 2 buffers, found one of 1}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>) {bound = 4 : i64}
}

// -----

// No call that could be refused.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{'mpt_program.alternatives' op expected one library call in the first region, and no alternatives, found 0 calls and 0 alternatives}}
  mpt_program.alternatives {
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
  }
}

// -----

// Two calls, each of which could be refused.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{found 2 calls and 0 alternatives}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// A call that no library refuses.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a call of cuDNN or a matmul with an epilogue, found 'mpt_program.fill'}}
  mpt_program.alternatives {
    mpt_program.fill outs(%y : memref<8x8xf16>) {value = 1.0 : f64}
  } else {
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// A convolution that cuDNN is not asked for.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  %c = mpt_program.buffer <arena> 0 : memref<1x2x2x8xf16>
  %g = mpt_program.buffer <arena> 512 : memref<1x1x8x8xf16>
  %d = mpt_program.buffer <arena> 1024 : memref<1x2x2x8xf16>
  // expected-error @+1 {{expected a call of cuDNN or a matmul with an epilogue, found 'mpt_program.conv2d'}}
  mpt_program.alternatives {
    mpt_program.conv2d ins(%c, %g : memref<1x2x2x8xf16>, memref<1x1x8x8xf16>) outs(%d : memref<1x2x2x8xf16>)
  } else {
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// A matmul without an epilogue.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected a matmul with an epilogue, found one without}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// A plain matmul, and nothing that does what the epilogue does.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected the matmul alone in the first region, and launches after the plain one in the second}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
  }
}

// -----

// A launch beside the matmul.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected the matmul alone in the first region}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// Another matmul.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected the second region to begin with the same matmul without its epilogue}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>) {transpose_rhs}
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// The epilogue that was refused.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected the second region to begin with the same matmul without its epilogue}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
    mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
  }
}

// -----

// Alternatives within those of a matmul.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected the matmul alone in the first region}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
    mpt_program.alternatives {
      mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
    } else {
      mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
      mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
    }
  }
}

// -----

// Buffers are declared outside.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  } else {
    // expected-error @+1 {{'mpt_program.buffer' op found in mpt_program.alternatives: expected calls, launches on a device and alternatives}}
    %z = mpt_program.buffer <arena> 0 : memref<f32>
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) outs(%y : memref<8x8xf16>)
  }
}

// -----

// A second region without anything.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  // expected-error @+1 {{expected calls or launches in both regions, found none in the second}}
  "mpt_program.alternatives"() ({
    mpt_program.matmul ins(%x, %x : memref<8x8xf16>, memref<8x8xf16>) bias(%b : memref<8xf16>) outs(%y : memref<8x8xf16>) {epilogue = #mpt.epilogue<relu>}
  }, {
  ^bb0:
  }) : () -> ()
}

// -----

// A convolution of cuDNN within others.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
  %c = mpt_program.buffer <arena> 0 : memref<1x2x2x8xf16>
  %g = mpt_program.buffer <arena> 512 : memref<1x1x8x8xf16>
  %d = mpt_program.buffer <arena> 1024 : memref<1x2x2x8xf16>
  mpt_program.alternatives {
    mpt_program.conv2d ins(%c, %g : memref<1x2x2x8xf16>, memref<1x1x8x8xf16>) outs(%d : memref<1x2x2x8xf16>) {cudnn}
  } else {
    // expected-error @+1 {{expected alternatives of a matmul within others, found 'mpt_program.conv2d'}}
    mpt_program.alternatives {
      mpt_program.conv2d ins(%c, %g : memref<1x2x2x8xf16>, memref<1x1x8x8xf16>) outs(%d : memref<1x2x2x8xf16>) {cudnn}
    } else {
      mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%y : memref<8x8xf16>)
    }
  }
}

// -----

// The words of an algorithm are eight.

// expected-error @+1 {{expected the eight words of an algorithm, an array<i64>, for "key" in 'tuned_matmuls', found array<i64: 1>}}
mpt_program.program @p attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64, tuned_matmuls = {key = array<i64: 1>}} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf16>
  %b = mpt_program.buffer <arena> 128 : memref<8xf16>
  %y = mpt_program.buffer <arena> 256 : memref<8x8xf16>
}

// -----

// Machines that there are.

// expected-error @+1 {{expected the target cpu, x86_64 or cuda, found 'rocm'}}
module attributes {test.target = #mpt.target<rocm>} {}

// -----

// Chips of another maker.

// expected-error @+1 {{expected chips such as sm_90, found "gfx90a"}}
module attributes {test.target = #mpt.target<cuda, [gfx90a]>} {}

// -----

// Code for one CPU.

// expected-error @+1 {{expected one chip at most for the target x86_64, found 2}}
module attributes {test.target = #mpt.target<x86_64, [znver3, znver4]>} {}

// -----

// Any CPU.

// expected-error @+1 {{expected no chip for the target cpu, found 1}}
module attributes {test.target = #mpt.target<cpu, [znver4]>} {}
