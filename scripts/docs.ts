import { readFileSync, writeFileSync } from "node:fs";
import { generateSections } from "./docs/sections.ts";

/** `npm run docs`: write the generated parts of the README, between their markers, from the code they describe. */
const README = new URL("../README.md", import.meta.url);
writeFileSync(README, generateSections(readFileSync(README, "utf8")));
