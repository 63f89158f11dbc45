// A single-op GEMM or MATH has the shape of its block, and is not padded to tiles.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 2 x 20 x 50 x 10 over 8 TFLOP/s are 2.5 ns; 200 elements one pass of 1 ns.
// CHECK: 11.010 - 13.510 {{.*}} gemm #0 gemm 20x50x10, 20,000 flops
// CHECK: 23.520 - 24.520 {{.*}} math #1 math exp
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<20x50xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<50x10xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<20x10xf16, tcm>
  ahbm.gemm %a, %b, %o : !ahbm.buffer<20x50xf16, tcm>, !ahbm.buffer<50x10xf16, tcm>, !ahbm.buffer<20x10xf16, tcm>
  ahbm.math "exp" ins(%o : !ahbm.buffer<20x10xf16, tcm>) out(%o : !ahbm.buffer<20x10xf16, tcm>)
  func.return
}

// The composite of the same product takes a whole tile.
// BREAKS: gemm, 20,000 flops
// BREAKS: 76.010 - 92.394 {{.*}} gemm #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<20x50xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<50x10xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<20x10xf16, tcm>
  %c10 = arith.constant 10 : i64
  %c20 = arith.constant 20 : i64
  %c50 = arith.constant 50 : i64
  ahbm.composite(%a, %b, %o : !ahbm.buffer<20x50xf16, tcm>, !ahbm.buffer<50x10xf16, tcm>, !ahbm.buffer<20x10xf16, tcm>) extents(%c20, %c10, %c50) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
