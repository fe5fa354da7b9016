import { geminiCli } from "../../src/importers/gemini-cli/importer.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: geminiCli,
  sample: sampleOf("gemini-cli/session-2026-03-04T10-00-5d0c7e1a.jsonl"),
  foreign: samplesBut("gemini-cli"),
});
describeImporter({
  importer: geminiCli,
  sample: sampleOf("gemini-cli/session-2026-02-01T08-00-77e0c1aa.json"),
  foreign: samplesBut("gemini-cli"),
  isDocument: true,
});
