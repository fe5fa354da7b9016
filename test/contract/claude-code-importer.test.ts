import { claudeCode } from "../../src/importers/claude-code/importer.ts";
import { describeImporter } from "./importer.contract.ts";

const FIXTURES = new URL("../fixtures/importers/", import.meta.url);
const SESSION = "claude-code/3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f";

describeImporter({
  importer: claudeCode,
  sample: new URL(`${SESSION}.jsonl`, FIXTURES),
  foreign: [new URL("neutral.jsonl", FIXTURES)],
});
