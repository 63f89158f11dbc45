// RUN: ahbmc-opt %s -p lower-to-commands | filecheck %s

// Changes: loads, one command for the sum in place of a dead operand, a store; nothing for constants, splats and views.
// CHECK-LABEL: func.func @in_place
// CHECK-DAG: %x = ahbm.alloc : !ahbm.buffer<8x16xf32, tcm>
// CHECK-DAG: %row = ahbm.alloc : !ahbm.buffer<16xf32, tcm>
// CHECK: ahbm.dma_read %rx, %x
// CHECK: ahbm.dma_read %rr, %row
// CHECK: %[[V:.*]] = ahbm.view %row {axes = array<i64: -1, 0>} : {{.*}} -> !ahbm.buffer<1x16xf32, tcm>
// CHECK: %[[W:.*]] = ahbm.view %[[V]] {{.*}} -> !ahbm.buffer<8x16xf32, tcm>
// CHECK: ahbm.math "add" ins(%x, %[[W]] : {{.*}}) out(%x : {{.*}})
// CHECK: ahbm.math "mul" ins(%x, %{{.*}} : !ahbm.buffer<8x16xf32, tcm>, f32) out(%x : {{.*}})
// CHECK: ahbm.dma_write %x, %rx
func.func @in_place(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %s: f32) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %m = arith.constant 8 : i64
  %n = arith.constant 16 : i64
  %rx = ahbm.region %p[%z] sizes(%m, %n) strides(%n, %one) lo(%z, %z) hi(%m, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %rr = ahbm.region %q[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %rx : !ahbm.region<f32, 2> -> tensor<8x16xf32>
  %row = tl.load_region %rr : !ahbm.region<f32, 1> -> tensor<16xf32>
  %e = tl.expand_dims %row {axis = 0 : i32} : tensor<16xf32> -> tensor<1x16xf32>
  %b = tl.broadcast %e : tensor<1x16xf32> -> tensor<8x16xf32>
  %y = arith.addf %x, %b : tensor<8x16xf32>
  %t = tl.splat %s : f32 -> tensor<8x16xf32>
  %w = arith.mulf %y, %t : tensor<8x16xf32>
  tl.store_region %rx, %w : !ahbm.region<f32, 2>, tensor<8x16xf32>
  func.return
}

// Changes: what is affine in its indices is an index view, whatever ops made it; only the compare is a command.
// CHECK-LABEL: func.func @index_views
// CHECK: %[[I:.*]] = ahbm.index %{{.*}} steps(%{{.*}}) : !ahbm.index<16xi32>
// CHECK-NOT: "addi"
// CHECK: ahbm.math "cmp_slt" ins(%[[I]], %n : !ahbm.index<16xi32>, i32)
// CHECK: ahbm.math "select"
func.func @index_views(%p: !tl.ptr<f32>, %n: i32) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %r = ahbm.region %p[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %pid = tl.program_id {axis = 0 : i32}
  %first = tl.splat %pid : i32 -> tensor<16xi32>
  %range = tl.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %i = arith.addi %first, %range : tensor<16xi32>
  %limit = tl.splat %n : i32 -> tensor<16xi32>
  %mask = tl.cmp "slt", %i, %limit : tensor<16xi32>, tensor<16xi32> -> tensor<16xi1>
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %y = tl.select %mask, %x, %zero : tensor<16xi1>, tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  tl.store_region %r, %y : !ahbm.region<f32, 1>, tensor<16xf32>
  func.return
}

// Changes: the accumulator is filled, stays in one buffer, and no loop carries it; gemm and add per iteration.
// CHECK-LABEL: func.func @accumulates
// CHECK: ahbm.fill %[[ACC:.*]] {value = 0.000000e+00 : f32}
// CHECK: scf.for %{{.*}} = %{{.*}} to %n step %{{.*}} : i64 {
// CHECK: ahbm.gemm %x, %x, %[[T:.*]] :
// CHECK: ahbm.math "add" ins(%[[ACC]], %[[T]] : {{.*}}) out(%[[ACC]] :
// CHECK: }
// CHECK: ahbm.dma_write %[[ACC]]
func.func @accumulates(%p: !tl.ptr<f32>, %n: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %r = ahbm.region %p[%z] sizes(%size, %size) strides(%size, %one) lo(%z, %z) hi(%size, %size) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %x = tl.load_region %r : !ahbm.region<f32, 2> -> tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %sum = scf.for %t = %z to %n step %one iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i64 {
    %d = tl.dot %x, %x acc(%acc) : tensor<16x16xf32>, tensor<16x16xf32> acc_type tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  tl.store_region %r, %sum : !ahbm.region<f32, 2>, tensor<16x16xf32>
  func.return
}

// Changes: an old value is read after its successor is made, so two buffers take turns; nothing is copied.
// CHECK-LABEL: func.func @takes_turns
// CHECK-NOT: ahbm.copy
// CHECK: %[[M:.*]], %{{.*}} = scf.for %{{.*}} iter_args(%[[CUR:.*]] = %{{.*}}, %[[NXT:.*]] = %{{.*}}) -> (!ahbm.buffer<16xf32, tcm>, !ahbm.buffer<16xf32, tcm>)
// CHECK: ahbm.math "max" ins(%[[CUR]], %{{.*}}) out(%[[NXT]]
// CHECK: ahbm.math "sub" ins(%[[CUR]], %[[NXT]]
// CHECK: scf.yield %[[NXT]], %[[CUR]]
func.func @takes_turns(%p: !tl.ptr<f32>, %n: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %r = ahbm.region %p[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %m, %l = scf.for %t = %z to %n step %one iter_args(%m0 = %zero, %l0 = %zero) -> (tensor<16xf32>, tensor<16xf32>) : i64 {
    %m1 = arith.maxnumf %m0, %x : tensor<16xf32>
    %d = arith.subf %m0, %m1 : tensor<16xf32>
    %l1 = arith.addf %l0, %d : tensor<16xf32>
    scf.yield %m1, %l1 : tensor<16xf32>, tensor<16xf32>
  }
  %y = arith.addf %m, %l : tensor<16xf32>
  tl.store_region %r, %y : !ahbm.region<f32, 1>, tensor<16xf32>
  func.return
}

// Changes: a swap is a swap of buffers.
// CHECK-LABEL: func.func @swap
// CHECK-NOT: ahbm.copy
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) ->
// CHECK-NEXT: scf.yield %[[B]], %[[A]]
func.func @swap(%p: !tl.ptr<f32>, %n: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %r = ahbm.region %p[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %y = math.exp %x : tensor<16xf32>
  %a, %b = scf.for %t = %z to %n step %one iter_args(%u = %x, %v = %y) -> (tensor<16xf32>, tensor<16xf32>) : i64 {
    scf.yield %v, %u : tensor<16xf32>, tensor<16xf32>
  }
  %c = arith.subf %a, %b : tensor<16xf32>
  tl.store_region %r, %c : !ahbm.region<f32, 1>, tensor<16xf32>
  func.return
}

// Changes: a scalar out of a block stays in TCM as an operand; PE_CPU reads it for the branch only.
// CHECK-LABEL: func.func @scalar
// CHECK: ahbm.math "reduce_sum" ins(%x {{.*}} out(%s : !ahbm.buffer<f32, tcm>) {axis = 0 : i64}
// CHECK: ahbm.math "cmp_ogt" ins(%s, %{{.*}}) out(%[[C:.*]] : !ahbm.buffer<i1, tcm>)
// CHECK: %[[YES:.*]] = ahbm.read_scalar %[[C]]
// CHECK-NEXT: scf.if %[[YES]]
func.func @scalar(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %r = ahbm.region %p[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %s = tl.reduce "sum", %x {axis = 0 : i32} : tensor<16xf32> -> f32
  %low = arith.constant 0.0 : f32
  %c = tl.cmp "ogt", %s, %low : f32, f32 -> i1
  scf.if %c {
    tl.store_region %r, %x : !ahbm.region<f32, 1>, tensor<16xf32>
  }
  func.return
}

// Changes: pointers that no region describes become a gather of offsets from one base.
// CHECK-LABEL: func.func @gather
// CHECK: ahbm.gather %p[%j] mask(%m : !ahbm.buffer<16xi1, tcm>), %x {pad = 2.000000e+00 : f32}
func.func @gather(%p: !tl.ptr<f32>, %w: !tl.ptr<i32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %rw = ahbm.region %w[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<i32> -> !ahbm.region<i32, 1>
  %rp = ahbm.region %p[%z] sizes(%size) strides(%one) lo(%z) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %j = tl.load_region %rw : !ahbm.region<i32, 1> -> tensor<16xi32>
  %base = tl.splat %p : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %at = tl.addptr %base, %j : tensor<16x!tl.ptr<f32>>, tensor<16xi32> -> tensor<16x!tl.ptr<f32>>
  %zero = arith.constant dense<0> : tensor<16xi32>
  %m = tl.cmp "sge", %j, %zero : tensor<16xi32>, tensor<16xi32> -> tensor<16xi1>
  %two = arith.constant dense<2.0> : tensor<16xf32>
  %x = tl.load %at mask(%m : tensor<16xi1>) other(%two) : tensor<16x!tl.ptr<f32>> other_type tensor<16xf32> -> tensor<16xf32>
  tl.store_region %rp, %x : !ahbm.region<f32, 1>, tensor<16xf32>
  func.return
}

// Changes: a composite's parts, op list and valid extents; its K is the lesser of both operands'.
// CHECK-LABEL: func.func @composite
// CHECK: %[[K:.*]] = arith.minsi %ka, %kb
// CHECK: ahbm.composite(%ra, %rb, %{{.*}}, %ro : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, f32, !ahbm.region<f16, 2>) extents(%m, %n, %[[K]])
// CHECK-SAME: specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 3>, #ahbm.spec<"mul", output_tile, [-1, 2], 3>], writes = array<i64: 3>
func.func @composite(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %o: !tl.ptr<f16>, %m: i64, %n: i64, %ka: i64, %kb: i64, %s: f32) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%size, %ka) strides(%ka, %one) lo(%z, %z) hi(%size, %ka) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%kb, %size) strides(%size, %one) lo(%z, %z) hi(%kb, %size) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %ro = ahbm.region %o[%z] sizes(%size, %size) strides(%size, %one) lo(%z, %z) hi(%m, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %t = tl.splat %s : f32 -> tensor<32x32xf32>
  tl.composite(%a = %ra : !ahbm.region<f16, 2>, %b = %rb : !ahbm.region<f16, 2>, %f = %t : tensor<32x32xf32>, %r = %ro : !ahbm.region<f16, 2>) {
    %d = tl.gemm %a, %b : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x32xf32>
    %e = arith.mulf %d, %f : tensor<32x32xf32>
    %h = tl.cast %e : tensor<32x32xf32> -> tensor<32x32xf16>
    tl.store_region %r, %h : !ahbm.region<f16, 2>, tensor<32x32xf16>
    tl.yield
  }
  func.return
}

// Leaves alone: scalars of PE_CPU and the loop around them stay what they are.
// CHECK-LABEL: func.func @scalars_only
// CHECK: scf.for %{{.*}} iter_args(%s = %n) -> (i64)
// CHECK-NEXT: arith.addi %s, %n : i64
func.func @scalars_only(%n: i64) -> i64 {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r = scf.for %t = %z to %n step %one iter_args(%s = %n) -> (i64) : i64 {
    %u = arith.addi %s, %n : i64
    scf.yield %u : i64
  }
  func.return %r : i64
}

// Changes: an atomic of a block goes by an index view and takes a scalar for every lane; one element is an index of one
// lane, and PE_CPU reads what it found because an address needs it.
// CHECK-LABEL: func.func @atomics
// CHECK: ahbm.atomic "add", %p[%{{.*}}] value(%n : i32), %{{.*}} : !tl.ptr<i32>, !ahbm.index<16xi64>, !ahbm.buffer<16xi32, tcm>
// CHECK: ahbm.atomic "xchg", %p[%{{.*}}] value(%n : i32), %[[T:.*]] : !tl.ptr<i32>, !ahbm.index<i64>, !ahbm.buffer<i32, tcm>
// CHECK: %[[V:.*]] = ahbm.read_scalar %[[T]]
// CHECK: ahbm.addptr %p, %[[V]]
func.func @atomics(%p: !tl.ptr<i32>, %n: i32) {
  %base = tl.splat %p : !tl.ptr<i32> -> tensor<16x!tl.ptr<i32>>
  %i = tl.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %at = tl.addptr %base, %i : tensor<16x!tl.ptr<i32>>, tensor<16xi32> -> tensor<16x!tl.ptr<i32>>
  %x = tl.splat %n : i32 -> tensor<16xi32>
  %old = tl.atomic "add", %at, %x : tensor<16x!tl.ptr<i32>>, tensor<16xi32> -> tensor<16xi32>
  %t = tl.atomic "xchg", %p, %n : !tl.ptr<i32>, i32 -> i32
  %q = tl.addptr %p, %t : !tl.ptr<i32>, i32 -> !tl.ptr<i32>
  tl.store %q, %n : !tl.ptr<i32>, i32
  func.return
}

// Changes: what looks at other lanes is one MATH command each; an index that is affine costs none.
// CHECK-LABEL: func.func @along_axis
// CHECK-NOT: "muli"
// CHECK: ahbm.math "scan_prod" ins(%x : {{.*}}) out(%[[S:.*]] : {{.*}}) {axis = 0 : i64, reverse}
// CHECK: ahbm.math "gather" ins(%[[S]], %{{.*}} : !ahbm.buffer<16xf32, tcm>, !ahbm.index<16xi32>) out(%[[G:.*]] : {{.*}}) {axis = 0 : i64}
// CHECK: ahbm.math "topk" ins(%[[G]] : !ahbm.buffer<16xf32, tcm>) out(%{{.*}} : !ahbm.buffer<4xf32, tcm>) {axis = 0 : i64, reverse}
func.func @along_axis(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 16 : i64
  %m = arith.constant 4 : i64
  %r = ahbm.region %p[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %q = ahbm.region %p[%z] sizes(%m) strides(%one) lo(%z) hi(%m) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %s = tl.scan "prod", %x {axis = 0 : i32, reverse} : tensor<16xf32> -> tensor<16xf32>
  %i = tl.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %two = arith.constant dense<2> : tensor<16xi32>
  %j = arith.muli %i, %two : tensor<16xi32>
  %g = tl.gather %s, %j {axis = 0 : i32} : tensor<16xf32>, tensor<16xi32> -> tensor<16xf32>
  %t = tl.sort %g {axis = 0 : i32, descending} : tensor<16xf32> -> tensor<4xf32>
  tl.store_region %q, %t : !ahbm.region<f32, 1>, tensor<4xf32>
  func.return
}

// Changes: each product of a batch is a GEMM of its own, on views of the buffers.
// CHECK-LABEL: func.func @batch
// CHECK: %[[A:.*]] = ahbm.view %x {axes = array<i64: 1, 2>, lanes = array<i64: 1, 0, 0>} : !ahbm.buffer<2x16x16xf32, tcm> -> !ahbm.buffer<16x16xf32, tcm>
// CHECK: %[[B:.*]] = ahbm.view %x
// CHECK: %[[C:.*]] = ahbm.view %d {axes = array<i64: 1, 2>, lanes = array<i64: 1, 0, 0>}
// CHECK: ahbm.gemm %[[A]], %[[B]], %[[C]]
// CHECK-NOT: ahbm.gemm
func.func @batch(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %n = arith.constant 16 : i64
  %m = arith.constant 256 : i64
  %r = ahbm.region %p[%z] sizes(%two, %n, %n) strides(%m, %n, %one) lo(%z, %z, %z) hi(%two, %n, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 3>
  %x = tl.load_region %r : !ahbm.region<f32, 3> -> tensor<2x16x16xf32>
  %d = tl.dot %x, %x : tensor<2x16x16xf32>, tensor<2x16x16xf32> -> tensor<2x16x16xf32>
  tl.store_region %r, %d : !ahbm.region<f32, 3>, tensor<2x16x16xf32>
  func.return
}

// Changes: a `while` keeps its scalars; a carried block has one buffer in head, body and after it.
// CHECK-LABEL: func.func @until
// CHECK: ahbm.dma_read %{{.*}}, %[[T:.*]] : {{.*}}
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32 {
// CHECK: scf.condition(%{{.*}}) %{{.*}} : i32
// CHECK: ahbm.math "add" ins(%[[T]], %[[T]] : {{.*}}) out(%[[T]] : {{.*}})
// CHECK: ahbm.load_scalar
// CHECK: scf.yield %{{.*}} : i32
// CHECK: ahbm.dma_write %[[T]], %{{.*}}
func.func @until(%p: !tl.ptr<f32>, %next: !tl.ptr<i32>, %first: i32) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 16 : i64
  %zero = arith.constant 0 : i32
  %r = ahbm.region %p[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<16xf32>
  %at, %total = scf.while (%i = %first, %t = %x) : (i32, tensor<16xf32>) -> (i32, tensor<16xf32>) {
    %c = tl.cmp "sge", %i, %zero : i32, i32 -> i1
    scf.condition(%c) %i, %t : i32, tensor<16xf32>
  } do {
  ^bb0(%i: i32, %t: tensor<16xf32>):
    %twice = arith.addf %t, %t : tensor<16xf32>
    %q = tl.addptr %next, %i : !tl.ptr<i32>, i32 -> !tl.ptr<i32>
    %j = tl.load %q : !tl.ptr<i32> -> i32
    scf.yield %j, %twice : i32, tensor<16xf32>
  }
  tl.store_region %r, %total : !ahbm.region<f32, 1>, tensor<16xf32>
  func.return
}
