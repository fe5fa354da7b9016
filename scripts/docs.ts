import { writeFileSync } from "node:fs";
import { readPages } from "./docs/pages.ts";
import { generateSections } from "./docs/sections.ts";

/** `npm run docs`: write the generated parts of the pages, between their markers, from the code they describe. */
for (const { path, text } of generateSections(readPages())) writeFileSync(new URL(`../${path}`, import.meta.url), text);
