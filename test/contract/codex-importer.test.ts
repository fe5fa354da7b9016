import { codex } from "../../src/importers/codex/importer.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: codex,
  sample: sampleOf("codex/rollout-2026-03-05T09-00-00-0199c3a0-7b1e-7c55-9d0f-2f6a1b3c4d5e.jsonl"),
  foreign: samplesBut("codex"),
});
