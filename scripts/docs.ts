import { writeFileSync } from "node:fs";
import { readPages } from "./docs/pages.ts";
import { generateSections } from "./docs/sections.ts";

/** `npm run docs` generates the marked sections of the pages from the code that they describe. */
for (const { path, text } of generateSections(readPages())) writeFileSync(new URL(`../${path}`, import.meta.url), text);
