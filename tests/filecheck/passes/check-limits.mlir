// RUN: ahbmc-opt %s -p check-limits | filecheck %s

// Leaves alone: everything within the limits.
// CHECK-LABEL: func.func @within
// CHECK: ahbm.composite
func.func @within(%p: !tl.ptr<f16> {ahbm.bytes = 4096 : i64}, %a: !ahbm.region<f16, 2>, %n: i64) {
  %c = ahbm.alloc {offset = 1040384 : i64} : !ahbm.buffer<32x64xf32, tcm>
  ahbm.composite(%a, %a, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}
