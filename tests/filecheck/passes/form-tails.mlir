// RUN: ahbmc-opt %s -p form-tails | filecheck %s
// RUN: ahbmc-opt %s -p form-tails,lower-to-commands,allocate-scratch,tile-composites,insert-dma-stages | filecheck %s --check-prefix=COMMANDS

// CHECK: subject = "tail", outcome = "formed", reason = "1 ops"
// CHECK: subject = "tail", outcome = "formed", reason = "3 ops"
// CHECK: subject = "tail", outcome = "refused", reason = "single ops take about

// Changes: division and cast after a product are issued with the store; the cast is the type of what is stored.
// CHECK-LABEL: func.func @division
// CHECK: %d = tl.composite
// CHECK: %l = tl.broadcast
// CHECK: tl.composite(%d{{.*}} = %d : tensor<32x64xf32>, %l{{.*}} = %l : tensor<32x64xf32>, %r{{.*}} = %r : !ahbm.region<f16, 2>) {
// CHECK-NEXT: arith.divf
// CHECK-NEXT: tl.cast
// CHECK-NEXT: tl.store_region
// CHECK-NEXT: tl.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
// COMMANDS-LABEL: func.func @division
// COMMANDS: ahbm.composite(%{{.*}}, %{{.*}}, %r : {{.*}}, !ahbm.region<f16, 2>) {specs = [#ahbm.spec<"div", once, [0, 1], 2>], writes = array<i64: 2>} plan {
// COMMANDS-NEXT: pe.once {spec = 0 : i64}
// COMMANDS-NEXT: pe.dma_write {part = 2 : i64}
// COMMANDS-NEXT: }
// COMMANDS-NEXT: func.return
func.func @division(%a: tensor<32x32xf16>, %b: tensor<32x64xf16>, %sums: tensor<32x1xf32>, %p: !tl.ptr<f16>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %m = arith.constant 32 : i64
  %n = arith.constant 64 : i64
  %d = tl.composite(%x = %a : tensor<32x32xf16>, %w = %b : tensor<32x64xf16>) attributes {stage = "none"} -> tensor<32x64xf32> {
    %g = tl.dot %x, %w : tensor<32x32xf16>, tensor<32x64xf16> -> tensor<32x64xf32>
    tl.yield %g : tensor<32x64xf32>
  }
  %l = tl.broadcast %sums : tensor<32x1xf32> -> tensor<32x64xf32>
  %e = arith.divf %d, %l : tensor<32x64xf32>
  %h = tl.cast %e : tensor<32x64xf32> -> tensor<32x64xf16>
  %r = ahbm.region %p[%z] sizes(%m, %n) strides(%n, %one) lo(%z, %z) hi(%m, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  tl.store_region %r, %h : !ahbm.region<f16, 2>, tensor<32x64xf16>
  func.return
}

// Changes: in a loop the store would hold PE_CPU until it is acknowledged. A value inside takes the place of the last.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: tl.composite(%x{{.*}} = %x : tensor<4096xf32>, %r{{.*}} = %r : !ahbm.region<f32, 1>) {
// COMMANDS-LABEL: func.func @loop
// COMMANDS: specs = [#ahbm.spec<"exp", once, [0], [[OWN:[0-9]+]]>, #ahbm.spec<"sqrt", once, {{\[}}[[OWN]]], [[OWN]]>, #ahbm.spec<"mul", once, {{\[}}[[OWN]], 0], 1>], writes = array<i64: 1>
func.func @loop(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 4096 : i64
  scf.for %i = %z to %n step %one : i64 {
    %at = arith.muli %i, %n : i64
    %r = ahbm.region %p[%at] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<4096xf32>
    %e = math.exp %x : tensor<4096xf32>
    %s = math.sqrt %e : tensor<4096xf32>
    %f = arith.mulf %s, %x : tensor<4096xf32>
    tl.store_region %r, %f : !ahbm.region<f32, 1>, tensor<4096xf32>
  }
  func.return
}

// Refuses: one op on few lanes is done before a composite would be issued.
// CHECK-LABEL: func.func @small
// CHECK-NOT: tl.composite
// CHECK: math.exp
// CHECK-NEXT: tl.store_region
func.func @small(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %r = ahbm.region %p[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<64xf32>
  %e = math.exp %x : tensor<64xf32>
  tl.store_region %r, %e : !ahbm.region<f32, 1>, tensor<64xf32>
  func.return
}

// Leaves alone: a block that is read again is needed as it is, and a store alone is one command.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT: tl.composite
// CHECK: tl.store_region
// CHECK-NEXT: tl.store_region
// CHECK-NEXT: func.return
func.func @read_again(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %r = ahbm.region %p[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %q = ahbm.region %p[%n] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<64xf32>
  %e = math.exp %x : tensor<64xf32>
  tl.store_region %r, %e : !ahbm.region<f32, 1>, tensor<64xf32>
  tl.store_region %q, %e : !ahbm.region<f32, 1>, tensor<64xf32>
  func.return
}
