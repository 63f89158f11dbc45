// Views (broadcasts, transposes, reshapes in order, index blocks) own no buffer and issue no command; a view loses
// no lane.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p allocate-scratch | filecheck %s

// 128 + 8,192 + 8,192 bytes of the three buffers, and two commands.
// CHECK: func.func @shows{{.*}}ahbm.scratch_bytes = 16512 : i64
// CHECK: ahbm.math "add"
// CHECK: ahbm.math "add"
// CHECK-NOT: ahbm.math
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %v = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<64x32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c5 = arith.constant 5 : i64
  %w = ahbm.view %v {axes = array<i64: 0, -1>} : !ahbm.buffer<32xf32, tcm> -> !ahbm.buffer<32x64xf32, tcm>
  %t = ahbm.view %p {axes = array<i64: 1, 0>} : !ahbm.buffer<64x32xf32, tcm> -> !ahbm.buffer<32x64xf32, tcm>
  %f = ahbm.reshape %o : !ahbm.buffer<32x64xf32, tcm> -> !ahbm.buffer<2048xf32, tcm>
  %i = ahbm.index %c5 steps(%c0, %c1) : !ahbm.index<32x64xf32>
  ahbm.math "add" ins(%w, %t : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>) out(%o : !ahbm.buffer<32x64xf32, tcm>)
  ahbm.math "add" ins(%f, %f : !ahbm.buffer<2048xf32, tcm>, !ahbm.buffer<2048xf32, tcm>) out(%f : !ahbm.buffer<2048xf32, tcm>)
  func.return
}

// -----

// 32 of 64 lanes.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %v = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<64x32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  // expected-error @+1 {{'ahbm.view': axes [0] drop lanes of !ahbm.buffer<32x64xf32, tcm>}}
  %w = ahbm.view %o {axes = array<i64: 0>} : !ahbm.buffer<32x64xf32, tcm> -> !ahbm.buffer<32xf32, tcm>
  func.return
}
