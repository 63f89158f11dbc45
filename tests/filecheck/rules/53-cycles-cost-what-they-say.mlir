// `cycles` n costs exactly n cycles of PE_CPU, whatever FIXED and R are.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.pe.cpu.fixed_cycles_single=100 --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.pe.cpu.fixed_cycles_single=100 --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 77 and none, with a FIXED of 100.
// CHECK: 0.000 - 77.000 {{.*}} pe_cpu #0 cycles
// CHECK: 77.000 - 77.000 {{.*}} pe_cpu #1 cycles
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  ahbm.cycles {cycles = 77 : i64}
  ahbm.cycles {cycles = 0 : i64}
  func.return
}

// A wait pays FIXED.
// BREAKS: 0.000 - 100.000 {{.*}} pe_cpu #0 wait
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.wait %a : !ahbm.buffer<32x64xf16, tcm>
  func.return
}
