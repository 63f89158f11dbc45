// Decode attention over a long context, as commands: each program takes its part of the keys, 1,024 at a time (a sweep),
// for 32 queries that share them. A sweep is two composites of 64 hardware tiles each, scores (32 x 128 x 1,024) and P V
// (32 x 1,024 x 128), with the MATH of the online softmax. Nothing is reduced over programs: each leaves its own O, m
// and l (exponentials to base 2).
//
// K and V lie tile by tile: 64 x 32 values of 4,096 bytes, in the order in which the tile loop reads them (of K: keys
// outside, head inside; of V: head outside, keys inside). `spare` is how many tiles lie unused between two programs; it
// is what moves the tiles of program p on by p slices where a tensor is dealt out over slices tile by tile.
//
// `context` must be a multiple of 1,024 keys per program.
func.func @decode(%q: !tl.ptr<f16>, %k: !tl.ptr<f16>, %v: !tl.ptr<f16>, %o: !tl.ptr<f32>, %m: !tl.ptr<f32>,
                  %l: !tl.ptr<f32>, %scale: f32, %context: i64, %spare: i64) {
  %query = ahbm.alloc : !ahbm.buffer<32x128xf16, tcm>
  %scores = ahbm.alloc : !ahbm.buffer<32x1024xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x1024xf16, tcm>
  %out = ahbm.alloc : !ahbm.buffer<32x128xf32, tcm>
  %most = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %sum = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %lines = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %head = arith.constant 128 : i64
  %keys = arith.constant 1024 : i64
  %tile = arith.constant 2048 : i64
  %tiles2 = arith.constant 4096 : i64
  %tiles16 = arith.constant 32768 : i64
  %tiles64 = arith.constant 131072 : i64

  %id = ahbm.program_id {axis = 0 : i32}
  %number = arith.extsi %id : i32 to i64
  %count = ahbm.num_programs {axis = 0 : i32}
  %programs = arith.extsi %count : i32 to i64
  %mine = arith.divsi %context, %programs : i64
  %sweeps = arith.divsi %mine, %keys : i64
  %behind = arith.muli %spare, %tile : i64
  %swept = arith.muli %sweeps, %tiles64 : i64
  %apart = arith.addi %swept, %behind : i64
  %first = arith.muli %number, %apart : i64

  %queries = ahbm.region %q[%c0] sizes(%lines, %head) strides(%head, %c1) lo(%c0, %c0) hi(%lines, %head) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %queries, %query : !ahbm.region<f16, 2>, !ahbm.buffer<32x128xf16, tcm>
  ahbm.fill %out {value = 0.000000e+00 : f32} : !ahbm.buffer<32x128xf32, tcm>
  ahbm.fill %sum {value = 0.000000e+00 : f32} : !ahbm.buffer<32xf32, tcm>
  ahbm.fill %most {value = 0xff800000 : f32} : !ahbm.buffer<32xf32, tcm>
  scf.for %sweep = %c0 to %sweeps step %c1 : i64 {
    %gone = arith.muli %sweep, %tiles64 : i64
    %here = arith.addi %first, %gone : i64
    %k_here = ahbm.region %k[%here] sizes(%head, %keys) strides(%lines, %c1) lo(%c0, %c0) hi(%head, %keys) fold(%c0, %c0) width(%c64, %lines) stride(%tile, %tiles2) {axes = ["folded", "folded"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    ahbm.composite(%query, %k_here, %scale, %scores : !ahbm.buffer<32x128xf16, tcm>, !ahbm.region<f16, 2>, f32, !ahbm.buffer<32x1024xf32, tcm>) extents(%lines, %keys, %head) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 3>, #ahbm.spec<"mul", output_tile, [-1, 2], 3>], writes = array<i64: 3>} plan {}
    %v_here = ahbm.region %v[%here] sizes(%keys, %head) strides(%lines, %c1) lo(%c0, %c0) hi(%keys, %head) fold(%c0, %c0) width(%c64, %lines) stride(%tile, %tiles16) {axes = ["folded", "folded"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    ahbm.composite(%scores, %most, %sum, %out, %v_here, %p : !ahbm.buffer<32x1024xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x128xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x1024xf16, tcm>) extents(%lines, %head, %keys) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "2", scale = "before", sum = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  }

  %o_size = arith.muli %lines, %head : i64
  %o_first = arith.muli %number, %o_size : i64
  %o_mine = ahbm.region %o[%o_first] sizes(%lines, %head) strides(%head, %c1) lo(%c0, %c0) hi(%lines, %head) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  ahbm.dma_write %out, %o_mine : !ahbm.buffer<32x128xf32, tcm>, !ahbm.region<f32, 2>
  %row = arith.muli %number, %lines : i64
  %m_mine = ahbm.region %m[%row] sizes(%lines) strides(%c1) lo(%c0) hi(%lines) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  ahbm.dma_write %most, %m_mine : !ahbm.buffer<32xf32, tcm>, !ahbm.region<f32, 1>
  %l_mine = ahbm.region %l[%row] sizes(%lines) strides(%c1) lo(%c0) hi(%lines) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  ahbm.dma_write %sum, %l_mine : !ahbm.buffer<32xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
