// Scratch is allocated by the compiler from lifetimes: temporaries are recycled, what is still to be read stays.

// RUN: ahbmc-opt %s -p allocate-scratch | filecheck %s

// `a` and `b` are dead when `c` is loaded: 8,192 bytes for three blocks of 4,096.
// CHECK: func.func @shows{{.*}}ahbm.scratch_bytes = 8192 : i64
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %w = ahbm.region %y[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.dma_write %b, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  ahbm.dma_read %r, %c : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%c : !ahbm.buffer<32x64xf16, tcm>) out(%c : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.dma_write %c, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  func.return
}

// `a` and `b` are read once more, at the end: three blocks side by side.
// CHECK: func.func @breaks{{.*}}ahbm.scratch_bytes = 12288 : i64
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %w = ahbm.region %y[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.dma_write %b, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  ahbm.dma_read %r, %c : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%c : !ahbm.buffer<32x64xf16, tcm>) out(%c : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.math "add" ins(%a, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%c : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.math "add" ins(%b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%c : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.dma_write %c, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  func.return
}
