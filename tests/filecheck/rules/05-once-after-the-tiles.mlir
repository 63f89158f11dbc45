// Ops after the GEMM that run once run in order when the last output tile is stored.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// One store of 4 KiB takes 8 ns twice; then `exp` on 1,024 elements for 4 ns.
// CHECK: - [[STORED:[0-9.]+]] {{.*}} store #0
// CHECK: [[STORED]] - {{.*}} math #0
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"exp", once, [2], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// The same op per output tile runs before the store.
// BREAKS: - [[DONE:[0-9.]+]] {{.*}} math #0
// BREAKS: [[DONE]] - {{.*}} store #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
