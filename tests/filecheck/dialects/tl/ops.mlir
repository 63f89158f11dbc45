// RUN: ahbmc-opt %s | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-op-generic | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-debuginfo | ahbmc-opt - | filecheck %s

// Every op of the dialect reads, prints and reads again, in its own and in the generic form, with locations and without.

// A program knows its number and the size of the grid.
// CHECK-LABEL: func.func @program
func.func @program() -> (i32, i32) {
  // CHECK: tl.program_id {axis = 0 : i32}
  %0 = tl.program_id {axis = 0 : i32}
  // CHECK: tl.num_programs {axis = 2 : i32}
  %1 = tl.num_programs {axis = 2 : i32}
  func.return %0, %1 : i32, i32
}

// An address may be read as a pointer to something else, and be a number.
// CHECK-LABEL: func.func @addresses
func.func @addresses(%p: !tl.ptr<f16>, %i: i64) -> !tl.ptr<i8> {
  // CHECK: tl.ptr_cast %{{.*}} : !tl.ptr<f16> -> !tl.ptr<i8>
  %0 = tl.ptr_cast %p : !tl.ptr<f16> -> !tl.ptr<i8>
  // CHECK: tl.ptr_cast %{{.*}} : i64 -> !tl.ptr<f32>
  %1 = tl.ptr_cast %i : i64 -> !tl.ptr<f32>
  func.return %0 : !tl.ptr<i8>
}

// Ops that change the shape of a block.
// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: f32, %p: !tl.ptr<f16>) {
  // A range need not begin at 0 nor have a power of two as its size.
  // CHECK: tl.make_range {start = 3 : i32, end = 10 : i32} : tensor<7xi32>
  %range = tl.make_range {start = 3 : i32, end = 10 : i32} : tensor<7xi32>
  // CHECK: tl.splat %{{.*}} : f32 -> tensor<4x8xf32>
  %splat = tl.splat %x : f32 -> tensor<4x8xf32>
  // A pointer makes a block of pointers.
  // CHECK: tl.splat %{{.*}} : !tl.ptr<f16> -> tensor<7x!tl.ptr<f16>>
  %pointers = tl.splat %p : !tl.ptr<f16> -> tensor<7x!tl.ptr<f16>>
  // CHECK: tl.expand_dims %{{.*}} {axis = 1 : i32} : tensor<7xi32> -> tensor<7x1xi32>
  %column = tl.expand_dims %range {axis = 1 : i32} : tensor<7xi32> -> tensor<7x1xi32>
  // CHECK: tl.broadcast %{{.*}} : tensor<7x1xi32> -> tensor<7x5xi32>
  %wide = tl.broadcast %column : tensor<7x1xi32> -> tensor<7x5xi32>
  // CHECK: tl.reshape %{{.*}} : tensor<7x5xi32> -> tensor<35xi32>
  %flat = tl.reshape %wide : tensor<7x5xi32> -> tensor<35xi32>
  // CHECK: tl.trans %{{.*}} {order = array<i64: 1, 0>} : tensor<7x5xi32> -> tensor<5x7xi32>
  %turned = tl.trans %wide {order = array<i64: 1, 0>} : tensor<7x5xi32> -> tensor<5x7xi32>
  func.return
}

// Access to memory through pointers, scalar and in blocks, with each part that may be left out.
// CHECK-LABEL: func.func @memory
func.func @memory(%p: !tl.ptr<f16>, %i: i32, %b: tensor<8x!tl.ptr<f16>>, %o: tensor<8xi32>, %m: tensor<8xi1>, %z: tensor<8xf16>) {
  // CHECK: tl.addptr %{{.*}}, %{{.*}} : !tl.ptr<f16>, i32 -> !tl.ptr<f16>
  %q = tl.addptr %p, %i : !tl.ptr<f16>, i32 -> !tl.ptr<f16>
  // CHECK: tl.addptr %{{.*}}, %{{.*}} : tensor<8x!tl.ptr<f16>>, tensor<8xi32> -> tensor<8x!tl.ptr<f16>>
  %c = tl.addptr %b, %o : tensor<8x!tl.ptr<f16>>, tensor<8xi32> -> tensor<8x!tl.ptr<f16>>
  // CHECK: tl.load %{{.*}} : !tl.ptr<f16> -> f16
  %s = tl.load %q : !tl.ptr<f16> -> f16
  // CHECK: tl.load %{{.*}} mask(%{{.*}} : tensor<8xi1>) : tensor<8x!tl.ptr<f16>> -> tensor<8xf16>
  %x = tl.load %c mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f16>> -> tensor<8xf16>
  // CHECK: tl.load %{{.*}} mask(%{{.*}} : tensor<8xi1>) other(%{{.*}}) {hints = {cache = "cg"}} : tensor<8x!tl.ptr<f16>> other_type tensor<8xf16> -> tensor<8xf16>
  %y = tl.load %c mask(%m : tensor<8xi1>) other(%z) {hints = {cache = "cg"}} : tensor<8x!tl.ptr<f16>> other_type tensor<8xf16> -> tensor<8xf16>
  // CHECK: tl.store %{{.*}}, %{{.*}} : !tl.ptr<f16>, f16
  tl.store %p, %s : !tl.ptr<f16>, f16
  // CHECK: tl.store %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<8xi1>) : tensor<8x!tl.ptr<f16>>, tensor<8xf16>
  tl.store %b, %y mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f16>>, tensor<8xf16>
  func.return
}

// Atomics, of one element and of blocks; only `cas` has a comparand.
// CHECK-LABEL: func.func @atomics
func.func @atomics(%p: !tl.ptr<i32>, %i: i32, %b: tensor<8x!tl.ptr<f16>>, %x: tensor<8xf16>, %m: tensor<8xi1>) {
  // CHECK: tl.atomic "maxu", %{{.*}}, %{{.*}} : !tl.ptr<i32>, i32 -> i32
  %a = tl.atomic "maxu", %p, %i : !tl.ptr<i32>, i32 -> i32
  // CHECK: tl.atomic "cas", %{{.*}}, %{{.*}} compare(%{{.*}} : i32) {hints = {sem = "relaxed"}} : !tl.ptr<i32>, i32 -> i32
  %c = tl.atomic "cas", %p, %i compare(%a : i32) {hints = {sem = "relaxed"}} : !tl.ptr<i32>, i32 -> i32
  // CHECK: tl.atomic "add", %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<8xi1>) : tensor<8x!tl.ptr<f16>>, tensor<8xf16> -> tensor<8xf16>
  %s = tl.atomic "add", %b, %x mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f16>>, tensor<8xf16> -> tensor<8xf16>
  func.return
}

// Ops that compute, on scalars and on blocks.
// CHECK-LABEL: func.func @compute
func.func @compute(%i: i32, %x: tensor<4x8xf32>, %c: tensor<4x8xi1>, %a: tensor<4x16xf16>, %b: tensor<16x8xf16>) {
  // CHECK: tl.cmp "ult", %{{.*}}, %{{.*}} : i32, i32 -> i1
  %less = tl.cmp "ult", %i, %i : i32, i32 -> i1
  // CHECK: tl.cmp "oge", %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  %more = tl.cmp "oge", %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: tl.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %one = tl.select %c, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tl.cast %{{.*}} {unsigned} : i32 -> f32
  %f = tl.cast %i {unsigned} : i32 -> f32
  // CHECK: tl.cast %{{.*}} : tensor<4x8xf32> -> tensor<4x8xbf16>
  %short = tl.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
  // CHECK: tl.umulhi %{{.*}}, %{{.*}} : i32, i32 -> i32
  %upper = tl.umulhi %i, %i : i32, i32 -> i32
  // CHECK: tl.remf %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %rest = tl.remf %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tl.reduce "max", %{{.*}} {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %rows = tl.reduce "max", %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  // What is left of a block of rank 1 is a scalar.
  // CHECK: tl.reduce "sum", %{{.*}} {axis = 0 : i32} : tensor<4xf32> -> f32
  %all = tl.reduce "sum", %rows {axis = 0 : i32} : tensor<4xf32> -> f32
  // CHECK: tl.dot %{{.*}}, %{{.*}} : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
  %first = tl.dot %a, %b : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
  // CHECK: tl.dot %{{.*}}, %{{.*}} acc(%{{.*}}) {input_precision = "ieee"} : tensor<4x16xf16>, tensor<16x8xf16> acc_type tensor<4x8xf32> -> tensor<4x8xf32>
  %second = tl.dot %a, %b acc(%first) {input_precision = "ieee"} : tensor<4x16xf16>, tensor<16x8xf16> acc_type tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// Blocks of three axes are a batch of products.
// CHECK-LABEL: func.func @batch
func.func @batch(%a: tensor<3x4x16xf16>, %b: tensor<3x16x8xf16>) {
  // CHECK: tl.dot %{{.*}}, %{{.*}} : tensor<3x4x16xf16>, tensor<3x16x8xf16> -> tensor<3x4x8xf32>
  %x = tl.dot %a, %b : tensor<3x4x16xf16>, tensor<3x16x8xf16> -> tensor<3x4x8xf32>
  func.return
}

// Lanes that look at others along an axis.
// CHECK-LABEL: func.func @along_axis
func.func @along_axis(%x: tensor<4x8xf32>, %i: tensor<4x3xi32>, %n: tensor<16xi32>, %m: tensor<16xi1>) {
  // CHECK: tl.scan "sum", %{{.*}} {axis = 1 : i32, reverse} : tensor<4x8xf32> -> tensor<4x8xf32>
  %running = tl.scan "sum", %x {axis = 1 : i32, reverse} : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tl.scan "max", %{{.*}} {axis = 0 : i32, unsigned} : tensor<16xi32> -> tensor<16xi32>
  %highest = tl.scan "max", %n {axis = 0 : i32, unsigned} : tensor<16xi32> -> tensor<16xi32>
  // The index may have another number of lanes along the axis.
  // CHECK: tl.gather %{{.*}}, %{{.*}} {axis = 1 : i32} : tensor<4x8xf32>, tensor<4x3xi32> -> tensor<4x3xf32>
  %picked = tl.gather %x, %i {axis = 1 : i32} : tensor<4x8xf32>, tensor<4x3xi32> -> tensor<4x3xf32>
  // CHECK: tl.sort %{{.*}} {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x8xf32>
  %sorted = tl.sort %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tl.sort %{{.*}} {axis = 1 : i32, descending} : tensor<4x8xf32> -> tensor<4x2xf32>
  %best = tl.sort %x {axis = 1 : i32, descending} : tensor<4x8xf32> -> tensor<4x2xf32>
  // CHECK: tl.histogram %{{.*}} mask(%{{.*}} : tensor<16xi1>) : tensor<16xi32> -> tensor<5xi32>
  %counts = tl.histogram %n mask(%m : tensor<16xi1>) : tensor<16xi32> -> tensor<5xi32>
  func.return
}

// Regions as operands of loads, stores and GEMMs.
// CHECK-LABEL: func.func @regions
func.func @regions(%r: !ahbm.region<f16, 2>, %s: !ahbm.region<f16, 2>, %acc: tensor<4x8xf32>) {
  // CHECK: tl.load_region %{{.*}} : !ahbm.region<f16, 2> -> tensor<4x8xf16>
  %x = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<4x8xf16>
  // CHECK: tl.store_region %{{.*}}, %{{.*}} : !ahbm.region<f16, 2>, tensor<4x8xf16>
  tl.store_region %s, %x : !ahbm.region<f16, 2>, tensor<4x8xf16>
  // CHECK: tl.gemm %{{.*}}, %{{.*}} : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<4x8xf32>
  %y = tl.gemm %r, %s : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<4x8xf32>
  // CHECK: tl.gemm %{{.*}}, %{{.*}} acc(%{{.*}}) : tensor<4x8xf16>, !ahbm.region<f16, 2> acc_type tensor<4x8xf32> -> tensor<4x8xf32>
  %z = tl.gemm %x, %s acc(%acc) : tensor<4x8xf16>, !ahbm.region<f16, 2> acc_type tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// AHBM's own functions.
// CHECK-LABEL: func.func @own
func.func @own(%x: tensor<8xf16>, %y: tensor<8xf16>) {
  // CHECK: tl.wait %{{.*}}, %{{.*}} : tensor<8xf16>, tensor<8xf16>
  tl.wait %x, %y : tensor<8xf16>, tensor<8xf16>
  // CHECK: tl.copy_to %{{.*}}, %{{.*}} : tensor<8xf16>, tensor<8xf16> -> tensor<8xf16>
  %z = tl.copy_to %x, %y : tensor<8xf16>, tensor<8xf16> -> tensor<8xf16>
  // CHECK: tl.cycles {cycles = 100 : i64}
  tl.cycles {cycles = 100 : i64}
  func.return
}

// The rows of a recipe are an op of their own in a composite: what it writes, then its primary output.
// CHECK-LABEL: func.func @recipe
func.func @recipe(%s: tensor<4x8xf32>, %l: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[L:.*]] = tl.recipe(%{{.*}} = %{{.*}} : tensor<4x8xf32>, %{{.*}} = %{{.*}} : tensor<4xf32>) attributes {recipe = "row_sum", params = {base = "2"}} -> tensor<4xf32> {
  // CHECK: tl.yield %[[L]] : tensor<4xf32>
  %out = tl.composite(%x = %s : tensor<4x8xf32>, %y = %l : tensor<4xf32>) -> tensor<4xf32> {
    %n = tl.recipe(%s_1 = %x : tensor<4x8xf32>, %l_1 = %y : tensor<4xf32>) attributes {recipe = "row_sum", params = {base = "2"}} -> tensor<4xf32> {
      %r = tl.reduce "sum", %s_1 {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
      %t = arith.addf %r, %l_1 : tensor<4xf32>
      tl.yield %t : tensor<4xf32>
    }
    tl.yield %n : tensor<4xf32>
  }
  func.return %out : tensor<4xf32>
}

// A composite holds the ops that it will carry out and sees nothing but its operands.
// CHECK-LABEL: func.func @composite
func.func @composite(%a: tensor<4x16xf16>, %r: !ahbm.region<f16, 2>, %acc: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: tl.composite(%{{.*}} = %{{.*}} : tensor<4x16xf16>, %{{.*}} = %{{.*}} : !ahbm.region<f16, 2>, %{{.*}} = %{{.*}} : tensor<4x8xf32>) attributes {stage = "b"} -> tensor<4x8xf32> {
  // CHECK:   %[[P:.*]] = tl.gemm
  // CHECK:   %[[S:.*]] = arith.addf %[[P]]
  // CHECK:   tl.yield %[[S]] : tensor<4x8xf32>
  %out = tl.composite(%x = %a : tensor<4x16xf16>, %y = %r : !ahbm.region<f16, 2>, %z = %acc : tensor<4x8xf32>) attributes {stage = "b"} -> tensor<4x8xf32> {
    %p = tl.gemm %x, %y : tensor<4x16xf16>, !ahbm.region<f16, 2> -> tensor<4x8xf32>
    %s = arith.addf %p, %z : tensor<4x8xf32>
    tl.yield %s : tensor<4x8xf32>
  }
  // One without results, which writes through a region.
  // CHECK: tl.composite(%{{.*}} = %{{.*}} : tensor<4x8xf32>, %{{.*}} = %{{.*}} : !ahbm.region<f16, 2>) {
  tl.composite(%x = %out : tensor<4x8xf32>, %y = %r : !ahbm.region<f16, 2>) {
    %h = tl.cast %x : tensor<4x8xf32> -> tensor<4x8xf16>
    tl.store_region %y, %h : !ahbm.region<f16, 2>, tensor<4x8xf16>
    tl.yield
  }
  func.return %out : tensor<4x8xf32>
}
