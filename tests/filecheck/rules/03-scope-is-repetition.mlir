// Scope gives the repetition: `k_tile` before the GEMM runs on each fetched tile, after it on each tile of the K
// accumulation, `output_tile` once per output tile, `once` on the whole operand.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_before --timing-only --json - | filecheck %s --check-prefix SHOWS_BEFORE
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_within --timing-only --json - | filecheck %s --check-prefix SHOWS_WITHIN
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_output --timing-only --json - | filecheck %s --check-prefix SHOWS_OUTPUT
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_once --timing-only --json - | filecheck %s --check-prefix SHOWS_ONCE
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --json - | filecheck %s --check-prefix BREAKS

// Two output tiles of two K tiles each, in TCM: the MATH engine takes 1 ns for 256 elements.

// Four fetched tiles of 32 x 64: 4 x 8 ns.
// SHOWS_BEFORE: "math": {
// SHOWS_BEFORE-NEXT: "busy_ns": 32.0
func.func @shows_before(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<128x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x128xf16, tcm>, !ahbm.buffer<128x64xf16, tcm>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c128) {specs = [#ahbm.spec<"neg", k_tile, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// Four sums of 32 x 32: 4 x 4 ns.
// SHOWS_WITHIN: "math": {
// SHOWS_WITHIN-NEXT: "busy_ns": 16.0
func.func @shows_within(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<128x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x128xf16, tcm>, !ahbm.buffer<128x64xf16, tcm>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c128) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", k_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// Two output tiles: 2 x 4 ns.
// SHOWS_OUTPUT: "math": {
// SHOWS_OUTPUT-NEXT: "busy_ns": 8.0
func.func @shows_output(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<128x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x128xf16, tcm>, !ahbm.buffer<128x64xf16, tcm>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c128) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// The whole of 32 x 64 once: 8 ns.
// SHOWS_ONCE: "math": {
// SHOWS_ONCE-NEXT: "busy_ns": 8.0
func.func @shows_once(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<128x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x128xf16, tcm>, !ahbm.buffer<128x64xf16, tcm>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c128) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"neg", once, [2], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// Over no K there is no tile to work on; the output tiles are there.
// BREAKS: "math": {
// BREAKS-NEXT: "busy_ns": 8.0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<128x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x128xf16, tcm>, !ahbm.buffer<128x64xf16, tcm>, !ahbm.buffer<32x64xf32, tcm>) extents(%c32, %c64, %c0) {specs = [#ahbm.spec<"neg", k_tile, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", k_tile, [-1, 2], 2>, #ahbm.spec<"mul", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}
