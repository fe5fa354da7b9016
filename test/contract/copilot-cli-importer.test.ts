import { copilotCli } from "../../src/importers/copilot-cli.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: copilotCli,
  sample: sampleOf("copilot-cli/events.jsonl"),
  foreign: samplesBut("copilot-cli"),
});
