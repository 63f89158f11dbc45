// Double buffers are explicit: two buffers that a loop carries and swaps.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The block of the next iteration is loaded while this one's is worked on.
// CHECK: pe_cpu #2 math exp {{.*}} after #0 beside #1{{$}}
// CHECK: math #2 math exp {{.*}} beside #1{{$}}
// CHECK: math #4 math exp {{.*}} beside #3{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  %0, %1 = scf.for %t = %c0 to %c4 step %c1 iter_args(%cur = %a, %nxt = %b) -> (!ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) : i64 {
    ahbm.dma_read %r, %nxt : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "exp" ins(%cur : !ahbm.buffer<32x64xf16, tcm>) out(%cur : !ahbm.buffer<32x64xf16, tcm>)
    scf.yield %nxt, %cur : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>
  }
  func.return
}

// With one buffer each load is awaited at once.
// BREAKS: math #2 math exp {{.*}} after its issue{{$}}
// BREAKS: math #4 math exp {{.*}} after its issue{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  scf.for %t = %c0 to %c4 step %c1 : i64 {
    ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
    ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
  }
  func.return
}
