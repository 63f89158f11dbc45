// RUN: ahbmc-opt %s -p allocate-scratch | filecheck %s
// RUN: ahbmc-opt %s -p 'allocate-scratch{reuse=short}' | filecheck %s --check-prefix SHORT

// Changes: %a and %b live at once and lie side by side; %c comes when both are dead and takes their place.
// CHECK-LABEL: func.func @lifetimes
// CHECK-SAME: ahbm.scratch_bytes = 512 : i64
// CHECK: %a = ahbm.alloc {offset = 0 : i64}
// CHECK: %b = ahbm.alloc {offset = 256 : i64}
// CHECK: %c = ahbm.alloc {offset = 0 : i64}

// Changes: as the scratch is large enough, with `reuse=short` %c has bytes of its own, and its load waits for nobody.
// SHORT-LABEL: func.func @lifetimes
// SHORT-SAME: ahbm.scratch_bytes = 768 : i64
// SHORT: %c = ahbm.alloc {offset = 512 : i64}
func.func @lifetimes(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<64xf32, tcm>) out(%b : !ahbm.buffer<64xf32, tcm>)
  ahbm.dma_write %b, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  ahbm.dma_read %r, %c : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.dma_write %c, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}

// Changes: what the loop carries (%sum) keeps its place throughout; what an iteration makes (%x, %y) does not.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: ahbm.scratch_bytes = 768 : i64
// CHECK: %sum = ahbm.alloc {offset = 0 : i64}
// CHECK: %x = ahbm.alloc {offset = 256 : i64}
// CHECK: %y = ahbm.alloc {offset = 512 : i64}
// CHECK: %late = ahbm.alloc {offset = 256 : i64}
func.func @loop(%r: !ahbm.region<f32, 1>, %n: i64) {
  %sum = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %x = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %y = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %late = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  ahbm.fill %sum {value = 0.0 : f32} : !ahbm.buffer<64xf32, tcm>
  scf.for %t = %n to %n step %n : i64 {
    ahbm.dma_read %r, %x : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
    ahbm.math "exp" ins(%x : !ahbm.buffer<64xf32, tcm>) out(%y : !ahbm.buffer<64xf32, tcm>)
    ahbm.math "add" ins(%sum, %y : !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>) out(%sum : !ahbm.buffer<64xf32, tcm>)
    ahbm.dma_read %r, %late : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
    ahbm.dma_write %late, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  }
  ahbm.dma_write %sum, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}

// Changes: buffers that a loop swaps are both kept from before the loop to behind it, and views keep what they look at.
// CHECK-LABEL: func.func @swapped
// CHECK-SAME: ahbm.scratch_bytes = 768 : i64
func.func @swapped(%r: !ahbm.region<f32, 1>, %n: i64) {
  %a = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  %v = ahbm.view %c {axes = array<i64: 0>} : !ahbm.buffer<64xf32, tcm> -> !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %c : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  %x, %y = scf.for %t = %n to %n step %n iter_args(%cur = %a, %nxt = %b) -> (!ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>) : i64 {
    ahbm.math "exp" ins(%cur : !ahbm.buffer<64xf32, tcm>) out(%nxt : !ahbm.buffer<64xf32, tcm>)
    scf.yield %nxt, %cur : !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>
  }
  ahbm.math "add" ins(%x, %v : !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>) out(%x : !ahbm.buffer<64xf32, tcm>)
  ahbm.dma_write %x, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}

// Leaves alone: a buffer in SRAM is none of the scratch.
// CHECK-LABEL: func.func @elsewhere
// CHECK-SAME: ahbm.scratch_bytes = 0 : i64
// CHECK: ahbm.alloc : !ahbm.buffer<64xf32, sram>
func.func @elsewhere(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<64xf32, sram>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, sram>
  func.return
}

// Changes: where there is no room for all, buffers share bytes as ever.
// SHORT-LABEL: func.func @large
// SHORT-SAME: ahbm.scratch_bytes = 1048576 : i64
// SHORT: %b = ahbm.alloc {offset = 0 : i64}
func.func @large(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<262144xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<262144xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<262144xf32, tcm>
  ahbm.dma_write %a, %r : !ahbm.buffer<262144xf32, tcm>, !ahbm.region<f32, 1>
  ahbm.dma_read %r, %b : !ahbm.region<f32, 1>, !ahbm.buffer<262144xf32, tcm>
  ahbm.dma_write %b, %r : !ahbm.buffer<262144xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}

// Leaves alone: a buffer with a place keeps it, here over half of %b's bytes, and the others go round it; what no command
// touches takes no room.
// CHECK-LABEL: func.func @given
// CHECK-SAME: ahbm.scratch_bytes = 640 : i64
// CHECK: %a = ahbm.alloc {offset = 256 : i64}
// CHECK: %b = ahbm.alloc {offset = 384 : i64}
// CHECK: %c = ahbm.alloc {offset = 0 : i64}
// CHECK: %dead = ahbm.alloc {offset = 0 : i64}
// SHORT-LABEL: func.func @given
// SHORT-SAME: ahbm.scratch_bytes = 896 : i64
// SHORT: %c = ahbm.alloc {offset = 640 : i64}
func.func @given(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc {offset = 256 : i64} : !ahbm.buffer<64xf32, tcm>
  %b = ahbm.alloc {offset = 384 : i64} : !ahbm.buffer<64xf32, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %dead = ahbm.alloc : !ahbm.buffer<1024xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %b : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.math "add" ins(%a, %b : !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>) out(%c : !ahbm.buffer<64xf32, tcm>)
  ahbm.dma_write %c, %r : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
