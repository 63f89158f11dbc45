// RUN: ahbmc-opt %s -p form-composites{stage=none} | filecheck %s
// RUN: ahbmc-opt %s -p form-composites{stage=none},canonicalize,cse,lower-to-commands | filecheck %s --check-prefix=COMMANDS
// RUN: ahbmc-opt %s -p form-composites | filecheck %s --check-prefix=COST
// RUN: ahbmc-opt %s -p form-composites,canonicalize,cse,lower-to-commands,allocate-scratch,tile-composites,insert-dma-stages | filecheck %s --check-prefix=PLAN

// CHECK-DAG: outcome = "fused", reason = "cast, sub, mul on the tiles of b"
// CHECK-DAG: outcome = "fused", reason = "mul on the tiles of a"
// COST-DAG: outcome = "formed", reason = "a streamed, b staged, its ops done to all of it at once"

// Changes: b is streamed as int8; the cast, the zero per column and the scale per row of K are done to its tiles. A view
// that repeats lanes is no op, an operand in TCM stays the part that it is.
// CHECK-LABEL: func.func @dequantised
// CHECK-NOT: tl.cast
// CHECK: tl.composite({{.*}} = %a : tensor<32x64xf16>, %[[B:.*]] = %rb : !ahbm.region<i8, 2>, %{{.*}} = %zero : tensor<1x32xf16>, %{{.*}} = %scale : tensor<64x1xf16>)
// CHECK: tl.gemm {{.*}} : tensor<32x64xf16>, !ahbm.region<i8, 2> -> tensor<32x32xf32> tiles {
// CHECK: tl.cast
// CHECK: tl.broadcast
// CHECK: arith.subf
// CHECK: tl.broadcast
// CHECK: arith.mulf
// CHECK: tl.yield
// COMMANDS-LABEL: func.func @dequantised
// COMMANDS-NOT: ahbm.math "cast"
// COMMANDS: ahbm.composite({{.*}} : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<i8, 2>, !ahbm.buffer<1x32xf16, tcm>, !ahbm.buffer<64x1xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>)
// COMMANDS-SAME: specs = [#ahbm.spec<"cast", k_tile, [1], 1, {to = f16}>, #ahbm.spec<"sub", k_tile, [1, 2], 1>, #ahbm.spec<"mul", k_tile, [1, 3], 1>, #ahbm.spec<"gemm", k_tile, [0, 1], 4>], writes = array<i64: 4>
// PLAN-LABEL: func.func @dequantised
// PLAN: pe.dma_read {part = 1 : i64}
// PLAN-NEXT: pe.fetch
// PLAN-NEXT: pe.math {spec = 0 : i64}
// PLAN-NEXT: pe.math {spec = 1 : i64}
// PLAN-NEXT: pe.math {spec = 2 : i64}
// PLAN-NEXT: pe.gemm {spec = 3 : i64}
func.func @dequantised(%pa: !tl.ptr<f16>, %p: !tl.ptr<i8>, %pz: !tl.ptr<f16>, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %pa[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %p[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<i8> -> !ahbm.region<i8, 2>
  %rz = ahbm.region %pz[%z] sizes(%one, %n) strides(%n, %one) lo(%z, %z) hi(%one, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rs = ahbm.region %pz[%n] sizes(%k, %one) strides(%one, %one) lo(%z, %z) hi(%k, %one) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %o[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %a = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<32x64xf16>
  %zero = tl.load_region %rz : !ahbm.region<f16, 2> -> tensor<1x32xf16>
  %scale = tl.load_region %rs : !ahbm.region<f16, 2> -> tensor<64x1xf16>
  %b = tl.load_region %rb : !ahbm.region<i8, 2> -> tensor<64x32xi8>
  %wide = tl.cast %b : tensor<64x32xi8> -> tensor<64x32xf16>
  %zeros = tl.broadcast %zero : tensor<1x32xf16> -> tensor<64x32xf16>
  %around = arith.subf %wide, %zeros : tensor<64x32xf16>
  %scales = tl.broadcast %scale : tensor<64x1xf16> -> tensor<64x32xf16>
  %w = arith.mulf %around, %scales : tensor<64x32xf16>
  %more = arith.addf %a, %a : tensor<32x64xf16>
  %d = tl.dot %a, %w : tensor<32x64xf16>, tensor<64x32xf16> -> tensor<32x32xf32>
  tl.store_region %rc, %d : !ahbm.region<f32, 2>, tensor<32x32xf32>
  tl.store_region %ra, %more : !ahbm.region<f16, 2>, tensor<32x64xf16>
  func.return
}

// Changes: a factor on a is done to its tiles, whose zeros beyond the end of K stay zeros.
// CHECK-LABEL: func.func @scaled
// CHECK: tl.composite(%{{.*}} = %ra : !ahbm.region<f16, 2>, %{{.*}} = %b : tensor<64x32xf16>, %{{.*}} = %alpha : f16)
// COMMANDS-LABEL: func.func @scaled
// COMMANDS: extents(%{{.*}}, %{{.*}}, %valid) {specs = [#ahbm.spec<"mul", k_tile, [2, 0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 3>]
func.func @scaled(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %alpha: f16, %valid: i64, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %valid) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %o[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %b = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<64x32xf16>
  %both = arith.addf %b, %b : tensor<64x32xf16>
  tl.store_region %rb, %both : !ahbm.region<f16, 2>, tensor<64x32xf16>
  %a = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<32x64xf16>
  %factor = tl.splat %alpha : f16 -> tensor<32x64xf16>
  %scaled = arith.mulf %factor, %a : tensor<32x64xf16>
  %d = tl.dot %scaled, %b : tensor<32x64xf16>, tensor<64x32xf16> -> tensor<32x32xf32>
  tl.store_region %rc, %d : !ahbm.region<f32, 2>, tensor<32x32xf32>
  func.return
}

// Changes: what makes something else of zeros leaves K as long as the block, unless the other operand ends before.
// COMMANDS-LABEL: func.func @shifted
// COMMANDS: extents(%{{.*}}, %{{.*}}, %k) {specs = [#ahbm.spec<"add", k_tile, [0, 2], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 3>]
func.func @shifted(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %alpha: f16, %valid: i64, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %valid) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %o[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %b = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<64x32xf16>
  %a = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<32x64xf16>
  %shift = tl.splat %alpha : f16 -> tensor<32x64xf16>
  %shifted = arith.addf %a, %shift : tensor<32x64xf16>
  %d = tl.dot %shifted, %b : tensor<32x64xf16>, tensor<64x32xf16> -> tensor<32x32xf32>
  tl.store_region %rc, %d : !ahbm.region<f32, 2>, tensor<32x32xf32>
  func.return
}

// Leaves alone: five ops on each of sixteen tiles take longer than five ops on the block, so they stay before the
// composite, and b is staged.
// COST-LABEL: func.func @often
// COST: tl.load_region %rb
// COST-COUNT-5: math.exp
// COST: tl.composite(%{{.*}} = %ra : !ahbm.region<f16, 2>, %{{.*}} = %e : tensor<64x32xf16>)
// COST: tl.gemm {{.*}} -> tensor<512x32xf32>
func.func @often(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %m = arith.constant 512 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%m, %k) strides(%k, %one) lo(%z, %z) hi(%m, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %o[%z] sizes(%m, %n) strides(%n, %one) lo(%z, %z) hi(%m, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %a = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<512x64xf16>
  %l = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<64x32xf16>
  %b = math.exp %l : tensor<64x32xf16>
  %c = math.exp %b : tensor<64x32xf16>
  %x = math.exp %c : tensor<64x32xf16>
  %y = math.exp %x : tensor<64x32xf16>
  %e = math.exp %y : tensor<64x32xf16>
  %d = tl.dot %a, %e : tensor<512x64xf16>, tensor<64x32xf16> -> tensor<512x32xf32>
  tl.store_region %rc, %d : !ahbm.region<f32, 2>, tensor<512x32xf32>
  func.return
}
