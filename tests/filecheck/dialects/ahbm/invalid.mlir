// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics

// Each verifier's refusals: what was found, and what would have been right.

// expected-error @+1 {{'ahbm.program_id': axis 3 of a grid, which has axes 0, 1 and 2}}
%0 = ahbm.program_id {axis = 3 : i32}

// -----

func.func @address(%i: i32) {
  // expected-error @+1 {{'ahbm.ptr_cast': an address is a pointer or an i64; i32 does not become !tl.ptr<f16>}}
  %0 = ahbm.ptr_cast %i : i32 -> !tl.ptr<f16>
  func.return
}

// -----

// expected-error @+1 {{'ahbm.num_programs': axis -1 of a grid, which has axes 0, 1 and 2}}
%0 = ahbm.num_programs {axis = -1 : i32}

// -----

// Moving a pointer on keeps what it points at.
func.func @f(%p: !tl.ptr<f16>, %i: i64) {
  // expected-error @+1 {{'ahbm.addptr': the result must be !tl.ptr<f16>, not !tl.ptr<f32>}}
  %0 = ahbm.addptr %p, %i : !tl.ptr<f16>, i64 -> !tl.ptr<f32>
  func.return
}

// -----

// Every list of a region has one entry per axis, and lists of special axes one per axis of that kind.
func.func @f(%p: !tl.ptr<f16>, %n: i64) {
  // expected-error @+1 {{'ahbm.region': 1 strides for a region of rank 2}}
  %0 = ahbm.region %p[%n] sizes(%n, %n) strides(%n) lo(%n, %n) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.region': axis kind 'wrapped' is none of affine, folded, indexed}}
  %1 = ahbm.region %p[%n] sizes(%n) strides(%n) lo(%n) hi(%n) {axes = ["wrapped"]} : !tl.ptr<f16> -> !ahbm.region<f16, 1>
  // expected-error @+1 {{'ahbm.region': 1 folded axes, but 0 operands for them}}
  %2 = ahbm.region %p[%n] sizes(%n) strides(%n) lo(%n) hi(%n) {axes = ["folded"]} : !tl.ptr<f16> -> !ahbm.region<f16, 1>
  // expected-error @+1 {{'ahbm.region': 1 indexed axes, but 0 operands for them}}
  %3 = ahbm.region %p[%n] sizes(%n) strides(%n) lo(%n) hi(%n) {axes = ["indexed"]} : !tl.ptr<f16> -> !ahbm.region<f16, 1>
  // expected-error @+1 {{'ahbm.region': a region of f32 cannot lie at a !tl.ptr<f16>}}
  %4 = ahbm.region %p[%n] sizes(%n) strides(%n) lo(%n) hi(%n) {axes = ["affine"]} : !tl.ptr<f16> -> !ahbm.region<f32, 1>
  func.return
}

// -----

// A piece is cut along an axis that is there, out of a region.
func.func @f(%r: !ahbm.region<f16, 2>, %n: i64) {
  // expected-error @+1 {{'ahbm.cut': axis 2 of a region of rank 2}}
  %0 = ahbm.cut %r[%n, %n] {axis = 2 : i64} : !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.cut': a region is needed, not i64}}
  %1 = ahbm.cut %n[%n, %n] {axis = 0 : i64} : i64
  func.return
}

// -----

// The scratch begins at 0.
func.func @f() {
  // expected-error @+1 {{'ahbm.alloc': a negative offset in the scratch}}
  %0 = ahbm.alloc {offset = -8 : i64} : !ahbm.buffer<8xf32, tcm>
  func.return
}

// -----

// There are three memory spaces.
func.func @f() {
  // expected-error @+1 {{memory space 'l2': it must be one of tcm, sram, hbm}}
  %0 = ahbm.alloc : !ahbm.buffer<8xf32, l2>
  func.return
}

// -----

// Each axis of a view is an axis of its source of the same size (or 1), or a repeated lane; no lane is lost.
func.func @f(%b: !ahbm.buffer<8x16xf32, tcm>, %i: !ahbm.index<8xi32>) {
  // expected-error @+1 {{'ahbm.view': 1 axes for a result of rank 2}}
  %0 = ahbm.view %b {axes = array<i64: 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16x8xf32, tcm>
  // expected-error @+1 {{'ahbm.view': axes [0, 0] of !ahbm.buffer<8x16xf32, tcm>}}
  %1 = ahbm.view %b {axes = array<i64: 0, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<8x8xf32, tcm>
  // expected-error @+1 {{'ahbm.view': axis 0 of !ahbm.buffer<8x16xf32, tcm> cannot be a view of !ahbm.buffer<8x16xf32, tcm>}}
  %2 = ahbm.view %b {axes = array<i64: 1, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<8x16xf32, tcm>
  // expected-error @+1 {{'ahbm.view': axes [0] drop lanes of !ahbm.buffer<8x16xf32, tcm>}}
  %3 = ahbm.view %b {axes = array<i64: 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<8xf32, tcm>
  // expected-error @+1 {{'ahbm.view': lanes [0, 16] of !ahbm.buffer<8x16xf32, tcm> along the axes that [0] leaves out}}
  %6 = ahbm.view %b {axes = array<i64: 0>, lanes = array<i64: 0, 16>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<8xf32, tcm>
  // expected-error @+1 {{'ahbm.view': lanes of !ahbm.index<8xi32>}}
  %7 = ahbm.view %i {axes = array<i64>, lanes = array<i64: 3>} : !ahbm.index<8xi32> -> !ahbm.index<i32>
  // expected-error @+1 {{'ahbm.view': a view keeps the element type}}
  %4 = ahbm.view %b {axes = array<i64: 1, 0>} : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<16x8xf16, tcm>
  // expected-error @+1 {{'ahbm.view': a view of a buffer is a buffer, of an index an index}}
  %5 = ahbm.view %i {axes = array<i64: 0>} : !ahbm.index<8xi32> -> !ahbm.buffer<8xi32, tcm>
  func.return
}

// -----

// A reshape keeps the bytes.
func.func @f(%b: !ahbm.buffer<8x16xf32, tcm>) {
  // expected-error @+1 {{'ahbm.reshape': !ahbm.buffer<8x16xf32, tcm> does not reshape to !ahbm.buffer<64xf32, tcm>}}
  %0 = ahbm.reshape %b : !ahbm.buffer<8x16xf32, tcm> -> !ahbm.buffer<64xf32, tcm>
  func.return
}

// -----

// An index view has one step per axis.
func.func @f(%n: i64) {
  // expected-error @+1 {{'ahbm.index': 1 steps for an index of rank 2}}
  %0 = ahbm.index %n steps(%n) : !ahbm.index<8x16xi32>
  func.return
}

// -----

// A fill has one number, of the buffer's element type.
func.func @f(%b: !ahbm.buffer<8xf32, tcm>, %x: f16) {
  // expected-error @+1 {{'ahbm.fill': a fill takes a constant or a scalar, one of the two}}
  ahbm.fill %b : !ahbm.buffer<8xf32, tcm>
  // expected-error @+1 {{'ahbm.fill': f16 cannot fill !ahbm.buffer<8xf32, tcm>}}
  ahbm.fill %b with %x : f16 : !ahbm.buffer<8xf32, tcm>
  func.return
}

// -----

// PE_CPU reads single numbers.
func.func @f(%b: !ahbm.buffer<8xf32, tcm>, %s: !ahbm.buffer<f32, tcm>) {
  // expected-error @+1 {{'ahbm.read_scalar': only a buffer of rank 0 is a scalar, not !ahbm.buffer<8xf32, tcm>}}
  %0 = ahbm.read_scalar %b : !ahbm.buffer<8xf32, tcm> -> f32
  // expected-error @+1 {{'ahbm.read_scalar': the result must be f32, not f16}}
  %1 = ahbm.read_scalar %s : !ahbm.buffer<f32, tcm> -> f16
  func.return
}

// -----

// A transfer keeps rank and element type.
func.func @f(%r: !ahbm.region<f16, 2>, %b: !ahbm.buffer<8xf16, tcm>, %c: !ahbm.buffer<8x8xf32, tcm>) {
  // expected-error @+1 {{'ahbm.dma_read': !ahbm.region<f16, 2> and !ahbm.buffer<8xf16, tcm> differ in rank or element type}}
  ahbm.dma_read %r, %b : !ahbm.region<f16, 2>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.dma_write': !ahbm.region<f16, 2> and !ahbm.buffer<8x8xf32, tcm> differ in rank or element type}}
  ahbm.dma_write %c, %r : !ahbm.buffer<8x8xf32, tcm>, !ahbm.region<f16, 2>
  func.return
}

// -----

// Index and mask of a gather or scatter have the shape of the block.
func.func @f(%p: !tl.ptr<f16>, %b: !ahbm.buffer<8xf16, tcm>, %c: !ahbm.buffer<8xf32, tcm>, %i: !ahbm.index<8xi32>, %j: !ahbm.index<4xi32>, %m: !ahbm.buffer<8xf16, tcm>) {
  // expected-error @+1 {{'ahbm.gather': the index is !ahbm.index<4xi32>, the block !ahbm.buffer<8xf16, tcm>}}
  ahbm.gather %p[%j], %b : !tl.ptr<f16>, !ahbm.index<4xi32>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.gather': an index of f16}}
  ahbm.gather %p[%m], %b : !tl.ptr<f16>, !ahbm.buffer<8xf16, tcm>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.gather': !ahbm.buffer<8xf32, tcm> at a !tl.ptr<f16>}}
  ahbm.gather %p[%i], %c : !tl.ptr<f16>, !ahbm.index<8xi32>, !ahbm.buffer<8xf32, tcm>
  // expected-error @+1 {{'ahbm.scatter': the mask is !ahbm.buffer<8xf16, tcm>, the block !ahbm.buffer<8xf16, tcm>}}
  ahbm.scatter %b, %p[%i] mask(%m : !ahbm.buffer<8xf16, tcm>) : !ahbm.buffer<8xf16, tcm>, !tl.ptr<f16>, !ahbm.index<8xi32>
  func.return
}

// -----

// An atomic has what its kind needs; its value is one number or one for each lane.
func.func @f(%p: !tl.ptr<f16>, %b: !ahbm.buffer<8xf16, tcm>, %c: !ahbm.buffer<4xf16, tcm>, %i: !ahbm.index<8xi32>, %x: f32) {
  // expected-error @+1 {{'ahbm.atomic': an atomic 'or' of floats}}
  ahbm.atomic "or", %p[%i] value(%b : !ahbm.buffer<8xf16, tcm>), %b : !tl.ptr<f16>, !ahbm.index<8xi32>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.atomic': !ahbm.buffer<4xf16, tcm> for !ahbm.buffer<8xf16, tcm>}}
  ahbm.atomic "add", %p[%i] value(%c : !ahbm.buffer<4xf16, tcm>), %b : !tl.ptr<f16>, !ahbm.index<8xi32>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.atomic': f32 for !ahbm.buffer<8xf16, tcm>}}
  ahbm.atomic "cas", %p[%i] value(%b : !ahbm.buffer<8xf16, tcm>) compare(%x : f32), %b : !tl.ptr<f16>, !ahbm.index<8xi32>, !ahbm.buffer<8xf16, tcm>
  func.return
}

// -----

// A scalar transfer moves one number of the pointer's type.
func.func @f(%p: !tl.ptr<f16>, %b: !ahbm.buffer<8xf16, tcm>, %s: !ahbm.buffer<f32, tcm>, %x: f32) {
  // expected-error @+1 {{'ahbm.load_scalar': one element does not fill !ahbm.buffer<8xf16, tcm>}}
  ahbm.load_scalar %p, %b : !tl.ptr<f16>, !ahbm.buffer<8xf16, tcm>
  // expected-error @+1 {{'ahbm.load_scalar': !tl.ptr<f16> into !ahbm.buffer<f32, tcm>}}
  ahbm.load_scalar %p, %s : !tl.ptr<f16>, !ahbm.buffer<f32, tcm>
  // expected-error @+1 {{'ahbm.store_scalar': f32 at a !tl.ptr<f16>}}
  ahbm.store_scalar %x, %p : f32, !tl.ptr<f16>
  func.return
}

// -----

// [M, K] times [K, N] gives [M, N].
func.func @f(%a: !ahbm.buffer<8x16xf16, tcm>, %b: !ahbm.buffer<16x4xf16, tcm>, %w: !ahbm.buffer<16x4xbf16, tcm>, %o: !ahbm.buffer<8x4xf32, tcm>, %v: !ahbm.buffer<8xf32, tcm>) {
  // expected-error @+1 {{'ahbm.gemm': the buffers of a GEMM have rank 2}}
  ahbm.gemm %a, %b, %v : !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8xf32, tcm>
  // expected-error @+1 {{'ahbm.gemm': !ahbm.buffer<16x4xf16, tcm> times !ahbm.buffer<8x16xf16, tcm> does not give !ahbm.buffer<8x4xf32, tcm>}}
  ahbm.gemm %b, %a, %o : !ahbm.buffer<16x4xf16, tcm>, !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<8x4xf32, tcm>
  // expected-error @+1 {{'ahbm.gemm': a and b differ in element type}}
  ahbm.gemm %a, %w, %o : !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<16x4xbf16, tcm>, !ahbm.buffer<8x4xf32, tcm>
  func.return
}

// -----

// A MATH kind is known, has its number of inputs, and an axis if and only if it reduces.
func.func @f(%b: !ahbm.buffer<8x4xf32, tcm>, %v: !ahbm.buffer<8xf32, tcm>) {
  // expected-error @+1 {{'ahbm.math': 'softmax' is no MATH kind}}
  ahbm.math "softmax" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>)
  // expected-error @+1 {{'ahbm.math': 'add' takes 2 inputs, not 1}}
  ahbm.math "add" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>)
  // expected-error @+1 {{'ahbm.math': 'reduce_sum' needs an axis}}
  ahbm.math "reduce_sum" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%v : !ahbm.buffer<8xf32, tcm>)
  // expected-error @+1 {{'ahbm.math': 'exp' has no axis}}
  ahbm.math "exp" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>) {axis = 0 : i64}
  // expected-error @+1 {{'ahbm.math': axis 2 of !ahbm.buffer<8x4xf32, tcm>}}
  ahbm.math "reduce_sum" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%v : !ahbm.buffer<8xf32, tcm>) {axis = 2 : i64}
  // expected-error @+1 {{'ahbm.math': !ahbm.buffer<8x4xf32, tcm> reduced along axis 0 does not give !ahbm.buffer<8xf32, tcm>}}
  ahbm.math "reduce_sum" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%v : !ahbm.buffer<8xf32, tcm>) {axis = 0 : i64}
  // expected-error @+1 {{'ahbm.math': !ahbm.buffer<8x4xf32, tcm> scanned along axis 1 does not give !ahbm.buffer<8xf32, tcm>}}
  ahbm.math "scan_sum" ins(%b : !ahbm.buffer<8x4xf32, tcm>) out(%v : !ahbm.buffer<8xf32, tcm>) {axis = 1 : i64}
  // expected-error @+1 {{'ahbm.math': an index of !ahbm.buffer<8x4xf32, tcm>}}
  ahbm.math "gather" ins(%b, %b : !ahbm.buffer<8x4xf32, tcm>, !ahbm.buffer<8x4xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>) {axis = 1 : i64}
  // expected-error @+1 {{'ahbm.math': 'histogram' takes 1 or 2 inputs, not 0}}
  ahbm.math "histogram" ins( : ) out(%v : !ahbm.buffer<8xf32, tcm>)
  // expected-error @+1 {{'ahbm.math': !ahbm.buffer<8xf32, tcm> sorted along axis 0 does not give !ahbm.buffer<8x4xf32, tcm>}}
  ahbm.math "sort" ins(%v : !ahbm.buffer<8xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>) {axis = 0 : i64}
  // expected-error @+1 {{'ahbm.math': !ahbm.buffer<8xf32, tcm> as an input of !ahbm.buffer<8x4xf32, tcm>}}
  ahbm.math "add" ins(%b, %v : !ahbm.buffer<8x4xf32, tcm>, !ahbm.buffer<8xf32, tcm>) out(%b : !ahbm.buffer<8x4xf32, tcm>)
  func.return
}

// -----

func.func @f(%b: !ahbm.buffer<8xf32, tcm>, %c: !ahbm.buffer<4xf32, tcm>) {
  // expected-error @+1 {{'ahbm.copy': !ahbm.buffer<8xf32, tcm> cannot be copied to !ahbm.buffer<4xf32, tcm>}}
  ahbm.copy %b, %c : !ahbm.buffer<8xf32, tcm>, !ahbm.buffer<4xf32, tcm>
  func.return
}

// -----

// PE_CPU waits for buffers.
func.func @f(%x: i32) {
  // expected-error @+1 {{'ahbm.wait': operand 'buffers' at position 0 does not verify}}
  "ahbm.wait"(%x) : (i32) -> ()
  func.return
}

// -----

// expected-error @+1 {{'ahbm.cycles': -1 cycles}}
ahbm.cycles {cycles = -1 : i64}

// -----

// A composite has ops, one GEMM at most, and extents if and only if it has one.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': a composite without ops}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [], writes = array<i64>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': 2 GEMMs in a composite, which has one at most}}
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>, #ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': 0 extents; m, n and k belong to a GEMM, and only to it}}
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': writes [2] of 2 parts}}
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 2>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': a handle is named twice among those written}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0, 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': a handle among those written is the out of no op}}
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 1>} plan {
  }
  func.return
}

// -----

// An op takes parts that are there; the running tile only after the GEMM; its scope fits its position.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %r: !ahbm.region<f16, 2>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') takes operand 1 of 1 parts}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [1], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') takes the running tile, but no GEMM comes before it}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [-1], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') writes operand 4 of 1 parts}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 4>], writes = array<i64>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') runs per output tile, but no GEMM comes before it}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", output_tile, [0], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') runs per K tile without a GEMM}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", k_tile, [0], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') runs once and takes part 1 from HBM; its operands must lie in TCM}}
  ahbm.composite(%a, %r : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f16, 2>) {specs = [#ahbm.spec<"exp", once, [1], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}

// -----

// The GEMM of a composite runs per K tile, on two operands of rank 2 and of one element type.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %w: !ahbm.buffer<8x8xbf16, tcm>, %v: !ahbm.buffer<8xf16, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': op 0 ('gemm') must have scope k_tile, not once}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", once, [0, 0], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('gemm') takes a and b and writes an out}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('gemm') takes part 1 of rank 1; a GEMM takes rank 2}}
  ahbm.composite(%a, %v : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('gemm') takes part 1, which is i64}}
  ahbm.composite(%a, %n : !ahbm.buffer<8x8xf16, tcm>, i64) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': op 0 ('gemm'): a is !ahbm.buffer<8x8xf16, tcm>, b is !ahbm.buffer<8x8xbf16, tcm>}}
  ahbm.composite(%a, %w : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xbf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}

// -----

// What a recipe makes becomes the a of the GEMM; another a beside it is refused. A handle is written under one number.
func.func @f(%s: !ahbm.buffer<8x8xf32, tcm>, %v: !ahbm.buffer<8xf32, tcm>, %p: !ahbm.buffer<8x8xf16, tcm>, %a: !ahbm.buffer<8x8xf16, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': op 0 ('softmax_merge') makes part 2, which becomes the a of the GEMM, but the GEMM has part 3 as its a; give the GEMM no other a}}
  ahbm.composite(%s, %v, %p, %a : !ahbm.buffer<8x8xf32, tcm>, !ahbm.buffer<8xf32, tcm>, !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 1, 0], 2>, #ahbm.spec<"gemm", k_tile, [3, 3], 0>], writes = array<i64: 0>} plan {
  }
  // expected-error @+1 {{'ahbm.composite': a handle is named twice among those written}}
  ahbm.composite(%a, %a : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", once, [1], 1>], writes = array<i64: 0, 1>} plan {
  }
  func.return
}

// -----

// An op of a composite has the operands of its kind.
func.func @f(%a: !ahbm.buffer<8x8xf32, tcm>) {
  // expected-error @+1 {{'ahbm.composite': op 0 ('add') takes 2 operands, not 1}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf32, tcm>) {specs = [#ahbm.spec<"add", once, [0], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}
