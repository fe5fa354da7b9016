import { pi } from "../../src/importers/pi.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: pi,
  sample: sampleOf("pi/2026-03-05T09-00-00-000Z_0199c3a0-7b1e-7c55-9d0f-2f6a1b3c4d5f.jsonl"),
  foreign: samplesBut("pi"),
});
