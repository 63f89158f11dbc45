// RUN: ahbmc-opt %s -p double-buffer | filecheck %s

// Changes: %s is made by the first composite for the second, so the loop swaps it with a second buffer; %o, which goes
// from iteration to iteration, stays.
// CHECK-LABEL: func.func @handed_on
// CHECK: %[[A:.*]] = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
// CHECK-NEXT: %[[B:.*]] = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
// CHECK: scf.for {{.*}} iter_args(%[[CUR:.*]] = %[[A]], %[[NXT:.*]] = %[[B]])
// CHECK: ahbm.composite(%a, %b, %[[CUR]] :
// CHECK: ahbm.composite(%[[CUR]], %b, %o :
// CHECK: scf.yield %[[NXT]], %[[CUR]]
func.func @handed_on(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  scf.for %t = %n to %n step %n : i64 {
    ahbm.composite(%a, %b, %s : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    }
    ahbm.composite(%s, %b, %o : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {
    }
  }
  func.return
}

// Leaves alone: what is read after the loop, and what a command reads for which PE_CPU waits anyway.
// CHECK-LABEL: func.func @read_later
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: func.return
func.func @read_later(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %r: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %x = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  scf.for %t = %n to %n step %n : i64 {
    ahbm.composite(%a, %b, %s : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    }
    ahbm.composite(%a, %b, %x : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    }
    ahbm.dma_write %x, %r : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  }
  ahbm.dma_write %s, %r : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  func.return
}

// Refuses: two buffers of 1 MiB are more than the scratch holds.
// CHECK-LABEL: func.func @large
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: func.return
func.func @large(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<512x1024xf16, tcm>
  scf.for %t = %n to %n step %n : i64 {
    ahbm.composite(%a, %b, %s : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<512x1024xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    }
    ahbm.composite(%s, %b, %c : !ahbm.buffer<512x1024xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    }
  }
  func.return
}
