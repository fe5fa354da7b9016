import { jsonl } from "../../src/importers/jsonl.ts";
import { describeImporter } from "./importer.contract.ts";

const FIXTURES = new URL("../fixtures/importers/", import.meta.url);

describeImporter({
  importer: jsonl,
  sample: new URL("neutral.jsonl", FIXTURES),
  foreign: [new URL("claude-code/3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f.jsonl", FIXTURES)],
});
