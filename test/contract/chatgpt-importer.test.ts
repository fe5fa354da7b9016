import { chatgpt } from "../../src/importers/chatgpt.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: chatgpt,
  sample: sampleOf("chatgpt/conversations.json"),
  foreign: samplesBut("chatgpt"),
  isDocument: true,
});
