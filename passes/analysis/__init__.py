"""What passes ask about the IR: affine forms, regions, masks, loops, terms and lifetimes. No pass lives here."""
