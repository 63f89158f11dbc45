// RUN: ahbmc-opt %s | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-op-generic | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-debuginfo | ahbmc-opt - | filecheck %s

// Every op of the dialect reads, prints and reads again, in its own and in the generic form, with locations and without.

// What PE_CPU knows and computes for itself.
// CHECK-LABEL: func.func @scalars
func.func @scalars(%p: !tl.ptr<f16>, %i: i64) -> !tl.ptr<f16> {
  // CHECK: ahbm.program_id {axis = 0 : i32}
  %0 = ahbm.program_id {axis = 0 : i32}
  // CHECK: ahbm.num_programs {axis = 1 : i32}
  %1 = ahbm.num_programs {axis = 1 : i32}
  // CHECK: ahbm.addptr %{{.*}}, %{{.*}} : !tl.ptr<f16>, i64 -> !tl.ptr<f16>
  %2 = ahbm.addptr %p, %i : !tl.ptr<f16>, i64 -> !tl.ptr<f16>
  // CHECK: ahbm.ptr_cast %{{.*}} : !tl.ptr<f16> -> i64
  %3 = ahbm.ptr_cast %2 : !tl.ptr<f16> -> i64
  func.return %2 : !tl.ptr<f16>
}

// Regions with affine, folded and indexed axes, and a piece cut out of one.
// CHECK-LABEL: func.func @regions
func.func @regions(%p: !tl.ptr<f16>, %n: i64, %rows: tensor<8xi32>, %buffer: !ahbm.buffer<8xi32, tcm>) {
  // CHECK: ahbm.region %{{.*}}[%{{.*}}] sizes(%{{.*}}, %{{.*}}) strides(%{{.*}}, %{{.*}}) lo(%{{.*}}, %{{.*}}) hi(%{{.*}}, %{{.*}}) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %r = ahbm.region %p[%n] sizes(%n, %n) strides(%n, %n) lo(%n, %n) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // The pad value is what a load gives outside the bounds.
  // CHECK: fold(%{{.*}}) width(%{{.*}}) stride(%{{.*}}) {axes = ["folded", "affine"], pad = 1.000000e+00 : f16}
  %f = ahbm.region %p[%n] sizes(%n, %n) strides(%n, %n) lo(%n, %n) hi(%n, %n) fold(%n) width(%n) stride(%n) {axes = ["folded", "affine"], pad = 1.0 : f16} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // Indices are a block at the level of values and a buffer at the level of commands.
  // CHECK: index(%{{.*}} : tensor<8xi32>) {axes = ["indexed", "affine"]}
  %x = ahbm.region %p[%n] sizes(%n, %n) strides(%n, %n) lo(%n, %n) hi(%n, %n) index(%rows : tensor<8xi32>) {axes = ["indexed", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // CHECK: index(%{{.*}} : !ahbm.buffer<8xi32, tcm>)
  %y = ahbm.region %p[%n] sizes(%n, %n) strides(%n, %n) lo(%n, %n) hi(%n, %n) index(%buffer : !ahbm.buffer<8xi32, tcm>) {axes = ["indexed", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // CHECK: ahbm.cut %{{.*}}[%{{.*}}, %{{.*}}] {axis = 1 : i64} : !ahbm.region<f16, 2>
  %c = ahbm.cut %r[%n, %n] {axis = 1 : i64} : !ahbm.region<f16, 2>
  func.return
}

// Buffers and other looks at them.
// CHECK-LABEL: func.func @buffers
func.func @buffers(%n: i64, %x: f32) -> f32 {
  // CHECK: ahbm.alloc : !ahbm.buffer<8x16xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<8x16xf32, tcm>
  // A buffer that has its place in the scratch; of rank 0 it holds one number.
  // CHECK: ahbm.alloc {offset = 512 : i64} : !ahbm.buffer<f32, tcm>
  %s = ahbm.alloc {offset = 512 : i64} : !ahbm.buffer<f32, tcm>
  // CHECK: ahbm.view %{{.*}} {axes = array<i64: 1, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16x8xf32, tcm>
  %t = ahbm.view %b {axes = array<i64: 1, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16x8xf32, tcm>
  // One lane of an axis that is left out.
  // CHECK: ahbm.view %{{.*}} {axes = array<i64: 1>, lanes = array<i64: 3, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16xf32, tcm>
  %row = ahbm.view %b {axes = array<i64: 1>, lanes = array<i64: 3, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16xf32, tcm>
  // CHECK: ahbm.reshape %{{.*}} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<128xf32, tcm>
  %r = ahbm.reshape %b : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<128xf32, tcm>
  // CHECK: ahbm.index %{{.*}} steps(%{{.*}}) : !ahbm.index<16xi32>
  %i = ahbm.index %n steps(%n) : !ahbm.index<16xi32>
  // A view of an index repeats it along a new axis.
  // CHECK: ahbm.view %{{.*}} {axes = array<i64: -1, 0>} : !ahbm.index<16xi32> -> !ahbm.index<8x16xi32>
  %w = ahbm.view %i {axes = array<i64: -1, 0>} : !ahbm.index<16xi32> -> !ahbm.index<8x16xi32>
  // CHECK: ahbm.fill %{{.*}} {value = 0.000000e+00 : f32} : !ahbm.buffer<8x16xf32, tcm>
  ahbm.fill %b {value = 0.0 : f32} : !ahbm.buffer<8x16xf32, tcm>
  // CHECK: ahbm.fill %{{.*}} with %{{.*}} : f32 : !ahbm.buffer<8x16xf32, tcm>
  ahbm.fill %b with %x : f32 : !ahbm.buffer<8x16xf32, tcm>
  // CHECK: ahbm.read_scalar %{{.*}} : !ahbm.buffer<f32, tcm> -> f32
  %y = ahbm.read_scalar %s : !ahbm.buffer<f32, tcm> -> f32
  func.return %y : f32
}

// Commands that move data.
// CHECK-LABEL: func.func @transfers
func.func @transfers(%r: !ahbm.region<f16, 1>, %p: !tl.ptr<f16>, %b: !ahbm.buffer<16xf16, tcm>, %i: !ahbm.index<16xi32>, %m: !ahbm.buffer<16xi1, tcm>, %s: !ahbm.buffer<f16, tcm>, %x: f16) {
  // CHECK: ahbm.dma_read %{{.*}}, %{{.*}} : !ahbm.region<f16, 1>, !ahbm.buffer<16xf16, tcm>
  ahbm.dma_read %r, %b : !ahbm.region<f16, 1>, !ahbm.buffer<16xf16, tcm>
  // CHECK: ahbm.dma_write %{{.*}}, %{{.*}} : !ahbm.buffer<16xf16, tcm>, !ahbm.region<f16, 1>
  ahbm.dma_write %b, %r : !ahbm.buffer<16xf16, tcm>, !ahbm.region<f16, 1>
  // CHECK: ahbm.gather %{{.*}}[%{{.*}}], %{{.*}} {pad = 0.000000e+00 : f16} : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  ahbm.gather %p[%i], %b {pad = 0.0 : f16} : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  // CHECK: ahbm.gather %{{.*}}[%{{.*}}] mask(%{{.*}} : !ahbm.buffer<16xi1, tcm>), %{{.*}} : !tl.ptr<f16>
  ahbm.gather %p[%i] mask(%m : !ahbm.buffer<16xi1, tcm>), %b : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  // CHECK: ahbm.scatter %{{.*}}, %{{.*}}[%{{.*}}] mask(%{{.*}} : !ahbm.buffer<16xi1, tcm>) : !ahbm.buffer<16xf16, tcm>, !tl.ptr<f16>, !ahbm.index<16xi32>
  ahbm.scatter %b, %p[%i] mask(%m : !ahbm.buffer<16xi1, tcm>) : !ahbm.buffer<16xf16, tcm>, !tl.ptr<f16>, !ahbm.index<16xi32>
  // The value of an atomic is a buffer, or a scalar for every lane; so is the comparand.
  // CHECK: ahbm.atomic "add", %{{.*}}[%{{.*}}] mask(%{{.*}} : !ahbm.buffer<16xi1, tcm>) value(%{{.*}} : f16), %{{.*}} : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  ahbm.atomic "add", %p[%i] mask(%m : !ahbm.buffer<16xi1, tcm>) value(%x : f16), %b : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  // CHECK: ahbm.atomic "cas", %{{.*}}[%{{.*}}] value(%{{.*}} : !ahbm.buffer<16xf16, tcm>) compare(%{{.*}} : f16), %{{.*}} : !tl.ptr<f16>
  ahbm.atomic "cas", %p[%i] value(%b : !ahbm.buffer<16xf16, tcm>) compare(%x : f16), %b : !tl.ptr<f16>, !ahbm.index<16xi32>, !ahbm.buffer<16xf16, tcm>
  // CHECK: ahbm.load_scalar %{{.*}}, %{{.*}} : !tl.ptr<f16>, !ahbm.buffer<f16, tcm>
  ahbm.load_scalar %p, %s : !tl.ptr<f16>, !ahbm.buffer<f16, tcm>
  // What is stored is a buffer of rank 0 or a scalar of PE_CPU.
  // CHECK: ahbm.store_scalar %{{.*}}, %{{.*}} : !ahbm.buffer<f16, tcm>, !tl.ptr<f16>
  ahbm.store_scalar %s, %p : !ahbm.buffer<f16, tcm>, !tl.ptr<f16>
  // CHECK: ahbm.store_scalar %{{.*}}, %{{.*}} : f16, !tl.ptr<f16>
  ahbm.store_scalar %x, %p : f16, !tl.ptr<f16>
  func.return
}

// Commands that compute, wait or only take time.
// CHECK-LABEL: func.func @compute
func.func @compute(%a: !ahbm.buffer<8x16xf16, tcm>, %b: !ahbm.buffer<16x4xf16, tcm>, %o: !ahbm.buffer<8x4xf16, tcm>, %v: !ahbm.buffer<8xf16, tcm>, %x: f16) {
  // CHECK: ahbm.gemm %{{.*}}, %{{.*}}, %{{.*}} : !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8x4xf16, tcm>
  ahbm.gemm %a, %b, %o : !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8x4xf16, tcm>
  // A scalar is taken for every lane.
  // CHECK: ahbm.math "mul" ins(%{{.*}}, %{{.*}} : !ahbm.buffer<8x4xf16, tcm>, f16) out(%{{.*}} : !ahbm.buffer<8x4xf16, tcm>)
  ahbm.math "mul" ins(%o, %x : !ahbm.buffer<8x4xf16, tcm>, f16) out(%o : !ahbm.buffer<8x4xf16, tcm>)
  // CHECK: ahbm.math "reduce_max" ins(%{{.*}} : !ahbm.buffer<8x4xf16, tcm>) out(%{{.*}} : !ahbm.buffer<8xf16, tcm>) {axis = 1 : i64}
  ahbm.math "reduce_max" ins(%o : !ahbm.buffer<8x4xf16, tcm>) out(%v : !ahbm.buffer<8xf16, tcm>) {axis = 1 : i64}
  // CHECK: ahbm.math "scan_sum" ins(%{{.*}} : !ahbm.buffer<8x4xf16, tcm>) out(%{{.*}} : !ahbm.buffer<8x4xf16, tcm>) {axis = 0 : i64, reverse}
  ahbm.math "scan_sum" ins(%o : !ahbm.buffer<8x4xf16, tcm>) out(%o : !ahbm.buffer<8x4xf16, tcm>) {axis = 0 : i64, reverse}
  // CHECK: ahbm.copy %{{.*}}, %{{.*}} : !ahbm.buffer<8x4xf16, tcm>, !ahbm.buffer<8x4xf16, tcm>
  ahbm.copy %o, %o : !ahbm.buffer<8x4xf16, tcm>, !ahbm.buffer<8x4xf16, tcm>
  // CHECK: ahbm.wait %{{.*}}, %{{.*}} : !ahbm.buffer<8x4xf16, tcm>, !ahbm.buffer<8xf16, tcm>
  ahbm.wait %o, %v : !ahbm.buffer<8x4xf16, tcm>, !ahbm.buffer<8xf16, tcm>
  // CHECK: ahbm.cycles {cycles = 7 : i64}
  ahbm.cycles {cycles = 7 : i64}
  func.return
}

// A composite of a GEMM and an epilogue, and one of MATH ops alone.
// CHECK-LABEL: func.func @composites
func.func @composites(%a: !ahbm.region<f16, 2>, %b: !ahbm.buffer<16x4xf16, tcm>, %o: !ahbm.buffer<8x4xf32, tcm>, %n: i64) {
  // CHECK: ahbm.composite(%{{.*}}, %{{.*}}, %{{.*}} : !ahbm.region<f16, 2>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8x4xf32, tcm>) extents(%{{.*}}, %{{.*}}, %{{.*}}) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {
  ahbm.composite(%a, %b, %o : !ahbm.region<f16, 2>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8x4xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {
  }
  // CHECK: #ahbm.spec<"reduce_max", once, [0], 0, {axis = 1 : i64}>
  ahbm.composite(%o : !ahbm.buffer<8x4xf32, tcm>) {specs = [#ahbm.spec<"reduce_max", once, [0], 0, {axis = 1 : i64}>], writes = array<i64: 0>} plan {
  }
  func.return
}
