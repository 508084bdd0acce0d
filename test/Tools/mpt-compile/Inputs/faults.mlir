mpt_program.program @faults attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 0 : i64,
    state_bytes = 0 : i64, output_bytes = 320 : i64} {
  %table = mpt_program.buffer <input> 0 {name = "table", role = #mpt.role<input>} : memref<8x3xf32>
  %rows = mpt_program.buffer <input> 1 {name = "rows", role = #mpt.role<input>} : memref<6xi64>
  %classes = mpt_program.buffer <input> 2 {name = "classes", role = #mpt.role<input>} : memref<4xi32>
  %updates = mpt_program.buffer <input> 3 {name = "updates", role = #mpt.role<input>} : memref<4xi32>
  %values = mpt_program.buffer <input> 4 {name = "values", role = #mpt.role<input>} : memref<4x3xf32>
  %y0 = mpt_program.buffer <output> 0 {name = "y0"} : memref<6x3xf32>
  %y1 = mpt_program.buffer <output> 128 {name = "y1"} : memref<4xi32>
  %y2 = mpt_program.buffer <output> 192 {name = "y2"} : memref<5x3xf32>
  mpt_program.gather ins(%table, %rows : memref<8x3xf32>, memref<6xi64>) outs(%y0 : memref<6x3xf32>)
  mpt_program.check_indices ins(%classes : memref<4xi32>) outs(%y1 : memref<4xi32>) {size = 10 : i64, ignore_index = -2 : i64}
  mpt_program.scatter_add ins(%updates, %values : memref<4xi32>, memref<4x3xf32>) outs(%y2 : memref<5x3xf32>)
}
