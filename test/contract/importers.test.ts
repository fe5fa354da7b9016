import { IMPORTERS } from "../../src/importers/registry.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut, samplesByFormat } from "./importer-samples.ts";

// Databases are read in another way.
for (const importer of IMPORTERS.filter(({ name }) => !["crush", "cursor", "zed"].includes(name))) {
  for (const sample of samplesByFormat[importer.name]!) {
    describeImporter({
      importer,
      sample: sampleOf(sample),
      foreign: samplesBut(importer.name),
      isDocument: sample.endsWith(".json"),
      isText: sample.endsWith(".md"),
    });
  }
}
