// RUN: ahbmc-opt %s -p 'form-composites{in-loops=load}' | filecheck %s
// RUN: ahbmc-opt %s -p 'form-composites{in-loops=stream}' | filecheck %s --check-prefix STREAM
// RUN: ahbmc-opt %s -p 'form-composites{when=auto}' | filecheck %s --check-prefix AUTO

// CHECK: outcome = "formed", reason = "a staged, b staged"
// CHECK: outcome = "formed", reason = "a staged, b streamed"
// AUTO: outcome = "refused", reason = "single ops do an iteration of the loop faster"

// Changes: with `load` the load of the loop stays one, with `stream` the composite takes the region.
// Leaves alone, with `when=auto`: a product of 8 rows that is read from HBM at the rate of the slice takes a padded
// tile four times as long as the GEMM itself.
// CHECK-LABEL: func.func @few_rows
// CHECK: %k = tl.load_region
// CHECK: tl.composite(%{{.*}} = %q : tensor<8x128xf16>, %{{.*}} = %k : tensor<128x256xf16>)
// STREAM-LABEL: func.func @few_rows
// STREAM-NOT: tl.load_region
// STREAM: tl.composite(%{{.*}} = %q : tensor<8x128xf16>, %{{.*}} = %rk : !ahbm.region<f16, 2>)
// AUTO-LABEL: func.func @few_rows
// AUTO-NOT: tl.composite
// AUTO: func.return
func.func @few_rows(%q: tensor<8x128xf16>, %b: tensor<128x256xf16>, %p: !tl.ptr<f16>, %init: tensor<8x256xf32>, %n: i64) -> tensor<8x256xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 128 : i64
  %columns = arith.constant 256 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<8x256xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%rows, %columns) strides(%columns, %one) lo(%zero, %zero) hi(%rows, %columns) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<128x256xf16>
    %s = tl.dot %q, %k : tensor<8x128xf16>, tensor<128x256xf16> -> tensor<8x256xf32>
    %other = tl.dot %q, %b : tensor<8x128xf16>, tensor<128x256xf16> -> tensor<8x256xf32>
    %both = arith.addf %s, %other : tensor<8x256xf32>
    %new = arith.maxnumf %o, %both : tensor<8x256xf32>
    scf.yield %new : tensor<8x256xf32>
  }
  func.return %r : tensor<8x256xf32>
}

// Refuses, with `load`: three blocks of 512 KiB are more than the scratch holds, so the operand is streamed.
// CHECK-LABEL: func.func @large
// CHECK: tl.composite(%{{.*}} = %q : tensor<8x1024xf16>, %{{.*}} = %rk : !ahbm.region<f16, 2>)
func.func @large(%q: tensor<8x1024xf16>, %b: tensor<1024x256xf16>, %p: !tl.ptr<f16>, %init: tensor<8x256xf32>, %n: i64) -> tensor<8x256xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 1024 : i64
  %columns = arith.constant 256 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<8x256xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%rows, %columns) strides(%columns, %one) lo(%zero, %zero) hi(%rows, %columns) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<1024x256xf16>
    %s = tl.dot %q, %k : tensor<8x1024xf16>, tensor<1024x256xf16> -> tensor<8x256xf32>
    %other = tl.dot %q, %b : tensor<8x1024xf16>, tensor<1024x256xf16> -> tensor<8x256xf32>
    %both = arith.addf %s, %other : tensor<8x256xf32>
    %new = arith.maxnumf %o, %both : tensor<8x256xf32>
    scf.yield %new : tensor<8x256xf32>
  }
  func.return %r : tensor<8x256xf32>
}

// Leaves alone, with `load`: the only product of its loop streams.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tl.load_region
// CHECK: tl.composite(%{{.*}} = %q : tensor<8x128xf16>, %{{.*}} = %rk : !ahbm.region<f16, 2>)
func.func @alone(%q: tensor<8x128xf16>, %p: !tl.ptr<f16>, %init: tensor<8x256xf32>, %n: i64) -> tensor<8x256xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 128 : i64
  %columns = arith.constant 256 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<8x256xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%rows, %columns) strides(%columns, %one) lo(%zero, %zero) hi(%rows, %columns) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<128x256xf16>
    %s = tl.dot %q, %k : tensor<8x128xf16>, tensor<128x256xf16> -> tensor<8x256xf32>
    %new = arith.maxnumf %o, %s : tensor<8x256xf32>
    scf.yield %new : tensor<8x256xf32>
  }
  func.return %r : tensor<8x256xf32>
}
