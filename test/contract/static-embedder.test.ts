import { staticEmbedder } from "../../src/index.ts";
import { staticModel } from "../support/static-model.ts";
import { describeLocalEmbedder } from "./embedder.contract.ts";

const folder = staticModel();

describeLocalEmbedder("a static model", {
  create: () => staticEmbedder({ folder }),
  close: ["The session lock is never released", "release a latch"],
  far: "bake the bread",
  wordless: ["", " \n\t", "☃"],
});
