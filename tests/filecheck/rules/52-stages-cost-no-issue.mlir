// Stages that PE_SCHED makes cost no issue.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 32 K tiles, 43 cycles.
// CHECK: 0.000 - 43.000 {{.*}} pe_cpu #0 composite gemm {{.*}} at the start
// CHECK-NOT: pe_cpu
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x2048xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<2048x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c2048 = arith.constant 2048 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x2048xf16, tcm>, !ahbm.buffer<2048x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c2048) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// The same product as single-op commands pays for each of its parts.
// BREAKS: 0.000 - 10.000 {{.*}} pe_cpu #0 gemm
// BREAKS: pe_cpu #1 gemm
// BREAKS: pe_cpu #2 math add
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf16, tcm>
  %d = ahbm.alloc : !ahbm.buffer<32x32xf16, tcm>
  ahbm.gemm %a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf16, tcm>
  ahbm.gemm %a, %b, %d : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf16, tcm>
  ahbm.math "add" ins(%c, %d : !ahbm.buffer<32x32xf16, tcm>, !ahbm.buffer<32x32xf16, tcm>) out(%c : !ahbm.buffer<32x32xf16, tcm>)
  func.return
}
