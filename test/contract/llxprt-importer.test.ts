import { llxprt } from "../../src/importers/llxprt.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: llxprt,
  sample: sampleOf("llxprt/session-2026-03-05T09-00-00-b1c2d3e4.jsonl"),
  foreign: samplesBut("llxprt"),
});
