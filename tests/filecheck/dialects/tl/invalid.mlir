// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics

// Each verifier's refusals: what was found, and what would have been right.

// A grid has three axes.
// expected-error @+1 {{'tl.program_id': axis 3 of a grid, which has axes 0, 1 and 2}}
%0 = tl.program_id {axis = 3 : i32}

// -----

// An address is a pointer or a number of 64 bits.
func.func @address(%i: i64) {
  // expected-error @+1 {{'tl.ptr_cast': an address is a pointer or an i64; i64 does not become i64}}
  %0 = tl.ptr_cast %i : i64 -> i64
  func.return
}

// -----

// expected-error @+1 {{'tl.num_programs': axis -1 of a grid}}
%0 = tl.num_programs {axis = -1 : i32}

// -----

// A range of nothing has no block type.
// expected-error @+1 {{'tl.make_range': an empty range, from 4 to 4}}
%0 = tl.make_range {start = 4 : i32, end = 4 : i32} : tensor<1xi32>

// -----

// The size of the result follows from the ends.
// expected-error @+1 {{'tl.make_range': the result must be tensor<8xi32>, not tensor<7xi32>}}
%0 = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<7xi32>

// -----

// A splat keeps the type of its scalar.
func.func @f(%x: f32) {
  // expected-error @+1 {{'tl.splat': the operand is f32, the result a block of f16}}
  %0 = tl.splat %x : f32 -> tensor<8xf16>
  func.return
}

// -----

// The new axis lies within or behind the old ones.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'tl.expand_dims': axis 2 for a block of rank 1}}
  %0 = tl.expand_dims %x {axis = 2 : i32} : tensor<8xf32> -> tensor<8x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'tl.expand_dims': the result must be tensor<1x8xf32>, not tensor<8x1xf32>}}
  %0 = tl.expand_dims %x {axis = 0 : i32} : tensor<8xf32> -> tensor<8x1xf32>
  func.return
}

// -----

// Only an axis of size 1 can be repeated.
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{'tl.broadcast': tensor<8x2xf32> does not broadcast to tensor<8x4xf32>}}
  %0 = tl.broadcast %x : tensor<8x2xf32> -> tensor<8x4xf32>
  func.return
}

// -----

// A new shape holds as many elements as the old one.
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{'tl.reshape': tensor<8x2xf32> (16 elements) does not reshape to tensor<15xf32> (15 elements)}}
  %0 = tl.reshape %x : tensor<8x2xf32> -> tensor<15xf32>
  func.return
}

// -----

// Each axis is taken once.
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{'tl.trans': [0, 0] does not permute 2 axes}}
  %0 = tl.trans %x {order = array<i64: 0, 0>} : tensor<8x2xf32> -> tensor<8x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{'tl.trans': the result must be tensor<2x8xf32>, not tensor<8x2xf32>}}
  %0 = tl.trans %x {order = array<i64: 1, 0>} : tensor<8x2xf32> -> tensor<8x2xf32>
  func.return
}

// -----

// Only pointers are moved on, by integers, lane by lane.
func.func @f(%x: i32, %p: !tl.ptr<f16>, %f: f32, %b: tensor<8x!tl.ptr<f16>>) {
  // expected-error @+1 {{'tl.addptr': a pointer is needed, not i32}}
  %0 = tl.addptr %x, %x : i32, i32 -> i32
  // expected-error @+1 {{'tl.addptr': an integer offset is needed, not f32}}
  %1 = tl.addptr %p, %f : !tl.ptr<f16>, f32 -> !tl.ptr<f16>
  // expected-error @+1 {{'tl.addptr': tensor<8x!tl.ptr<f16>> and i32 differ in shape}}
  %2 = tl.addptr %b, %x : tensor<8x!tl.ptr<f16>>, i32 -> tensor<8x!tl.ptr<f16>>
  // expected-error @+1 {{'tl.addptr': the result must be !tl.ptr<f16>, not !tl.ptr<f32>}}
  %3 = tl.addptr %p, %x : !tl.ptr<f16>, i32 -> !tl.ptr<f32>
  func.return
}

// -----

// A load gives what the pointer points at; mask and other have its shape.
func.func @f(%x: i32, %p: tensor<8x!tl.ptr<f16>>, %m: tensor<4xi1>, %n: tensor<8xi1>, %z: tensor<8xf32>) {
  // expected-error @+1 {{'tl.load': a pointer or a block of pointers is needed, not i32}}
  %0 = tl.load %x : i32 -> f16
  // expected-error @+1 {{'tl.load': the result must be tensor<8xf16>, not tensor<8xf32>}}
  %1 = tl.load %p : tensor<8x!tl.ptr<f16>> -> tensor<8xf32>
  // expected-error @+1 {{'tl.load': the mask must be tensor<8xi1>, not tensor<4xi1>}}
  %2 = tl.load %p mask(%m : tensor<4xi1>) : tensor<8x!tl.ptr<f16>> -> tensor<8xf16>
  // expected-error @+1 {{'tl.load': other must be tensor<8xf16>, not tensor<8xf32>}}
  %3 = tl.load %p mask(%n : tensor<8xi1>) other(%z) : tensor<8x!tl.ptr<f16>> other_type tensor<8xf32> -> tensor<8xf16>
  // expected-error @+1 {{'tl.load': other without a mask}}
  %4 = tl.load %p other(%z) : tensor<8x!tl.ptr<f16>> other_type tensor<8xf32> -> tensor<8xf16>
  func.return
}

// -----

// A store takes the value that the pointer points at.
func.func @f(%p: tensor<8x!tl.ptr<f16>>, %m: tensor<4xi1>, %x: tensor<8xf16>, %z: tensor<8xf32>) {
  // expected-error @+1 {{'tl.store': the value must be tensor<8xf16>, not tensor<8xf32>}}
  tl.store %p, %z : tensor<8x!tl.ptr<f16>>, tensor<8xf32>
  // expected-error @+1 {{'tl.store': the mask must be tensor<8xi1>, not tensor<4xi1>}}
  tl.store %p, %x mask(%m : tensor<4xi1>) : tensor<8x!tl.ptr<f16>>, tensor<8xf16>
  func.return
}

// -----

// A block has the rank and the element type of the region that it comes from or goes to.
func.func @f(%r: !ahbm.region<f16, 2>, %x: tensor<8xf16>) {
  // expected-error @+1 {{'tl.load_region': a block of tensor<8x8xf32> does not match !ahbm.region<f16, 2>}}
  %0 = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<8x8xf32>
  // expected-error @+1 {{'tl.store_region': a block of tensor<8xf16> does not match !ahbm.region<f16, 2>}}
  tl.store_region %r, %x : !ahbm.region<f16, 2>, tensor<8xf16>
  func.return
}

// -----

// al.wait waits for values and gives none.
func.func @f(%x: tensor<8xf16>) {
  // expected-error @+1 {{'tl.wait'}}
  %0 = "tl.wait"(%x) : (tensor<8xf16>) -> tensor<8xf16>
  func.return
}

// -----

// A copy keeps shape and element type.
func.func @f(%x: tensor<8xf16>, %y: tensor<4xf16>) {
  // expected-error @+1 {{'tl.copy_to': tensor<8xf16> cannot be copied to tensor<4xf16> as tensor<4xf16>}}
  %0 = tl.copy_to %x, %y : tensor<8xf16>, tensor<4xf16> -> tensor<4xf16>
  func.return
}

// -----

// expected-error @+1 {{'tl.cycles': -1 cycles}}
tl.cycles {cycles = -1 : i64}

// -----

// The predicates of floats and of integers are apart, both sides have one type, and the result has their shape.
func.func @f(%i: i32, %x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @+1 {{'tl.cmp': predicate 'olt' on i32: it must be one of eq, ne, slt}}
  %0 = tl.cmp "olt", %i, %i : i32, i32 -> i1
  // expected-error @+1 {{'tl.cmp': predicate 'slt' on tensor<4xf32>: it must be one of oeq, une, olt}}
  %1 = tl.cmp "slt", %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  // expected-error @+1 {{'tl.cmp': tensor<4xf32> is compared with tensor<4xf16>}}
  %2 = tl.cmp "olt", %x, %y : tensor<4xf32>, tensor<4xf16> -> tensor<4xi1>
  // expected-error @+1 {{'tl.cmp': the result must be tensor<4xi1>, not i1}}
  %3 = tl.cmp "olt", %x, %x : tensor<4xf32>, tensor<4xf32> -> i1
  func.return
}

// -----

// Both values have one type, and the condition their shape.
func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @+1 {{'tl.select': tensor<4xf32> and tensor<4xf16> give tensor<4xf32>}}
  %0 = tl.select %c, %x, %y : i1, tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>
  // expected-error @+1 {{'tl.select': the condition must be tensor<4xi1>, not i1}}
  %1 = tl.select %c, %x, %x : i1, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// Numbers are cast, in the shape that they have.
func.func @f(%p: !tl.ptr<f16>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'tl.cast': !tl.ptr<f16> is no number}}
  %0 = tl.cast %p : !tl.ptr<f16> -> i64
  // expected-error @+1 {{'tl.cast': a cast keeps the shape; tensor<4xf32> and f16 differ}}
  %1 = tl.cast %x : tensor<4xf32> -> f16
  func.return
}

// -----

// A reduction takes one axis away.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.reduce': a reduction by 'mean': it must be one of sum, max, min, prod, and, or, xor}}
  %0 = tl.reduce "mean", %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  // expected-error @+1 {{'tl.reduce': axis 2 of a block of rank 2}}
  %1 = tl.reduce "sum", %x {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  // expected-error @+1 {{'tl.reduce': the result must be tensor<4xf32>, not tensor<8xf32>}}
  %2 = tl.reduce "sum", %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<8xf32>
  func.return
}

// -----

// [M, K] times [K, N] gives [M, N]; the element types agree; an accumulator has the result's type.
func.func @f(%a: tensor<4x16xf16>, %b: tensor<16x8xf16>, %c: tensor<8x8xf16>, %v: tensor<4xf16>, %w: tensor<16x8xbf16>, %acc: tensor<4x8xf16>) {
  // expected-error @+1 {{'tl.dot': a must have rank 2, not tensor<4xf16>}}
  %0 = tl.dot %v, %b : tensor<4xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.dot': tensor<4x16xf16> times tensor<8x8xf16>: the inner sizes differ}}
  %1 = tl.dot %a, %c : tensor<4x16xf16>, tensor<8x8xf16> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.dot': a is tensor<4x16xf16>, but the result has 8 rows}}
  %2 = tl.dot %a, %b : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<8x8xf32>
  // expected-error @+1 {{'tl.dot': b is tensor<16x8xf16>, but the result has 4 columns}}
  %3 = tl.dot %a, %b : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x4xf32>
  // expected-error @+1 {{'tl.dot': the result must be a block of rank 2, not tensor<32xf32>}}
  %4 = tl.dot %a, %b : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<32xf32>
  // expected-error @+1 {{'tl.dot': tensor<4x16xf16> times tensor<16x8xbf16>: the element types differ}}
  %5 = tl.dot %a, %w : tensor<4x16xf16>, tensor<16x8xbf16> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.dot': the accumulator is tensor<4x8xf16>, the result tensor<4x8xf32>}}
  %6 = tl.dot %a, %b acc(%acc) : tensor<4x16xf16>, tensor<16x8xf16> acc_type tensor<4x8xf16> -> tensor<4x8xf32>
  func.return
}

// -----

// A GEMM has a region among its operands; the rules of a product hold for it too.
func.func @f(%a: tensor<4x16xf16>, %b: tensor<16x8xf16>, %r: !ahbm.region<f16, 3>, %s: !ahbm.region<bf16, 2>, %i: i32) {
  // expected-error @+1 {{'tl.gemm': a GEMM of two blocks is a tl.dot}}
  %0 = tl.gemm %a, %b : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.gemm': b must have rank 2, not !ahbm.region<f16, 3>}}
  %1 = tl.gemm %a, %r : tensor<4x16xf16>, !ahbm.region<f16, 3> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.gemm': i32 is neither a region nor a block}}
  %2 = tl.gemm %i, %s : i32, !ahbm.region<bf16, 2> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.gemm': tensor<4x16xf16> times !ahbm.region<bf16, 2>: the element types differ}}
  %3 = tl.gemm %a, %s : tensor<4x16xf16>, !ahbm.region<bf16, 2> -> tensor<4x8xf32>
  func.return
}

// -----

// A composite has one product at most.
func.func @f(%a: tensor<8x8xf16>) {
  // expected-error @+1 {{'tl.composite': 2 products in one composite, which has one GEMM at most}}
  %0 = tl.composite(%x = %a : tensor<8x8xf16>) -> tensor<8x8xf32> {
    %p = tl.dot %x, %x : tensor<8x8xf16>, tensor<8x8xf16> -> tensor<8x8xf32>
    %q = tl.dot %x, %x acc(%p) : tensor<8x8xf16>, tensor<8x8xf16> acc_type tensor<8x8xf32> -> tensor<8x8xf32>
    tl.yield %q : tensor<8x8xf32>
  }
  func.return
}

// -----

// Its results are what its body yields; what is staged is one operand of the product.
func.func @f(%a: tensor<8x8xf16>) {
  // expected-error @+1 {{'tl.composite': the yielded values differ from the results in type}}
  %0 = tl.composite(%x = %a : tensor<8x8xf16>) -> tensor<8x8xf32> {
    tl.yield %x : tensor<8x8xf16>
  }
  // expected-error @+1 {{'tl.composite': stage 'c': it must be one of a, b, none}}
  tl.composite(%x = %a : tensor<8x8xf16>) attributes {stage = "c"} {
    tl.yield
  }
  tl.composite(%x = %a : tensor<8x8xf16>) {
    // expected-error @+1 {{'tl.cast': Operation tl.cast terminates block in single-block region but is not a terminator}}
    %y = tl.cast %x : tensor<8x8xf16> -> tensor<8x8xf32>
  }
  // expected-error @+1 {{'tl.composite': the arguments of the body differ from the operands}}
  "tl.composite"(%a) ({
  ^bb0(%x: tensor<4x4xf16>):
    tl.yield
  }) : (tensor<8x8xf16>) -> ()
  func.return
}

// -----

// The results of a recipe are what its body yields.
func.func @f(%a: tensor<8x8xf32>) {
  tl.composite(%x = %a : tensor<8x8xf32>) {
    // expected-error @+1 {{'tl.recipe': the yielded values differ from the results in type}}
    %0 = tl.recipe(%y = %x : tensor<8x8xf32>) attributes {recipe = "row_sum", params = {}} -> tensor<8xf32> {
      tl.yield %y : tensor<8x8xf32>
    }
    tl.yield
  }
  func.return
}

// -----

// The body of a composite sees its arguments only.
func.func @f(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) {
  // expected-error @+1 {{'tl.composite': Operation using value defined out of its IsolatedFromAbove parent}}
  %0 = tl.composite(%x = %a : tensor<8x8xf16>) -> tensor<8x8xf16> {
    %y = arith.addf %x, %b : tensor<8x8xf16>
    tl.yield %y : tensor<8x8xf16>
  }
  func.return
}

// -----

// A yield ends a composite and nothing else.
func.func @f(%a: tensor<8x8xf16>) {
  // expected-error @+1 {{'tl.yield'}}
  tl.yield %a : tensor<8x8xf16>
}

// -----

// An atomic is of a known kind, floats have no bits to combine, and all of it has the type of what the pointer points at.
func.func @f(%p: tensor<8x!tl.ptr<f32>>, %x: tensor<8xf32>, %y: tensor<8xf16>, %m: tensor<4xi1>) {
  // expected-error @+1 {{'tl.atomic': an atomic 'mul': it must be one of add, max, min, maxu, minu, and, or, xor, xchg, cas}}
  %0 = tl.atomic "mul", %p, %x : tensor<8x!tl.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // expected-error @+1 {{'tl.atomic': an atomic 'xor' of floats}}
  %1 = tl.atomic "xor", %p, %x : tensor<8x!tl.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // expected-error @+1 {{'tl.atomic': the value must be tensor<8xf32>, not tensor<8xf16>}}
  %2 = tl.atomic "add", %p, %y : tensor<8x!tl.ptr<f32>>, tensor<8xf16> -> tensor<8xf16>
  // expected-error @+1 {{'tl.atomic': an atomic 'cas' needs a comparand}}
  %3 = tl.atomic "cas", %p, %x : tensor<8x!tl.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // expected-error @+1 {{'tl.atomic': an atomic 'add' has no comparand}}
  %4 = tl.atomic "add", %p, %x compare(%x : tensor<8xf32>) : tensor<8x!tl.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // expected-error @+1 {{'tl.atomic': the mask must be tensor<8xi1>, not tensor<4xi1>}}
  %5 = tl.atomic "add", %p, %x mask(%m : tensor<4xi1>) : tensor<8x!tl.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  func.return
}

// -----

// A scan keeps the type of its block; its kind and axis are known.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.scan': a scan by 'mean': it must be one of sum, max, min, prod, and, or, xor}}
  %0 = tl.scan "mean", %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.scan': axis 2 of tensor<4x8xf32>}}
  %1 = tl.scan "sum", %x {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.scan': the result must be tensor<4x8xf32>, not tensor<4xf32>}}
  %2 = tl.scan "sum", %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// A gather goes by integers, lane by lane on the other axes.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<4x3xi32>, %j: tensor<5x8xi32>) {
  // expected-error @+1 {{'tl.gather': an index of tensor<4x8xf32>}}
  %0 = tl.gather %x, %x {axis = 1 : i32} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @+1 {{'tl.gather': tensor<4x8xf32> indexed by tensor<5x8xi32> along axis 1}}
  %1 = tl.gather %x, %j {axis = 1 : i32} : tensor<4x8xf32>, tensor<5x8xi32> -> tensor<5x8xf32>
  // expected-error @+1 {{'tl.gather': tensor<4x8xf32> indexed by tensor<4x3xi32> does not give tensor<4x8xf32>}}
  %2 = tl.gather %x, %i {axis = 1 : i32} : tensor<4x8xf32>, tensor<4x3xi32> -> tensor<4x8xf32>
  func.return
}

// -----

// A sort gives at most the lanes that there are.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tl.sort': tensor<4x8xf32> sorted along axis 1 does not give tensor<4x9xf32>}}
  %0 = tl.sort %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x9xf32>
  // expected-error @+1 {{'tl.sort': tensor<4x8xf32> sorted along axis 0 does not give tensor<4x4xf32>}}
  %1 = tl.sort %x {axis = 0 : i32} : tensor<4x8xf32> -> tensor<4x4xf32>
  func.return
}

// -----

// A histogram counts integers of one axis.
func.func @f(%x: tensor<8xf32>, %n: tensor<8xi32>, %m: tensor<4xi1>) {
  // expected-error @+1 {{'tl.histogram': a histogram of tensor<8xf32>}}
  %0 = tl.histogram %x : tensor<8xf32> -> tensor<4xi32>
  // expected-error @+1 {{'tl.histogram': a histogram of tensor<8xi32> does not give tensor<4xf32>}}
  %1 = tl.histogram %n : tensor<8xi32> -> tensor<4xf32>
  // expected-error @+1 {{'tl.histogram': the mask is tensor<4xi1>, the block tensor<8xi32>}}
  %2 = tl.histogram %n mask(%m : tensor<4xi1>) : tensor<8xi32> -> tensor<4xi32>
  func.return
}

// -----

// The upper half of a product is that of two integers of one type, which must be wide enough.
func.func @f(%a: i16, %b: i32, %c: i64, %x: tensor<8xf32>) {
  // expected-error @+1 {{'tl.umulhi': integers of 32 or 64 bits are needed, not i16}}
  %0 = tl.umulhi %a, %a : i16, i16 -> i16
  // expected-error @+1 {{'tl.umulhi': i32 and i64 give i32}}
  %1 = tl.umulhi %b, %c : i32, i64 -> i32
  // expected-error @+1 {{'tl.umulhi': integers of 32 or 64 bits are needed, not tensor<8xf32>}}
  %2 = tl.umulhi %x, %x : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  // expected-error @+1 {{'tl.remf': floats are needed, not i32}}
  %3 = tl.remf %b, %b : i32, i32 -> i32
  func.return
}

// -----

// Both operands of a batch have as many matrices as the result.
func.func @f(%a: tensor<3x4x16xf16>, %b: tensor<2x16x8xf16>, %c: tensor<16x8xf16>) {
  // expected-error @+1 {{'tl.dot': b is tensor<2x16x8xf16>, but the result is tensor<3x4x8xf32>}}
  %0 = tl.dot %a, %b : tensor<3x4x16xf16>, tensor<2x16x8xf16> -> tensor<3x4x8xf32>
  // expected-error @+1 {{'tl.dot': b must have rank 3, not tensor<16x8xf16>}}
  %1 = tl.dot %a, %c : tensor<3x4x16xf16>, tensor<16x8xf16> -> tensor<3x4x8xf32>
  func.return
}
