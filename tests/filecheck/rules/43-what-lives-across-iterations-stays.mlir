// What lives across iterations keeps its bytes through the loop; what an iteration makes does not.

// RUN: ahbmc-opt %s -p allocate-scratch | filecheck %s

// `s` is carried, `a` and `b` of an iteration share one block.
// CHECK: func.func @shows{{.*}}ahbm.scratch_bytes = 8192 : i64
// CHECK: %s = ahbm.alloc {offset = 0
// CHECK: %a = ahbm.alloc {offset = 4096
// CHECK: %b = ahbm.alloc {offset = 4096
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %w = ahbm.region %y[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %s : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  scf.for %t = %c0 to %c8 step %c1 : i64 {
    ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "add" ins(%s, %a : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%s : !ahbm.buffer<32x64xf16, tcm>)
    ahbm.dma_read %r, %b : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "exp" ins(%b : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  }
  ahbm.dma_write %s, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  func.return
}

// `s` is not used in the loop nor behind it: all three share one.
// CHECK: func.func @breaks{{.*}}ahbm.scratch_bytes = 4096 : i64
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %w = ahbm.region %y[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %s : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  scf.for %t = %c0 to %c8 step %c1 : i64 {
    ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
    ahbm.dma_read %r, %b : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "exp" ins(%b : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  }
  func.return
}
