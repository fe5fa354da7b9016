import { opencode } from "../../src/importers/opencode/importer.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: opencode,
  sample: sampleOf("opencode/export.json"),
  foreign: samplesBut("opencode"),
  isDocument: true,
});
