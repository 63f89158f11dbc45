// RUN: not ahbmc-opt %s -p allocate-scratch 2>&1 | filecheck %s

// Refuses: two buffers of 768 KiB live at once; the error says who, how much, and what to change.
// CHECK: [[# @LINE + 8]]:8: error: kernel 'large' needs 1572864 bytes of scratch; a PE has 1048576, 524288 too few [does-not-fit]
// CHECK: %a = ahbm.alloc
// CHECK: ^
// CHECK: note: %a: 786432 bytes (!ahbm.buffer<196608xf32, tcm>), from {{.*}}:[[# @LINE + 5]]:8
// CHECK: note: %b: 786432 bytes
// CHECK-NOT: note: %c
// CHECK: hint: make the largest of these blocks smaller
func.func @large(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<196608xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<196608xf32, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %c : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<196608xf32, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<196608xf32, tcm>) out(%b : !ahbm.buffer<196608xf32, tcm>)
  ahbm.dma_write %b, %r : !ahbm.buffer<196608xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
