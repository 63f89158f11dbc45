// Composites enter PE_SCHED in the order of issue; their stages share the engines first come, first served, in the order in
// which they are ready.

// RUN: ahbmc run %S/../rules/launch.yaml --set kernel=%s::overtakes --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/../rules/launch.yaml --set kernel=%s::follows --timing-only --oplog-text - | filecheck %s --check-prefix FOLLOWS

// The operands of the second lie in TCM: its tiles take FETCH and GEMM while those of the first come from HBM, and it ends
// first: its consumer is issued beside the first.
// CHECK: pe_cpu #1 composite gemm {{.*}} after the issue of #0{{$}}
// CHECK: fetch #1 composite {{.*}} beside #0
// CHECK: gemm #1 composite {{.*}} beside #0
// CHECK: pe_cpu #2 math exp {{.*}} after #1 beside #0
func.func @overtakes(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %d = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %t = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %s : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%c, %d, %t : !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.math "exp" ins(%t : !ahbm.buffer<64x64xf32, tcm>) out(%t : !ahbm.buffer<64x64xf32, tcm>)
  func.return
}

// All operands lie in TCM: both are ready at once, and the first keeps its lead.
// FOLLOWS: - [[FETCHED:[0-9.]+]] {{.*}} fetch #0
// FOLLOWS: fetch #1 composite {{.*}} beside #0
// FOLLOWS: pe_cpu #2 math exp {{.*}} after #1{{$}}
func.func @follows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %d = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %t = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %s : !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%c, %d, %t : !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.math "exp" ins(%t : !ahbm.buffer<64x64xf32, tcm>) out(%t : !ahbm.buffer<64x64xf32, tcm>)
  func.return
}
