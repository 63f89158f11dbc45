// Scalar arithmetic, branches and loop counters of PE_CPU are free; a scalar load is a `dma_read` of one burst that
// PE_CPU waits for.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// Four iterations of arithmetic and a branch that is taken twice.
// CHECK: 0.000 - 5.000 {{.*}} pe_cpu #0 cycles
// CHECK: 5.000 - [[END:[0-9.]+]] {{.*}} pe_cpu #1 cycles
// CHECK: [[END]] - {{.*}} pe_cpu #2 cycles
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %c7 = arith.constant 7 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %p = ahbm.program_id {axis = 0 : i32}
  %q = arith.extsi %p : i32 to i64
  scf.for %t = %c0 to %c4 step %c1 : i64 {
    %u = arith.muli %t, %c7 : i64
    %w = arith.divsi %u, %c3 : i64
    %z = arith.addi %w, %q : i64
    %odd = arith.remsi %z, %c3 : i64
    %is = arith.cmpi eq, %odd, %c1 : i64
    scf.if %is {
      ahbm.cycles {cycles = 5 : i64}
    }
  }
  ahbm.cycles {cycles = 1 : i64}
  func.return
}

// 256 bytes move for the two that are asked for: 9 + 1.51 + 1 + 13 ns, before the next command.
// BREAKS: 10.510 - [[END:[0-9.]+]] {{.*}} dma_read #0 dma_read scalar, 256 B read, 2 B of them asked for
// BREAKS: 24.510 - {{.*}} pe_cpu #1 cycles {{.*}} after #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<f16, tcm>
  ahbm.load_scalar %x, %s : !tl.ptr<f16>, !ahbm.buffer<f16, tcm>
  ahbm.cycles {cycles = 7 : i64}
  func.return
}
