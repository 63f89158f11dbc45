// More than the 1 MiB of scratch of a PE is an error that lists what lives at the peak, the bound, the gap, and
// which option would help.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p allocate-scratch | filecheck %s

// Two blocks of 512 KiB are the whole of it.
// CHECK: func.func @shows{{.*}}ahbm.scratch_bytes = 1048576 : i64
func.func @shows(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<131072xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<131072xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<131072xf32, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<131072xf32, tcm>) out(%b : !ahbm.buffer<131072xf32, tcm>)
  ahbm.dma_write %b, %r : !ahbm.buffer<131072xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}

// -----

// Two lanes more.
// CHECK: error: kernel 'breaks' needs 1048592 bytes of scratch; a PE has 1048576, 16 too few [does-not-fit]
// CHECK: note: %a: 524296 bytes
// CHECK: note: %b: 524296 bytes
// CHECK: hint: make the largest of these blocks smaller {{.*}}pe.tcm.scratch_bytes
func.func @breaks(%r: !ahbm.region<f32, 1>) {
  %a = ahbm.alloc : !ahbm.buffer<131074xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<131074xf32, tcm>
  ahbm.dma_read %r, %a : !ahbm.region<f32, 1>, !ahbm.buffer<131074xf32, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<131074xf32, tcm>) out(%b : !ahbm.buffer<131074xf32, tcm>)
  ahbm.dma_write %b, %r : !ahbm.buffer<131074xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
