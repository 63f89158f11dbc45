// RUN: not ahbmc-opt %s -p check-limits 2>&1 | filecheck %s

// Refuses all of it at once: a tensor larger than the HBM, a buffer beyond the scratch, a composite of 1054 bytes, a GEMM of i32.
// CHECK: error: argument 'p' has 9000000000000 bytes; the HBM of the machine has {{[0-9]+}}, {{[0-9]+}} too few [does-not-fit]
// CHECK: [[# @LINE + 8]]:8: error: !ahbm.buffer<32x64xf32, tcm> at offset 1048000 ends at byte 1056192 of the scratch, which has 1048576 [does-not-fit]
// CHECK: [[# @LINE + 10]]:3: error: a composite of 51 ops has 1054 bytes; a command has 1024 at most, 30 fewer [does-not-fit]
// CHECK: note: gemm: 40 bytes
// CHECK-NEXT: note: add: 20 bytes, 50 times
// CHECK: note: framing and written handles: 14 bytes
// CHECK: hint: leave some of the ops outside of the composite
// CHECK: [[# @LINE + 7]]:3: error: the GEMM engine does not take i32; it takes {{.*}}f16{{.*}} [unsupported]
func.func @beyond(%p: !tl.ptr<f16> {ahbm.bytes = 9000000000000 : i64}, %a: !ahbm.region<f16, 2>, %n: i64) {
  %c = ahbm.alloc {offset = 1048000 : i64} : !ahbm.buffer<32x64xf32, tcm>
  %i = ahbm.alloc : !ahbm.buffer<32x32xi32, tcm>
  // More ops than a descriptor holds.
  ahbm.composite(%a, %a, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {
  }
  ahbm.gemm %i, %i, %i : !ahbm.buffer<32x32xi32, tcm>, !ahbm.buffer<32x32xi32, tcm>, !ahbm.buffer<32x32xi32, tcm>
  func.return
}
