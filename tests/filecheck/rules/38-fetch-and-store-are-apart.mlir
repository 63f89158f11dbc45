// FETCH and STORE are separate servers, unless the machine file makes them one (`pe.fetch_store_shared`).

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.pe.fetch_store_shared=true --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The first output tile is stored while the third is fetched.
// CHECK: 44.010 - 140.010 {{.*}} fetch #0
// CHECK: 92.394 - {{.*}} store #0
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x160xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x160xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c160 = arith.constant 160 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x160xf16, tcm>, !ahbm.buffer<32x160xf32, tcm>) extents(%c32, %c160, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// On one server the first store comes when the last tile has left the first of the two in series.
// BREAKS: 124.010 - {{.*}} store #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x160xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x160xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c160 = arith.constant 160 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x160xf16, tcm>, !ahbm.buffer<32x160xf32, tcm>) extents(%c32, %c160, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
