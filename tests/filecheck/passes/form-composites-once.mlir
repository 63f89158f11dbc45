// RUN: ahbmc-opt %s -p form-composites | filecheck %s
// RUN: ahbmc-opt %s -p form-composites{stage=none} | filecheck %s --check-prefix NONE

// CHECK: outcome = "formed", reason = "a staged, b staged"
// CHECK: outcome = "formed", reason = "a staged, b streamed"
// NONE: outcome = "formed", reason = "a staged, b streamed 2 times"
// NONE: outcome = "formed", reason = "a staged, b streamed"

// Changes: 64 rows are two tiles, which would both read the tiles of b; so it is loaded, and beside the product before.
// CHECK-LABEL: func.func @two_rows_of_tiles
// CHECK: tl.composite(%{{.*}} = %q : tensor<64x128xf16>, %{{.*}} = %b : tensor<128x256xf16>)
// CHECK: %k = tl.load_region
// CHECK: math.exp
// CHECK: tl.composite(%{{.*}} = %q : tensor<64x128xf16>, %{{.*}} = %k : tensor<128x256xf16>)
// NONE-LABEL: func.func @two_rows_of_tiles
// NONE-NOT: tl.load_region
// NONE: tl.composite(%{{.*}} = %q : tensor<64x128xf16>, %{{.*}} = %rk : !ahbm.region<f16, 2>)
func.func @two_rows_of_tiles(%q: tensor<64x128xf16>, %b: tensor<128x256xf16>, %p: !tl.ptr<f16>, %init: tensor<64x256xf32>, %n: i64) -> tensor<64x256xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 128 : i64
  %columns = arith.constant 256 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<64x256xf32>) : i64 {
    %other = tl.dot %q, %b : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf32>
    %e = math.exp %other : tensor<64x256xf32>
    %rk = ahbm.region %p[%t] sizes(%rows, %columns) strides(%columns, %one) lo(%zero, %zero) hi(%rows, %columns) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<128x256xf16>
    %s = tl.dot %q, %k : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf32>
    %both = arith.addf %s, %e : tensor<64x256xf32>
    %new = arith.maxnumf %o, %both : tensor<64x256xf32>
    scf.yield %new : tensor<64x256xf32>
  }
  func.return %r : tensor<64x256xf32>
}

// Leaves alone: the tiles of b are read once for 32 rows.
// CHECK-LABEL: func.func @one_row_of_tiles
// CHECK-NOT: tl.load_region
// CHECK: tl.composite(%{{.*}} = %q : tensor<32x128xf16>, %{{.*}} = %rk : !ahbm.region<f16, 2>)
func.func @one_row_of_tiles(%q: tensor<32x128xf16>, %b: tensor<128x256xf16>, %p: !tl.ptr<f16>, %init: tensor<32x256xf32>, %n: i64) -> tensor<32x256xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 128 : i64
  %columns = arith.constant 256 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<32x256xf32>) : i64 {
    %other = tl.dot %q, %b : tensor<32x128xf16>, tensor<128x256xf16> -> tensor<32x256xf32>
    %e = math.exp %other : tensor<32x256xf32>
    %rk = ahbm.region %p[%t] sizes(%rows, %columns) strides(%columns, %one) lo(%zero, %zero) hi(%rows, %columns) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<128x256xf16>
    %s = tl.dot %q, %k : tensor<32x128xf16>, tensor<128x256xf16> -> tensor<32x256xf32>
    %both = arith.addf %s, %e : tensor<32x256xf32>
    %new = arith.maxnumf %o, %both : tensor<32x256xf32>
    scf.yield %new : tensor<32x256xf32>
  }
  func.return %r : tensor<32x256xf32>
}
