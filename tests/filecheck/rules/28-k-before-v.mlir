// P V reads V only when its GEMM starts, so the transfers of K come before those of V.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// V is requested when the last of the eight ops has ended; all of K is there.
// CHECK: - [[K:[0-9.]+]] {{.*}} dma_read #0 composite
// CHECK: [[S:[0-9.]+]] - {{.*}} pe_sched #1 {{.*}} after #0{{$}}
// CHECK-NEXT: [[S]] - {{.*}} math #1 composite
// CHECK: 190.278 - 235.278 {{.*}} dma_read #1 composite{{.*}}{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %q = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %k = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %v = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%q, %k, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "2", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}

// Without ops before its GEMM the composite asks for V while K is on its way.
// BREAKS: dma_read #1 composite {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %q = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %k = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %v = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%q, %k, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%p, %v, %o : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
