// RUN: ahbmc-opt %s -p raise-regions,canonicalize,cse | filecheck %s

// What became of each access, in order, is kept as remarks.
// CHECK: outcome = "gathered", reason = "axis 0 goes by a block of indices"
// CHECK: outcome = "scalar"
// CHECK: outcome = "gathered", reason = "pointers that are not separable by axis"
// CHECK: outcome = "gathered", reason = "a mask with 'or'"
// CHECK: outcome = "scattered", reason = "a mask with '!='"

// Changes: the mask `offsets < n` becomes an upper bound, clamped to the block, and `other` the pad value.
// CHECK-LABEL: func.func @masked
// CHECK: %[[N:.*]] = tl.cast %n : i32 -> i64
// CHECK: %[[P:.*]] = arith.maxsi %[[N]], %[[ZERO:.*]] : i64
// CHECK: %[[HI:.*]] = arith.minsi %[[P]], %[[SIZE:.*]] : i64
// CHECK: %[[R:.*]] = ahbm.region %p[%[[ZERO]]] sizes(%[[SIZE]]) strides(%{{.*}}) lo(%[[ZERO]]) hi(%[[HI]]) {axes = ["affine"], pad = 0xff800000 : f32}
// CHECK: tl.load_region %[[R]]
func.func @masked(%p: !tl.ptr<f32>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %inf = arith.constant 0xff800000 : f32
  %other = tl.splat %inf : f32 -> tensor<8xf32>
  %x = tl.load %q mask(%m : tensor<8xi1>) other(%other) : tensor<8x!tl.ptr<f32>> other_type tensor<8xf32> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}

// Changes: a pointer that a loop carries is its start plus the number of the iteration times the step.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for %[[T:.*]] = %{{.*}} to
// CHECK: %[[W:.*]] = tl.cast %[[T]] : i32 -> i64
// CHECK: %[[O:.*]] = arith.muli %[[W]], %[[BY:.*]] : i64
// CHECK: ahbm.region %p[%[[O]]]
func.func @carried(%p: !tl.ptr<f32>, %out: !tl.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %by = arith.constant dense<24> : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %d = tl.splat %out : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %e = tl.addptr %d, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %q) -> (tensor<8x!tl.ptr<f32>>) : i32 {
    %x = tl.load %at : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
    tl.store %e, %x : tensor<8x!tl.ptr<f32>>, tensor<8xf32>
    %next = tl.addptr %at, %by : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
    scf.yield %next : tensor<8x!tl.ptr<f32>>
  }
  func.return
}

// Changes: `(start + lanes) % m` is a folded axis: it starts at `start` and is m wide.
// CHECK-LABEL: func.func @folded
// CHECK-DAG: %[[M:.*]] = tl.cast %m : i32 -> i64
// CHECK-DAG: %[[S:.*]] = tl.cast %pid : i32 -> i64
// CHECK: ahbm.region %p[%{{.*}}] {{.*}} fold(%[[S]]) width(%[[M]]) stride(%{{.*}}) {axes = ["folded"]}
func.func @folded(%p: !tl.ptr<f32>, %m: i32) -> tensor<8xf32> {
  %pid = tl.program_id {axis = 0 : i32}
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %s = tl.splat %pid : i32 -> tensor<8xi32>
  %a = arith.addi %s, %o : tensor<8xi32>
  %w = tl.splat %m : i32 -> tensor<8xi32>
  %r = arith.remsi %a, %w : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %r : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %x = tl.load %q : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}

// Changes: rows by a block of numbers, columns by a stride: an indexed axis beside an affine one.
// CHECK-LABEL: func.func @rows
// CHECK: ahbm.region %p{{.*}} index(%rows : tensor<4xi32>) {axes = ["indexed", "affine"]}
func.func @rows(%p: !tl.ptr<f32>, %rows: tensor<4xi32>, %stride: i32) -> tensor<4x8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %c = tl.expand_dims %o {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %s = tl.splat %stride : i32 -> tensor<4xi32>
  %t = arith.muli %rows, %s : tensor<4xi32>
  %r = tl.expand_dims %t {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %r2 = tl.broadcast %r : tensor<4x1xi32> -> tensor<4x8xi32>
  %c2 = tl.broadcast %c : tensor<1x8xi32> -> tensor<4x8xi32>
  %a = arith.addi %r2, %c2 : tensor<4x8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<4x8x!tl.ptr<f32>>
  %q = tl.addptr %b, %a : tensor<4x8x!tl.ptr<f32>>, tensor<4x8xi32> -> tensor<4x8x!tl.ptr<f32>>
  %x = tl.load %q : tensor<4x8x!tl.ptr<f32>> -> tensor<4x8xf32>
  func.return %x : tensor<4x8xf32>
}

// Leaves alone: a load of one element.
// CHECK-LABEL: func.func @one
// CHECK: tl.load %p : !tl.ptr<f32> -> f32
func.func @one(%p: !tl.ptr<f32>) -> f32 {
  %x = tl.load %p : !tl.ptr<f32> -> f32
  func.return %x : f32
}

// Refuses: pointers that come as a block have no base; it stays a load and will be a gather.
// CHECK-LABEL: func.func @given
// CHECK: tl.load %p : tensor<8x!tl.ptr<f32>>
func.func @given(%p: tensor<8x!tl.ptr<f32>>) -> tensor<8xf32> {
  %x = tl.load %p : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}

// Refuses: a mask with 'or' is no box.
// CHECK-LABEL: func.func @either
// CHECK: tl.load %{{.*}} mask(
func.func @either(%p: !tl.ptr<f32>, %a: tensor<8xi1>, %b: tensor<8xi1>) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %s = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %s, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %m = arith.ori %a, %b : tensor<8xi1>
  %x = tl.load %q mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}

// Refuses: a masked store that is no box stays a store and will be a scatter.
// CHECK-LABEL: func.func @hole
// CHECK: tl.store %{{.*}} mask(
func.func @hole(%p: !tl.ptr<f32>, %x: tensor<8xf32>) {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %s = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %s, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %three = arith.constant dense<3> : tensor<8xi32>
  %m = tl.cmp "ne", %o, %three : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  tl.store %q, %x mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f32>>, tensor<8xf32>
  func.return
}

// Changes: the lanes that a select takes off what is loaded are not read at all.
// CHECK-LABEL: func.func @where
// CHECK: %[[HI:.*]] = arith.minsi
// CHECK: ahbm.region %p[{{.*}}] {{.*}} hi(%[[HI]]) {axes = ["affine"]}
// CHECK-NOT: tl.select
func.func @where(%p: !tl.ptr<f32>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %x = tl.load %q : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %y = tl.select %m, %x, %zero : tensor<8xi1>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Changes: a cast in between leaves a zero a zero.
// CHECK-LABEL: func.func @where_cast
// CHECK: %[[HI:.*]] = arith.minsi
// CHECK: %[[R:.*]] = ahbm.region %p[{{.*}}] {{.*}} hi(%[[HI]]) {axes = ["affine"]}
// CHECK: %[[X:.*]] = tl.load_region %[[R]] : !ahbm.region<i8, 1> -> tensor<8xi8>
// CHECK: %[[W:.*]] = tl.cast %[[X]] : tensor<8xi8> -> tensor<8xf32>
// CHECK: func.return %[[W]]
func.func @where_cast(%p: !tl.ptr<i8>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<i8> -> tensor<8x!tl.ptr<i8>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<i8>>, tensor<8xi32> -> tensor<8x!tl.ptr<i8>>
  %x = tl.load %q : tensor<8x!tl.ptr<i8>> -> tensor<8xi8>
  %wide = tl.cast %x : tensor<8xi8> -> tensor<8xf32>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %y = tl.select %m, %wide, %zero : tensor<8xi1>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Changes: minus infinity in the very lanes that the load leaves out is its pad value.
// CHECK-LABEL: func.func @where_masked
// CHECK: ahbm.region %p{{.*}} pad = 0xff800000 : f32}
// CHECK-NOT: tl.select
func.func @where_masked(%p: !tl.ptr<f32>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %x = tl.load %q mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  %inf = arith.constant 0xff800000 : f32
  %other = tl.splat %inf : f32 -> tensor<8xf32>
  %y = tl.select %m, %x, %other : tensor<8xi1>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Leaves alone: lanes between the two bounds are 0 from the load and stay so.
// CHECK-LABEL: func.func @where_less
// CHECK: tl.select
func.func @where_less(%p: !tl.ptr<f32>, %n: i32, %less: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %o : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %k = tl.splat %less : i32 -> tensor<8xi32>
  %w = tl.cmp "slt", %o, %k : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %x = tl.load %q mask(%w : tensor<8xi1>) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %y = tl.select %m, %x, %one : tensor<8xi1>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Changes: rows that a table leaves out have the index that stands for no lane; a bound of the other axis stays a bound.
// CHECK-LABEL: func.func @chosen_rows
// CHECK: %[[KEPT:.*]] = tl.cmp "slt", %rows
// CHECK: %[[NONE:.*]] = arith.constant -2147483648 : i32
// CHECK: %[[NO:.*]] = tl.splat %[[NONE]] : i32 -> tensor<8xi32>
// CHECK: %[[I:.*]] = tl.select %[[KEPT]], %rows, %[[NO]]
// CHECK: %[[ROWS:.*]] = arith.constant 8 : i64
// CHECK: %[[HI:.*]] = arith.minsi
// CHECK: ahbm.region %p{{.*}} hi(%[[ROWS]], %[[HI]]) index(%[[I]] : tensor<8xi32>) {axes = ["indexed", "affine"]}
func.func @chosen_rows(%p: !tl.ptr<f32>, %rows: tensor<8xi32>, %n: i32) -> tensor<8x4xf32> {
  %o = tl.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %o1 = tl.expand_dims %o {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %o2 = tl.broadcast %o1 : tensor<1x4xi32> -> tensor<8x4xi32>
  %r1 = tl.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %r2 = tl.broadcast %r1 : tensor<8x1xi32> -> tensor<8x4xi32>
  %at = arith.addi %r2, %o2 : tensor<8x4xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x4x!tl.ptr<f32>>
  %q = tl.addptr %b, %at : tensor<8x4x!tl.ptr<f32>>, tensor<8x4xi32> -> tensor<8x4x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %rows, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %m1 = tl.expand_dims %m {axis = 1 : i32} : tensor<8xi1> -> tensor<8x1xi1>
  %m2 = tl.broadcast %m1 : tensor<8x1xi1> -> tensor<8x4xi1>
  %w = tl.splat %n : i32 -> tensor<4xi32>
  %k = tl.cmp "slt", %o, %w : tensor<4xi32>, tensor<4xi32> -> tensor<4xi1>
  %k1 = tl.expand_dims %k {axis = 0 : i32} : tensor<4xi1> -> tensor<1x4xi1>
  %k2 = tl.broadcast %k1 : tensor<1x4xi1> -> tensor<8x4xi1>
  %both = arith.andi %m2, %k2 : tensor<8x4xi1>
  %x = tl.load %q mask(%both : tensor<8x4xi1>) : tensor<8x4x!tl.ptr<f32>> -> tensor<8x4xf32>
  func.return %x : tensor<8x4xf32>
}

// Changes: an axis that is affine goes by indices where its lanes are not one piece; those of a narrow type are widened,
// because the least of them may be meant.
// CHECK-LABEL: func.func @chosen_narrow
// CHECK: %[[LANES:.*]] = tl.make_range {start = 0 : i32, end = 4 : i32}
// CHECK: %[[WIDE:.*]] = tl.cast %rows : tensor<8xi8> -> tensor<8xi32>
// CHECK: %[[ROWS:.*]] = tl.select %{{.*}}, %[[WIDE]], %{{.*}} : tensor<8xi1>, tensor<8xi32>
// CHECK: %[[COLUMNS:.*]] = tl.select %{{.*}}, %[[LANES]], %{{.*}} : tensor<4xi1>, tensor<4xi32>
// CHECK: ahbm.region {{.*}} index(%[[ROWS]], %[[COLUMNS]] : tensor<8xi32>, tensor<4xi32>)
func.func @chosen_narrow(%p: !tl.ptr<f32>, %rows: tensor<8xi8>, %m: tensor<8xi1>, %n: i32) -> tensor<8x4xf32> {
  %o = tl.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %o1 = tl.expand_dims %o {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %o2 = tl.broadcast %o1 : tensor<1x4xi32> -> tensor<8x4xi32>
  %r1 = tl.expand_dims %rows {axis = 1 : i32} : tensor<8xi8> -> tensor<8x1xi8>
  %r2 = tl.broadcast %r1 : tensor<8x1xi8> -> tensor<8x4xi8>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x4x!tl.ptr<f32>>
  %b2 = tl.addptr %b, %r2 : tensor<8x4x!tl.ptr<f32>>, tensor<8x4xi8> -> tensor<8x4x!tl.ptr<f32>>
  %q = tl.addptr %b2, %o2 : tensor<8x4x!tl.ptr<f32>>, tensor<8x4xi32> -> tensor<8x4x!tl.ptr<f32>>
  %m1 = tl.expand_dims %m {axis = 1 : i32} : tensor<8xi1> -> tensor<8x1xi1>
  %m2 = tl.broadcast %m1 : tensor<8x1xi1> -> tensor<8x4xi1>
  %w = tl.splat %n : i32 -> tensor<4xi32>
  %k = tl.cmp "ne", %o, %w : tensor<4xi32>, tensor<4xi32> -> tensor<4xi1>
  %k1 = tl.expand_dims %k {axis = 0 : i32} : tensor<4xi1> -> tensor<1x4xi1>
  %k2 = tl.broadcast %k1 : tensor<1x4xi1> -> tensor<8x4xi1>
  %both = arith.andi %m2, %k2 : tensor<8x4xi1>
  %x = tl.load %q mask(%both : tensor<8x4xi1>) : tensor<8x4x!tl.ptr<f32>> -> tensor<8x4xf32>
  func.return %x : tensor<8x4xf32>
}

// Leaves alone: a condition over both axes is none of one axis.
// CHECK-LABEL: func.func @chosen_over_both
// CHECK: tl.load %
func.func @chosen_over_both(%p: !tl.ptr<f32>, %m: tensor<8x4xi1>) -> tensor<8x4xf32> {
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x4x!tl.ptr<f32>>
  %x = tl.load %b mask(%m : tensor<8x4xi1>) : tensor<8x4x!tl.ptr<f32>> -> tensor<8x4xf32>
  func.return %x : tensor<8x4xf32>
}

// Changes: a number that is held back on lanes that the mask leaves out anyway is affine.
// CHECK-LABEL: func.func @held_back
// CHECK: ahbm.region %p{{.*}} {axes = ["affine"]}
func.func @held_back(%p: !tl.ptr<f32>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %one = arith.constant 1 : i32
  %last = arith.subi %n, %one : i32
  %most = tl.splat %last : i32 -> tensor<8xi32>
  %held = arith.minsi %o, %most : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %held : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %x = tl.load %q mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}

// Leaves alone: here the mask keeps a lane on which it is held back.
// CHECK-LABEL: func.func @held_back_later
// CHECK: ahbm.region %p{{.*}} {axes = ["indexed"]}
func.func @held_back_later(%p: !tl.ptr<f32>, %n: i32) -> tensor<8xf32> {
  %o = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %one = arith.constant 1 : i32
  %last = arith.subi %n, %one : i32
  %most = tl.splat %last : i32 -> tensor<8xi32>
  %held = arith.minsi %o, %most : tensor<8xi32>
  %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
  %q = tl.addptr %b, %held : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
  %l = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "sle", %o, %l : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
  %x = tl.load %q mask(%m : tensor<8xi1>) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
  func.return %x : tensor<8xf32>
}
