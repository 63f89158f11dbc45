// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics

// A stage names its op or its part by number; a loop over tiles holds the stages that belong in each of its bodies.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': pe.fetch cannot stand in a plan outside pe.tiles}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
    pe.fetch
  }
  func.return
}

// -----

func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
    // expected-error @+1 {{'pe.tiles': pe.store as a stage where only pe.dma_read, pe.fetch, pe.gemm, pe.math can stand}}
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.store {part = 1 : i64}
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 1 : i64}
    }
  }
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
    // expected-error @+1 {{'pe.tiles': a tile has three sizes: m, k and n}}
    pe.tiles {tile = array<i64: 32, 0, 32>} k {
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 1 : i64}
    }
  }
  func.return
}

// -----

// Plan and op list agree: every op of the composite once, and in its phase.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>) {
  // expected-error @+1 {{'ahbm.composite': the plan runs ops [0, 0] before the tiles, the composite's are [0]}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
    pe.once {spec = 0 : i64}
    pe.once {spec = 0 : i64}
  }
  // expected-error @+1 {{'ahbm.composite': the plan runs ops [1] before the tiles, the composite's are [0]}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
    pe.once {spec = 1 : i64}
  }
  func.return
}

// -----

// The DMA stages of a streamed plan are those of the operands that lie in HBM.
func.func @f(%a: !ahbm.region<f16, 2>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': the plan reads parts [] from HBM, but [0, 0] are streamed}}
  ahbm.composite(%a, %o : !ahbm.region<f16, 2>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 1 : i64}
    }
  }
  func.return
}

// -----

func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %o: !ahbm.region<f32, 2>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': the plan writes parts [] to HBM, but the output asks for [1]}}
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f32, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 1 : i64}
    }
  }
  func.return
}

// -----

// A loop over tiles has both its bodies.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  ahbm.composite(%a, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 1>], writes = array<i64: 1>} plan {
    // expected-error @+1 {{'pe.tiles': Region 'k_body' at position 0 expected a single block, but got 0 blocks}}
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
    } output {
      pe.store {part = 1 : i64}
    }
  }
  func.return
}

// -----

// A stage without its number does not say what to do.
func.func @f() {
  // expected-error @+1 {{'pe.once'}}
  "pe.once"() : () -> ()
  // expected-error @+1 {{'pe.math'}}
  "pe.math"() : () -> ()
  // expected-error @+1 {{'pe.gemm'}}
  "pe.gemm"() : () -> ()
  // expected-error @+1 {{'pe.dma_read'}}
  "pe.dma_read"() : () -> ()
  // expected-error @+1 {{'pe.store'}}
  "pe.store"() : () -> ()
  // expected-error @+1 {{'pe.dma_write'}}
  "pe.dma_write"() : () -> ()
  // expected-error @+1 {{'pe.fetch'}}
  %0 = "pe.fetch"() : () -> i32
  func.return
}

// -----

// What a composite says about its plan comes after what is wrong in the plan.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>) {
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
    // expected-error @+1 {{'pe.once'}}
    "pe.once"() : () -> ()
  }
  func.return
}

// -----

// DMA stages follow from where the parts lie: a plan without `streamed` has none.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %b: !ahbm.region<f16, 2>, %o: !ahbm.buffer<8x8xf32, tcm>, %n: i64) {
  // expected-error @+1 {{'ahbm.composite': the plan moves parts [1] by DMA before its DMA stages are in; insert-dma-stages puts them there}}
  ahbm.composite(%a, %b, %o : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<8x8xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.dma_read {part = 1 : i64}
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}

// -----

// Without tiles one write may stand at the end, of what the last op leaves in HBM.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %r: !ahbm.region<f16, 2>) {
  // expected-error @+1 {{'ahbm.composite': the plan writes parts [0] to HBM, but the output asks for []}}
  ahbm.composite(%a : !ahbm.buffer<8x8xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
    pe.once {spec = 0 : i64}
    pe.dma_write {part = 0 : i64}
  }
  // expected-error @+1 {{'ahbm.composite': the plan writes parts [0] to HBM, but the output asks for [1]}}
  ahbm.composite(%a, %r : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f16, 2>) {specs = [#ahbm.spec<"exp", once, [0], 1>], writes = array<i64: 1>} plan {
    pe.once {spec = 0 : i64}
    pe.dma_write {part = 0 : i64}
  }
  // expected-error @+1 {{'ahbm.composite': pe.dma_write cannot stand in a plan outside pe.tiles}}
  ahbm.composite(%a, %r : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f16, 2>) {specs = [#ahbm.spec<"exp", once, [0], 1>], writes = array<i64: 1>} plan {
    pe.dma_write {part = 1 : i64}
    pe.once {spec = 0 : i64}
  }
  func.return
}

// -----

// Only the last op of a composite without a GEMM writes HBM.
func.func @f(%a: !ahbm.buffer<8x8xf16, tcm>, %r: !ahbm.region<f16, 2>) {
  // expected-error @+1 {{'ahbm.composite': op 0 ('exp') runs once and takes part 1 from HBM; its operands must lie in TCM}}
  ahbm.composite(%a, %r : !ahbm.buffer<8x8xf16, tcm>, !ahbm.region<f16, 2>) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}
