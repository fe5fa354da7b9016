import fc from "fast-check";

const seed = process.env.COPPICE_SEED;
// The same cases each time, so that a test fails for what changed; COPPICE_SEED=random looks for new ones.
if (seed !== "random") fc.configureGlobal({ seed: Number(seed ?? 1) });
