import { jsonl } from "../../src/importers/jsonl.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({ importer: jsonl, sample: sampleOf("neutral.jsonl"), foreign: samplesBut("jsonl") });
