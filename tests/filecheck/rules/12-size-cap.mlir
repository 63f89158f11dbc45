// A composite has 1,024 logical bytes at most (`composite_max_bytes`); over it is an error that names the ops and
// their bytes, and nothing is split.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only 2>&1 | filecheck %s --check-prefix BREAKS
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.composite_max_bytes=1013 2>&1 | filecheck %s --check-prefix LOWER

// 54 + 48 x 20 = 1,014 bytes: 40 + 63.375 cycles, one command. A cap of 1,013 refuses it.
// CHECK: 0.000 - 103.000 {{.*}} pe_cpu #0 composite gemm, add
// CHECK-NOT: pe_cpu
// LOWER: error: a composite of 49 ops has 1014 bytes; a command has 1013 at most, 1 fewer [does-not-fit]
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// One op more.
// BREAKS: [[# @LINE + 11]]:3: error: a composite of 50 ops has 1034 bytes; a command has 1024 at most, 10 fewer [does-not-fit]
// BREAKS-DAG: note: gemm: 40 bytes
// BREAKS-DAG: note: add: 20 bytes, 49 times
// BREAKS-DAG: note: framing and written handles: 14 bytes
// BREAKS: hint: leave some of the ops outside of the composite: nothing is split silently
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}
